//! JSON as text. Characters that steer a terminal are escaped, so that any output may be shown.

use std::fmt::{self, Write as _};

use super::Json;
use crate::text;

/// `text` as a JSON string, with its quotes.
pub(crate) fn quote(text: &str) -> String {
    Json::String(text.to_owned()).to_string()
}

impl fmt::Display for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Json::Null => f.write_str("null"),
            Json::Bool(truth) => write!(f, "{truth}"),
            Json::Number(digits) => f.write_str(digits),
            Json::String(text) => string(f, text),
            Json::Array(items) => {
                f.write_char('[')?;
                for (index, item) in items.iter().enumerate() {
                    f.write_str(if index == 0 { "" } else { "," })?;
                    write!(f, "{item}")?;
                }
                f.write_char(']')
            }
            Json::Object(members) => {
                f.write_char('{')?;
                for (index, (key, value)) in members.iter().enumerate() {
                    f.write_str(if index == 0 { "" } else { "," })?;
                    string(f, key)?;
                    write!(f, ":{value}")?;
                }
                f.write_char('}')
            }
        }
    }
}

fn string(f: &mut fmt::Formatter<'_>, text: &str) -> fmt::Result {
    f.write_char('"')?;
    for c in text.chars() {
        match c {
            '"' | '\\' => write!(f, "\\{c}")?,
            '\n' => f.write_str("\\n")?,
            '\t' => f.write_str("\\t")?,
            c if text::steers(c) => write!(f, "\\u{:04x}", u32::from(c))?,
            c => f.write_char(c)?,
        }
    }
    f.write_char('"')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::parse;

    #[test]
    fn what_is_written_reads_as_it_was() {
        let text = r#"{"a":[1,-2.5e3,null,true],"b\n":{"c":"\"\\\u001b\u202e é"},"d":[],"e":{}}"#;
        let json = parse(text.as_bytes()).unwrap();
        assert_eq!(json.to_string(), text);
        assert_eq!(parse(quote("x\r\u{7f}\"").as_bytes()).unwrap().as_str(), Some("x\r\u{7f}\""));
    }
}
