//! The end of a turn: what was written is committed, or why nothing was; an outage of the store does not lose it.
//!
//! In: a turn that has begun, and what came of it. Out: its outcome, and the part of its reply that leaves at once.

use std::{sync::Arc, time::Duration};

use uuid::Uuid;

use super::Turns;
use crate::{
    domain::{docket::Docket, pacing, turn::Purpose},
    flow::{
        generator::Failure,
        inbox::Begun,
        instance::channels::Channel,
        ledger::{self, Key, Need, insist},
        outbox,
        reply::{self, Answer, Cost, Discarded, TurnEnd},
        sender::{self, Claimed},
    },
};

/// How long the outcome of a turn is kept while the store is unavailable: without it the conversation would wait for the end of
/// its lease and pay for another generation.
pub(super) const END: Duration = Duration::from_secs(60);

/// How a turn ended.
pub(super) struct Ended {
    /// What became of it.
    pub(super) committed: TurnEnd,
    /// Of its reply, the part that leaves now.
    pub(super) claimed: Option<Claimed>,
}

impl From<TurnEnd> for Ended {
    fn from(committed: TurnEnd) -> Self {
        Self { committed, claimed: None }
    }
}

impl Turns {
    /// Commits what the model wrote. In the same transaction the first part is claimed for its POST, if it may leave at once.
    pub(super) async fn commit(
        &self,
        channel: &Arc<Channel>,
        begun: Box<Begun>,
        answer: Answer,
    ) -> Result<Ended, ledger::Error> {
        let (policy, jitter) = (Arc::clone(&channel.policy), fastrand::f64());
        let worked_ms = (self.clock)().since(begun.at);
        let is_due = pacing::typing_ms(&policy, &answer.text, jitter, worked_ms) == 0;
        let attempt = (is_due && !self.dispatch.is_crowded(&channel.name)).then(Uuid::now_v7);
        let begin_by = sender::begin_by();
        let (conversation, chat) = (begun.conversation, begun.chat.clone());
        let need = Need { channel: attempt.is_some(), ..need_of(&begun) };
        let step = move |docket: &mut Docket| {
            let committed = reply::commit(docket, &policy, &begun, &answer, jitter);
            let claim = |attempt| outbox::claim_at_once(docket, &policy, attempt);
            (committed, attempt.filter(|_| committed == TurnEnd::Owed).and_then(claim))
        };
        let outcome = insist(&*self.ledger, Key::Id(conversation), need, END, step).await;
        if let (Err(ledger::Error::Unavailable(_)), Some(attempt)) = (&outcome, attempt) {
            self.sender.give_back(conversation, attempt).await?;
        }
        let (committed, claimed) = match outcome {
            Err(ledger::Error::Gone) => (TurnEnd::Discarded(Discarded::Gone), None),
            other => other?,
        };
        let claimed = claimed.zip(attempt).map(|((message, covered), attempt)| Claimed {
            conversation,
            channel: Arc::clone(channel),
            chat,
            attempt,
            message,
            covered,
            begin_by,
        });
        Ok(Ended { committed, claimed })
    }

    /// The model failed.
    pub(super) async fn fail(
        &self,
        channel: &Channel,
        begun: Box<Begun>,
        failure: Failure,
        cost: Cost,
    ) -> Result<TurnEnd, ledger::Error> {
        let (conversation, need) = (begun.conversation, need_of(&begun));
        let (policy, jitter) = (Arc::clone(&channel.policy), fastrand::f64());
        let step = move |docket: &mut Docket| reply::fail(docket, &policy, &begun, &failure, cost, jitter);
        gone_is_discarded(insist(&*self.ledger, Key::Id(conversation), need, END, step).await)
    }

    /// The turn was stopped.
    pub(super) async fn abandon(
        &self,
        channel: &Channel,
        begun: Box<Begun>,
        cost: Cost,
    ) -> Result<TurnEnd, ledger::Error> {
        let (conversation, need) = (begun.conversation, need_of(&begun));
        let policy = Arc::clone(&channel.policy);
        let step = move |docket: &mut Docket| {
            reply::abandon(docket, &policy, &begun, cost);
            TurnEnd::Discarded(Discarded::Stopped)
        };
        gone_is_discarded(insist(&*self.ledger, Key::Id(conversation), need, END, step).await)
    }
}

/// The messages of the burst and the turn itself: all that ending a turn touches.
pub(in crate::flow) fn need_of(begun: &Begun) -> Need {
    Need {
        messages: begun.turn.messages.clone(),
        turn: Some(begun.turn.id),
        newest: newest_of(begun),
        ..Need::default()
    }
}

/// A follow-up's words are held against what was said lately.
const fn newest_of(begun: &Begun) -> usize {
    match begun.turn.purpose {
        Purpose::FollowUp => 20,
        Purpose::Reply | Purpose::Draft => 0,
    }
}

fn gone_is_discarded(outcome: Result<TurnEnd, ledger::Error>) -> Result<TurnEnd, ledger::Error> {
    match outcome {
        Err(ledger::Error::Gone) => Ok(TurnEnd::Discarded(Discarded::Gone)),
        other => other,
    }
}
