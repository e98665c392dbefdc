//! `outcall request`: rules that the operator is asked for.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read};

use super::print;
use crate::answer::CallError;
use crate::args::is_id;
use crate::client::{Client, Exchange};
use crate::failure::Failure;
use crate::json::{Json, quote};
use crate::text;

/// The daemon takes no longer body, and its envelope needs some of it.
const MAX_FILE: u64 = 64 * 1024 - 64;

pub(super) fn submit(client: &mut Client, file: &OsStr) -> Result<i32, Failure> {
    let rules = read(file)
        .map_err(|why| Failure::failed(format!("cannot send {}: {why}", file.to_string_lossy())))?;
    let body = format!(r#"{{"rule_file":{}}}"#, quote(&rules));
    let exchange = Exchange::post("/v1/requests/rules", &body).creating();
    tell(&client.call(&exchange).map_err(|error| failure("request", &error))?)
}

pub(super) fn status(client: &mut Client, id: &str) -> Result<i32, Failure> {
    let path = format!("/v1/requests/rules/{id}");
    tell(&client.call(&Exchange::get(&path)).map_err(|error| failure("request", &error))?)
}

fn read(file: &OsStr) -> Result<String, String> {
    let source: Box<dyn Read> = if file == "-" {
        Box::new(io::stdin())
    } else {
        Box::new(File::open(file).map_err(|error| error.to_string())?)
    };
    let mut bytes = Vec::new();
    source.take(MAX_FILE + 1).read_to_end(&mut bytes).map_err(|error| error.to_string())?;
    if bytes.len() as u64 > MAX_FILE {
        return Err(format!("it is longer than {MAX_FILE} bytes; ask for less at once"));
    }
    String::from_utf8(bytes).map_err(|_| "it is not UTF-8 text".into())
}

/// A refusal of what was sent is a failure of the request; one of this process is not.
pub(super) fn failure(what: &str, error: &CallError) -> Failure {
    match error {
        CallError::Refused(status, _) if !matches!(status, 401 | 403) => {
            Failure::failed(format!("{what} refused: {error}"))
        }
        _ => Failure::from_call(what, error),
    }
}

/// One line: the id, the state, and the operator's reason if there is one.
fn tell(data: &Json) -> Result<i32, Failure> {
    let text = |key| data.get(key).and_then(Json::as_str);
    let known = |state: &&str| matches!(*state, "pending" | "approved" | "rejected");
    let (Some(id), Some(state)) = (text("id").filter(|id| is_id(id)), text("status").filter(known))
    else {
        return Err(Failure::unreachable("request failed: the answer has no usable id and status"));
    };
    let reason = text("reason").map(|reason| format!(": {reason}")).unwrap_or_default();
    print(&format!("{}\n", text::printable(&format!("{id} {state}{reason}"))))?;
    Ok(0)
}
