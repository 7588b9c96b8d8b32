//! Rule: from which hosts a file may be fetched.
//!
//! In: a list, as a setting says it; a name or an address, and a port. Out: whether it is on the list.

use std::{fmt, net::IpAddr, str::FromStr};

/// The list that allows nothing.
const NONE: &str = "none";

/// Hosts, by name or address.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Hosts(Vec<Entry>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct Entry {
    host: Host,
    /// None: any.
    port: Option<u16>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Host {
    /// Labels, first to last. `*` stands for any letters, digits and hyphens; alone in front, for one label or more.
    Name(Vec<String>),
    Address(IpAddr),
}

impl Hosts {
    /// Whether nothing is on it.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether that name is on it.
    pub fn names(&self, name: &str, port: u16) -> bool {
        let name = name.strip_suffix('.').unwrap_or(name).to_ascii_lowercase();
        let labels: Vec<&str> = name.split('.').collect();
        self.0.iter().any(|entry| {
            entry.port.is_none_or(|wanted| wanted == port)
                && matches!(&entry.host, Host::Name(wanted) if is_like(wanted, &labels))
        })
    }

    /// Whether that very address is on it. A name that leads there says nothing of it.
    pub fn has_address(&self, address: IpAddr, port: u16) -> bool {
        self.0.iter().any(|entry| {
            entry.port.is_none_or(|wanted| wanted == port) && entry.host == Host::Address(address)
        })
    }
}

fn is_like(wanted: &[String], labels: &[&str]) -> bool {
    let labels = match wanted.first() {
        Some(first) if first == "*" && labels.len() > wanted.len() => &labels[labels.len() - wanted.len()..],
        _ => labels,
    };
    wanted.len() == labels.len()
        && wanted.iter().zip(labels).all(|(wanted, label)| is_label_like(wanted, label))
}

fn is_label_like(wanted: &str, label: &str) -> bool {
    let mut pieces = wanted.split('*');
    let Some(mut rest) = pieces.next().and_then(|first| label.strip_prefix(first)) else { return false };
    let Some(last) = pieces.next_back() else { return rest.is_empty() };
    for piece in pieces {
        let Some(at) = rest.find(piece) else { return false };
        rest = &rest[at + piece.len()..];
    }
    rest.ends_with(last)
}

impl FromStr for Hosts {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text.trim() == NONE {
            return Ok(Self::default());
        }
        text.split(',').map(|word| word.trim().parse()).collect::<Result<_, _>>().map(Self)
    }
}

impl FromStr for Entry {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, Self::Err> {
        let wrong = || format!("{word:?} is no host: a name, `*.` and a name, or an address; none: nothing");
        // An IPv6 address has colons of its own, so with a port it stands in brackets.
        if let Ok(address) = word.trim_matches(['[', ']']).parse() {
            return Ok(Self { host: Host::Address(address), port: None });
        }
        let (host, port) = match word.rsplit_once(':') {
            Some((host, port)) => (host, Some(port.parse().map_err(|_| wrong())?)),
            None => (word, None),
        };
        if let Ok(address) = host.trim_matches(['[', ']']).parse() {
            return Ok(Self { host: Host::Address(address), port });
        }
        let labels: Vec<String> = host.to_ascii_lowercase().split('.').map(str::to_owned).collect();
        let is_label = |label: &String| {
            !label.is_empty()
                && label.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '*' | '_'))
        };
        // Somebody else's names must not be on the list: what stands for any stands below a name and its domain.
        let is_below =
            labels.len() == 1 || !labels[labels.len() - 2..].iter().any(|label| label.contains('*'));
        let is_named = labels.len() > 1 || !labels[0].contains('*');
        if !labels.iter().all(is_label) || !is_below || !is_named {
            return Err(wrong());
        }
        Ok(Self { host: Host::Name(labels), port })
    }
}

impl fmt::Display for Hosts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_empty() {
            return f.write_str(NONE);
        }
        for (n, entry) in self.0.iter().enumerate() {
            let comma = if n == 0 { "" } else { "," };
            match &entry.host {
                Host::Name(labels) => write!(f, "{comma}{}", labels.join("."))?,
                Host::Address(IpAddr::V4(address)) => write!(f, "{comma}{address}")?,
                Host::Address(IpAddr::V6(address)) => write!(f, "{comma}[{address}]")?,
            }
            entry.port.map_or(Ok(()), |port| write!(f, ":{port}"))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_on_the_list_by_itself_or_by_what_stands_for_it() {
        let list = "media.example.com, *.greenapi.example,do-media-*.fra1.example.net,files.example.com:8443";
        let hosts: Hosts = list.parse().expect("a list");
        #[rustfmt::skip]
        let table = [
            ("media.example.com",               443, true),
            ("MEDIA.example.com.",              80,  true),
            ("other.example.com",               443, false),
            ("media.example.com.evil.test",     443, false),
            ("evilmedia.example.com",           443, false),
            ("7103.greenapi.example",           443, true),
            ("7103.media.greenapi.example",     443, true),
            ("greenapi.example",                443, false),
            ("evilgreenapi.example",            443, false),
            ("do-media-7103.fra1.example.net",  443, true),
            ("do-media-.fra1.example.net",      443, true),
            ("a.do-media-7103.fra1.example.net", 443, false),
            ("do-media-7103.evil.example.net",  443, false),
            ("files.example.com",               8443, true),
            ("files.example.com",               443, false),
            ("",                                443, false),
            ("127.0.0.1",                       443, false),
        ];
        for (name, port, is_on) in table {
            assert_eq!(hosts.names(name, port), is_on, "{name}:{port}");
        }
    }

    #[test]
    fn an_address_is_on_the_list_only_by_itself() {
        let hosts: Hosts = "127.0.0.1:9000,[::1]:9000,10.0.0.7,localhost".parse().expect("a list");
        let address = |text: &str| text.parse::<IpAddr>().expect("an address");
        assert!(hosts.has_address(address("127.0.0.1"), 9000) && hosts.has_address(address("::1"), 9000));
        assert!(hosts.has_address(address("10.0.0.7"), 1) && hosts.names("localhost", 1));
        assert!(
            !hosts.has_address(address("127.0.0.1"), 80) && !hosts.has_address(address("127.0.0.2"), 9000)
        );
    }

    #[test]
    fn a_list_reads_as_it_was_written_and_nonsense_is_refused() {
        for text in ["none", "*.a.test,b.test:81,10.0.0.1,[::1]:80"] {
            assert_eq!(text.parse::<Hosts>().expect("a list").to_string(), text);
        }
        assert!("none".parse::<Hosts>().expect("a list").is_empty());
        for wrong in [
            "",
            "*",
            "*.com",
            "a.*",
            "a..b",
            "https://a.test",
            "a.test/x",
            "a.test:x",
            "a.test,,b.test",
            "a b",
        ] {
            assert!(wrong.parse::<Hosts>().is_err(), "{wrong}");
        }
    }
}
