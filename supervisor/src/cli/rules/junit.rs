//! Test results as JUnit XML, which every build server reads.

use std::fmt::Write as _;

use super::test::Trial;

pub(super) fn document(trials: &[Trial]) -> String {
    let mut files: Vec<&str> = Vec::new();
    for trial in trials {
        if !files.contains(&trial.file.as_str()) {
            files.push(&trial.file);
        }
    }
    let mut text = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n".to_owned();
    let all: Vec<&Trial> = trials.iter().collect();
    text += &format!("<testsuites name=\"outcallctl rules test\" {}>\n", counts(&all));
    for file in files {
        let of_file: Vec<&Trial> = trials.iter().filter(|trial| trial.file == file).collect();
        text += &format!("  <testsuite name=\"{}\" {}>\n", escape(file), counts(&of_file));
        for trial in of_file {
            text += &testcase(trial);
        }
        text += "  </testsuite>\n";
    }
    text + "</testsuites>\n"
}

fn counts(trials: &[&Trial]) -> String {
    let failures = trials.iter().filter(|trial| !trial.passed()).count();
    format!("tests=\"{}\" failures=\"{failures}\" errors=\"0\" skipped=\"0\"", trials.len())
}

fn testcase(trial: &Trial) -> String {
    let (name, file, line) = (escape(&trial.name), escape(&trial.file), trial.line);
    // Examples of one rule share their name; the line tells them apart.
    let name = if trial.kind == "example" { format!("{name} (line {line})") } else { name };
    let mut text = format!(
        "    <testcase classname=\"{file}\" name=\"{name}\" file=\"{file}\" line=\"{line}\""
    );
    let Some(first) = trial.complaints.first() else { return text + "/>\n" };
    let all = escape(&trial.complaints.join("\n"));
    // Writing into a string cannot fail.
    let _ = writeln!(text, ">\n      <failure message=\"{}\">{all}</failure>", escape(first));
    text + "    </testcase>\n"
}

/// Text for an attribute or an element. What XML cannot hold even escaped is written as Rust
/// writes it.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped += "&amp;",
            '<' => escaped += "&lt;",
            '>' => escaped += "&gt;",
            '"' => escaped += "&quot;",
            '\'' => escaped += "&apos;",
            '\n' => escaped += "&#10;",
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => {
                escaped.extend(c.escape_unicode());
            }
            c => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_xml_cannot_hold_is_escaped() {
        assert_eq!(escape("<a & \"b\">'"), "&lt;a &amp; &quot;b&quot;&gt;&apos;");
        assert_eq!(escape("\u{1b}[0m\u{0}\n\u{ffff}é"), "\\u{1b}[0m\\u{0}&#10;\\u{ffff}é");
    }
}
