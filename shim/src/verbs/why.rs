//! `outcall why`: what was refused lately, and whether asking can help.

use super::print;
use super::request::failure;
use crate::client::{Client, Exchange};
use crate::failure::Failure;
use crate::json::Json;
use crate::text;

pub(super) fn why(client: &mut Client, json: bool) -> Result<i32, Failure> {
    let data =
        client.call(&Exchange::get("/v1/denials")).map_err(|error| failure("why", &error))?;
    let denials = data
        .get("denials")
        .and_then(Json::as_array)
        .ok_or_else(|| Failure::unreachable("why failed: the answer has no list of denials"))?;
    if json {
        print(&format!("{data}\n"))?;
    } else if denials.is_empty() {
        print("nothing was refused\n")?;
    } else {
        print(&denials.iter().map(line).collect::<String>())?;
    }
    Ok(0)
}

/// One denial as a line; fields that this version does not know are left to `--json`.
fn line(denial: &Json) -> String {
    let field = |key| denial.get(key).and_then(Json::as_str);
    let truth = |key| denial.get(key).and_then(Json::as_bool).unwrap_or(false);
    let mut line = field("when").unwrap_or("-").to_owned();
    for word in ["action_type", "operation", "target"].into_iter().filter_map(field) {
        line.push(' ');
        line.push_str(word);
    }
    line.push_str(&format!("; rule: {}", field("matched_rule").unwrap_or("none")));
    line.push_str(&format!("; reason: {}", field("reason").unwrap_or("none")));
    if truth("asking_can_help") {
        line.push_str("; asking can help: outcall request FILE");
    }
    if truth("do_not_retry") {
        line.push_str("; do not retry");
    }
    text::printable(&line) + "\n"
}
