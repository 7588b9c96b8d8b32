//! Step: what a person does with a conversation. A person who writes takes over.
//!
//! In: requests of agents, programs and commands. Out: messages owed, notes, changes, or a refusal that says why.

pub(super) mod messages;

pub(super) mod resolve_send;

pub(super) mod letters;

pub(super) mod patch;

pub(super) mod drafts;

mod read_state;

pub(super) mod follow_ups;

mod unassign;

mod redeliver;

mod refusal;

pub use drafts::Approval;
pub use refusal::Refusal;

use std::sync::Arc;

use bytes::Bytes;
use uuid::Uuid;

use self::{
    read_state::Ticks,
    refusal::{conflict, invalid, not_retryable, or_not_found, refuse_unaddressed},
};
use super::{
    archive::Archive,
    instance::channels::Channels,
    intake::Intake,
    ledger::{Key, Ledger, Need, change},
    media::{
        enclosures::Enclosures,
        files::{Looks, kinds},
    },
    mode_switch::{ModeSwitch, Receipt},
    notify::endpoints::Endpoints,
};
use crate::domain::{
    conversation::Status,
    docket::Docket,
    enclosure::Enclosure,
    label::Labelling,
    message::{Message, Origin},
    mode::Reason,
    policy::Policy,
    time::Time,
    turn::{DeadLetter, LetterKind, LetterState},
};

/// Longest text of one message of an agent, in characters; longer ones are refused, not cut.
pub const TEXT_MAX: usize = 20_000;
/// Most messages of one batch.
pub const BATCH_MAX: usize = 20;
/// Who spoke last, once a message is withdrawn, is looked for so far back.
const WITHDRAW_LOOKS_BACK: usize = 20;
/// How many messages back newer answers, and by force what waits with the letter, are looked for.
const REPLAY_LOOKS_BACK: usize = 100;
/// A request's answer is kept for a repeat this long.
pub const REMEMBERED_MS: i64 = 86_400_000;

/// Who acts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Who {
    /// As events name them.
    pub actor: String,
    /// The agent, if it is one.
    pub agent: Option<Uuid>,
    /// How their messages came.
    pub origin: Origin,
}

/// A request that may be repeated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Idempotency {
    /// Caller, path and key.
    pub key: String,
    /// Of the body.
    pub body_hash: String,
}

impl Idempotency {
    /// Of a request that nobody repeats but the store, which runs a step again if it has not heard of its end: it must find
    /// what it made before.
    pub(super) fn of_its_own() -> Self {
        Self { key: format!("once {}", Uuid::now_v7()), body_hash: String::new() }
    }
}

/// One message to say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewMessage {
    /// The text.
    pub text: String,
    /// Which message it answers.
    pub quoted: Option<Uuid>,
    /// The file that goes with it, kept already: the text is what stands under it.
    pub enclosure: Option<Enclosure>,
    /// Where it is in the request, as a JSON pointer, by which the refusal names it.
    pub at: String,
}

impl NewMessage {
    /// These words, and nothing with them.
    pub fn of(text: impl Into<String>) -> Self {
        Self { text: text.into(), quoted: None, enclosure: None, at: String::new() }
    }
}

/// What was said.
#[derive(Debug, Clone, PartialEq)]
pub struct Posted {
    /// The conversation in which it was said.
    pub conversation: Uuid,
    /// The messages, in order.
    pub messages: Vec<Message>,
    /// What the takeover stopped; None where a person answered already and nothing was stopped.
    pub takeover: Option<Receipt>,
}

/// What to change in a conversation.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Patch {
    /// Open, snooze until, close.
    pub status: Option<(Status, Option<Time>)>,
    /// Assign, or take away.
    pub assignee: Option<Option<Uuid>>,
    /// Only if it is assigned so.
    pub expected_assignee: Option<Option<Uuid>>,
    /// Put labels on, and take them off.
    pub labelling: Option<Labelling>,
    /// Suggestions in HUMAN.
    pub drafting: Option<bool>,
    /// Nobody is needed any more.
    pub clear_attention: bool,
    /// The contact wants follow-ups again.
    pub lets_follow_up: bool,
    /// The contact's name, which the provider then no longer overwrites.
    pub contact_name: Option<String>,
}

