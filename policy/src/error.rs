//! Diagnostics: what is wrong with a rule file, where, and what would be right.

use std::fmt;

/// One thing that is wrong with a rule file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// The file's name.
    pub file: String,
    /// The line, counted from 1.
    pub line: u32,
    /// The column in characters, counted from 1.
    pub column: u32,
    /// What is wrong, as a sentence.
    pub message: String,
    /// What would be right, where that can be guessed.
    pub hint: Option<String>,
    excerpt: String,
}

impl Diagnostic {
    /// A diagnostic at a place of `text`; the line it names is kept as an excerpt.
    pub(crate) fn new(file: &str, text: &str, place: Place, message: impl Into<String>) -> Self {
        let index = usize::try_from(place.line.saturating_sub(1)).unwrap_or(usize::MAX);
        let excerpt = text.lines().nth(index).unwrap_or_default().chars().take(MAX_EXCERPT);
        Self {
            file: file.to_owned(),
            line: place.line,
            column: place.column,
            message: message.into(),
            hint: None,
            excerpt: excerpt.map(|c| if c.is_control() { ' ' } else { c }).collect(),
        }
    }

    /// The same diagnostic with a proposal.
    pub(crate) fn with_hint(mut self, hint: Option<String>) -> Self {
        self.hint = hint;
        self
    }
}

/// Longer lines are cut: a diagnostic is for a person's screen.
const MAX_EXCERPT: usize = 240;

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}: {}", self.file, self.line, self.column, self.message)?;
        if !self.excerpt.trim().is_empty() {
            let number = self.line.to_string();
            let margin = number.len();
            write!(f, "\n {number} | {}", self.excerpt)?;
            let indent = usize::try_from(self.column.saturating_sub(1)).unwrap_or(0);
            if indent <= MAX_EXCERPT {
                write!(f, "\n {:margin$} | {:indent$}^", "", "")?;
            }
        }
        match &self.hint {
            Some(hint) => write!(f, "\n  hint: {hint}"),
            None => Ok(()),
        }
    }
}

/// Everything that is wrong with a set of rule files; nothing of the set is loaded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoadErrors {
    diagnostics: Vec<Diagnostic>,
}

impl LoadErrors {
    pub(crate) fn new(diagnostics: Vec<Diagnostic>) -> Self {
        Self { diagnostics }
    }

    /// The diagnostics in file order.
    pub fn iter(&self) -> std::slice::Iter<'_, Diagnostic> {
        self.diagnostics.iter()
    }
}

impl fmt::Display for LoadErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, diagnostic) in self.diagnostics.iter().enumerate() {
            let separator = if index == 0 { "" } else { "\n" };
            write!(f, "{separator}{diagnostic}")?;
        }
        Ok(())
    }
}

impl std::error::Error for LoadErrors {}

impl IntoIterator for LoadErrors {
    type Item = Diagnostic;
    type IntoIter = std::vec::IntoIter<Diagnostic>;

    fn into_iter(self) -> Self::IntoIter {
        self.diagnostics.into_iter()
    }
}

impl<'a> IntoIterator for &'a LoadErrors {
    type Item = &'a Diagnostic;
    type IntoIter = std::slice::Iter<'a, Diagnostic>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

/// A line and column, counted from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) line: u32,
    pub(crate) column: u32,
}

impl Place {
    pub(crate) const START: Self = Self { line: 1, column: 1 };
}

/// A byte range of one condition.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) start: usize,
    pub(crate) end: usize,
}

impl Span {
    pub(crate) fn new(start: usize, end: usize) -> Self {
        Self { start, end }
    }

    /// The range from the start of this one to the end of another.
    pub(crate) fn to(self, other: Self) -> Self {
        Self { start: self.start, end: other.end }
    }
}

/// What is wrong with one condition, before it is known which file the condition stands in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Problem {
    pub(crate) span: Span,
    pub(crate) message: String,
    pub(crate) hint: Option<String>,
}

impl Problem {
    pub(crate) fn new(span: Span, message: impl Into<String>) -> Self {
        Self { span, message: message.into(), hint: None }
    }

    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Proposes the nearest of the known names, if any is near.
    pub(crate) fn nearest(mut self, given: &str, known: &[&str]) -> Self {
        self.hint = did_you_mean(given, known);
        self
    }
}

/// The known name that is most like the given one, if any is like it at all.
pub(crate) fn nearest<'a>(given: &str, known: &[&'a str]) -> Option<&'a str> {
    // The distance is quadratic in length; no name that could be meant is this long.
    if given.len() > 64 {
        return None;
    }
    let scored = known.iter().map(|name| (strsim::jaro_winkler(given, name), *name));
    let best = scored.max_by(|a, b| a.0.total_cmp(&b.0))?;
    (best.0 >= 0.75).then_some(best.1)
}

/// The sentence that proposes the nearest name.
pub(crate) fn did_you_mean(given: &str, known: &[&str]) -> Option<String> {
    nearest(given, known).map(|name| format!("did you mean `{name}`?"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_diagnostic_shows_the_line_a_caret_and_the_hint() {
        let place = Place { line: 2, column: 5 };
        let diagnostic = Diagnostic::new("a.yaml", "one\ntwo three", place, "`three` is wrong")
            .with_hint(Some("write four".into()));
        assert_eq!(
            diagnostic.to_string(),
            "a.yaml:2:5: `three` is wrong\n 2 | two three\n   |     ^\n  hint: write four"
        );
    }

    #[test]
    fn nearest_finds_typos_and_refuses_strangers() {
        assert_eq!(nearest("operaton", &["path", "operation"]), Some("operation"));
        assert_eq!(nearest("zzz", &["path", "operation"]), None);
        assert_eq!(nearest(&"a".repeat(1000), &["a"]), None);
    }
}
