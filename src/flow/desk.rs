//! Step: what a person does with a conversation. A person who writes takes over.
//!
//! In: requests of agents, programs and commands. Out: messages owed, notes, changes, or a refusal that says why.

use std::sync::Arc;

use serde_json::{Value, json};
use uuid::Uuid;

use super::{
    agenda::{self, Wish},
    archive::Archive,
    channels::{Channels, opening_by_a_person},
    conversations::{self, By},
    inbox,
    intake::Intake,
    ledger::{self, Key, Ledger, Need, change},
    mode_switch::{self, ModeSwitch, Receipt},
    outbox::{self, Owed},
    reconcile,
};
use crate::domain::{
    conversation::{Conversation, Status},
    docket::{Docket, Entry, Remembered},
    event::{EventType, actor},
    lane::Lane,
    message::{Author, DeliveryReason, DeliveryState, Gate, Kind, Message, Origin, Outcome, Quoted},
    mode::{Mode, Reason},
    pacing,
    policy::Policy,
    time::Time,
    turn::{DeadLetter, FollowUp, LetterKind, LetterState},
};

/// Longest text of one message of an agent, in characters; longer ones are refused, not cut.
pub const TEXT_MAX: usize = 20_000;
/// Most messages of one batch.
pub const BATCH_MAX: usize = 20;
/// Who spoke last, once a message is withdrawn, is looked for so far back.
const WITHDRAW_LOOKS_BACK: usize = 20;
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

/// One message to say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Words {
    /// What.
    pub text: String,
    /// Which message it answers.
    pub quoted: Option<Uuid>,
}

/// What was said.
#[derive(Debug, Clone, PartialEq)]
pub struct Said {
    /// Where.
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
    /// Suggestions in HUMAN.
    pub drafting: Option<bool>,
    /// Nobody is needed any more.
    pub clear_attention: bool,
    /// The contact's name, which the provider then no longer overwrites.
    pub contact_name: Option<String>,
}

/// Why a request was refused.
#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    /// There is no such thing.
    #[error("not found")]
    NotFound,
    /// The request cannot be meant so.
    #[error("{pointer}: {detail}")]
    Invalid {
        /// Where in the body, as a JSON pointer.
        pointer: &'static str,
        /// What is wrong.
        detail: String,
    },
    /// Things stand otherwise.
    #[error("{code}: {detail}")]
    Conflict {
        /// The problem's code.
        code: &'static str,
        /// In words.
        detail: String,
        /// The conversation as it is.
        current: Option<Box<Conversation>>,
    },
    /// The key stands for another request.
    #[error("the idempotency key was used for another request")]
    KeyReused,
    /// The store.
    #[error(transparent)]
    Store(#[from] ledger::Error),
}

/// The step.
pub struct Desk {
    /// Where conversations are changed.
    pub ledger: Arc<dyn Ledger>,
    /// Where messages and letters are found.
    pub archive: Arc<dyn Archive>,
    /// The rules.
    pub channels: Arc<Channels>,
    /// Reads webhooks that were kept.
    pub intake: Arc<Intake>,
    /// For settling after a takeover.
    pub switch: Arc<ModeSwitch>,
}

impl Desk {
    /// Says something to the contact, which takes over. All or none, in order, one takeover.
    pub async fn say(
        &self,
        key: Key,
        words: Vec<Words>,
        who: &Who,
        idempotency: Option<Idempotency>,
    ) -> Result<Said, Refusal> {
        check_words(&words)?;
        let key = begun_by_a_person(key, who);
        let (channels, who) = (Arc::clone(&self.channels), who.clone());
        let need = Need {
            messages: words.iter().filter_map(|words| words.quoted).collect(),
            request: idempotency.as_ref().map(|idempotency| idempotency.key.clone()),
            ..Need::default()
        };
        let step = move |docket: &mut Docket| {
            let channel = channels.get(&docket.conversation.channel).ok_or(Refusal::NotFound)?;
            say(docket, &channel.policy, &words, &who, idempotency.as_ref())
        };
        let (said, remembered) = unless_gone(change(&*self.ledger, key, need, step).await)??;
        if let Some(ids) = remembered {
            return self.said_before(said, &ids).await;
        }
        Ok(said)
    }

