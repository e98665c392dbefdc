//! Bytes as text: what the daemon is asked with, and what a terminal is shown.

/// Bytes that are not UTF-8 become `\xNN`, as in the supervisor's own facts.
pub(crate) fn of(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        for byte in chunk.invalid() {
            text.push_str(&format!("\\x{byte:02x}"));
        }
    }
    text
}

/// Whether a terminal would act on `c` instead of showing it.
pub(crate) fn steers(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// One line that cannot steer a terminal or begin another line.
pub(crate) fn printable(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if steers(c) {
            out.extend(c.escape_unicode());
        } else {
            out.push(c);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_text_is_escaped_byte_by_byte() {
        assert_eq!(of(b"a\xff\xfeb"), "a\\xff\\xfeb");
        assert_eq!(of("é".as_bytes()), "é");
    }

    #[test]
    fn a_line_stays_a_line() {
        assert_eq!(printable("a\nb\x1b[0m\u{202e}é"), "a\\u{a}b\\u{1b}[0m\\u{202e}é");
    }
}
