//! `outcallctl ps`: the sessions that run.

use anyhow::anyhow;
use serde_json::Value;

use super::arguments::HostArguments;
use super::host::ask;
use super::status::lines;
use super::table::table;

pub(super) fn ps(arguments: &HostArguments) -> anyhow::Result<()> {
    let answer = ask(&arguments.host_socket, "GET", "/v1/sessions")?;
    let data = answer.data().map_err(|reason| anyhow!(lines(&reason)))?;
    if arguments.json {
        println!("{data}");
        return Ok(());
    }
    let sessions = data["sessions"].as_array().map(Vec::as_slice).unwrap_or_default();
    print!("{}", sentences(sessions));
    Ok(())
}

fn sentences(sessions: &[Value]) -> String {
    let rows: Vec<[String; 8]> = sessions.iter().map(row).collect();
    let head = ["SESSION", "CONTAINER", "AGENT", "MODE", "BEGUN", "ALLOWED", "REFUSED", "FAILED"];
    table(head, &rows)
}

fn row(session: &Value) -> [String; 8] {
    let text = |value: &Value| value.as_str().unwrap_or("-").to_owned();
    let container = match session["container_name"].as_str() {
        Some(name) => name.to_owned(),
        // As short as other tools show it.
        None => text(&session["container"]).chars().take(12).collect(),
    };
    let counts = &session["counts"];
    [
        text(&session["id"]),
        container,
        text(&session["agent"]),
        text(&session["mode"]),
        text(&session["begun"]),
        counts["allowed"].to_string(),
        counts["refused"].to_string(),
        counts["failed"].to_string(),
    ]
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_session_is_a_row() {
        let session = json!({
            "id": "s-1", "container": "0123456789abcdef", "container_name": null, "agent": "bot",
            "mode": "enforce", "begun": "t", "counts": {"allowed": 1, "refused": 2, "failed": 3},
        });
        let shown = sentences(&[session]);
        let row = shown.lines().nth(1).unwrap();
        let words: Vec<&str> = row.split_whitespace().collect();
        assert_eq!(words, ["s-1", "0123456789ab", "bot", "enforce", "t", "1", "2", "3"]);
    }
}
