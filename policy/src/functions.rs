//! The tests that rules make on paths, addresses and host names.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

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
    let mut parts = components(path);
    components(dir).all(|wanted| parts.next() == Some(wanted))
}

/// The names between the slashes of a path.
pub(crate) fn components(path: &str) -> impl Iterator<Item = &str> {
    path.split('/').filter(|part| !part.is_empty())
}

/// The address that a text writes, whatever scope follows it.
pub(crate) fn address(text: &str) -> Option<IpAddr> {
    text.split('%').next().unwrap_or(text).parse().ok()
}

/// A range of addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
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
        let address = address(ip)?;
        let address = if self.base.is_ipv4() { address.to_canonical() } else { address };
        Some(self.key(address) == Some(value(self.base)))
    }

    /// The network of that prefix length that an address lies in.
    pub(crate) fn around(ip: IpAddr, length: u32) -> Option<Self> {
        let masked = Self { base: ip, length }.key(ip)?;
        let base = match ip {
            IpAddr::V4(_) => IpAddr::V4(u32::try_from(masked).ok()?.into()),
            IpAddr::V6(_) => IpAddr::V6(masked.into()),
        };
        Some(Self { base, length })
    }

    /// Whether it is of the fourth version, its prefix length, and its bits.
    pub(crate) fn parts(self) -> (bool, u32, u128) {
        (self.base.is_ipv4(), self.length, value(self.base))
    }

    /// Whether every address of its version lies in it.
    pub(crate) fn is_everything(self) -> bool {
        self.length == 0
    }

    /// Whether every address of another network lies in this one.
    pub(crate) fn covers(self, other: Self) -> bool {
        self.length <= other.length && self.key(other.base) == Some(value(self.base))
    }

    /// The address with all bits after the prefix cleared, or none in the other family.
    fn key(self, address: IpAddr) -> Option<u128> {
        if address.is_ipv4() != self.base.is_ipv4() {
            return None;
        }
        let bits: u32 = if address.is_ipv4() { 32 } else { 128 };
        let mask = u128::MAX.checked_shl(bits.checked_sub(self.length)?).unwrap_or(0);
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

    /// The name, without `*.`.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Whether it stands for the names below.
    pub(crate) fn is_below(&self) -> bool {
        self.below
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