    /// The answer of the request that a key was first used for.
    async fn said_before(&self, said: Said, ids: &[Uuid]) -> Result<Said, Refusal> {
        let mut messages = Vec::with_capacity(ids.len());
        for id in ids {
            messages.push(self.archive.message(*id).await?.ok_or(Refusal::NotFound)?.message);
        }
        Ok(Said { messages, ..said })
    }

    /// Leaves a private note. A repeat under the same key leaves none.
    pub async fn note(
        &self,
        key: Key,
        text: String,
        who: &Who,
        idempotency: Option<Idempotency>,
    ) -> Result<Message, Refusal> {
        if text.trim().is_empty() || text.chars().count() > TEXT_MAX {
            return Err(invalid("/text", format!("1 to {TEXT_MAX} characters")));
        }
        let key = begun_by_a_person(key, who);
        let who = who.clone();
        let need = Need {
            request: idempotency.as_ref().map(|idempotency| idempotency.key.clone()),
            ..Need::default()
        };
        let step = move |docket: &mut Docket| {
            if let Some(ids) = made_before(docket, idempotency.as_ref())? {
                return Ok::<_, Refusal>((ids, None));
            }
            let id = keep_note(docket, &text, &who.actor, who.agent);
            remember(docket, idempotency.as_ref(), &[id]);
            Ok((vec![id], docket.message(id).cloned()))
        };
        let (ids, note) = unless_gone(change(&*self.ledger, key, need, step).await)??;
        match (note, ids.first()) {
            (Some(note), _) => Ok(note),
            (None, Some(id)) => Ok(self.archive.message(*id).await?.ok_or(Refusal::NotFound)?.message),
            (None, None) => Err(Refusal::NotFound),
        }
    }

    /// Sends a failed, dead or unknown message again, as this person's.
    pub async fn retry(&self, message: Uuid, who: &Who) -> Result<Message, Refusal> {
        self.with_message(message, who, retry_message).await
    }

    /// Treats a message of unknown fate as sent.
    pub async fn confirm(&self, message: Uuid, who: &Who) -> Result<Message, Refusal> {
        self.with_message(message, who, confirm_message).await
    }

    /// Withdraws a message that is still queued.
    pub async fn withdraw(&self, message: Uuid, who: &Who) -> Result<Message, Refusal> {
        self.with_message(message, who, withdraw_message).await
    }

    async fn with_message(
        &self,
        message: Uuid,
        who: &Who,
        act: fn(&mut Docket, &Policy, Uuid, &Who) -> Result<(), Refusal>,
    ) -> Result<Message, Refusal> {
        let placed = self.archive.message(message).await?.ok_or(Refusal::NotFound)?;
        let channel = self.channels.get(&placed.channel).ok_or(Refusal::NotFound)?;
        let need = Need { messages: vec![message], newest: WITHDRAW_LOOKS_BACK, ..Need::default() };
        let who = who.clone();
        let step = move |docket: &mut Docket| {
            act(docket, &channel.policy, message, &who)?;
            docket.message(message).cloned().ok_or(Refusal::NotFound)
        };
        unless_gone(change(&*self.ledger, Key::Id(placed.conversation), need, step).await)?
    }

    /// Changes a conversation.
    pub async fn patch(&self, key: Key, patch: Patch, who: &Who) -> Result<Uuid, Refusal> {
        let (channels, who) = (Arc::clone(&self.channels), who.clone());
        let step = move |docket: &mut Docket| {
            let channel = channels.get(&docket.conversation.channel).ok_or(Refusal::NotFound)?;
            apply_patch(docket, &channel.policy, &patch, &who)?;
            Ok(docket.conversation.id)
        };
        unless_gone(change(&*self.ledger, key, Need::default(), step).await)?
    }

