//! Place: who has changed what of the installation itself, let whom in, or taken data out of it. What happens in conversations
//! is in the journal.
//!
//! In: actions, once they are done. Out: the newest first.

use async_trait::async_trait;
use serde_json::{Map, Value};
use uuid::Uuid;

use crate::{
    domain::{time::Time, words::words},
    flow::ledger::Error,
};

/// How long refused sign-ins are kept, with the addresses they came from: anybody can cause them.
pub const REFUSED_KEPT_MS: i64 = 90 * 86_400_000;

words! {
    /// What somebody did.
    Deed {
        /// Signed in.
        SignedIn = "signed_in",
        /// Tried to, and was not let in.
        SignInRefused = "sign_in_refused",
        /// Signed out.
        SignedOut = "signed_out",
        /// Changed their own name, address or password.
        ProfileChanged = "profile_changed",
        /// Added a colleague.
        AgentAdded = "agent_added",
        /// Changed one, or disabled one.
        AgentChanged = "agent_changed",
        /// Made a link with which one signs in.
        LinkMade = "link_made",
        /// Made a token.
        TokenCreated = "token_created",
        /// Revoked one.
        TokenRevoked = "token_revoked",
        /// Added a number.
        ChannelAdded = "channel_added",
        /// Changed its credentials or settings.
        ChannelChanged = "channel_changed",
        /// Removed it.
        ChannelRemoved = "channel_removed",
        /// Let its follow-ups leave again, which the brake had held back.
        BrakeReleased = "brake_released",
        /// Added an address to which events are posted.
        EndpointAdded = "endpoint_added",
        /// Changed one, or its secret.
        EndpointChanged = "endpoint_changed",
        /// Removed one.
        EndpointRemoved = "endpoint_removed",
        /// Took messages out.
        Exported = "exported",
        /// Removed a person.
        Erased = "erased",
    }
}

/// A recorded action.
#[derive(Debug, Clone, PartialEq)]
pub struct Audited {
    /// Rises with time.
    pub id: Uuid,
    /// When it was done.
    pub at: Time,
    /// Who, as events name them.
    pub actor: String,
    /// What was done.
    pub deed: Deed,
    /// To what: an id or a name.
    pub subject: Option<String>,
    /// What else is to be known. No secrets, no words of customers.
    pub details: Map<String, Value>,
}

impl Audited {
    /// Somebody did that just now.
    pub fn new(at: Time, actor: &str, deed: Deed) -> Self {
        let actor = actor.to_owned();
        Self { id: Uuid::now_v7(), at, actor, deed, subject: None, details: Map::new() }
    }

    /// To that.
    pub fn to(self, subject: impl ToString) -> Self {
        Self { subject: Some(subject.to_string()), ..self }
    }

    /// With that detail added.
    pub fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.details.insert(name.to_owned(), value.into());
        self
    }
}

/// Which actions.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AuditFilter {
    /// Of this actor.
    pub actor: Option<String>,
    /// Of this kind.
    pub deed: Option<Deed>,
    /// At this time or later.
    pub since: Option<Time>,
    /// Before this time.
    pub until: Option<Time>,
    /// Older than this one.
    pub before: Option<Uuid>,
}

/// The place.
#[async_trait]
pub trait Audit: Send + Sync {
    /// Writes it down.
    async fn note(&self, deed: &Audited) -> Result<(), Error>;

    /// What was recorded, newest first, at most this many.
    async fn audited(&self, filter: &AuditFilter, limit: usize) -> Result<Vec<Audited>, Error>;

    /// Forgets sign-ins that were refused before that moment. Returns how many.
    async fn forget_refused(&self, before: Time) -> Result<u64, Error>;
}
