//! `outcallctl status`: how the daemon is.

use anyhow::bail;
use serde_json::Value;

use super::arguments::HostArguments;
use super::host::ask;
use crate::record::sentence::printable;

pub(super) fn status(arguments: &HostArguments) -> anyhow::Result<()> {
    let answer = ask(&arguments.host_socket, "GET", "/v1/status")?;
    match answer.data() {
        Ok(data) if arguments.json => println!("{data}"),
        Ok(data) => print!("{}", sentences(data)),
        Err(reason) => bail!("{}", lines(&reason)),
    }
    Ok(())
}

fn sentences(data: &Value) -> String {
    let text = |value: &Value| printable(value.as_str().unwrap_or("?"));
    let (rules, log) = (&data["rules"], &data["log"]);
    let digest = text(&rules["digest"]);
    let mut shown = format!(
        "outcalld {}, process {}, since {}\n\
         mode      {}, profile {}\n\
         sessions  {}\n\
         rules     {} in force, generation {}, digest {}, loaded {}\n",
        text(&data["version"]),
        data["pid"],
        text(&data["started"]),
        text(&data["mode"]),
        text(&data["profile"]),
        data["sessions"],
        rules["count"],
        rules["generation"],
        digest.get(..12).unwrap_or(&digest),
        text(&rules["loaded_at"]),
    );
    let paths = rules["paths"].as_array().map(Vec::as_slice).unwrap_or_default();
    for path in paths {
        shown += &format!("          from {}\n", text(path));
    }
    if paths.is_empty() {
        shown += "          the built-in ones\n";
    } else if rules["watched"] == false {
        shown += "          not watched; after a change: outcallctl rules reload\n";
    }
    if let Some(message) = rules["last_error"]["message"].as_str() {
        let since = text(&rules["last_error"]["since"]);
        shown += &format!("          NOT RELOADED since {since}; the old rules stay in force:\n");
        for line in message.lines() {
            shown += &format!("          {}\n", printable(line));
        }
    }
    let healthy =
        if log["healthy"] == true { "healthy" } else { "CANNOT BE WRITTEN: all is refused" };
    shown + &format!("log       {}, {healthy}\n", text(&log["directory"]))
}

/// A message of several lines, each of them printable.
pub(super) fn lines(message: &str) -> String {
    message.lines().map(printable).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
#[path = "tests/status.rs"]
mod tests;
