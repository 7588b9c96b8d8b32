//! Step: a person or a rule changes who answers. Short, never behind the turn's lock; then waits until it is settled.

use std::{sync::Arc, time::Duration};

use uuid::Uuid;

use super::{
    conversations::{self, By, Switched},
    desk::{self, Who},
    inbox,
    instance::{
        channels::{Channels, NotSetUp},
        dispatch::Dispatch,
    },
    ledger::{Error, Key, Ledger, Need, change},
    merge, outbox,
};
use crate::domain::{
    conversation::Conversation,
    docket::Docket,
    message::{DeliveryState, Message},
    mode::{Mode, Reason},
    policy::Policy,
    time::Time,
};

/// What is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// Its own id: a repeat after a lost commit finds its effect.
    pub id: String,
    /// Who asks: a takeover assigns the conversation to the agent, if it is one.
    pub who: Who,
    /// Only if the version is this.
    pub expected_version: Option<i64>,
    /// HUMAN until then: None leaves the clock as it is, `Some(None)` stops it.
    pub until: Option<Option<Time>>,
    /// With AI: one turn over everything since our side last spoke.
    pub answer_now: bool,
    /// A colleague's words for the assistant's next turn, whenever that is.
    pub note: Option<String>,
    /// Wait at most this long for sends in flight.
    pub settle_ms: Option<i64>,
    /// The reason to record, in place of the usual one.
    pub reason: Option<Reason>,
}

impl Request {
    /// A plain switch by them.
    pub const fn by(who: Who) -> Self {
        Self {
            id: String::new(),
            who,
            expected_version: None,
            until: None,
            answer_now: false,
            note: None,
            settle_ms: None,
            reason: None,
        }
    }
}

/// What a switch did: the answer to the person who asked.
#[derive(Debug, Clone, PartialEq)]
pub struct Receipt {
    /// The conversation as it is now.
    pub conversation: Conversation,
    /// The mode was another before.
    pub changed: bool,
    /// A generation was running.
    pub generation_cancelled: bool,
    /// For how long it had been.
    pub generation_ms: Option<i64>,
    /// Parts of the assistant's current reply that had already left.
    pub parts_already_sent: usize,
    /// Messages of the machine that were withdrawn.
    pub parts_discarded: usize,
    /// A follow-up was pending.
    pub follow_up_cancelled: bool,
    /// No message of the assistant of an older version can leave any more.
    pub settled: bool,
    /// Messages that may reach the provider, or may have reached it: sending, and of unknown fate. Also those of other
    /// conversations with the same person that have not ended.
    pub in_flight: Vec<Uuid>,
    /// Messages that the provider has, but has not yet reported as sent.
    pub at_provider: Vec<Uuid>,
    /// A turn will answer now.
    pub answering: bool,
}

