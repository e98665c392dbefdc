//! Regular expressions and path patterns, and what all of them together may take.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use regex_automata::meta::Regex;
use regex_automata::nfa::thompson::WhichCaptures;
use regex_automata::util::syntax;

/// A pattern's built size; larger ones are refused when they are loaded.
pub(crate) const MAX_PATTERN_BYTES: usize = 1 << 20;

/// What the patterns of a whole set may take together.
pub(crate) const MAX_SET_BYTES: usize = 16 << 20;

/// What definitions of a whole set may be copied to where they are used.
const MAX_COPIED_BYTES: usize = 64 << 20;

/// What a pattern may keep to be fast; without it, it is slower and still linear.
const MAX_CACHE_BYTES: usize = 128 << 10;

/// How deep `{a,{b,c}}` may nest.
pub(crate) const MAX_BRACES: usize = 16;

/// The patterns of a set. Equal ones are built once, and all of them have one budget; so has what
/// definitions are copied to.
#[derive(Debug, Default)]
pub(crate) struct Patterns {
    regexes: HashMap<String, Arc<Pattern>>,
    globs: HashMap<String, Arc<Glob>>,
    bytes: usize,
    copied: usize,
}

impl Patterns {
    /// Counts what a definition's value takes once more.
    pub(crate) fn copy(&mut self, bytes: usize) -> Result<(), String> {
        self.copied = self.copied.saturating_add(bytes);
        if self.copied > MAX_COPIED_BYTES {
            return Err(format!(
                "with its definitions expanded, the set takes more than {MAX_COPIED_BYTES} bytes"
            ));
        }
        Ok(())
    }

    pub(crate) fn regex(&mut self, text: &str) -> Result<Arc<Pattern>, String> {
        if let Some(known) = self.regexes.get(text) {
            return Ok(known.clone());
        }
        let pattern = Arc::new(Pattern::new(text)?);
        self.spend(pattern.regex.memory_usage())?;
        self.regexes.insert(text.to_owned(), pattern.clone());
        Ok(pattern)
    }

    pub(crate) fn glob(&mut self, text: &str) -> Result<Arc<Glob>, String> {
        if let Some(known) = self.globs.get(text) {
            return Ok(known.clone());
        }
        let glob = Arc::new(Glob::new(text)?);
        self.spend(glob.regex.memory_usage())?;
        self.globs.insert(text.to_owned(), glob.clone());
        Ok(glob)
    }

    fn spend(&mut self, bytes: usize) -> Result<(), String> {
        self.bytes = self.bytes.saturating_add(bytes);
        if self.bytes > MAX_SET_BYTES {
            return Err(format!(
                "with it, the patterns of the set take more than {MAX_SET_BYTES} bytes"
            ));
        }
        Ok(())
    }
}

/// A regular expression in linear time. `\d`, `\w` and `(?i)` speak of ASCII, as in RE2.
pub(crate) struct Pattern {
    text: Box<str>,
    regex: Regex,
    everything: bool,
}

impl Pattern {
    pub(crate) fn new(text: &str) -> Result<Self, String> {
        // Which Unicode tables exist depends on how the program is built, and a rule must mean the
        // same in every build. So a pattern that would need them is read as ASCII over bytes; any
        // other keeps `.` as one character.
        let everything = matches!(text, "" | ".*" | "^" | "$" | "^.*" | ".*$");
        Ok(Self { text: text.into(), regex: build(text, !needs_tables(text))?, everything })
    }

    pub(crate) fn is_match(&self, text: &str) -> bool {
        self.regex.is_match(text.as_bytes())
    }

    /// Whether it is one of the usual ways to write that anything matches.
    pub(crate) fn is_everything(&self) -> bool {
        self.everything
    }
}

fn needs_tables(pattern: &str) -> bool {
    let class = pattern
        .as_bytes()
        .windows(2)
        .any(|pair| pair[0] == b'\\' && b"dDwWsSbBpP".contains(&pair[1]));
    let flags = pattern.split("(?").skip(1).any(|rest| !rest.starts_with([':', 'P', '<']));
    class || flags
}

