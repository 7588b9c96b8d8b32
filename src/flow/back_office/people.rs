//! Place: the agents of the business, their sessions, and the links with which they sign in first.

pub mod password;

pub mod throttle;

pub mod refusals;

use async_trait::async_trait;
use base64::Engine as _;
use sha2::{Digest as _, Sha256};
use uuid::Uuid;

use crate::{
    domain::{
        docket::Entry,
        event::{AGENT, Event, EventType},
        time::Time,
        words::words,
    },
    flow::ledger::Error,
};

/// Longest name of an agent, or of a token, in characters.
pub const NAME_MAX: usize = 100;
/// Longest e-mail address there is (RFC 5321).
pub const EMAIL_MAX: usize = 254;
/// Shortest password, in characters.
const PASSWORD_MIN: usize = 8;
/// Longest password, in characters.
pub const PASSWORD_MAX: usize = 200;
/// The first agent's address, until they give their own.
pub const FIRST_EMAIL: &str = "admin@localhost";

words! {
    /// What an agent may do.
    Role {
        /// Everything.
        Admin = "admin",
        /// Read and answer conversations.
        Agent = "agent",
    }
}

/// A person of the business.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Agent {
    /// Ours.
    pub id: Uuid,
    /// For people.
    pub name: String,
    /// Belongs to one agent, in whatever case it is written.
    pub email: String,
    /// What they may do.
    pub role: Role,
    /// On which channels; None: on all.
    pub channels: Option<Vec<String>>,
    /// They are not let in.
    pub is_disabled: bool,
    /// When they were added.
    pub created_at: Time,
    /// When something of this was last changed.
    pub updated_at: Time,
}

impl Agent {
    /// Whether what is on that channel is there for them.
    pub fn sees(&self, channel: &str) -> bool {
        self.channels.as_ref().is_none_or(|seen| seen.iter().any(|name| name == channel))
    }

    /// Whether they see some of these channels, and no other.
    pub fn is_within(&self, channels: &[String]) -> bool {
        let is_one = |name| channels.contains(name);
        self.channels.as_ref().is_some_and(|seen| !seen.is_empty() && seen.iter().all(is_one))
    }
}

/// What is to be changed of an agent; what is None stays.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Change {
    /// For people.
    pub name: Option<String>,
    /// Another address.
    pub email: Option<String>,
    /// Another role. An agent who may do more by it loses all sessions and links.
    pub role: Option<Role>,
    /// Other channels, or all. An agent who sees more by it loses all sessions and links.
    pub channels: Option<Option<Vec<String>>>,
    /// Enabled or disabled. A disabled agent loses all sessions and links.
    pub is_disabled: Option<bool>,
    /// The hash of another password. Sessions and links from before it are over.
    pub password: Option<String>,
    /// The one session that continues: that in which the password is changed.
    pub spared: Option<String>,
    /// What their dashboard wants to find again: JSON, kept as it is.
    pub preferences: Option<String>,
    /// Only while they see some of these channels and no other, as when whoever changes them looked. None: whatever they see.
    pub within: Option<Vec<String>>,
}

impl Change {
    /// Whether who is signed in as that agent must sign in again: what they came with was good for less, and a link for it may
    /// have been made by somebody who may do no more than that.
    pub fn ends_sessions(&self, agent: &Agent) -> bool {
        let may_more = self.role == Some(Role::Admin) && agent.role != Role::Admin;
        let sees_more = match (&agent.channels, &self.channels) {
            (Some(_), Some(None)) => true,
            (Some(_), Some(Some(names))) => !names.iter().all(|name| agent.sees(name)),
            (None, _) | (_, None) => false,
        };
        self.is_disabled == Some(true) || self.password.is_some() || may_more || sees_more
    }
}

/// What became of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// It holds.
    Changed,
    /// There is no such agent, or none who sees no more than was said.
    Gone,
    /// Nobody would be left who may do everything, on all channels.
    LastAdmin,
    /// The address is another agent's.
    Taken,
}

/// Somebody who is signed in. Known by the hash of a token that only their browser has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Session {
    /// Of the token.
    pub hash: String,
    /// The agent whose it is.
    pub agent: Uuid,
    /// When they signed in.
    pub created_at: Time,
    /// When it was last renewed.
    pub used_at: Time,
    /// Void after this, unless it is renewed before.
    pub expires_at: Time,
}

/// A link that signs in once. Known by the hash of what it holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    /// Of its secret.
    pub hash: String,
    /// Whom.
    pub agent: Uuid,
    /// When it was made.
    pub created_at: Time,
    /// Void after this.
    pub expires_at: Time,
}

/// The place.
#[async_trait]
pub trait People: Send + Sync {
    /// All agents, by name.
    async fn agents(&self) -> Result<Vec<Agent>, Error>;

    /// One agent.
    async fn agent(&self, id: Uuid) -> Result<Option<Agent>, Error>;

    /// The agent with that address, in whatever case, and the hash of their password if they have one.
    async fn agent_of(&self, email: &str) -> Result<Option<(Agent, Option<String>)>, Error>;

    /// What their dashboard stores here, as it was given: a JSON object. None if there is no such agent.
    async fn preferences(&self, id: Uuid) -> Result<Option<String>, Error>;

    /// Adds an agent with the hash of a password, with a link, or with neither. False, and nothing is added, if the address
    /// is another agent's.
    async fn add_agent(
        &self,
        agent: &Agent,
        password: Option<&str>,
        link: Option<&Link>,
    ) -> Result<bool, Error>;

    /// Adds an agent and their link if there is no agent at all. Of several callers one gets true.
    async fn add_first_agent(&self, agent: &Agent, link: &Link) -> Result<bool, Error>;

