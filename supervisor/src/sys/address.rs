//! Socket addresses as the caller wrote them: raw bytes of `struct sockaddr`, read field by field.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// What the bytes of a socket address say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Address {
    /// AF_INET and AF_INET6; v4-mapped addresses are already IPv4 here.
    Ip { ip: IpAddr, port: u16, mapped: bool },
    /// A file-system Unix socket.
    UnixPath(Vec<u8>),
    /// An abstract Unix socket, without its leading NUL.
    UnixAbstract(Vec<u8>),
    /// AF_UNIX with no name: autobind, never a destination.
    UnixUnnamed,
    /// AF_NETLINK: the kernel itself, or another process's port.
    Netlink { port: u32, groups: u32 },
    /// AF_UNSPEC: dissolves an association when connecting.
    Unspecified,
    /// Any other family.
    Other(u16),
}

impl Address {
    /// Reads an address; `None` where it is too short for what it claims.
    pub(crate) fn parse(bytes: &[u8]) -> Option<Self> {
        let family = u16::from_ne_bytes(bytes.get(..2)?.try_into().ok()?);
        Some(match i32::from(family) {
            libc::AF_INET => Self::Ip {
                ip: IpAddr::V4(Ipv4Addr::from(<[u8; 4]>::try_from(bytes.get(4..8)?).ok()?)),
                port: big_endian_port(bytes)?,
                mapped: false,
            },
            libc::AF_INET6 => ipv6(bytes)?,
            libc::AF_UNIX => unix(&bytes[2..]),
            libc::AF_NETLINK => Self::Netlink {
                port: u32::from_ne_bytes(bytes.get(4..8)?.try_into().ok()?),
                groups: u32::from_ne_bytes(bytes.get(8..12)?.try_into().ok()?),
            },
            libc::AF_UNSPEC => Self::Unspecified,
            _ => Self::Other(family),
        })
    }

    /// For sends and binds the kernel reads AF_UNSPEC as AF_INET.
    pub(crate) fn parse_for_send(bytes: &[u8]) -> Option<Self> {
        match Self::parse(bytes)? {
            Self::Unspecified if bytes.len() >= 16 => {
                let mut copy = bytes.to_vec();
                copy[..2].copy_from_slice(&(libc::AF_INET as u16).to_ne_bytes());
                Self::parse(&copy)
            }
            address => Some(address),
        }
    }
}

fn big_endian_port(bytes: &[u8]) -> Option<u16> {
    Some(u16::from_be_bytes(bytes.get(2..4)?.try_into().ok()?))
}

fn ipv6(bytes: &[u8]) -> Option<Address> {
    // The kernel demands the bytes up to and including the address (SIN6_LEN_RFC2133).
    let octets = <[u8; 16]>::try_from(bytes.get(8..24)?).ok()?;
    let address = Ipv6Addr::from(octets);
    let port = big_endian_port(bytes)?;
    Some(match address.to_ipv4_mapped() {
        Some(v4) => Address::Ip { ip: IpAddr::V4(v4), port, mapped: true },
        None => Address::Ip { ip: IpAddr::V6(address), port, mapped: false },
    })
}

fn unix(path: &[u8]) -> Address {
    match path.first() {
        None => Address::UnixUnnamed,
        Some(0) => Address::UnixAbstract(path[1..].to_vec()),
        Some(_) => {
            let end = path.iter().position(|byte| *byte == 0).unwrap_or(path.len());
            Address::UnixPath(path[..end].to_vec())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn v4(last: u8, port: u16) -> Vec<u8> {
        let mut bytes = (libc::AF_INET as u16).to_ne_bytes().to_vec();
        bytes.extend(port.to_be_bytes());
        bytes.extend([127, 0, 0, last]);
        bytes.resize(16, 0);
        bytes
    }

    #[test]
    fn mapped_addresses_read_as_ipv4() {
        let mut bytes = (libc::AF_INET6 as u16).to_ne_bytes().to_vec();
        bytes.extend(80_u16.to_be_bytes());
        bytes.extend([0; 4]);
        bytes.extend("::ffff:10.1.2.3".parse::<Ipv6Addr>().unwrap().octets());
        bytes.extend([0; 4]);
        let expected = Address::Ip { ip: "10.1.2.3".parse().unwrap(), port: 80, mapped: true };
        assert_eq!(Address::parse(&bytes), Some(expected));
    }

    #[test]
    fn a_short_address_is_none() {
        assert_eq!(Address::parse(&v4(1, 80)[..6]), None);
        assert_eq!(Address::parse(&[1]), None);
    }

    #[test]
    fn unspecified_is_ipv4_for_sends_only() {
        let mut bytes = v4(1, 53);
        bytes[..2].fill(0);
        assert_eq!(Address::parse(&bytes), Some(Address::Unspecified));
        assert!(matches!(Address::parse_for_send(&bytes), Some(Address::Ip { port: 53, .. })));
    }

    #[test]
    fn abstract_names_keep_their_nuls() {
        let bytes = [&(libc::AF_UNIX as u16).to_ne_bytes()[..], b"\0a\0b"].concat();
        assert_eq!(Address::parse(&bytes), Some(Address::UnixAbstract(b"a\0b".to_vec())));
    }
}