fn build(text: &str, unicode: bool) -> Result<Regex, String> {
    let config = Regex::config()
        .nfa_size_limit(Some(MAX_PATTERN_BYTES))
        .onepass_size_limit(Some(MAX_CACHE_BYTES))
        .hybrid_cache_capacity(MAX_CACHE_BYTES)
        .which_captures(WhichCaptures::None)
        .utf8_empty(false);
    let syntax = syntax::Config::new().unicode(unicode).utf8(false).nest_limit(64);
    let built = Regex::builder().configure(config).syntax(syntax).build(text);
    built.map_err(|error| match (error.syntax_error(), error.size_limit()) {
        (Some(error), _) => {
            let text = error.to_string();
            text.lines().last().unwrap_or_default().trim_start_matches("error: ").to_owned()
        }
        (None, Some(_)) => format!("it takes more than {MAX_PATTERN_BYTES} bytes once it is built"),
        (None, None) => error.to_string(),
    })
}

/// A path pattern: `*` and `?` within a component, `**` across components, `{a,b}` either.
/// It runs as a regular expression, whose time is linear in the text.
pub(crate) struct Glob {
    text: Box<str>,
    regex: Regex,
    /// What every match begins with.
    prefix: Box<str>,
    everything: bool,
}

impl Glob {
    pub(crate) fn new(pattern: &str) -> Result<Self, String> {
        let regex = build(&translate(pattern)?, true)?;
        let plain = pattern.find(['*', '?', '{', '}', '\\']).unwrap_or(pattern.len());
        let everything = pattern == "**";
        Ok(Self { text: pattern.into(), regex, prefix: pattern[..plain].into(), everything })
    }

    pub(crate) fn is_match(&self, text: &str) -> bool {
        text.starts_with(&*self.prefix) && self.regex.is_match(text.as_bytes())
    }

    /// Whether any text matches.
    pub(crate) fn is_everything(&self) -> bool {
        self.everything
    }

    /// What every match begins with, if that tells anything apart.
    pub(crate) fn literal_prefix(&self) -> Option<Box<str>> {
        (self.prefix.len() > 1).then(|| self.prefix.clone())
    }
}

// What is built from a text holds caches that differ from one build to the next; the text is what
// tells two patterns apart.
impl fmt::Debug for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Pattern").field(&self.text).finish()
    }
}

impl fmt::Debug for Glob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Glob").field(&self.text).finish()
    }
}

/// The regular expression that means the same as a glob.
fn translate(pattern: &str) -> Result<String, String> {
    let mut regex = String::from(r"(?s)\A(?:");
    // For every open brace, whether a component starts where it stands.
    let mut braces: Vec<bool> = Vec::new();
    let mut rest = pattern;
    // Whether a component starts here, which is when `**/` may also stand for no component.
    let mut component_start = true;
    while let Some(c) = rest.chars().next() {
        rest = &rest[c.len_utf8()..];
        match c {
            '*' if rest.starts_with('*') => {
                rest = rest.trim_start_matches('*');
                if component_start && let Some(after) = rest.strip_prefix('/') {
                    rest = after;
                    regex.push_str("(?:.*/)?");
                    continue;
                }
                regex.push_str(".*");
            }
            '*' => regex.push_str("[^/]*"),
            '?' => regex.push_str("[^/]"),
            '{' if braces.len() == MAX_BRACES => {
                return Err("the braces nest too deeply".to_owned());
            }
            '{' => {
                braces.push(component_start);
                regex.push_str("(?:");
                continue;
            }
            ',' if !braces.is_empty() => {
                component_start = braces.last().copied().unwrap_or_default();
                regex.push('|');
                continue;
            }
            '}' if braces.pop().is_some() => regex.push(')'),
            '}' => return Err("a `}` closes nothing".to_owned()),
            '\\' => {
                let Some(literal) = rest.chars().next() else {
                    return Err("the pattern ends in a backslash".to_owned());
                };
                rest = &rest[literal.len_utf8()..];
                push_literal(&mut regex, literal);
            }
            _ => push_literal(&mut regex, c),
        }
        component_start = c == '/';
    }
    if !braces.is_empty() {
        return Err("a `{` is not closed".to_owned());
    }
    regex.push_str(r")\z");
    Ok(regex)
}

fn push_literal(regex: &mut String, c: char) {
    let mut buffer = [0; 4];
    regex.push_str(&regex_syntax::escape(c.encode_utf8(&mut buffer)));
}

#[cfg(test)]
#[path = "tests/pattern.rs"]
mod tests;
