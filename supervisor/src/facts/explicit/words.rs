//! A command line as words, read without a shell.

/// What a command line comes to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Command {
    /// Plain words, with their quotes taken off.
    Words(Vec<String>),
    /// Only a shell can read it: the words of each of its parts, as far as they can be told.
    Shell(Vec<Vec<String>>),
}

/// Parts that are looked at; a line with more is judged by the shell and by these.
const MAX_PARTS: usize = 32;

pub(super) fn read_command(line: &str) -> Command {
    match words(line) {
        Some(words) if !words.is_empty() => Command::Words(words),
        _ => {
            let parts = line.split(is_operator).map(rough_words);
            Command::Shell(parts.filter(|words| !words.is_empty()).take(MAX_PARTS).collect())
        }
    }
}

/// Characters by which a shell makes more of a line than words.
fn is_operator(c: char) -> bool {
    matches!(c, ';' | '&' | '|' | '<' | '>' | '(' | ')' | '$' | '`' | '\n' | '\r')
}

/// The words of a line without operators; `None` where a shell would do more than take quotes off.
fn words(line: &str) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut rest = line.chars();
    while let Some(c) = rest.next() {
        match c {
            ' ' | '\t' => words.extend(word.take()),
            '\'' => quoted(&mut rest, word.get_or_insert_default())?,
            '"' => double_quoted(&mut rest, word.get_or_insert_default())?,
            '\\' => {
                let next = rest.next().filter(|next| *next != '\n')?;
                word.get_or_insert_default().push(next);
            }
            c if is_operator(c) => return None,
            c => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    Some(words)
}

fn quoted(rest: &mut std::str::Chars<'_>, word: &mut String) -> Option<()> {
    loop {
        match rest.next()? {
            '\'' => return Some(()),
            c => word.push(c),
        }
    }
}

fn double_quoted(rest: &mut std::str::Chars<'_>, word: &mut String) -> Option<()> {
    loop {
        match rest.next()? {
            '"' => return Some(()),
            '$' | '`' => return None,
            '\\' => match rest.next()? {
                c @ ('"' | '\\' | '$' | '`') => word.push(c),
                '\n' => return None,
                c => word.extend(['\\', c]),
            },
            c => word.push(c),
        }
    }
}

fn rough_words(part: &str) -> Vec<String> {
    let words = part.split_whitespace().map(|word| word.trim_matches(['"', '\'']));
    words.filter(|word| !word.is_empty()).map(str::to_owned).collect()
}
