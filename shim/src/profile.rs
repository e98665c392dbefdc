//! The compiled profile that the daemon hands out: a BPF program and what goes with it.

use crate::base64;
use crate::client::{Client, Exchange};
use crate::failure::Failure;
use crate::json::Json;
use crate::log;

/// `BPF_MAXINSNS`.
const MAX_INSTRUCTIONS: usize = 4096;
const INSTRUCTION_SIZE: usize = 8;

/// What is installed before the workload exists.
pub(crate) struct Profile {
    /// The seccomp filter.
    pub(crate) filter: Vec<libc::sock_filter>,
    /// Whether the workload may only signal its own processes.
    pub(crate) scope_signals: bool,
}

impl Profile {
    /// Asks the daemon for this container's profile.
    pub(crate) fn fetch(client: &mut Client) -> Result<Self, Failure> {
        let data = client
            .call(&Exchange::get("/v1/profile"))
            .map_err(|error| Failure::from_call("profile", &error))?;
        let profile = Self::read(&data).map_err(|what| {
            Failure::unreachable(format!("outcalld sent an unusable profile: {what}"))
        })?;
        let text = |key| data.get(key).and_then(Json::as_str).unwrap_or("?");
        log::debug(&format!("profile {} digest {}", text("name"), text("digest")));
        Ok(profile)
    }

    fn read(data: &Json) -> Result<Self, &'static str> {
        let text = data.get("filter").and_then(Json::as_str).ok_or("no filter")?;
        let bytes = base64::decode(text).ok_or("the filter is not base64")?;
        if bytes.is_empty() || !bytes.len().is_multiple_of(INSTRUCTION_SIZE) {
            return Err("the filter is no array of instructions");
        }
        if bytes.len() / INSTRUCTION_SIZE > MAX_INSTRUCTIONS {
            return Err("the filter has over 4096 instructions");
        }
        let scope_signals =
            data.get("signal_scope").and_then(Json::as_bool).ok_or("no signal_scope")?;
        Ok(Self { filter: bytes.chunks_exact(8).map(instruction).collect(), scope_signals })
    }
}

/// `struct sock_filter` in this machine's byte order.
fn instruction(bytes: &[u8]) -> libc::sock_filter {
    let mut field = [0; INSTRUCTION_SIZE];
    field.copy_from_slice(bytes);
    let [c0, c1, jt, jf, k @ ..] = field;
    libc::sock_filter { code: u16::from_ne_bytes([c0, c1]), jt, jf, k: u32::from_ne_bytes(k) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json;

    #[test]
    fn reads_instructions() {
        let json = json::parse(br#"{"filter":"BgAAAAAA/38gAAECBAAAAA==","signal_scope":false}"#);
        let profile = Profile::read(&json.unwrap()).unwrap();
        assert_eq!(profile.filter.len(), 2);
        assert_eq!((profile.filter[0].code, profile.filter[0].k), (6, 0x7fff_0000));
        assert_eq!((profile.filter[1].jt, profile.filter[1].jf), (1, 2));
        assert!(!profile.scope_signals);
    }

    #[test]
    fn unusable_profiles_are_refused() {
        let long = format!(r#"{{"filter":"{}","signal_scope":true}}"#, "AAAA".repeat(8 * 1366));
        for bad in [
            "{}",
            "null",
            r#"{"filter":"","signal_scope":true}"#,
            r#"{"filter":"AAAA","signal_scope":true}"#,
            r#"{"filter":"!","signal_scope":true}"#,
            r#"{"filter":"BgAAAAAA/38="}"#,
            r#"{"filter":"BgAAAAAA/38=","signal_scope":"yes"}"#,
            &long,
        ] {
            assert!(Profile::read(&json::parse(bad.as_bytes()).unwrap()).is_err(), "{bad}");
        }
    }
}