    /// Read up to here (default: the newest), for all agents.
    pub async fn read(&self, key: Key, up_to: Option<i64>, who: &Who) -> Result<Uuid, Refusal> {
        let by = who.actor.clone();
        let need = Need { newest: 200, ..Need::default() };
        let step = move |docket: &mut Docket| {
            let seq = up_to.unwrap_or(docket.conversation.seq).clamp(0, docket.conversation.seq);
            let unread = docket
                .messages()
                .iter()
                .filter(|message| {
                    message.author == Author::Contact && message.seq > seq && counts_as_unread(message)
                })
                .count();
            set_read(docket, seq, i64::try_from(unread).unwrap_or(i64::MAX), &by);
            docket.conversation.id
        };
        unless_gone(change(&*self.ledger, key, need, step).await)
    }

    /// Marks the newest message of the contact unread again.
    pub async fn unread(&self, key: Key, who: &Who) -> Result<Uuid, Refusal> {
        let by = who.actor.clone();
        let step = move |docket: &mut Docket| {
            let seq = (docket.conversation.contact_seq - 1).max(0);
            let unread = docket.conversation.unread.max(i64::from(docket.conversation.contact_seq > 0));
            set_read(docket, seq, unread, &by);
            docket.conversation.id
        };
        unless_gone(change(&*self.ledger, key, Need::default(), step).await)
    }

    /// Schedules the one follow-up, in place of what is pending. True if there was none.
    pub async fn schedule(&self, key: Key, wish: Wish, who: &Who) -> Result<(FollowUp, bool), Refusal> {
        check_wish(&wish)?;
        let (channels, by) = (Arc::clone(&self.channels), who.actor.clone());
        let step = move |docket: &mut Docket| {
            let channel = channels.get(&docket.conversation.channel).ok_or(Refusal::NotFound)?;
            agenda::schedule(docket, &channel.policy, &wish, &by).ok_or_else(|| {
                conflict(
                    docket,
                    "follow_up_not_allowed",
                    "in HUMAN, closed, opted out, or while a message waits for its answer",
                )
            })
        };
        unless_gone(change(&*self.ledger, key, Need::default(), step).await)?
    }

    /// Calls the pending follow-up off.
    pub async fn call_off(&self, key: Key, who: &Who) -> Result<(), Refusal> {
        let by = who.actor.clone();
        let step = move |docket: &mut Docket| {
            if agenda::cancel(docket, "called_off", &by) { Ok(()) } else { Err(Refusal::NotFound) }
        };
        unless_gone(change(&*self.ledger, key, Need::default(), step).await)?
    }

    /// Tries a dead letter again: a turn or a send with all its attempts, unless it is no longer wanted; a webhook by
    /// reading it again, which helps when this program has learnt to.
    pub async fn replay(&self, letter: Uuid, force: bool, who: &Who) -> Result<DeadLetter, Refusal> {
        let found = self.archive.letter(letter).await?.ok_or(Refusal::NotFound)?;
        let channel = self.channels.get(&found.channel).ok_or(Refusal::NotFound)?;
        let Some(conversation) = found.conversation else {
            return self.read_again(found, who).await;
        };
        let need =
            Need { letter: Some(letter), messages: subjects_of(&found), newest: 20, ..Need::default() };
        let who = who.clone();
        let step = move |docket: &mut Docket| replay(docket, &channel.policy, letter, force, &who);
        unless_gone(change(&*self.ledger, Key::Id(conversation), need, step).await)?
    }

    /// The effect first, then the letter's end: whoever is cut off between them reads it once more, to no effect.
    async fn read_again(&self, letter: DeadLetter, who: &Who) -> Result<DeadLetter, Refusal> {
        if letter.kind != LetterKind::Webhook || letter.state != LetterState::Open {
            return Err(not_retryable(None, "it was replayed or discarded before, or is no webhook"));
        }
        let taken = self.intake.take_kept(&letter.channel, &letter.payload).await;
        if let Err(reason) = unless_gone(taken)? {
            return Err(not_retryable(None, &format!("it still cannot be read: {reason}")));
        }
        let now = self.ledger.now().await?;
        let replayed = DeadLetter { state: LetterState::Replayed, last_at: now, ..letter };
        let event = Entry::of(EventType::DeadLetterReplayed)
            .by(&who.actor)
            .with("dead_letter_id", replayed.id.to_string())
            .outside(&replayed.channel, now);
        self.ledger.keep(vec![event], vec![replayed.clone()]).await?;
        Ok(replayed)
    }

