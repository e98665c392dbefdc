//! The tests that rules make on paths, addresses and names.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use regex::bytes::{Regex, RegexBuilder};

/// A pattern's compiled size; larger ones are refused when they are loaded.
const MAX_PATTERN_BYTES: usize = 1 << 20;

/// How deep `{a,{b,c}}` may nest.
const MAX_BRACES: usize = 16;

/// Whether `path` is `dir` or lies below it, compared component by component. A path that still
/// holds `.` or `..` is under nothing: where it leads is not known from its text.
pub(crate) fn under(path: &str, dir: &str) -> bool {
    if dir.is_empty() || path.starts_with('/') != dir.starts_with('/') {
        return false;
    }
    let unresolved = |text: &str| text.split('/').any(|part| part == "." || part == "..");
    if path.is_empty() || unresolved(path) || unresolved(dir) {
        return false;
    }
    let mut parts = path.split('/').filter(|part| !part.is_empty());
    dir.split('/').filter(|part| !part.is_empty()).all(|wanted| parts.next() == Some(wanted))
}

/// A regular expression in linear time. `\d`, `\w` and `(?i)` speak of ASCII, as in RE2.
#[derive(Debug)]
pub(crate) struct Pattern(Regex);

impl Pattern {
    pub(crate) fn new(text: &str) -> Result<Self, String> {
        // Which Unicode tables exist depends on how the program is built, and a rule must mean the
        // same in every build. So a pattern that would need them is read as ASCII over bytes; any
        // other keeps `.` as one character.
        build(text, !needs_tables(text)).map(Self)
    }

    pub(crate) fn is_match(&self, text: &str) -> bool {
        self.0.is_match(text.as_bytes())
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
    RegexBuilder::new(text)
        .unicode(unicode)
        .size_limit(MAX_PATTERN_BYTES)
        .dfa_size_limit(MAX_PATTERN_BYTES)
        .nest_limit(64)
        .build()
        .map_err(|error| {
            let text = error.to_string();
            text.lines().last().unwrap_or_default().trim_start_matches("error: ").to_owned()
        })
}

/// A path pattern: `*` and `?` within a component, `**` across components, `{a,b}` either.
/// It runs as a regular expression, whose time is linear in the text.
#[derive(Debug)]
pub(crate) struct Glob(Regex);

impl Glob {
    pub(crate) fn new(pattern: &str) -> Result<Self, String> {
        build(&translate(pattern)?, true).map(Self)
    }

    pub(crate) fn is_match(&self, text: &str) -> bool {
        self.0.is_match(text.as_bytes())
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
    regex.push_str(&regex::escape(c.encode_utf8(&mut buffer)));
}

/// A range of addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Network {
    base: IpAddr,
    length: u32,
}

impl Network {
    /// Reads `10.0.0.0/8` or a lone address.
    pub(crate) fn new(text: &str) -> Result<Self, String> {
        let (base, length) = match text.split_once('/') {
            Some((base, length)) => (base, Some(length)),
            None => (text, None),
        };
        let base: IpAddr = base.parse().map_err(|_| format!("`{base}` is not an IP address"))?;
        let bits = if base.is_ipv4() { 32 } else { 128 };
        let length = match length {
            None => bits,
            Some(digits) => digits
                .parse()
                .ok()
                .filter(|length| *length <= bits)
                .ok_or_else(|| format!("`/{digits}` is not a prefix length up to {bits}"))?,
        };
        let network = Self { base, length };
        if network.key(base) != Some(value(base)) {
            return Err(format!("`{text}` has bits set after its prefix of {length}"));
        }
        Ok(network)
    }

    /// Whether the address lies in the range, or none if the text is no address. A v4 address
    /// written as v6 counts as the v4 address.
    pub(crate) fn contains(self, ip: &str) -> Option<bool> {
        let bare = ip.split('%').next().unwrap_or(ip);
        let address = bare.parse::<IpAddr>().ok()?;
        let address = if self.base.is_ipv4() { address.to_canonical() } else { address };
        Some(self.key(address) == Some(value(self.base)))
    }

    /// The address with all bits after the prefix cleared, or none in the other family.
    fn key(self, address: IpAddr) -> Option<u128> {
        if address.is_ipv4() != self.base.is_ipv4() {
            return None;
        }
        let bits = if address.is_ipv4() { 32 } else { 128 };
        let mask = u128::MAX.checked_shl(bits - self.length).unwrap_or(0);
        Some(value(address) & mask)
    }
}

fn value(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(v4) => u128::from(Ipv4Addr::to_bits(v4)),
        IpAddr::V6(v6) => Ipv6Addr::to_bits(v6),
    }
}

/// A host name, or `*.` and a domain, which stands for every name below it and not for itself.
#[derive(Debug)]
pub(crate) struct HostPattern {
    name: String,
    below: bool,
}

impl HostPattern {
    pub(crate) fn new(text: &str) -> Result<Self, String> {
        let (below, name) = match text.strip_prefix("*.") {
            Some(domain) => (true, domain),
            None => (false, text),
        };
        let name = name.strip_suffix('.').unwrap_or(name);
        if name.is_empty() || name.split('.').any(str::is_empty) {
            return Err(format!("`{text}` is not a host name"));
        }
        if name.contains('*') {
            return Err("a `*` may only stand first, as in `*.example.com`".to_owned());
        }
        Ok(Self { name: name.to_owned(), below })
    }

    pub(crate) fn is_match(&self, host: &str) -> bool {
        let host = host.strip_suffix('.').unwrap_or(host);
        if !self.below {
            return host.eq_ignore_ascii_case(&self.name);
        }
        let Some(split) = host.len().checked_sub(self.name.len() + 1) else { return false };
        // Bytes, since a hostile name may hold multi-byte characters at any offset.
        let (head, tail) = host.as_bytes().split_at(split);
        !head.is_empty()
            && tail.first() == Some(&b'.')
            && tail.get(1..).is_some_and(|t| t.eq_ignore_ascii_case(self.name.as_bytes()))
    }
}

#[cfg(test)]
#[path = "tests/functions.rs"]
mod tests;
