//! Network addresses, one by one or by the block, and where a request came from before it passed proxies.

use std::{net::IpAddr, str::FromStr};

/// A block of addresses: those that begin with the same bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Block {
    begins: IpAddr,
    bits: u32,
}

impl Block {
    fn has(self, address: IpAddr) -> bool {
        match (self.begins, address) {
            (IpAddr::V4(one), IpAddr::V4(other)) => {
                // With no bits, all of them are shifted out.
                (one.to_bits() ^ other.to_bits()).checked_shr(32 - self.bits).unwrap_or(0) == 0
            }
            (IpAddr::V6(one), IpAddr::V6(other)) => {
                (one.to_bits() ^ other.to_bits()).checked_shr(128 - self.bits).unwrap_or(0) == 0
            }
            (IpAddr::V4(_), IpAddr::V6(_)) | (IpAddr::V6(_), IpAddr::V4(_)) => false,
        }
    }
}

/// Several of them, comma-separated: `10.0.0.0/8, ::1`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Networks(Vec<Block>);

impl Networks {
    /// Whether an address is in one of them.
    pub fn have(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        self.0.iter().any(|block| block.has(address))
    }

    /// Where a request came from: the client that connected to us, or, if that is a proxy of ours, the one it names, and so on
    /// back. `forwarded` is `X-Forwarded-For`: each proxy appends who connected to it. Anybody may have written what comes
    /// before an address that is not one of ours.
    pub fn origin(&self, connected: IpAddr, forwarded: &str) -> IpAddr {
        let mut origin = connected.to_canonical();
        for named in forwarded.rsplit(',') {
            if !self.have(origin) {
                break;
            }
            match named.trim().parse::<IpAddr>() {
                Ok(address) => origin = address.to_canonical(),
                Err(_) => break,
            }
        }
        origin
    }
}

impl FromStr for Networks {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let words = text.split(',').map(str::trim).filter(|word| !word.is_empty());
        words.map(block).collect::<Result<_, _>>().map(Self)
    }
}

fn block(word: &str) -> Result<Block, String> {
    let wrong = || format!("{word:?} is neither an IP address nor a block of them, such as 10.0.0.0/8");
    let (address, bits) = word.split_once('/').map_or((word, None), |(address, bits)| (address, Some(bits)));
    let begins: IpAddr = address.parse().map_err(|_| wrong())?;
    let most = if begins.is_ipv4() { 32 } else { 128 };
    let bits = bits.map_or(Ok(most), str::parse).map_err(|_| wrong())?;
    if bits > most {
        return Err(wrong());
    }
    Ok(Block { begins, bits })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn networks(text: &str) -> Networks {
        text.parse().unwrap_or_else(|wrong| panic!("{wrong}"))
    }

    fn address(text: &str) -> IpAddr {
        text.parse().unwrap_or_else(|wrong| panic!("{text}: {wrong}"))
    }

    #[test]
    fn a_block_has_the_addresses_that_begin_as_it_does() {
        for (text, of, is_in) in [
            ("10.0.0.0/8", "10.255.1.2", true),
            ("10.0.0.0/8", "11.0.0.0", false),
            ("192.168.1.7", "192.168.1.7", true),
            ("192.168.1.7", "192.168.1.6", false),
            ("192.168.1.7", "::ffff:192.168.1.7", true),
            ("0.0.0.0/0", "203.0.113.9", true),
            ("0.0.0.0/0", "2001:db8::1", false),
            ("::/0", "2001:db8::1", true),
            ("2001:db8::/32, ::1", "2001:db8:ffff::1", true),
            ("2001:db8::/32, ::1", "::1", true),
            ("2001:db8::/32", "2001:db9::1", false),
            ("", "10.0.0.1", false),
        ] {
            assert_eq!(networks(text).have(address(of)), is_in, "{of} in {text:?}");
        }
        for wrong in ["localhost", "10.0.0.0/33", "10.0.0.0/", "10.0.0.0/-1", "::/129", "10.0.0.0/8/8"] {
            assert!(wrong.parse::<Networks>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn only_what_our_own_proxies_say_is_believed() {
        let ours = "127.0.0.1, 10.0.0.0/8";
        for (trusted, connected, forwarded, wanted) in [
            ("", "127.0.0.1", "203.0.113.9", "127.0.0.1"),
            (ours, "203.0.113.5", "203.0.113.9", "203.0.113.5"),
            (ours, "127.0.0.1", "203.0.113.9", "203.0.113.9"),
            (ours, "127.0.0.1", "6.6.6.6, 203.0.113.9", "203.0.113.9"),
            (ours, "127.0.0.1", "6.6.6.6, 203.0.113.9, 10.0.0.7", "203.0.113.9"),
            (ours, "127.0.0.1", "10.1.1.1, 10.0.0.7", "10.1.1.1"),
            (ours, "127.0.0.1", "", "127.0.0.1"),
            (ours, "127.0.0.1", "203.0.113.9, unknown, 10.0.0.7", "10.0.0.7"),
            (ours, "::ffff:127.0.0.1", "2001:db8::9", "2001:db8::9"),
        ] {
            let origin = networks(trusted).origin(address(connected), forwarded);
            assert_eq!(origin, address(wanted), "{connected} {forwarded:?} {trusted:?}");
        }
    }
}