    /// Puts a dead letter away.
    pub async fn discard(&self, letter: Uuid, who: &Who) -> Result<(), Refusal> {
        let found = self.archive.letter(letter).await?.ok_or(Refusal::NotFound)?;
        if found.state != LetterState::Open {
            return Err(Refusal::NotFound);
        }
        let Some(conversation) = found.conversation else {
            let mut put_away = found;
            put_away.state = LetterState::Discarded;
            let event = Entry::of(EventType::DeadLetterDiscarded)
                .by(&who.actor)
                .with("dead_letter_id", letter.to_string())
                .outside(&put_away.channel, self.ledger.now().await?);
            self.ledger.keep(vec![event], vec![put_away]).await?;
            return Ok(());
        };
        let need = Need { letter: Some(letter), messages: subjects_of(&found), ..Need::default() };
        let by = who.actor.clone();
        let step = move |docket: &mut Docket| {
            end_letter(docket, letter, LetterState::Discarded);
            for id in subjects_of(&found) {
                if let Some(inbound) = docket.edit(id).and_then(|message| message.inbound.as_mut())
                    && inbound.outcome == Outcome::HandedOver
                {
                    inbound.outcome = Outcome::Dead;
                }
            }
            docket.record(
                Entry::of(EventType::DeadLetterDiscarded).by(&by).with("dead_letter_id", letter.to_string()),
            );
        };
        unless_gone(change(&*self.ledger, Key::Id(conversation), need, step).await)
    }
}

/// A conversation that a person starts begins in HUMAN.
fn begun_by_a_person(key: Key, who: &Who) -> Key {
    match key {
        Key::Chat { channel, chat, opening: None } => {
            Key::Chat { channel, chat, opening: Some(opening_by_a_person(Reason::AgentMessage, &who.actor)) }
        }
        key => key,
    }
}

fn unless_gone<T>(outcome: Result<T, ledger::Error>) -> Result<T, Refusal> {
    outcome.map_err(|error| match error {
        ledger::Error::Gone => Refusal::NotFound,
        error => Refusal::Store(error),
    })
}

fn invalid(pointer: &'static str, detail: String) -> Refusal {
    Refusal::Invalid { pointer, detail }
}

fn conflict(docket: &Docket, code: &'static str, detail: &str) -> Refusal {
    Refusal::Conflict {
        code,
        detail: detail.to_owned(),
        current: Some(Box::new(docket.conversation.clone())),
    }
}

fn not_retryable(docket: Option<&Docket>, detail: &str) -> Refusal {
    let current = docket.map(|docket| Box::new(docket.conversation.clone()));
    Refusal::Conflict { code: "not_retryable", detail: detail.to_owned(), current }
}

fn check_words(words: &[Words]) -> Result<(), Refusal> {
    if words.is_empty() || words.len() > BATCH_MAX {
        return Err(invalid("/messages", format!("1 to {BATCH_MAX} messages")));
    }
    if words.iter().any(|words| words.text.trim().is_empty() || words.text.chars().count() > TEXT_MAX) {
        return Err(invalid("/text", format!("1 to {TEXT_MAX} characters")));
    }
    Ok(())
}

fn check_wish(wish: &Wish) -> Result<(), Refusal> {
    if wish.due_at.is_some() == wish.delay_ms.is_some() {
        return Err(invalid("/due_at", "exactly one of due_at and delay_ms".to_owned()));
    }
    if wish.delay_ms.is_some_and(|ms| ms < 0) {
        return Err(invalid("/delay_ms", "must not be negative".to_owned()));
    }
    if wish.text.is_some() && wish.instructions.is_some() {
        return Err(invalid("/text", "at most one of text and instructions".to_owned()));
    }
    let is_blank = |text: &Option<String>| text.as_ref().is_some_and(|text| text.trim().is_empty());
    if is_blank(&wish.text) || is_blank(&wish.instructions) {
        return Err(invalid("/text", "must not be blank".to_owned()));
    }
    Ok(())
}