/// The step.
pub struct Desk {
    /// Where conversations are changed.
    pub ledger: Arc<dyn Ledger>,
    /// Where messages and letters are found.
    pub archive: Arc<dyn Archive>,
    /// Where the files are that people send.
    pub enclosures: Arc<dyn Enclosures>,
    /// Who outside receives which events.
    pub endpoints: Arc<dyn Endpoints>,
    /// The rules.
    pub channels: Arc<Channels>,
    /// Reads webhooks that were kept.
    pub intake: Arc<Intake>,
    /// Takes over the other conversations with the same person as well.
    pub switch: Arc<ModeSwitch>,
}

impl Desk {
    /// A conversation that a person starts begins in HUMAN.
    fn begun_by_a_person(&self, key: Key, who: &Who) -> Key {
        self.channels.begun_by_a_person(key, Reason::AgentMessage, &who.actor)
    }

    /// Keeps a file that is to go with what is said next.
    pub async fn enclose(&self, name: &str, called: &str, bytes: Bytes) -> Result<Enclosure, Refusal> {
        if bytes.is_empty() {
            return Err(invalid("/file", "must not be empty".to_owned()));
        }
        let looks = match Looks::of(&bytes[..bytes.len().min(kinds::FIRST_BYTES)]) {
            Looks::Like(kind) => Some(kind),
            Looks::LikeNothing | Looks::Unseen => None,
        };
        let file = Enclosure::of(name, called, looks, bytes.len()).ok_or(Refusal::Unsendable)?;
        self.enclosures.enclose(file.id, bytes).await?;
        Ok(file)
    }

    /// Says something to the contact, which takes over. All or none, in order, one takeover. Files that go with it are kept
    /// before, and let go of if nothing carries them.
    pub async fn say(
        &self,
        key: Key,
        words: Vec<NewMessage>,
        who: &Who,
        idempotency: Option<Idempotency>,
    ) -> Result<Posted, Refusal> {
        let files: Vec<Uuid> =
            words.iter().filter_map(|words| words.enclosure.as_ref()).map(|file| file.id).collect();
        let outcome = self.speak(key, words, who, idempotency).await;
        // A step whose end was not heard of may have been committed all the same.
        let is_known = !matches!(outcome, Err(Refusal::Store(_)));
        let carried = outcome.as_ref().map(Posted::ids).unwrap_or_default();
        for file in files.into_iter().filter(|file| is_known && !carried.contains(file)) {
            if let Err(error) = self.enclosures.let_go_of(file).await {
                tracing::debug!(%error, "a file that nothing carries was not let go of; it will be within the day");
            }
        }
        outcome
    }

    async fn speak(
        &self,
        key: Key,
        words: Vec<NewMessage>,
        who: &Who,
        idempotency: Option<Idempotency>,
    ) -> Result<Posted, Refusal> {
        messages::check(&words)?;
        if let Key::Chat { chat, .. } = &key {
            // Also before its first message: a refusal begins no conversation.
            refuse_unaddressed(chat)?;
        }
        let idempotency = idempotency.unwrap_or_else(Idempotency::of_its_own);
        let key = self.begun_by_a_person(key, who);
        let (channels, who) = (Arc::clone(&self.channels), who.clone());
        let need = Need {
            messages: words.iter().filter_map(|words| words.quoted).collect(),
            request: Some(idempotency.key.clone()),
            ..Need::default()
        };
        let step = move |docket: &mut Docket| {
            let channel = channels.of_conversation(&docket.conversation.channel)?;
            let unread = docket.conversation.unread;
            let (said, remembered) = messages::say(docket, &channel.policy, &words, &who, &idempotency)?;
            let ticks = Ticks::of(docket, &channel, docket.conversation.unread < unread);
            Ok::<_, Refusal>((said, remembered, ticks))
        };
        let (said, remembered, ticks) = or_not_found(change(&*self.ledger, key, need, step).await)??;
        if let Some(ticks) = ticks {
            ticks.give();
        }
        if let Some(ids) = remembered {
            return self.said_before(said, &ids).await;
        }
        Ok(self.with_others(said).await)
    }

