//! Who writes: chat ids as WhatsApp knows them, made clean.

use std::fmt;

/// A chat at the provider: `6580000001@c.us`, `…@lid`, `…@g.us`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ChatId(String);

/// Longest chat id taken: real ones have fewer than forty characters.
const CHAT_ID_MAX: usize = 128;

impl ChatId {
    /// Takes an id in any of the forms seen: drops a device suffix, maps `@s.whatsapp.net` to `@c.us`.
    /// None if there is no `@`, nothing before it, or white space or control characters inside.
    pub fn parse(raw: &str) -> Option<Self> {
        let (local, host) = raw.trim().split_once('@')?;
        let local = local.split_once(':').map_or(local, |(before, _device)| before);
        let host = if host == "s.whatsapp.net" { "c.us" } else { host };
        let odd = |text: &str| {
            text.is_empty() || text.chars().any(|c| c.is_whitespace() || c.is_control() || c == '/')
        };
        if odd(local) || odd(host) || local.len() + host.len() > CHAT_ID_MAX {
            return None;
        }
        Some(Self(format!("{local}@{host}")))
    }

    /// The id as the provider takes it.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// What kind of chat the part after the `@` names.
    pub fn kind(&self) -> ChatKind {
        match self.host() {
            Some("g.us") => ChatKind::Group,
            Some("newsletter") => ChatKind::Newsletter,
            Some("broadcast") => ChatKind::Broadcast,
            _ => ChatKind::Person,
        }
    }

    /// Whether the two are of both kinds under which WhatsApp knows a person: by number, and hidden.
    pub fn may_be_same_person_as(&self, other: &Self) -> bool {
        let hosts = [self.host(), other.host()];
        hosts == [Some("lid"), Some("c.us")] || hosts == [Some("c.us"), Some("lid")]
    }

    /// What stands behind the `@`.
    fn host(&self) -> Option<&str> {
        self.0.rsplit_once('@').map(|(_, host)| host)
    }

    /// The phone number, where the id is one (a `@lid` hides it).
    pub fn phone(&self) -> Option<String> {
        let digits = self.0.strip_suffix("@c.us")?;
        digits.bytes().all(|b| b.is_ascii_digit()).then(|| format!("+{digits}"))
    }
}

impl fmt::Display for ChatId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl ChatKind {
    /// Whether the provider takes messages to such a chat: what is said there by others is for everybody, and has nobody behind it.
    pub const fn takes_messages(self) -> bool {
        match self {
            Self::Person | Self::Group => true,
            Self::Newsletter | Self::Broadcast => false,
        }
    }
}

/// Kinds of chats.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChatKind {
    /// One person.
    Person,
    /// A group.
    Group,
    /// A channel that one follows.
    Newsletter,
    /// Stories and broadcast lists.
    Broadcast,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dirty_ids_are_made_clean_and_nonsense_is_refused() {
        let clean = |raw| ChatId::parse(raw).map(|id| id.as_str().to_owned());
        for (raw, wanted) in [
            ("6580000001@c.us", Some("6580000001@c.us")),
            ("6580000001:3@c.us", Some("6580000001@c.us")),
            ("6580000001@s.whatsapp.net", Some("6580000001@c.us")),
            ("100000000000001@lid", Some("100000000000001@lid")),
            ("status@broadcast", Some("status@broadcast")),
            ("", None),
            ("6580000001", None),
            ("@c.us", None),
            ("1 2@c.us", None),
            ("a/b@c.us", None),
            ("a\u{7}b@c.us", None),
            ("6580000001@", None),
            ("6580000001@c. us", None),
        ] {
            assert_eq!(clean(raw).as_deref(), wanted, "{raw:?}");
        }
    }

    #[test]
    fn an_id_longer_than_any_real_one_is_refused() {
        let of_length = |length: usize| ChatId::parse(&format!("{}@c.us", "1".repeat(length - 4)));
        assert_eq!(of_length(CHAT_ID_MAX).map(|id| id.to_string().len()), Some(CHAT_ID_MAX + 1));
        assert_eq!(of_length(CHAT_ID_MAX + 1), None);
    }

    #[test]
    fn the_kind_of_a_chat_is_read_off_its_end() {
        for (raw, kind, takes_messages) in [
            ("6580000001@c.us", ChatKind::Person, true),
            ("100000000000001@lid", ChatKind::Person, true),
            ("120363000000000001@g.us", ChatKind::Group, true),
            ("120363000000000002@newsletter", ChatKind::Newsletter, false),
            ("status@broadcast", ChatKind::Broadcast, false),
        ] {
            assert_eq!(ChatId::parse(raw).map(|id| id.kind()), Some(kind), "{raw}");
            assert_eq!(kind.takes_messages(), takes_messages, "{raw}");
        }
    }

    #[test]
    fn only_a_phone_number_is_shown_as_one() {
        assert_eq!(
            ChatId::parse("6580000001@c.us").and_then(|id| id.phone()).as_deref(),
            Some("+6580000001")
        );
        assert_eq!(ChatId::parse("100000000000001@lid").and_then(|id| id.phone()), None);
    }
}
