//! Step: what contacts wrote while nobody heard is found in the provider's journal.
//!
//! In: a channel whose journal is due: after each start, after the phone is linked again, and every hour. Out: the messages
//! that never came, admitted as if they had. Those that a person has answered on the phone go to people, and so do those that
//! an installation had before this one was restored from its backup. What was written on the phone takes over, as ever.

use std::{
    collections::{BTreeSet, VecDeque},
    sync::Arc,
};

use metrics::counter;
use uuid::Uuid;

use super::{
    archive::Archive,
    back_office::registry::Registry,
    inbox,
    instance::channels::{Channel, Channels},
    intake::{Intake, Verdict},
    journal, ledger, merge,
    provider::{AUTHORIZED, Arrival, Unanswered},
};
use crate::domain::{chat::ChatId, docket::Entry, event::EventType, time::Time};

/// After a start or a new link the provider first delivers what it kept, and repeats a refused webhook only after a
/// minute. What is left to it comes in its own order.
const SETTLE_MS: i64 = 180_000;
/// The journal is looked through this often: nobody puts the next look further ahead.
pub const EVERY_MS: i64 = 3_600_000;
/// And again this soon if that failed.
const AGAIN_MS: i64 = 60_000;
/// A search that has not ended within this was stopped on the way: another begins. If not, what both find has its effect once.
const LOOK_MS: i64 = 600_000;
/// Messages may come into the journal two minutes late, and the youngest are left to their webhooks: looked at again.
const OVERLAP_MS: i64 = 600_000;
/// How far back the journal is read.
const BACK_MS: i64 = 86_400_000;