    /// The takeover is one in the other conversations with the same person as well.
    async fn with_others(&self, mut said: Posted) -> Posted {
        if let Some(takeover) = said.takeover.take() {
            said.takeover = Some(self.switch.with_others(takeover).await);
        }
        said
    }

    /// The answer of the request that a key was first used for.
    async fn said_before(&self, said: Posted, ids: &[Uuid]) -> Result<Posted, Refusal> {
        let mut messages = Vec::with_capacity(ids.len());
        let mut conversation = said.conversation;
        for id in ids {
            let placed = self.archive.message(*id).await?.ok_or(Refusal::NotFound)?;
            // Where it was said: that conversation may continue in another one since.
            conversation = placed.conversation;
            messages.push(placed.message);
        }
        Ok(Posted { conversation, messages, ..said })
    }

    /// Leaves a private note, and says in which conversation. A repeat under the same key leaves none.
    pub async fn note(
        &self,
        key: Key,
        text: String,
        who: &Who,
        idempotency: Option<Idempotency>,
    ) -> Result<(Uuid, Message), Refusal> {
        if text.trim().is_empty() || text.chars().count() > TEXT_MAX {
            return Err(invalid("/text", format!("1 to {TEXT_MAX} characters")));
        }
        let idempotency = idempotency.unwrap_or_else(Idempotency::of_its_own);
        let key = self.begun_by_a_person(key, who);
        let who = who.clone();
        let need = Need { request: Some(idempotency.key.clone()), ..Need::default() };
        let step = move |docket: &mut Docket| {
            let conversation = docket.conversation.id;
            if let Some(ids) = messages::made_before(docket, &idempotency)? {
                return Ok::<_, Refusal>((ids, conversation, None));
            }
            let id = messages::keep_note(docket, &text, &who);
            messages::remember(docket, &idempotency, &[id]);
            Ok((vec![id], conversation, docket.message(id).cloned()))
        };
        let (ids, conversation, note) = or_not_found(change(&*self.ledger, key, need, step).await)??;
        match (note, ids.first()) {
            (Some(note), _) => Ok((conversation, note)),
            (None, Some(id)) => {
                let kept = self.archive.message(*id).await?.ok_or(Refusal::NotFound)?;
                Ok((kept.conversation, kept.message))
            }
            (None, None) => Err(Refusal::NotFound),
        }
    }

    /// Sends a failed, dead or unknown message again, as this person's.
    pub async fn retry(&self, message: Uuid, who: &Who) -> Result<Message, Refusal> {
        self.with_message(message, who, resolve_send::retry).await
    }

    /// Treats a message of unknown fate as sent.
    pub async fn confirm(&self, message: Uuid, who: &Who) -> Result<Message, Refusal> {
        self.with_message(message, who, resolve_send::confirm).await
    }

    /// Withdraws a message that is still queued.
    pub async fn withdraw(&self, message: Uuid, who: &Who) -> Result<Message, Refusal> {
        self.with_message(message, who, resolve_send::withdraw).await
    }

    async fn with_message(
        &self,
        message: Uuid,
        who: &Who,
        act: fn(&mut Docket, &Policy, Uuid, &Who) -> Result<(), Refusal>,
    ) -> Result<Message, Refusal> {
        let placed = self.archive.message(message).await?.ok_or(Refusal::NotFound)?;
        let channel = self.channels.of_conversation(&placed.channel)?;
        let need =
            Need { messages: vec![message], newest: WITHDRAW_LOOKS_BACK, itself: true, ..Need::default() };
        let who = who.clone();
        let step = move |docket: &mut Docket| {
            refuse_merged(docket)?;
            act(docket, &channel.policy, message, &who)?;
            docket.message(message).cloned().ok_or(Refusal::NotFound)
        };
        or_not_found(change(&*self.ledger, Key::Id(placed.conversation), need, step).await)?
    }

