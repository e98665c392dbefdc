//! Where a check wants to go: a URL, a host, an address or a Unix socket.

use std::net::{IpAddr, Ipv4Addr};

use policy::{Facts, Http};

use super::{Check, plain};
use crate::facts::{class_of, reached};

/// A host as it is named.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Host {
    Ip(IpAddr),
    Name(String),
}

/// The facts of a network call. A URL that names an address is also the connection that the kernel's
/// door would see.
pub(super) fn facts(check: &Check, target: &str, mut facts: Facts) -> Vec<Facts> {
    let protocol = match check.entry("protocol") {
        "udp" => "udp",
        _ => "tcp",
    };
    protocol.clone_into(&mut facts.network.protocol);
    if local(target, &mut facts) {
        return vec![facts];
    }
    let Some((scheme, rest)) = target.split_once("://") else {
        if let Some((host, port)) = host_and_port(target) {
            let address = describe(&host, port, &mut facts);
            facts.target = address.unwrap_or(facts.target);
        }
        return vec![facts];
    };
    let end = rest.find(['/', '?', '#', '\\']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(end);
    let authority = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    let scheme = scheme.to_ascii_lowercase();
    // What cannot be read has no host: no rule about hosts speaks of it.
    let Some((host, port)) = host_and_port(authority).filter(|_| !path.starts_with('\\')) else {
        return vec![facts];
    };
    let connection = facts.clone();
    let port = port.or_else(|| default_port(&scheme));
    let address = describe(&host, port, &mut facts);
    if matches!(scheme.as_str(), "http" | "https") {
        facts.http = http(check, target, &host, path);
    }
    let Some(address) = address else { return vec![facts] };
    let mut connection = Facts { target: address, ..connection };
    connection.network.clone_from(&facts.network);
    vec![facts, connection]
}

/// Unix sockets and netlink, as the kernel's door names them.
fn local(target: &str, facts: &mut Facts) -> bool {
    let (kind, class) = match target.split_once(':') {
        Some(("unix", name)) => {
            let name = if name.starts_with('/') { plain(name, "") } else { name.to_owned() };
            facts.target = format!("unix:{name}");
            ("unix", "unix")
        }
        Some(("netlink", _)) => ("netlink", "kernel"),
        _ => return false,
    };
    kind.clone_into(&mut facts.network.protocol);
    kind.clone_into(&mut facts.network.family);
    class.clone_into(&mut facts.network.class);
    true
}

/// Sets what is known of a host; the address as the kernel's door would write it, if it is one.
fn describe(host: &Host, port: Option<u16>, facts: &mut Facts) -> Option<String> {
    let network = &mut facts.network;
    network.port = port.map_or(0, i64::from);
    let ip = match host {
        Host::Ip(ip) => reached(ip.to_canonical()),
        Host::Name(name) => {
            network.hostname.clone_from(name);
            return None;
        }
    };
    network.ip = ip.to_string();
    class_of(ip).clone_into(&mut network.class);
    let family = if ip.is_ipv4() { "inet" } else { "inet6" };
    family.clone_into(&mut network.family);
    Some(match (ip, port) {
        (IpAddr::V4(v4), Some(port)) => format!("{v4}:{port}"),
        (IpAddr::V6(v6), Some(port)) => format!("[{v6}]:{port}"),
        (ip, None) => ip.to_string(),
    })
}

fn http(check: &Check, url: &str, host: &Host, path: &str) -> Http {
    let method = Some(check.entry("method")).filter(|method| !method.is_empty());
    let path = path.split(['?', '#']).next().unwrap_or_default();
    Http {
        method: method.unwrap_or("GET").to_ascii_uppercase(),
        url: url.to_owned(),
        host: match host {
            Host::Ip(ip) => reached(ip.to_canonical()).to_string(),
            Host::Name(name) => name.clone(),
        },
        path: if path.is_empty() { "/".to_owned() } else { path.to_owned() },
    }
}

fn default_port(scheme: &str) -> Option<u16> {
    match scheme {
        "http" | "ws" => Some(80),
        "https" | "wss" => Some(443),
        "ftp" => Some(21),
        "ssh" => Some(22),
        _ => None,
    }
}

/// `host:port`, `[v6]:port`, or either without the port. `None` where it is no host.
pub(super) fn host_and_port(text: &str) -> Option<(Host, Option<u16>)> {
    if let Some((inside, rest)) = text.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        let ip = inside.split('%').next()?.parse().ok()?;
        let port = match rest.strip_prefix(':') {
            Some(port) => Some(port.parse().ok()?),
            None if rest.is_empty() => None,
            None => return None,
        };
        return Some((Host::Ip(IpAddr::V6(ip)), port));
    }
    match text.split_once(':') {
        // More than one colon without brackets is an IPv6 address.
        Some((_, port)) if port.contains(':') => {
            let ip = text.split('%').next()?.parse().ok()?;
            Some((Host::Ip(IpAddr::V6(ip)), None))
        }
        Some((name, "")) => Some((host(name)?, None)),
        Some((name, port)) => Some((host(name)?, Some(port.parse().ok()?))),
        None => Some((host(text)?, None)),
    }
}

/// A host name, or an IPv4 address in any of the ways in which the C library reads one.
fn host(text: &str) -> Option<Host> {
    let name = text.strip_suffix('.').unwrap_or(text).to_ascii_lowercase();
    let part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
    if name.is_empty() || !name.chars().all(part) {
        return None;
    }
    let last = name.rsplit('.').next().unwrap_or_default();
    if number(last).is_some() || last.bytes().all(|byte| byte.is_ascii_digit()) {
        return ipv4(&name).map(|ip| Host::Ip(IpAddr::V4(ip)));
    }
    Some(Host::Name(name))
}

/// inet_aton: one to four numbers, the last of which fills what is left.
fn ipv4(text: &str) -> Option<Ipv4Addr> {
    let numbers = text.split('.').map(number).collect::<Option<Vec<u32>>>()?;
    let (last, first) = numbers.split_last()?;
    let room = 32_u32.checked_sub(8 * u32::try_from(first.len()).ok()?).filter(|room| *room > 0)?;
    if u64::from(*last) >= 1_u64 << room {
        return None;
    }
    let mut address = u64::from(*last);
    for (place, byte) in first.iter().enumerate() {
        let byte = u64::from(u8::try_from(*byte).ok()?);
        address |= byte << (24 - 8 * place);
    }
    u32::try_from(address).ok().map(Ipv4Addr::from)
}

fn number(text: &str) -> Option<u32> {
    if let Some(digits) = text.strip_prefix("0x") {
        return if digits.is_empty() { Some(0) } else { digits_of(digits, 16) };
    }
    match text.strip_prefix('0') {
        Some(digits) if !digits.is_empty() => digits_of(digits, 8),
        _ => digits_of(text, 10),
    }
}

/// `from_str_radix` takes a sign; a host name does not.
fn digits_of(text: &str, radix: u32) -> Option<u32> {
    let plain = text.chars().all(|c| c.is_ascii_alphanumeric());
    if plain { u32::from_str_radix(text, radix).ok() } else { None }
}