    /// Changes an agent, unless nobody would be left who may do everything.
    async fn change_agent(&self, id: Uuid, change: &Change, now: Time) -> Result<Outcome, Error>;

    /// Begins a session of who has shown that password. False if meanwhile it is another, or they are disabled.
    async fn begin_session(&self, session: &Session, password: &str) -> Result<bool, Error>;

    /// Begins a session by a link, which is then used up. None if it was used before, is too old, or leads to nobody
    /// who is let in.
    async fn begin_session_by_link(
        &self,
        link: &str,
        session: &str,
        now: Time,
        until: Time,
    ) -> Result<Option<Uuid>, Error>;

    /// The session with that hash, and whose it is, whether or not it is still good.
    async fn session(&self, hash: &str) -> Result<Option<(Session, Agent)>, Error>;

    /// Whether that session began by a link, then or later.
    async fn came_by_link(&self, session: &str, since: Time) -> Result<bool, Error>;

    /// It is in use, and good until then.
    async fn renew_session(&self, hash: &str, now: Time, until: Time) -> Result<(), Error>;

    /// Ends one. False if there is none.
    async fn end_session(&self, hash: &str) -> Result<bool, Error>;

    /// A link for an agent. False if they are disabled, or see other channels than these; None: whatever they see.
    async fn add_link(&self, link: &Link, within: Option<&[String]>) -> Result<bool, Error>;

    /// Forgets sessions and links that are void since before that moment. Returns how many.
    async fn forget_void(&self, before: Time) -> Result<u64, Error>;
}

/// Tells that an agent was `added`, was `changed`, or keeps other `preferences`: those who see a channel of theirs, as it is or as
/// it was before.
pub fn updated(agent: &Agent, before: Option<&[String]>, action: &'static str, by: &str, now: Time) -> Event {
    Entry::of(EventType::AgentUpdated)
        .action(action)
        .by(by)
        .with(AGENT, agent.id.to_string())
        .for_channels(agent.channels.as_deref(), before)
        .outside("", now)
}

/// A secret that nobody can guess: 256 random bits, in letters for a cookie or an address.
pub fn fresh_secret() -> Result<String, getrandom::Error> {
    let mut random = [0; 32];
    getrandom::fill(&mut random)?;
    Ok(base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(random))
}

/// What is kept of a secret.
pub fn hash_of(secret: &str) -> String {
    hex::encode(Sha256::digest(secret.as_bytes()))
}

/// An address as it is compared.
pub fn folded(email: &str) -> String {
    email.trim().to_lowercase()
}

/// A name as it is kept, or what is wrong with it. It is shown in terminals, too: no control character is part of it.
pub fn checked_name(name: &str) -> Result<String, String> {
    let name = name.trim();
    let is_right = (1..=NAME_MAX).contains(&name.chars().count()) && !name.chars().any(char::is_control);
    if is_right {
        Ok(name.to_owned())
    } else {
        Err(format!("must have 1 to {NAME_MAX} characters, in one line"))
    }
}

/// An address as it is kept, or what is wrong with it. Whether a mailbox is behind it nobody needs to know: it is what the
/// agent signs in with.
pub fn checked_email(email: &str) -> Result<String, String> {
    let email = email.trim();
    let is_odd =
        |c: char| c.is_whitespace() || c.is_control() || matches!(c, ',' | ';' | '<' | '>' | '"' | '\\');
    let is_right = email.len() <= EMAIL_MAX
        && !email.chars().any(is_odd)
        && email.split_once('@').is_some_and(|(who, host)| {
            !who.is_empty()
                && !host.is_empty()
                && !host.contains('@')
                && !host.starts_with('.')
                && !host.ends_with('.')
        });
    if is_right {
        Ok(email.to_owned())
    } else {
        Err("must be an e-mail address such as ana@example.com".to_owned())
    }
}

/// Whether a password will do, or what is wrong with it.
pub fn check_password(password: &str) -> Result<(), String> {
    let is_right = (PASSWORD_MIN..=PASSWORD_MAX).contains(&password.chars().count());
    if is_right { Ok(()) } else { Err(format!("must have {PASSWORD_MIN} to {PASSWORD_MAX} characters")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_like_no_other_and_is_known_by_its_hash() {
        let (one, other) = (fresh_secret().expect("random"), fresh_secret().expect("random"));
        assert!(one.len() == 43 && one != other);
        assert!(one.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_'), "fit for an address");
        assert_eq!(hash_of("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    }

    #[test]
    fn an_address_is_one_word_with_a_host_behind_it() {
        for right in ["ana@example.com", " Ana+shop@Example.com ", "admin@localhost", "ana@例え.jp"] {
            assert_eq!(checked_email(right).as_deref(), Ok(right.trim()), "{right:?}");
        }
        let long = format!("{}@example.com", "a".repeat(EMAIL_MAX));
        for wrong in [
            "",
            "ana",
            "@example.com",
            "ana@",
            "ana@b@c",
            "a na@b.c",
            "ana@.c",
            "ana@b.",
            "a\n@b.c",
            "<a@b.c>",
            &long,
        ] {
            assert!(checked_email(wrong).is_err(), "{wrong:?}");
        }
        assert_eq!(folded(" ANA@Example.COM"), "ana@example.com");
    }

    #[test]
    fn names_and_passwords_have_a_length() {
        assert_eq!(checked_name(" Ana ").as_deref(), Ok("Ana"));
        for wrong in ["", " ", "A\nna", &"a".repeat(101)] {
            assert!(checked_name(wrong).is_err(), "{wrong:?}");
        }
        assert!(check_password("12345678").is_ok() && check_password(&"é".repeat(200)).is_ok());
        assert!(check_password("1234567").is_err() && check_password(&"é".repeat(201)).is_err());
    }
}
