//! Names are looked up here, and only addresses that anyone may reach come out: what is allowed is a host of the provider,
//! and not what is inside our own network, whatever its name leads to.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use reqwest::dns::{Addrs, Name, Resolve, Resolving};

/// A name leads only to inner addresses.
#[derive(Debug, thiserror::Error)]
#[error("the name leads to no address that anyone may reach")]
pub(super) struct Inside;

/// Looks names up, outside.
pub(super) struct Outside;

impl Resolve for Outside {
    fn resolve(&self, name: Name) -> Resolving {
        Box::pin(async move {
            // The port is set by whoever connects.
            let found = tokio::net::lookup_host((name.as_str(), 0)).await?;
            let outside: Vec<SocketAddr> = found.filter(|address| is_outside(address.ip())).collect();
            if outside.is_empty() {
                return Err(Inside.into());
            }
            Ok(Box::new(outside.into_iter()) as Addrs)
        })
    }
}

/// Whether an address is one of the public internet.
pub(super) fn is_outside(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_v4_outside(address),
        IpAddr::V6(address) => is_v6_outside(address),
    }
}

fn is_v4_outside(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    let is_shared = a == 100 && (64..128).contains(&b);
    let is_protocol = (a, b, c) == (192, 0, 0) || (a, b, c) == (192, 88, 99);
    let is_benchmark = a == 198 && (18..20).contains(&b);
    !(a == 0
        || a >= 224
        || address.is_loopback()
        || address.is_private()
        || address.is_link_local()
        || address.is_documentation()
        || is_shared
        || is_protocol
        || is_benchmark)
}

/// Global unicast and nothing that carries an IPv4 address inside, which would have to be looked at again.
fn is_v6_outside(address: Ipv6Addr) -> bool {
    let [first, second, ..] = address.segments();
    let is_global = first & 0xe000 == 0x2000;
    let is_special = first == 0x2001 && second < 0x0200;
    let is_documentation = (first, second) == (0x2001, 0x0db8) || first & 0xfff0 == 0x3ff0;
    is_global && !is_special && !is_documentation && first != 0x2002
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_anyone_may_reach_is_outside() {
        let inside = [
            "127.0.0.1",
            "127.1.2.3",
            "0.0.0.0",
            "10.0.0.1",
            "172.16.0.1",
            "172.31.255.255",
            "192.168.1.1",
            "169.254.169.254",
            "100.64.0.1",
            "192.0.0.8",
            "192.0.2.1",
            "198.18.0.1",
            "198.51.100.1",
            "203.0.113.1",
            "224.0.0.1",
            "240.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "::ffff:127.0.0.1",
            "::ffff:8.8.8.8",
            "fe80::1",
            "fc00::1",
            "fd00::1",
            "ff02::1",
            "64:ff9b::7f00:1",
            "2002:7f00:1::",
            "2001::1",
            "2001:db8::1",
            "3fff::1",
        ];
        for address in inside {
            assert!(!is_outside(address.parse().expect("an address")), "{address}");
        }
        for address in [
            "8.8.8.8",
            "172.32.0.1",
            "100.128.0.1",
            "192.0.1.1",
            "198.20.0.1",
            "2606:4700::1111",
            "2a00:1450::1",
        ] {
            assert!(is_outside(address.parse().expect("an address")), "{address}");
        }
    }
}