/// A person writes: takeover, then their words in order. A repeat under the same key makes nothing, and takes over nothing.
pub(super) fn say(
    docket: &mut Docket,
    policy: &Policy,
    words: &[Words],
    who: &Who,
    idempotency: Option<&Idempotency>,
) -> Result<(Said, Option<Vec<Uuid>>), Refusal> {
    if let Some(ids) = made_before(docket, idempotency)? {
        let said = Said { conversation: docket.conversation.id, messages: Vec::new(), takeover: None };
        return Ok((said, Some(ids)));
    }
    let was_ai = docket.conversation.mode.mode == Mode::Ai;
    let by = By { reason: Reason::AgentMessage, actor: &who.actor, agent: who.agent };
    let switched = conversations::cause(docket, policy, by).unwrap_or_default();
    let mut ids = Vec::new();
    for words in words {
        let quoted = quote(docket, words.quoted)?;
        let owed = Owed {
            author: Author::Agent,
            origin: who.origin,
            gate: Gate::Person,
            lane: Lane::Human,
            agent: who.agent,
            turn: None,
            quoted,
            typing_ms: Vec::new(),
        };
        let parts = pacing::split(&words.text, 0, 1, policy.message_max_chars);
        ids.extend(outbox::owe(docket, &parts, &owed, &who.actor));
    }
    reconcile::a_person_wrote(docket, policy, &who.actor);
    remember(docket, idempotency, &ids);
    let has_stopped = switched.changed || switched.parts_discarded > 0 || switched.generation_ms.is_some();
    let takeover = (was_ai || has_stopped).then(|| mode_switch::receipt(docket, &switched, false));
    let messages = ids.iter().filter_map(|id| docket.message(*id).cloned()).collect();
    Ok((Said { conversation: docket.conversation.id, messages, takeover }, None))
}

/// What an earlier request under the same key made; refused if that was another request.
fn made_before(docket: &Docket, idempotency: Option<&Idempotency>) -> Result<Option<Vec<Uuid>>, Refusal> {
    let (Some(idempotency), Some(before)) = (idempotency, &docket.remembered) else { return Ok(None) };
    if docket.now.since(before.at) >= REMEMBERED_MS {
        return Ok(None);
    }
    if before.body_hash != idempotency.body_hash {
        return Err(Refusal::KeyReused);
    }
    Ok(Some(ids_of(&before.answer)))
}

fn remember(docket: &mut Docket, idempotency: Option<&Idempotency>, ids: &[Uuid]) {
    if let (Some(idempotency), Some(first)) = (idempotency, ids.first()) {
        docket.remember(Remembered {
            key: idempotency.key.clone(),
            body_hash: idempotency.body_hash.clone(),
            message: *first,
            answer: json!(ids.iter().map(Uuid::to_string).collect::<Vec<_>>()),
            at: docket.now,
        });
    }
}

fn ids_of(answer: &Value) -> Vec<Uuid> {
    answer.as_array().into_iter().flatten().filter_map(|id| id.as_str()?.parse().ok()).collect()
}

fn quote(docket: &Docket, quoted: Option<Uuid>) -> Result<Option<Quoted>, Refusal> {
    let Some(id) = quoted else { return Ok(None) };
    let unknown = || {
        invalid("/quoted_message_id", "no message of this conversation that the provider knows".to_owned())
    };
    let message = docket.message(id).ok_or_else(unknown)?;
    let provider_message_id = message.provider_message_id.clone().ok_or_else(unknown)?;
    Ok(Some(Quoted { provider_message_id, text: message.text.chars().take(300).collect() }))
}