/// Why a switch was refused.
#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    /// The version is another.
    #[error("the mode version has changed")]
    VersionConflict,
    /// There is no model that could answer.
    #[error("there is no model")]
    NoModel,
    /// The request contradicts itself.
    #[error("{0}")]
    Invalid(&'static str),
    /// Nothing can be done in the conversation here.
    #[error(transparent)]
    NotSetUp(#[from] NotSetUp),
    /// The store.
    #[error(transparent)]
    Store(#[from] Error),
}

/// What a request leads to.
pub type Answer = Result<Receipt, Refusal>;

/// The step.
pub struct ModeSwitch {
    /// Where conversations are changed.
    pub ledger: Arc<dyn Ledger>,
    /// The rules.
    pub channels: Arc<Channels>,
    /// What changes here, for waiting until it is settled.
    pub dispatch: Arc<Dispatch>,
    /// Longest wait for sends in flight.
    pub settle_ms: i64,
}

/// Nothing here reports sends that another instance settles: looked at this often.
const LOOK_AGAIN: Duration = Duration::from_millis(50);
/// What a person answers with *answer now* goes back at most so far.
pub(super) const ANSWER_NOW_MESSAGES: usize = 100;
/// How far back a receipt looks for messages that the provider has, but has not yet sent.
const AT_PROVIDER_MESSAGES: usize = 20;

impl ModeSwitch {
    /// Switches and waits until nothing older can leave, within the time allowed.
    pub async fn switch(&self, key: Key, to: Mode, request: Request) -> Answer {
        self.check(&key, to, &request)?;
        let key = self.channels.beginning(key);
        let settle_ms = request.settle_ms.unwrap_or(self.settle_ms).clamp(0, self.settle_ms);
        let channels = Arc::clone(&self.channels);
        let newest = if request.answer_now { ANSWER_NOW_MESSAGES } else { AT_PROVIDER_MESSAGES };
        let need = Need { newest, ..Need::default() };
        let receipt = change(&*self.ledger, key, need, move |docket| {
            let channel = channels.of_conversation(&docket.conversation.channel)?;
            apply(docket, &channel.policy, to, &request)
        })
        .await??;
        let receipt = self.with_others(receipt).await;
        self.settle(receipt, Duration::from_millis(settle_ms.unsigned_abs())).await
    }

    /// The same takeover, in the other conversations with the same person as well: they learn of it, and what may still leave
    /// there counts.
    pub async fn with_others(&self, mut receipt: Receipt) -> Receipt {
        let here = &receipt.conversation;
        if here.mode.mode == Mode::Ai || here.memo.others().next().is_none() {
            return receipt;
        }
        if here.memo.is_untold
            && let Err(error) = merge::tell_others(&*self.ledger, &self.channels, here.id).await
        {
            // Whoever tends the conversation does it.
            tracing::warn!(%error, "another conversation with the same person learns of a takeover later");
        }
        if let Err(error) = self.look(&mut receipt).await {
            tracing::debug!(%error, "what may still leave is not known");
            receipt.settled = false;
        }
        receipt
    }

    /// What may still leave, here and in the others, and what became of that.
    async fn look(&self, receipt: &mut Receipt) -> Result<(), Error> {
        let (here, version) = (receipt.conversation.id, receipt.conversation.mode.version);
        let (mut settled, mut in_flight) = (true, Vec::new());
        for id in receipt.conversation.memo.others() {
            let theirs = |docket: &mut Docket| look_in_flight(docket, docket.conversation.mode.version);
            match change(&*self.ledger, Key::Id(id), Need::itself(), theirs).await {
                // What was switched stays switched; nothing of it leaves any more.
                Err(Error::Gone) => {}
                looked => {
                    let (is_settled, ids) = looked?;
                    settled &= is_settled;
                    in_flight.extend(ids);
                }
            }
        }
        let (under_way, seen) = (receipt.in_flight.clone(), receipt.at_provider.clone());
        let need = Need { messages: [&under_way[..], &seen].concat(), ..Need::itself() };
        let ours = move |docket: &mut Docket| look_at_ours(docket, version, &under_way, &seen);
        match change(&*self.ledger, Key::Id(here), need, ours).await {
            Err(Error::Gone) => {}
            looked => {
                let look = looked?;
                settled &= look.settled;
                in_flight.extend(look.in_flight);
                receipt.at_provider = look.at_provider;
                receipt.parts_already_sent += look.have_left;
                receipt.parts_discarded += look.came_back;
            }
        }
        (receipt.settled, receipt.in_flight) = (settled, in_flight);
        Ok(())
    }

    fn check(&self, key: &Key, to: Mode, request: &Request) -> Result<(), Refusal> {
        if to == Mode::Ai && request.until.flatten().is_some() {
            return Err(Refusal::Invalid("until goes with HUMAN only"));
        }
        if to == Mode::Human && request.answer_now {
            return Err(Refusal::Invalid("answer_now goes with AI only"));
        }
        if let (Mode::Ai, Key::Chat { channel, .. }) = (to, key)
            && self.channels.get(channel).is_some_and(|channel| !channel.policy.has_model)
        {
            return Err(Refusal::NoModel);
        }
        Ok(())
    }

    /// Waits until no message of the machine of an older version is being sent, withdrawing what comes back to the queue.
    pub async fn settle(&self, mut receipt: Receipt, limit: Duration) -> Answer {
        if receipt.conversation.mode.mode == Mode::Ai {
            return Ok(receipt);
        }
        let conversation = receipt.conversation.id;
        let deadline = tokio::time::Instant::now() + limit;
        let mut changes = self.dispatch.changes();
        loop {
            if receipt.settled || tokio::time::Instant::now() >= deadline {
                return Ok(receipt);
            }
            let look_again = (tokio::time::Instant::now() + LOOK_AGAIN).min(deadline);
            loop {
                tokio::select! {
                    changed = changes.recv() => match changed {
                        Ok(changed) if changed != conversation => {}
                        // This one, or too many to tell: look.
                        _ => break,
                    },
                    () = tokio::time::sleep_until(look_again) => break,
                }
            }
            if let Err(error) = self.look(&mut receipt).await {
                tracing::debug!(%error, "whether a switch is settled is not known");
                return Ok(receipt);
            }
        }
    }
}

/// Whether nothing older is being sent any more, and what may have left.
fn look_in_flight(docket: &mut Docket, version: i64) -> (bool, Vec<Uuid>) {
    let in_flight = outbox::in_flight(docket, version);
    let settled = !in_flight
        .iter()
        .any(|id| docket.message(*id).is_some_and(|message| message.is(DeliveryState::Sending)));
    (settled, in_flight)
}

/// What is under way in the conversation that was switched.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Look {
    pub(super) settled: bool,
    pub(super) in_flight: Vec<Uuid>,
    pub(super) at_provider: Vec<Uuid>,
    /// How many of those that were being sent have left since.
    pub(super) have_left: usize,
    /// And how many of them certainly did not, and were withdrawn.
    pub(super) came_back: usize,
}

/// It is not settled as long as others with the same person do not know. Unless it was given back meanwhile.
pub(super) fn look_at_ours(
    docket: &mut Docket,
    version: i64,
    under_way: &[Uuid],
    at_provider: &[Uuid],
) -> Look {
    let (settled, in_flight) = look_in_flight(docket, version);
    let conversation = &docket.conversation;
    let waits_for_others = conversation.memo.is_untold && conversation.mode.mode == Mode::Human;
    let state = |id: &Uuid| docket.delivery(*id).map(|it| it.state);
    let is_there = |id: &Uuid| docket.message(*id).is_some_and(is_at_provider);
    Look {
        settled: settled && !waits_for_others,
        at_provider: at_provider.iter().chain(under_way).filter(|id| is_there(id)).copied().collect(),
        have_left: under_way.iter().filter(|id| state(id).is_some_and(DeliveryState::is_accepted)).count(),
        came_back: under_way.iter().filter(|id| state(id) == Some(DeliveryState::Cancelled)).count(),
        in_flight,
    }
}

/// The provider has it, and has not yet reported it as sent.
fn is_at_provider(message: &Message) -> bool {
    let has_not_left = message.delivery.as_ref().is_some_and(|delivery| delivery.left_at.is_none());
    message.is_machine_made() && message.is(DeliveryState::Sent) && has_not_left
}

/// The switch itself, on the locked docket.
pub fn apply(docket: &mut Docket, policy: &Policy, to: Mode, request: &Request) -> Answer {
    let is_repeat =
        !request.id.is_empty() && docket.conversation.memo.mode_request.as_ref() == Some(&request.id);
    let is_conflict =
        request.expected_version.is_some_and(|version| version != docket.conversation.mode.version);
    if is_repeat {
        // It had its effect; a switch since then was decided later.
        return Ok(receipt(docket, &Switched::default(), to == Mode::Ai && request.answer_now));
    }
    if is_conflict {
        return Err(Refusal::VersionConflict);
    }
    if to == Mode::Ai && !policy.has_model {
        return Err(Refusal::NoModel);
    }
    if let Some(Some(until)) = request.until
        && until <= docket.now
    {
        return Err(Refusal::Invalid("until must be in the future"));
    }
    let usual = match to {
        Mode::Human => Reason::AgentButton,
        Mode::Ai => Reason::Released,
    };
    let by = By {
        reason: request.reason.unwrap_or(usual),
        actor: &request.who.actor,
        agent: request.who.agent,
        chose_until: request.until.is_some(),
    };
    let before = docket.conversation.mode.until;
    let switched = conversations::switch(docket, policy, to, by);
    if to == Mode::Human {
        merge::ask_once(docket);
    }
    docket.conversation.memo.mode_request = Some(request.id.clone()).filter(|id| !id.is_empty());
    if let Some(until) = request.until {
        docket.conversation.mode.until = until;
        docket.conversation.memo.is_clock_stopped = to == Mode::Human && until.is_none();
        if before != until {
            conversations::clock_changed(docket);
            conversations::tell_until(docket, &request.who.actor);
        }
    }
    if let Some(note) = request.note.as_ref().filter(|note| !note.trim().is_empty()) {
        let before = docket.conversation.memo.note.take().map(|before| before + "\n").unwrap_or_default();
        docket.conversation.memo.note = Some(before + note);
        desk::messages::keep_note(docket, note, &request.who);
    }
    let answering = to == Mode::Ai && request.answer_now && inbox::answer_now(docket);
    Ok(receipt(docket, &switched, answering))
}

/// What a switch did, as it stands in the docket now.
pub fn receipt(docket: &mut Docket, switched: &Switched, answering: bool) -> Receipt {
    let version = docket.conversation.mode.version;
    let seen = docket.ids(is_at_provider);
    let Look { settled, in_flight, at_provider, .. } = look_at_ours(docket, version, &[], &seen);
    Receipt {
        conversation: docket.conversation.clone(),
        changed: switched.changed,
        generation_cancelled: switched.generation_ms.is_some(),
        generation_ms: switched.generation_ms,
        parts_already_sent: switched.parts_already_sent,
        parts_discarded: switched.parts_discarded,
        follow_up_cancelled: switched.follow_up_cancelled,
        settled,
        in_flight,
        at_provider,
        answering,
    }
}
