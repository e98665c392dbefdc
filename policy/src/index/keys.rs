//! The keys on one fact: hashes of what conditions compare it with, and the rules behind each.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::net::IpAddr;

use super::Candidates;
use crate::functions::{Network, address, components};
use crate::guard::Key;

type Lists = HashMap<u64, Vec<u32>, BuildHasherDefault<Itself>>;

/// The keys on one fact.
#[derive(Clone, Debug, Default)]
pub(super) struct FactTable {
    equal: Lists,
    under: Lists,
    prefixes: Lists,
    prefix_lengths: Vec<usize>,
    suffixes: Lists,
    suffix_lengths: Vec<usize>,
    hosts: Lists,
    domains: Lists,
    networks: Lists,
    network_lengths: Vec<(bool, u32)>,
    /// Every rule that asks whether this is an address in some network.
    any_network: Vec<u32>,
}

/// Keys of the tables are hashes already.
#[derive(Clone, Copy, Debug, Default)]
struct Itself(u64);

impl Hasher for Itself {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        self.0 = Fnv::of(bytes.iter().copied()).0;
    }

    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }
}

#[derive(Clone, Copy, Debug)]
struct Fnv(u64);

impl Fnv {
    const EMPTY: Self = Self(0xcbf2_9ce4_8422_2325);

    fn of(bytes: impl Iterator<Item = u8>) -> Self {
        bytes.fold(Self::EMPTY, Self::with)
    }

    fn with(self, byte: u8) -> Self {
        Self((self.0 ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
    }

    fn with_component(self, part: &str) -> Self {
        part.bytes().fold(self.with(b'/'), Self::with)
    }

    fn of_network(network: Network) -> Self {
        let (v4, length, bits) = network.parts();
        let head = [u8::from(v4), u8::try_from(length).unwrap_or(u8::MAX)];
        Self::of(head.into_iter().chain(bits.to_le_bytes()))
    }
}

impl Key {
    /// The fact that it is about.
    pub(super) fn fact(&self) -> usize {
        match self {
            Self::Equal(fact, _)
            | Self::Under(fact, _)
            | Self::Prefix(fact, _)
            | Self::Suffix(fact, _)
            | Self::Host(fact, ..)
            | Self::Cidr(fact, _)
            | Self::Number(fact, _)
            | Self::Member(fact, _) => *fact,
        }
    }
}

fn push(list: &mut Vec<u32>, rule: u32) {
    if list.last() != Some(&rule) {
        list.push(rule);
    }
}

impl FactTable {
    pub(super) fn add(&mut self, key: &Key, rule: u32) {
        let list = match key {
            Key::Equal(_, text) | Key::Member(_, text) => self.equal.entry(Fnv::of(text.bytes()).0),
            Key::Number(_, number) => self.equal.entry(Fnv::of(number.to_le_bytes().into_iter()).0),
            Key::Under(_, dir) => {
                let hash = components(dir).fold(Fnv::EMPTY, Fnv::with_component);
                self.under.entry(hash.0)
            }
            Key::Prefix(_, text) => {
                self.prefix_lengths.push(text.len());
                self.prefixes.entry(Fnv::of(text.bytes()).0)
            }
            Key::Suffix(_, text) => {
                self.suffix_lengths.push(text.len());
                self.suffixes.entry(Fnv::of(text.bytes().rev()).0)
            }
            Key::Host(_, name, below) => {
                let names = if *below { &mut self.domains } else { &mut self.hosts };
                names.entry(Fnv::of(name.bytes().rev()).0)
            }
            Key::Cidr(_, network) => {
                push(&mut self.any_network, rule);
                let (v4, length, _) = network.parts();
                self.network_lengths.push((v4, length));
                self.networks.entry(Fnv::of_network(*network).0)
            }
        };
        push(list.or_default(), rule);
    }

    pub(super) fn finish(&mut self) {
        for lengths in [&mut self.prefix_lengths, &mut self.suffix_lengths] {
            lengths.sort_unstable();
            lengths.dedup();
        }
        self.network_lengths.sort_unstable();
        self.network_lengths.dedup();
    }

    pub(super) fn look_up_number<'i>(&'i self, number: i64, found: &mut Candidates<'i>) {
        found.gather(self.equal.get(&Fnv::of(number.to_le_bytes().into_iter()).0));
    }

    pub(super) fn look_up_member<'i>(&'i self, item: &str, found: &mut Candidates<'i>) {
        found.gather(self.equal.get(&Fnv::of(item.bytes()).0));
    }

    pub(super) fn look_up<'i>(&'i self, text: &str, found: &mut Candidates<'i>) {
        if !self.equal.is_empty() {
            found.gather(self.equal.get(&Fnv::of(text.bytes()).0));
        }
        if !self.under.is_empty() {
            let mut hash = Fnv::EMPTY;
            found.gather(self.under.get(&hash.0));
            for part in components(text) {
                hash = hash.with_component(part);
                found.gather(self.under.get(&hash.0));
            }
        }
        at_lengths(&self.prefixes, &self.prefix_lengths, text.bytes(), found);
        at_lengths(&self.suffixes, &self.suffix_lengths, text.bytes().rev(), found);
        if !(self.hosts.is_empty() && self.domains.is_empty()) {
            self.look_up_host(text, found);
        }
        if !self.networks.is_empty() {
            self.look_up_address(text, found);
        }
    }

    /// Walks a name from its end; before each dot stands something below what was walked.
    fn look_up_host<'i>(&'i self, host: &str, found: &mut Candidates<'i>) {
        let host = host.strip_suffix('.').unwrap_or(host).as_bytes();
        let mut hash = Fnv::EMPTY;
        for (left, byte) in host.iter().enumerate().rev() {
            if *byte == b'.' && left > 0 {
                found.gather(self.domains.get(&hash.0));
            }
            hash = hash.with(byte.to_ascii_lowercase());
        }
        found.gather(self.hosts.get(&hash.0));
    }

    fn look_up_address<'i>(&'i self, text: &str, found: &mut Candidates<'i>) {
        if text.is_empty() {
            return;
        }
        // What is no address makes the test fail, and that must be seen.
        let Some(ip) = address(text) else { return found.gather(Some(&self.any_network)) };
        let canonical = ip.to_canonical();
        for (v4, length) in &self.network_lengths {
            let ip = if *v4 { canonical } else { ip };
            if let Some(network) = Network::around(ip, *length).filter(|_| is_v4(ip) == *v4) {
                found.gather(self.networks.get(&Fnv::of_network(network).0));
            }
        }
    }
}

fn is_v4(ip: IpAddr) -> bool {
    ip.is_ipv4()
}

/// Looks up the hash of the first bytes at every length that a key has.
fn at_lengths<'i>(
    lists: &'i Lists,
    lengths: &[usize],
    mut bytes: impl ExactSizeIterator<Item = u8>,
    found: &mut Candidates<'i>,
) {
    let (mut hash, mut read, whole) = (Fnv::EMPTY, 0, bytes.len());
    for length in lengths.iter().take_while(|length| **length <= whole) {
        hash = bytes.by_ref().take(length - read).fold(hash, Fnv::with);
        read = *length;
        found.gather(lists.get(&hash.0));
    }
}