/// Puts a private note into the conversation.
pub fn keep_note(docket: &mut Docket, text: &str, actor: &str, agent: Option<Uuid>) -> Uuid {
    let last_message_at = docket.conversation.last_message_at;
    let id = docket.push(Message {
        id: Uuid::now_v7(),
        seq: 0,
        author: Author::Agent,
        origin: Origin::Dashboard,
        kind: Kind::Note,
        text: text.to_owned(),
        sender: None,
        agent,
        quoted: None,
        media: None,
        provider_message_id: None,
        key: None,
        at: docket.now,
        provider_at: None,
        edited_at: None,
        deleted_at: None,
        turn: None,
        inbound: None,
        delivery: None,
    });
    // A note is no message to or from the contact.
    docket.conversation.last_message_at = last_message_at;
    docket.record(Entry::of(EventType::NoteAdded).by(actor).message(id));
    id
}

pub(super) fn retry_message(
    docket: &mut Docket,
    policy: &Policy,
    id: Uuid,
    who: &Who,
) -> Result<(), Refusal> {
    let now = docket.now;
    let version = docket.conversation.mode.version;
    let state =
        docket.message(id).and_then(|message| message.delivery.as_ref()).map(|delivery| delivery.state);
    match state {
        Some(DeliveryState::Failed | DeliveryState::Dead | DeliveryState::Unknown) => {}
        Some(DeliveryState::Sent | DeliveryState::Delivered | DeliveryState::Read) => {
            return Err(conflict(docket, "already_sent", "the message was sent"));
        }
        Some(DeliveryState::Queued | DeliveryState::Sending | DeliveryState::Cancelled) | None => {
            return Err(not_retryable(Some(docket), "it is neither failed, dead nor unknown"));
        }
    }
    let was_unclear =
        docket.message(id).and_then(|m| m.delivery.as_ref()).is_some_and(|delivery| delivery.unclear);
    if let Some(delivery) = docket.edit(id).and_then(|message| message.delivery.as_mut()) {
        delivery.state = DeliveryState::Queued;
        delivery.reason = None;
        delivery.gate = Gate::Person;
        delivery.lane = Lane::Human;
        delivery.version = version;
        delivery.attempts = 0;
        delivery.due_at = now;
    }
    if was_unclear {
        docket.record(Entry::of(EventType::SendReconciled).action("resent").by(&who.actor).message(id));
    }
    docket.record(Entry::of(EventType::MessageQueued).by(&who.actor).message(id));
    after_message_settled(docket, policy, id, who);
    Ok(())
}

pub(super) fn confirm_message(
    docket: &mut Docket,
    policy: &Policy,
    id: Uuid,
    who: &Who,
) -> Result<(), Refusal> {
    let now = docket.now;
    let Some(delivery) = docket.edit(id).and_then(|message| message.delivery.as_mut()) else {
        return Err(Refusal::NotFound);
    };
    if delivery.state != DeliveryState::Unknown {
        return Err(conflict(docket, "not_retryable", "its fate is not unknown"));
    }
    delivery.state = DeliveryState::Sent;
    delivery.reason = None;
    delivery.sent_at = Some(now);
    // Stays unclear: its echo may still come, and is then recognised.
    docket.record(
        Entry::of(EventType::SendReconciled)
            .action("confirmed_sent")
            .by(&who.actor)
            .message(id)
            .with("by", "person"),
    );
    after_message_settled(docket, policy, id, who);
    Ok(())
}

/// A person has decided about a message: its letter and the call for a person end with it.
fn after_message_settled(docket: &mut Docket, policy: &Policy, id: Uuid, who: &Who) {
    let letter = docket.letters().iter().find(|letter| letter.subject == Some(id)).map(|letter| letter.id);
    if let Some(letter) = letter {
        end_letter(docket, letter, LetterState::Replayed);
    }
    conversations::clear(docket, &who.actor, |_| true);
    conversations::wind_overdue(docket, policy);
}

