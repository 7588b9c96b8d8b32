//! Step: one notification is fetched from the provider instead of being posted by it.
//!
//! In: a channel. Out: the notification's effect, as of a webhook, and only after its commit the word to the provider
//! that it need not come again. Whatever ends between the two brings it back, and intake finds it done.

use std::{sync::Arc, time::Duration};

use tokio_util::sync::CancellationToken;

use super::{
    back_office::registry::Registry,
    instance::channels::Channels,
    intake::{self, Intake, Verdict},
    ledger,
    provider::{CREDENTIALS_REFUSED, NoAnswer, Unanswered},
    repair,
};

/// How long the provider is asked to hold its answer back until there is something.
const WAIT: Duration = Duration::from_secs(10);
/// How long a channel is the poller's own: longer than one round may take, with the wait and two slow answers.
pub const LEASE_MS: i64 = 45_000;

/// What a round came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Polled {
    /// A notification had its effect, or had it before, and is off the provider's queue.
    Took(Verdict),
    /// There was nothing.
    Idle,
    /// Another instance fetches for this channel.
    Elsewhere,
    /// There is no such channel any more.
    Gone,
    /// Stopped, with nothing in hand.
    Stopped,
}

/// What kept a round from its end. Try again later: nothing is lost.
#[derive(Debug, thiserror::Error)]
pub enum PollError {
    /// The provider.
    #[error("the provider does not give its notifications: {0}")]
    Provider(#[from] Unanswered),
    /// The store.
    #[error("a notification was not stored")]
    Store(#[from] ledger::Error),
}

/// The step.
pub struct Poller {
    /// Who this instance is.
    pub owner: String,
    /// Where notifications go.
    pub intake: Arc<Intake>,
    /// Where it is kept who fetches for which channel.
    pub registry: Arc<dyn Registry>,
    /// The gateways.
    pub channels: Arc<Channels>,
    /// Ends the wait for the next notification, never the work on one.
    pub stop: CancellationToken,
}

impl Poller {
    /// One round for a channel.
    pub async fn poll(&self, name: &str) -> Result<Polled, PollError> {
        let Some(channel) = self.channels.get(name) else { return Ok(Polled::Gone) };
        // Two who fetch would do no harm but halve the provider's limit for both.
        if !self.registry.claim_poll(name, &self.owner, LEASE_MS).await? {
            return Ok(Polled::Elsewhere);
        }
        let received = tokio::select! {
            biased;
            () = self.stop.cancelled() => return Ok(Polled::Stopped),
            received = channel.provider.receive(WAIT) => received,
        };
        if received.as_ref().is_err_and(|unanswered| unanswered.no_answer == NoAnswer::Refused) {
            let now = self.intake.ledger.now().await?;
            repair::keep_state(&*self.registry, name, CREDENTIALS_REFUSED, now).await?;
        }
        let Some(notification) = received? else { return Ok(Polled::Idle) };
        let taken = self.intake.take(name, &notification.body).await;
        let verdict = taken.inspect_err(|_| intake::count("unavailable", 1))?;
        intake::count(verdict.as_str(), 1);
        channel.provider.acknowledge(notification.receipt).await?;
        Ok(Polled::Took(verdict))
    }

    /// Leaves a channel to the first instance that comes.
    pub async fn leave(&self, name: &str) -> Result<(), ledger::Error> {
        self.registry.claim_poll(name, &self.owner, 0).await.map(drop)
    }
}