    /// Changes a conversation.
    pub async fn patch(&self, key: Key, patch: Patch, who: &Who) -> Result<Uuid, Refusal> {
        let (channels, who) = (Arc::clone(&self.channels), who.clone());
        let need = Need { labels: patch.labelling.is_some(), ..Need::default() };
        let step = move |docket: &mut Docket| {
            let channel = channels.of_conversation(&docket.conversation.channel)?;
            patch::apply(docket, &channel.policy, &patch, &who)?;
            Ok(docket.conversation.id)
        };
        or_not_found(change(&*self.ledger, key, need, step).await)?
    }

    /// Tries a dead letter again: a turn or a send with all its attempts, unless it is no longer wanted; a webhook by
    /// reading it again, which helps when this program has learnt to; a delivery for another day.
    pub async fn replay(&self, letter: Uuid, force: bool, who: &Who) -> Result<DeadLetter, Refusal> {
        let found = self.archive.letter(letter).await?.ok_or(Refusal::NotFound)?;
        if found.kind == LetterKind::Delivery {
            return self.replay_delivery(found, who).await;
        }
        let channel = self.channels.of_conversation(&found.channel)?;
        let Some(conversation) = found.conversation else {
            return self.read_again(found, who).await;
        };
        let need = Need {
            letter: Some(letter),
            turn: self.turn_of(&found).await?,
            messages: letters::subjects_of(&found),
            newest: REPLAY_LOOKS_BACK,
            itself: true,
            ..Need::default()
        };
        let who = who.clone();
        let step = move |docket: &mut Docket| {
            refuse_merged(docket)?;
            letters::replay(docket, &channel.policy, letter, force, &who)
        };
        or_not_found(change(&*self.ledger, Key::Id(conversation), need, step).await)?
    }

    /// The turn that wrote what was not sent: what it answers is not answered again by force.
    async fn turn_of(&self, letter: &DeadLetter) -> Result<Option<Uuid>, Refusal> {
        let Some(message) = letter.subject.filter(|_| letter.kind == LetterKind::Send) else {
            return Ok(None);
        };
        Ok(self.archive.message(message).await?.and_then(|placed| placed.message.turn))
    }

    /// The effect first, then the letter's end: after a crash in between it is read again, to no effect.
    async fn read_again(&self, letter: DeadLetter, who: &Who) -> Result<DeadLetter, Refusal> {
        if letter.kind != LetterKind::Webhook || letter.state != LetterState::Open {
            return Err(not_retryable("it was replayed or discarded before, or is no webhook"));
        }
        let taken = self.intake.take_kept(&letter.channel, &letter.payload).await;
        if let Err(reason) = or_not_found(taken)? {
            return Err(not_retryable(&format!("it still cannot be read: {reason}")));
        }
        self.end_letter(letter, LetterState::Replayed, who).await
    }

    /// Puts a dead letter away.
    pub async fn discard(&self, letter: Uuid, who: &Who) -> Result<(), Refusal> {
        let found = self.archive.letter(letter).await?.ok_or(Refusal::NotFound)?;
        let Some(conversation) = found.conversation else {
            if found.state != LetterState::Open {
                return Err(Refusal::NotFound);
            }
            return self.end_letter(found, LetterState::Discarded, who).await.map(drop);
        };
        let messages = letters::subjects_of(&found);
        let need = Need { letter: Some(letter), messages, itself: true, ..Need::default() };
        let who = who.clone();
        let step = move |docket: &mut Docket| letters::discard(docket, letter, &who);
        or_not_found(change(&*self.ledger, Key::Id(conversation), need, step).await)?
    }
}

/// What is of a conversation that was merged stays there, and nothing leaves from there any more.
fn refuse_merged(docket: &Docket) -> Result<(), Refusal> {
    match docket.conversation.memo.merged_into {
        Some(_) => Err(not_retryable("its conversation continues in another one: write there")),
        None => Ok(()),
    }
}