/// What was withdrawn was not said: the contact may wait again.
fn take_back_words(docket: &mut Docket, policy: &Policy) {
    let is_said = |message: &&Message| {
        message.author != Author::Contact
            && message.kind != Kind::Note
            && !message.is(DeliveryState::Cancelled)
            && !(message.is_machine_made() && message.is(DeliveryState::Queued))
    };
    let said = docket.messages().iter().filter(is_said).map(|message| message.seq).max().unwrap_or(0);
    let conversation = &docket.conversation;
    if said >= conversation.contact_seq || conversation.our_seq <= said {
        return;
    }
    let is_unanswered =
        |message: &&Message| message.seq > said && message.inbound.is_some_and(|inbound| inbound.starts_turn);
    let since = docket.messages().iter().find(is_unanswered).map(|message| message.at);
    docket.conversation.our_seq = said;
    docket.conversation.waiting_since = docket.conversation.waiting_since.or(since);
    conversations::wind_overdue(docket, policy);
}

pub(super) fn withdraw_message(
    docket: &mut Docket,
    policy: &Policy,
    id: Uuid,
    who: &Who,
) -> Result<(), Refusal> {
    let state =
        docket.message(id).and_then(|message| message.delivery.as_ref()).map(|delivery| delivery.state);
    match state {
        Some(DeliveryState::Queued) => {
            outbox::cancel(docket, id, DeliveryReason::DeletedByAgent, &who.actor);
            agenda::cancel_automatic(docket, &who.actor);
            take_back_words(docket, policy);
            inbox::wind(docket, policy);
            Ok(())
        }
        None => Err(Refusal::NotFound),
        Some(_) => Err(conflict(docket, "already_sent", "it is no longer queued")),
    }
}

fn apply_patch(docket: &mut Docket, policy: &Policy, patch: &Patch, who: &Who) -> Result<(), Refusal> {
    if let Some(expected) = patch.expected_assignee
        && expected != docket.conversation.assignee
    {
        return Err(conflict(docket, "version_conflict", "somebody else holds the conversation"));
    }
    match patch.status {
        None => {}
        Some((Status::Closed, _)) => conversations::close(docket, policy, &who.actor),
        Some((Status::Snoozed, until)) => {
            let until = until.filter(|until| *until > docket.now);
            let until = until.ok_or_else(|| invalid("/snoozed_until", "must be in the future".to_owned()))?;
            conversations::set_status(docket, Status::Snoozed, Some(until), &who.actor);
        }
        Some((Status::Open, _)) => {
            conversations::set_status(docket, Status::Open, None, &who.actor);
        }
    }
    if let Some(assignee) = patch.assignee
        && assignee != docket.conversation.assignee
    {
        docket.conversation.assignee = assignee;
        docket.record(
            Entry::of(EventType::ConversationUpdated)
                .action("assigned")
                .by(&who.actor)
                .with("assignee", assignee.map(|id| id.to_string())),
        );
    }
    if let Some(drafting) = patch.drafting
        && drafting != docket.conversation.drafting
    {
        docket.conversation.drafting = drafting;
        docket.record(
            Entry::of(EventType::ConversationUpdated)
                .action("drafting")
                .by(&who.actor)
                .with("drafting", drafting),
        );
    }
    if let Some(name) = &patch.contact_name {
        docket.conversation.contact_name = Some(name.clone());
        docket.conversation.contact_named_by_agent = true;
        docket.record(Entry::of(EventType::ConversationUpdated).action("renamed").by(&who.actor));
    }
    if patch.clear_attention {
        conversations::clear(docket, &who.actor, |_| true);
    }
    Ok(())
}

fn counts_as_unread(message: &Message) -> bool {
    !matches!(message.kind, Kind::Reaction | Kind::PollVote)
}

fn set_read(docket: &mut Docket, seq: i64, unread: i64, by: &str) {
    if docket.conversation.read_seq == seq && docket.conversation.unread == unread {
        return;
    }
    docket.conversation.read_seq = seq;
    docket.conversation.unread = unread;
    docket.record(Entry::of(EventType::ConversationUpdated).action("read").by(by).with("seq", seq));
}

