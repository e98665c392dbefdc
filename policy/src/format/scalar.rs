//! How a text is written: plain where that is safe, quoted, or as a block of lines.

use super::shape::Shape;

/// A text, and its lines where the author broke it into several.
#[derive(Debug)]
pub(super) struct Text {
    pub(super) value: String,
    pub(super) block: Option<Block>,
}

/// The lines of a block scalar.
#[derive(Debug)]
pub(super) struct Block {
    is_literal: bool,
    lines: Vec<String>,
}

/// A text as it goes into the file.
#[derive(Debug)]
pub(super) enum Written {
    /// On the line of its key.
    Line(String),
    /// A header on the line of its key, and lines below, not yet indented.
    Block(String, Vec<String>),
}

impl Block {
    /// A block for the value, if there is one that needs neither escapes nor trailing spaces, and
    /// if a single line would not do as well.
    pub(super) fn new(value: &str, is_literal: bool, mut lines: Vec<String>) -> Option<Self> {
        while lines.last().is_some_and(String::is_empty) {
            lines.pop();
        }
        let is_clean = |line: &String| {
            !line.ends_with([' ', '\t']) && !line.chars().any(|c| c != '\t' && is_hidden(c))
        };
        let is_kept = lines.iter().all(is_clean)
            && lines.iter().any(|line| !line.is_empty())
            && !lines.iter().any(|line| line.starts_with('\t'))
            && !value.ends_with("\n\n")
            && (lines.len() > 1 || value.contains('\n'));
        is_kept.then_some(Self { is_literal, lines })
    }

    fn written(&self, value: &str) -> Written {
        let style = if self.is_literal { '|' } else { '>' };
        // Without a number, the first line's own spaces would count as indentation.
        let first = self.lines.iter().find(|line| !line.is_empty());
        let indent = if first.is_some_and(|line| line.starts_with(' ')) { "2" } else { "" };
        let chomp = if value.ends_with('\n') { "" } else { "-" };
        Written::Block(format!("{style}{indent}{chomp}"), self.lines.clone())
    }
}

impl Text {
    /// The text where `room` columns are left on the line.
    pub(super) fn written(&self, shape: Shape, room: usize) -> Written {
        match &self.block {
            Some(block) => block.written(&self.value),
            None if shape == Shape::Condition => condition(&self.value, room),
            None => Written::Line(line(&self.value, false)),
        }
    }

    /// The text within braces or brackets.
    pub(super) fn inline(&self) -> Option<String> {
        self.block.is_none().then(|| line(&self.value, true))
    }
}

/// Conditions are quoted without need, so that adding a `: ` or ` #` to one does not break it.
/// Those that would need escapes in quotes are written without any.
fn condition(value: &str, room: usize) -> Written {
    let fits = |text: &str| text.chars().count() <= room;
    let is_bare = !value.chars().any(is_hidden) && !value.starts_with(' ') && !value.ends_with(' ');
    let quoted = double_quoted(value);
    if quoted.len() == value.len() + 2 {
        if fits(&quoted) || !is_bare || value.is_empty() {
            return Written::Line(quoted);
        }
    } else if is_plain(value, false) && fits(value) {
        return Written::Line(value.to_owned());
    }
    if is_bare { Written::Block(">-".into(), vec![value.into()]) } else { Written::Line(quoted) }
}

/// A text or key on one line.
pub(super) fn line(value: &str, in_flow: bool) -> String {
    if is_plain(value, in_flow) {
        return value.to_owned();
    }
    let needs_escapes = value.chars().any(|c| is_hidden(c) || c == '\'');
    if value.contains(['"', '\\']) && !needs_escapes {
        return format!("'{value}'");
    }
    double_quoted(value)
}

/// A text in quotes, whatever it holds.
pub(crate) fn double_quoted(value: &str) -> String {
    let mut quoted = String::with_capacity(value.len() + 2);
    quoted.push('"');
    for c in value.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            '\n' => quoted.push_str("\\n"),
            '\t' => quoted.push_str("\\t"),
            '\r' => quoted.push_str("\\r"),
            c if is_hidden(c) && u32::from(c) < 0x100 => {
                quoted.push_str(&format!("\\x{:02X}", u32::from(c)));
            }
            c if is_hidden(c) => quoted.push_str(&format!("\\u{:04X}", u32::from(c))),
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

/// Characters that YAML forbids or reads as more than themselves, and those that change the order
/// in which a reader sees the others.
fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}')
        || matches!(c, '\u{2066}'..='\u{2069}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}')
}

/// Whether a text is read as itself without quotes, by readers of YAML 1.1 as well.
fn is_plain(value: &str, in_flow: bool) -> bool {
    let mut chars = value.chars();
    let (first, second) = (chars.next(), chars.next());
    let starts_well = match first {
        None => false,
        Some('-') => second.is_some_and(|c| c.is_ascii_alphanumeric() || c == '-'),
        Some(c) => !c.is_whitespace() && !"?:,[]{}#&*!|>'\"%@`=<".contains(c),
    };
    starts_well
        && !value.ends_with(char::is_whitespace)
        && !value.ends_with(':')
        && !value.starts_with("---")
        && !value.starts_with("...")
        && !value.contains(": ")
        && !value.contains(" #")
        && !value.chars().any(is_hidden)
        && !(in_flow && value.contains([',', '[', ']', '{', '}']))
        && !is_word(value)
        && !is_number(value)
}

/// Whether some reader takes the text for nothing, true, false or no number.
fn is_word(value: &str) -> bool {
    const WORDS: [&str; 13] = [
        "~", "null", "true", "false", "yes", "no", "on", "off", "y", "n", "inf", "infinity", "nan",
    ];
    let word = value.trim_start_matches(['+', '-', '.']);
    WORDS.iter().any(|known| word.eq_ignore_ascii_case(known))
}

/// Whether some reader takes the text for a number, a time or a date.
fn is_number(value: &str) -> bool {
    let digits = value.strip_prefix(['+', '-']).unwrap_or(value);
    let is_based = ["0x", "0X", "0o", "0O", "0b", "0B"].iter().any(|base| digits.starts_with(base));
    let is_made_of_digits = digits.starts_with(|c: char| c.is_ascii_digit() || c == '.')
        && digits.contains(|c: char| c.is_ascii_digit())
        && digits.chars().all(|c| c.is_ascii_digit() || "_.:+-eEtTzZ ".contains(c))
        // More dots are in addresses and versions.
        && digits.matches('.').count() <= 1;
    is_based || is_made_of_digits
}
