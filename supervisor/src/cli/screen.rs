//! Text for a person's screen: colour where there is a terminal, and nothing that could steer it.

use std::io::IsTerminal;

use policy::Verdict;

use crate::record::sentence::printable;

/// Colour only on a terminal, and never with NO_COLOR.
#[derive(Clone, Copy, Debug)]
pub(super) struct Paint {
    on: bool,
}

impl Paint {
    pub(super) fn for_stdout() -> Self {
        Self { on: std::env::var_os("NO_COLOR").is_none() && std::io::stdout().is_terminal() }
    }

    pub(super) fn good(self, text: &str) -> String {
        self.with(32, text)
    }

    pub(super) fn bad(self, text: &str) -> String {
        self.with(31, text)
    }

    pub(super) fn doubtful(self, text: &str) -> String {
        self.with(33, text)
    }

    pub(super) fn verdict(self, verdict: Verdict, text: &str) -> String {
        match verdict {
            Verdict::Allow => self.good(text),
            Verdict::Block => self.bad(text),
            Verdict::Ask => self.doubtful(text),
        }
    }

    fn with(self, colour: u8, text: &str) -> String {
        if self.on { format!("\x1b[{colour}m{text}\x1b[0m") } else { text.to_owned() }
    }
}

/// The same lines, with everything in them escaped that is not for reading.
pub(super) fn lines(text: &str) -> String {
    text.lines().map(printable).collect::<Vec<_>>().join("\n")
}

/// A text of any shape on one line.
pub(super) fn one_line(text: &str) -> String {
    printable(&text.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// A word as a shell takes it, and as a terminal may show it.
pub(super) fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:@%+=,".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", printable(word).replace('\'', "'\\''"))
}

/// `1 file`, `2 files`.
pub(super) fn counted(count: usize, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_in_a_text_steers_the_terminal() {
        assert_eq!(lines("a\u{1b}[2J\nb\r"), "a\\u{1b}[2J\nb\\u{d}");
        assert_eq!(one_line(" a\n  b\u{7}"), "a b\\u{7}");
    }

    #[test]
    fn colour_is_off_unless_it_is_on() {
        assert_eq!(Paint { on: false }.bad("x"), "x");
        assert_eq!(Paint { on: true }.good("x"), "\x1b[32mx\x1b[0m");
    }
}