fn subjects_of(letter: &DeadLetter) -> Vec<Uuid> {
    match letter.kind {
        LetterKind::Turn => ids_of(&letter.payload["message_ids"]),
        LetterKind::Send => letter.subject.into_iter().collect(),
        LetterKind::Webhook | LetterKind::Delivery => Vec::new(),
    }
}

fn end_letter(docket: &mut Docket, id: Uuid, state: LetterState) {
    let letter = docket.letters().iter().find(|letter| letter.id == id).cloned();
    if let Some(mut letter) = letter {
        letter.state = state;
        letter.last_at = docket.now;
        docket.keep_letter(letter);
    }
}

fn replay(
    docket: &mut Docket,
    policy: &Policy,
    id: Uuid,
    force: bool,
    who: &Who,
) -> Result<DeadLetter, Refusal> {
    let letter = docket.letters().iter().find(|letter| letter.id == id).cloned().ok_or(Refusal::NotFound)?;
    if letter.state != LetterState::Open {
        return Err(not_retryable(Some(docket), "it was replayed or discarded before"));
    }
    match letter.kind {
        LetterKind::Turn => replay_turn(docket, policy, &letter, force)?,
        LetterKind::Send => {
            let message = letter.subject.ok_or(Refusal::NotFound)?;
            refuse_unwanted_send(docket, message, force)?;
            retry_message(docket, policy, message, who)?;
        }
        LetterKind::Webhook | LetterKind::Delivery => {
            return Err(not_retryable(Some(docket), "letters of this kind are not replayed so"));
        }
    }
    end_letter(docket, id, LetterState::Replayed);
    docket.record(
        Entry::of(EventType::DeadLetterReplayed).by(&who.actor).with("dead_letter_id", id.to_string()),
    );
    docket.letters().iter().find(|letter| letter.id == id).cloned().ok_or(Refusal::NotFound)
}

/// The messages of a failed turn wait again, with a full new set of attempts.
fn replay_turn(
    docket: &mut Docket,
    policy: &Policy,
    letter: &DeadLetter,
    force: bool,
) -> Result<(), Refusal> {
    let ids = subjects_of(letter);
    let newest =
        docket.messages().iter().filter(|message| ids.contains(&message.id)).map(|message| message.seq).max();
    let Some(newest) = newest else { return Err(not_retryable(Some(docket), "its messages are gone")) };
    if docket.conversation.mode.mode == Mode::Human {
        return Err(not_retryable(Some(docket), "a person has taken over"));
    }
    if docket.conversation.our_seq > newest && !force {
        let newer_answer = docket.messages().iter().any(|message| {
            message.seq > newest
                && matches!(message.author, Author::Assistant | Author::Agent)
                && message.kind != Kind::Note
        });
        if newer_answer {
            return Err(not_retryable(Some(docket), "the contact has had a newer answer"));
        }
    }
    for id in ids {
        if let Some(message) = docket.edit(id) {
            message.turn = None;
            if let Some(inbound) = &mut message.inbound
                && message.deleted_at.is_none()
            {
                inbound.outcome = Outcome::Pending;
                inbound.reason = None;
                inbound.starts_turn = true;
            }
        }
    }
    conversations::set_status(docket, Status::Open, None, actor::SYSTEM);
    inbox::begin_new_burst(docket, policy);
    let now = docket.now;
    docket.conversation.memo.ripe_at = Some(now.0);
    Ok(())
}

fn refuse_unwanted_send(docket: &Docket, id: Uuid, force: bool) -> Result<(), Refusal> {
    let Some(message) = docket.message(id) else { return Err(Refusal::NotFound) };
    let is_machine_made = message.is_machine_made();
    let a_newer_left = docket.messages().iter().any(|other| {
        other.seq > message.seq && other.delivery.as_ref().is_some_and(|delivery| delivery.sent_at.is_some())
    });
    if is_machine_made && docket.conversation.mode.mode == Mode::Human && !force {
        return Err(not_retryable(Some(docket), "a person has taken over"));
    }
    if is_machine_made && a_newer_left && !force {
        return Err(not_retryable(Some(docket), "the contact has had a newer answer"));
    }
    Ok(())
}