/// What kept the journal from being looked through.
#[derive(Debug, thiserror::Error)]
pub enum RepairError {
    /// The provider.
    #[error("the provider does not show its journal: {0}")]
    Provider(#[from] Unanswered),
    /// The phone is not linked: what is written now comes into the journal later, under the time it was written.
    #[error("the phone is not linked")]
    NotLinked,
    /// The store.
    #[error("a missed message was not stored")]
    Store(#[from] ledger::Error),
}

/// Keeps the state that the provider reports; whether it is another one. Linked again, the journal is due when what was kept has come.
/// `now` should be the store's: a send of unknown fate is repeated only where it could be sent ever since its attempt.
pub async fn keep_state(
    registry: &dyn Registry,
    name: &str,
    state: &str,
    now: Time,
) -> Result<bool, ledger::Error> {
    let is_changed = registry.set_channel_state(name, state, now).await?;
    if is_changed {
        journal::log(&Entry::of(EventType::ChannelStateChanged).with("to", state).outside(name, now));
    }
    if is_changed && state == AUTHORIZED {
        registry.schedule_repair(name, SETTLE_MS).await?;
    }
    Ok(is_changed)
}

/// The step.
pub struct Repair {
    /// Where missed messages go.
    pub intake: Arc<Intake>,
    /// Where it is looked up what came.
    pub archive: Arc<dyn Archive>,
    /// Where it is kept when a journal is due.
    pub registry: Arc<dyn Registry>,
    /// The gateways.
    pub channels: Arc<Channels>,
}

impl Repair {
    /// An instance has started: what came while none ran is due, when what the provider kept has come. One that starts over
    /// and over does not put it off each time.
    pub async fn begin(&self, name: &str) -> Result<(), ledger::Error> {
        self.registry.begin_repair(name, SETTLE_MS).await
    }

    /// Looks through the channel's journal, if it is due and nobody else does. Returns how many messages had been missed.
    pub async fn repair(&self, name: &str) -> Result<usize, RepairError> {
        // There at 0 before anything is missed: the first rise of a counter that appears with it is seen by nobody.
        count_missed(name, 0);
        // By the clock that all instances share: one that is ahead would have the others wait, and pass over what came meanwhile.
        let now = self.intake.ledger.now().await?;
        let until = now.plus_ms(LOOK_MS);
        let Some(since) = self.registry.claim_repair(name, now, until).await? else { return Ok(0) };
        let result = self.look_through(name, since, now).await;
        match &result {
            Ok(_) => {
                // Never from before the channel was made: those conversations were others' business.
                let to = now.plus_ms(-OVERLAP_MS).max(since);
                self.registry.end_repair(name, to, until, now.plus_ms(EVERY_MS)).await?;
            }
            Err(_) => self.registry.schedule_repair(name, AGAIN_MS).await?,
        }
        result
    }

    async fn look_through(&self, name: &str, since: Time, now: Time) -> Result<usize, RepairError> {
        let Some(channel) = self.channels.get(name) else { return Ok(0) };
        // An empty journal of an account that is not linked proves nothing.
        let state = channel.provider.state().await?;
        if state != AUTHORIZED {
            keep_state(&*self.registry, name, &state, now).await?;
            return Err(RepairError::NotLinked);
        }
        let from = since.max(now.plus_ms(-BACK_MS));
        let minutes = now.since(from) / 60_000 + 1;
        let is_ripe = |arrival: &Arrival| arrival.at.is_some_and(|at| now.since(at) >= SETTLE_MS);
        let mut missed = self.unheard(name, from, channel.provider.journal(minutes).await?).await?;
        missed.retain(is_ripe);
        // Nor was it heard who has answered them on the phone, or has written there to others.
        let mut typed: VecDeque<Arrival> =
            self.unheard(name, from, channel.provider.typed(minutes).await?).await?.into();
        typed.make_contiguous().sort_by_key(|answer| answer.at);
        let same = self.of_same_person(&channel, &missed, &typed).await?;
        let answers = |answer: &Arrival, arrival: &Arrival| {
            let is_same = answer.chat == arrival.chat
                || same.iter().any(|(typed, missed)| (typed, missed) == (&answer.chat, &arrival.chat));
            is_same && answer.at >= arrival.at
        };
        let restored_at = self.registry.restored_at().await?;
        let mut count = 0;
        for arrival in missed {
            while let Some(answer) = typed.pop_front_if(|answer| answer.at < arrival.at) {
                count += self.take_typed(&channel, answer).await?;
            }
            let is_from_before = restored_at.is_some_and(|restored_at| arrival.at <= Some(restored_at));
            let is_answered = typed.iter().any(|answer| answers(answer, &arrival));
            let taken = match is_from_before || is_answered {
                true => self.intake.take_for_people(&channel, arrival.clone()).await,
                false => self.intake.take_missed(&channel, arrival.clone()).await,
            };
            if !is_news(taken)? {
                continue;
            }
            count_missed(name, 1);
            count += 1;
            let (answers, rest): (VecDeque<_>, _) =
                typed.into_iter().partition(|answer| answers(answer, &arrival));
            typed = rest;
            // All of them, and at once: the provider shows when they were last read or answered, so whatever the contact
            // wrote next may have come after them. It waits for another.
            for answer in answers {
                count += self.take_typed(&channel, answer).await?;
            }
        }
        // Of what is on its way as well, its own webhook says more; or else the next look finds it.
        for answer in typed.into_iter().filter(is_ripe) {
            count += self.take_typed(&channel, answer).await?;
        }
        Ok(count)
    }

    /// Typed on the phone, and unheard: how many that is more.
    async fn take_typed(&self, channel: &Arc<Channel>, answer: Arrival) -> Result<usize, RepairError> {
        let is_new = is_news(self.intake.take_typed(channel, answer).await)?;
        count_missed(&channel.name, u64::from(is_new));
        Ok(usize::from(is_new))
    }

    /// What we say may be shown under another id than what they say: which of the chats that were typed in are those of
    /// missed messages, as far as we or the provider know. It is asked only where it may be so.
    async fn of_same_person(
        &self,
        channel: &Channel,
        missed: &[Arrival],
        typed: &VecDeque<Arrival>,
    ) -> Result<Vec<(ChatId, ChatId)>, ledger::Error> {
        let [missed, typed]: [BTreeSet<&ChatId>; 2] =
            [missed.iter().map(|it| &it.chat).collect(), typed.iter().map(|it| &it.chat).collect()];
        let mut same = Vec::new();
        for chat in typed {
            let may_be = missed.iter().copied().filter(|other| other.may_be_same_person_as(chat));
            let may_be: Vec<&ChatId> = may_be.collect();
            if !may_be.is_empty()
                && let Some(other) = self.other_of(channel, chat, &may_be).await?
            {
                same.push((chat.clone(), other));
            }
        }
        Ok(same)
    }

    /// Which of those is another id of that chat.
    async fn other_of(
        &self,
        channel: &Channel,
        chat: &ChatId,
        may_be: &[&ChatId],
    ) -> Result<Option<ChatId>, ledger::Error> {
        if let Some(known) = self.conversation_of(channel, chat).await? {
            for other in may_be.iter().copied() {
                if self.conversation_of(channel, other).await? == Some(known) {
                    return Ok(Some(other.clone()));
                }
            }
        }
        let told = merge::other_id(&*self.registry, channel, chat).await.unwrap_or_default();
        let Some(other) = told.filter(|other| may_be.contains(&other)) else { return Ok(None) };
        let ids = [chat, &other];
        merge::link(&*self.intake.ledger, &*self.registry, &self.channels, &channel.name, ids).await?;
        Ok(Some(other))
    }

    async fn conversation_of(&self, channel: &Channel, chat: &ChatId) -> Result<Option<Uuid>, ledger::Error> {
        let found = self.archive.conversation_of(&channel.name, chat).await?;
        Ok(found.map(|found| found.conversation.id))
    }

    /// Those since then that never came.
    async fn unheard(
        &self,
        name: &str,
        from: Time,
        journal: Vec<Arrival>,
    ) -> Result<Vec<Arrival>, ledger::Error> {
        let mut unheard = Vec::new();
        for arrival in journal.into_iter().filter(|arrival| arrival.at >= Some(from)) {
            if !self.archive.has_message(name, &arrival.chat, &inbox::key_of(&arrival)).await? {
                unheard.push(arrival);
            }
        }
        Ok(unheard)
    }
}

/// Whether it was missed. One that the store refuses for its data alone is left out: it would be refused at each look, and hold
/// up everything else.
fn is_news(taken: Result<Verdict, ledger::Error>) -> Result<bool, ledger::Error> {
    match taken {
        Err(ledger::Error::Refused(source)) => {
            tracing::warn!(error = &*source as &dyn std::error::Error, "an entry of the journal was refused");
            Ok(false)
        }
        taken => Ok(matches!(taken?, Verdict::Accepted(_))),
    }
}

/// Counts what no webhook has brought, as it is found: a look that breaks off finds the rest alone.
fn count_missed(channel: &str, count: u64) {
    counter!("baton_missed_messages_total", "channel" => channel.to_owned()).increment(count);
}
