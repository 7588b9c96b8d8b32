//! Step: after a send without a clear answer, or several in a row that reached nobody, the channel waits until its gateway
//! says how it is.
//!
//! In: such sends of this instance. Out: a hold in the channel's row, which every instance respects, moved on while
//! the gateway is silent and let go when it answers. One that dies meanwhile leaves a hold that ends by itself.

use std::{
    collections::{BTreeMap, btree_map::Entry as Slot},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use metrics::gauge;
use tokio_util::sync::CancellationToken;

use super::channels::{Channel, Channels};
use crate::{
    domain::{
        docket::Entry,
        event::EventType,
        time::{Time, duration},
    },
    flow::{
        back_office::registry::Registry,
        ledger::{self, Ledger},
        outbox::{self, FIRST_PAUSE_MS},
        provider::{NoAnswer, Sent},
        repair,
    },
};

/// The account is asked for its state at most this often.
const EVERY_MS: i64 = 1_000;
/// Where something else asks it, the turn is waited for in such steps.
const TURN_MS: i64 = 250;

/// The step.
pub struct ChannelBreaker {
    /// Where what happens to it is written down.
    pub ledger: Arc<dyn Ledger>,
    /// Where channels are held.
    pub registry: Arc<dyn Registry>,
    /// The channels as they are set up now.
    pub channels: Arc<Channels>,
    /// Sends in a row that reach nobody, until the channel is held: their attempts are not used up while nobody is there.
    pub failures: u32,
    /// Nobody waits any longer.
    pub stop: CancellationToken,
    /// How many have reached nobody since one did, by channel.
    pub missed: Mutex<BTreeMap<String, u32>>,
    /// Channels that are held by this instance now, each until the latest moment that any of its sends has asked for.
    pub open: Mutex<BTreeMap<String, Time>>,
}

impl ChannelBreaker {
    /// Whether the channel is to be held after this send.
    pub fn is_tripped(&self, channel: &Channel, sent: &Sent) -> bool {
        let mut missed = self.missed.lock().unwrap_or_else(PoisonError::into_inner);
        match sent {
            Sent::Unclear { .. } => true,
            Sent::Unreached { .. } => {
                let missed = missed.entry(channel.name.clone()).or_default();
                *missed += 1;
                *missed >= self.failures
            }
            // Says nothing of the gateway.
            Sent::TooLate => false,
            _ => {
                missed.remove(&channel.name);
                false
            }
        }
    }

    /// Holds the channel. To be done before the send is settled, or another would slip through between.
    pub async fn hold(&self, channel: &Channel) -> Result<Time, ledger::Error> {
        self.hold_for(channel, FIRST_PAUSE_MS).await
    }

    /// Waits until the gateway answers, and lets the channel go: the next send is the probe. Where this instance is
    /// waiting already, there is nothing to do.
    pub async fn wait(&self, channel: &Channel, held_until: Time) {
        match self.open().entry(channel.name.clone()) {
            Slot::Occupied(mut held) => {
                let latest = held_until.max(*held.get());
                held.insert(latest);
                return;
            }
            Slot::Vacant(free) => free.insert(held_until),
        };
        self.note(channel, EventType::BreakerOpened).await;
        let outcome = tokio::select! {
            () = self.stop.cancelled() => Ok(()),
            outcome = self.until_answered(channel) => outcome,
        };
        if let Err(error) = outcome {
            self.open().remove(&channel.name);
            tracing::warn!(
                error = error.cause(),
                channel = channel.name,
                "a held channel resumes when its hold ends"
            );
        }
        if !self.stop.is_cancelled() {
            self.note(channel, EventType::BreakerClosed).await;
        }
    }

    async fn until_answered(&self, channel: &Channel) -> Result<(), ledger::Error> {
        let mut pause_ms = FIRST_PAUSE_MS;
        loop {
            // It may have another gateway by now: the one before it may never answer. One that was removed is held by nobody.
            let Some(channel) = self.channels.get(&channel.name) else {
                self.open().remove(&channel.name);
                return Ok(());
            };
            match self.answers(&channel).await? {
                Some(true) => return self.let_go(&channel.name).await,
                Some(false) => {
                    self.rest(&channel, pause_ms).await?;
                    pause_ms = next_pause_ms(pause_ms, channel.policy.breaker_open_ms);
                }
                // That says nothing of the gateway.
                None => self.rest(&channel, TURN_MS).await?,
            }
        }
    }

    async fn rest(&self, channel: &Channel, pause_ms: i64) -> Result<(), ledger::Error> {
        self.hold_for(channel, pause_ms).await?;
        tokio::time::sleep(duration(pause_ms)).await;
        Ok(())
    }

    /// Another send of this instance, which was under way when the channel was held, may hold it for longer meanwhile: nobody
    /// else would let go of that.
    async fn let_go(&self, channel: &str) -> Result<(), ledger::Error> {
        loop {
            let held = self.open().get(channel).copied();
            let Some(held_until) = held else { return Ok(()) };
            self.registry.release_channel(channel, held_until, self.ledger.now().await?).await?;
            let mut open = self.open();
            if open.get(channel) == Some(&held_until) {
                open.remove(channel);
                return Ok(());
            }
        }
    }

    async fn hold_for(&self, channel: &Channel, pause_ms: i64) -> Result<Time, ledger::Error> {
        let until = self.ledger.now().await?.plus_ms(outbox::hold_ms(&channel.policy, pause_ms));
        self.registry.hold_channel(&channel.name, until).await?;
        if let Some(held) = self.open().get_mut(&channel.name) {
            *held = until.max(*held);
        }
        Ok(until)
    }

    /// Whether the gateway answers at all. A refusal is an answer, and so is that it was asked too much, perhaps by another
    /// program: the next send will meet it and say so. None: it was not asked, since something else asks the account this
    /// second, such as who looks for sends of unknown fate.
    async fn answers(&self, channel: &Channel) -> Result<Option<bool>, ledger::Error> {
        let now = self.ledger.now().await?;
        if !self.registry.claim_look_up(&channel.name, now, EVERY_MS).await? {
            return Ok(None);
        }
        match channel.provider.state().await {
            Ok(state) => {
                if !outbox::is_able(&state) {
                    repair::keep_state(&*self.registry, &channel.name, &state, now).await?;
                }
                Ok(Some(true))
            }
            Err(unanswered) => {
                tracing::debug!(channel = channel.name, %unanswered, "the gateway does not say how it is");
                Ok(Some(unanswered.no_answer != NoAnswer::Silence))
            }
        }
    }

    async fn note(&self, channel: &Channel, kind: EventType) {
        let is_open = self.open().contains_key(&channel.name);
        show(&channel.name, if is_open { 1.0 } else { 0.0 });
        if let Err(error) = self.keep(channel, kind).await {
            tracing::warn!(
                error = error.cause(),
                channel = channel.name,
                "a change of the breaker was not recorded in the journal"
            );
        }
    }

    async fn keep(&self, channel: &Channel, kind: EventType) -> Result<(), ledger::Error> {
        let now = self.ledger.now().await?;
        let event = Entry::of(kind).with("of", "channel").outside(&channel.name, now);
        self.ledger.keep(vec![event], Vec::new()).await
    }

    fn open(&self) -> MutexGuard<'_, BTreeMap<String, Time>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Sets the gauge of a channel's breaker. One for all would not show a second that fails next to the first.
pub fn show(channel: &str, is_open: f64) {
    gauge!("baton_breaker_state", "of" => "channel", "channel" => channel.to_owned()).set(is_open);
}

fn next_pause_ms(pause_ms: i64, longest_ms: i64) -> i64 {
    pause_ms.saturating_mul(2).min(longest_ms.max(FIRST_PAUSE_MS))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pauses_double_up_to_the_longest() {
        let mut pause_ms = FIRST_PAUSE_MS;
        let pauses: Vec<i64> = std::iter::repeat_with(|| {
            pause_ms = next_pause_ms(pause_ms, 5_000);
            pause_ms
        })
        .take(4)
        .collect();
        assert_eq!(pauses, [2_000, 4_000, 5_000, 5_000]);
        assert_eq!(
            next_pause_ms(FIRST_PAUSE_MS, 100),
            FIRST_PAUSE_MS,
            "never faster than the provider allows"
        );
    }
}
