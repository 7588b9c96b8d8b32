//! Step: what the provider posts becomes its one effect, committed before it is acknowledged.
//!
//! In: a webhook body that has passed the door. Out: a message in the inbox, a takeover, a settled send, a moved
//! status, or a dead letter; and which of these it was.

mod kept;

mod reports;

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

pub(super) use kept::body_of;
use kept::payload_of;

use execution::deduplicate_webhook::{Claim, Deduplicator, Token};
use metrics::counter;
use uuid::Uuid;

use super::{
    back_office::registry::Registry,
    forgetting::tombstones::{Removal, Tombstone, Tombstones},
    inbox::{self, Admitted},
    instance::channels::{Channel, Channels},
    ledger::{Error, Key, Ledger, Need, change, ignore_gone},
    merge::link,
    mode_switch::ANSWER_NOW_MESSAGES,
    provider::{Amendment, Arrival, Incoming, Unreadable},
    reconcile::Copy,
    repair,
    turn::immediate_turn::ImmediateTurn,
};
use crate::domain::{
    chat::ChatId,
    conversation::Opening,
    docket::{Docket, Entry},
    event::{Event, EventType},
    payload::Payload,
    policy::Policy,
    time::Time,
    turn::{DeadLetter, LetterKind, LetterState},
};

/// What became of a webhook.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// It had its effect; the message, if it is one.
    Accepted(Option<Uuid>),
    /// It had its effect before.
    Duplicate(Option<Uuid>),
    /// It is of no consequence.
    Ignored,
    /// It cannot be read, and is kept.
    DeadLetter,
}

impl Verdict {
    /// Every one there may be, of no message in particular.
    pub const EACH: [Self; 4] =
        [Self::Accepted(None), Self::Duplicate(None), Self::Ignored, Self::DeadLetter];

    /// In a word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Accepted(_) => "accepted",
            Self::Duplicate(_) => "duplicate",
            Self::Ignored => "ignored",
            Self::DeadLetter => "dead_letter",
        }
    }
}

/// Counts notifications of providers by how they are answered, however they come.
pub fn count(result: &'static str, times: u64) {
    counter!("baton_webhooks_total", "result" => result).increment(times);
}

/// The rule by which a message is let in.
type Admit = fn(&mut Docket, &Policy, &Arrival) -> Admitted;

/// The step.
pub struct Intake {
    /// Where conversations are changed.
    pub ledger: Arc<dyn Ledger>,
    /// Where channels are known.
    pub registry: Arc<dyn Registry>,
    /// The rules and gateways.
    pub channels: Arc<Channels>,
    /// The quick memory in front; the database decides.
    pub deduplicator: Option<Arc<Deduplicator>>,
    /// How messages are known that were removed.
    pub tombstones: Tombstones,
    /// Begins what is ripe as it comes; None: other processes do.
    pub immediate_turn: Option<ImmediateTurn>,
    /// The moment by this machine's clock.
    pub clock: fn() -> Time,
}

impl Intake {
    /// Takes one webhook body of a channel. An error means that nothing was stored: it must come again.
    pub async fn take(&self, channel: &str, body: &[u8]) -> Result<Verdict, Error> {
        let Some(channel) = self.channels.get(channel) else { return Err(Error::Gone) };
        match channel.provider.read(body) {
            Ok(incoming) => match self.take_incoming(&channel, incoming).await {
                // Refused for its data alone: the provider would repeat it for ever and hold everything behind it.
                Err(Error::Refused(source)) => self.keep_raw(&channel, body, &source.to_string()).await,
                verdict => verdict,
            },
            Err(Unreadable { reason }) => self.keep_raw(&channel, body, &reason).await,
        }
    }

    /// Takes what a provider in this process reports.
    pub async fn take_incoming(&self, channel: &Arc<Channel>, incoming: Incoming) -> Result<Verdict, Error> {
        let is_status = matches!(incoming, Incoming::Status(_));
        match self.take_known(channel, incoming).await {
            Err(Error::Removed(why @ Removal::Expired)) if !is_status => {
                self.skip(channel, why.as_str()).await
            }
            Err(Error::Removed(why)) => self.ignore(channel, why.as_str()).await,
            verdict => verdict,
        }
    }

    async fn take_known(&self, channel: &Arc<Channel>, incoming: Incoming) -> Result<Verdict, Error> {
        match incoming {
            Incoming::Message(arrival) => self.message(channel, arrival, inbox::admit).await,
            Incoming::Edit(amendment) => self.amendment(channel, amendment, false).await,
            Incoming::Deletion(amendment) => self.amendment(channel, amendment, true).await,
            Incoming::Phone(arrival) => self.copy(channel, arrival, Copy::Phone).await,
            Incoming::Echo(arrival) => self.copy(channel, arrival, Copy::Api).await,
            Incoming::OwnSign(sign, is_answered) => self.own_sign(channel, sign, is_answered).await,
            Incoming::Status(status) => self.status(channel, status).await,
            Incoming::State(state) => self.state(channel, &state).await,
            Incoming::Quota(description) => {
                let entry = Entry::of(EventType::ChannelStateChanged).with("quota_exceeded", description);
                self.note(channel, entry).await?;
                Ok(Verdict::Accepted(None))
            }
            Incoming::OwnEdit(amendment, copy) => self.own_amendment(channel, amendment, false, copy).await,
            Incoming::OwnDeletion(amendment, copy) => {
                self.own_amendment(channel, amendment, true, copy).await
            }
            Incoming::Ignored(what) => self.ignore(channel, &what).await,
            Incoming::OtherInstance => self.ignore(channel, "other_instance").await,
        }
    }

    /// Takes a body that was kept as a dead letter, as if it came now. Says why, if it still cannot be read.
    pub async fn take_kept(&self, channel: &str, kept: &Payload) -> Result<Result<Verdict, String>, Error> {
        let Some(channel) = self.channels.get(channel) else { return Err(Error::Gone) };
        match channel.provider.read(&body_of(kept)) {
            Ok(incoming) => match self.take_incoming(&channel, incoming).await {
                Err(Error::Refused(source)) => Ok(Err(source.to_string())),
                verdict => verdict.map(Ok),
            },
            Err(Unreadable { reason }) => Ok(Err(reason)),
        }
    }

    /// Takes a message that came to light only later.
    pub async fn take_missed(&self, channel: &Arc<Channel>, arrival: Arrival) -> Result<Verdict, Error> {
        unless_removed(self.message(channel, arrival, inbox::admit).await)
    }

    /// The same for one that somebody may have answered already: a person on the phone, or the installation of which this one
    /// is restored.
    pub async fn take_for_people(&self, channel: &Arc<Channel>, arrival: Arrival) -> Result<Verdict, Error> {
        unless_removed(self.message(channel, arrival, inbox::admit_for_people).await)
    }

    /// What a person has typed on the phone, and what came to light only later.
    pub async fn take_typed(&self, channel: &Arc<Channel>, arrival: Arrival) -> Result<Verdict, Error> {
        unless_removed(self.copy(channel, arrival, Copy::Phone).await)
    }

    /// Takes several messages of the same chat in one transaction.
    pub async fn take_together(
        &self,
        channel: &Arc<Channel>,
        arrivals: Vec<Arrival>,
    ) -> Result<Vec<Verdict>, Error> {
        let Some(first) = arrivals.first() else { return Ok(Vec::new()) };
        let key = key(channel, &first.chat, Some(channel.opening(&first.chat)));
        let keys: Vec<String> = arrivals.iter().map(inbox::key_of).collect();
        let of =
            |arrival: &Arrival| self.tombstones_of(channel, &first.chat, &inbox::key_of(arrival), arrival.at);
        let tombstones = arrivals.iter().flat_map(of).collect();
        let need = Need { keys, tombstones, ..Need::default() };
        let (policy, together) = (Arc::clone(&channel.policy), arrivals.clone());
        let step = move |docket: &mut Docket| {
            together.iter().map(|arrival| inbox::admit(docket, &policy, arrival)).map(verdict_of).collect()
        };
        match change(&*self.ledger, key, need, step).await {
            // One of them was; the others are taken.
            Err(Error::Removed(_)) => {
                let mut verdicts = Vec::with_capacity(arrivals.len());
                for arrival in arrivals {
                    verdicts.push(self.take_incoming(channel, Incoming::Message(arrival)).await?);
                }
                Ok(verdicts)
            }
            verdicts => verdicts,
        }
    }

    async fn message(&self, channel: &Arc<Channel>, arrival: Arrival, rule: Admit) -> Result<Verdict, Error> {
        let (chat, alias) = (arrival.chat.clone(), arrival.alias.clone());
        self.linked(channel, &chat, alias.as_ref(), self.admit(channel, arrival, rule)).await
    }

    /// Runs a step about a chat whose other id is known. They are linked before it, so that a new id finds the conversation
    /// of the known one; and after it, where it is the step that begins one.
    async fn linked(
        &self,
        channel: &Channel,
        chat: &ChatId,
        other: Option<&ChatId>,
        step: impl Future<Output = Result<Verdict, Error>>,
    ) -> Result<Verdict, Error> {
        let Some(other) = other else { return step.await };
        let link = || link(&*self.ledger, &*self.registry, &self.channels, &channel.name, [chat, other]);
        let is_linked = link().await?;
        let verdict = step.await?;
        if !is_linked {
            link().await?;
        }
        Ok(verdict)
    }

    async fn admit(&self, channel: &Arc<Channel>, arrival: Arrival, rule: Admit) -> Result<Verdict, Error> {
        let claim = self.claim(&arrival.fingerprint).await;
        let opening = channel.opening(&arrival.chat);
        let known = key(channel, &arrival.chat, None);
        let key = key(channel, &arrival.chat, Some(opening));
        // A turn may begin with it, and reads what was said before.
        let newest = if self.immediate_turn.is_some() { channel.policy.ai_history } else { 0 };
        let need = self.need_of(channel, &arrival.chat, &inbox::key_of(&arrival), arrival.at);
        let need = Need { keys_are_new: claim.is_some(), newest, ..need };
        let policy = Arc::clone(&channel.policy);
        let immediate = self.immediate_turn.clone().map(|immediate| (immediate.claimant(), immediate));
        let (starting, has_begun) = (immediate.clone(), Arc::new(AtomicBool::new(false)));
        let begins = Arc::clone(&has_begun);
        let step = move |docket: &mut Docket| {
            let admitted = rule(docket, &policy, &arrival);
            let begun = starting
                .as_ref()
                .and_then(|(claimant, immediate)| immediate.begin(docket, &policy, claimant));
            begins.store(begun.is_some(), Ordering::Relaxed);
            (admitted, begun)
        };
        let outcome = change(&*self.ledger, key, need, step).await;
        self.end_claim(claim, outcome.is_ok());
        if let (Err(Error::Unavailable(_)), Some((claimant, immediate))) = (&outcome, immediate)
            && has_begun.load(Ordering::Relaxed)
        {
            // Should it be stored all the same: when it comes again, it is known, and begins nothing.
            immediate.run_unheard(known, claimant);
        }
        let (admitted, begun) = outcome?;
        if let (Some(immediate), Some(begun)) = (&self.immediate_turn, begun) {
            immediate.run(channel, begun);
        }
        Ok(verdict_of(admitted))
    }

    /// The quick memory: whatever it says, the database is asked, since only it remembers for good.
    async fn claim(&self, fingerprint: &str) -> Option<Token> {
        let deduplicator = self.deduplicator.as_ref()?;
        match deduplicator.claim(fingerprint).await {
            Ok(Claim::First(token)) => Some(token),
            Ok(Claim::InProgress | Claim::Confirmed) => None,
            Err(error) => {
                tracing::debug!(%error, "going on without the quick memory");
                None
            }
        }
    }

    /// After the commit; the webhook's answer does not wait for it.
    fn end_claim(&self, claim: Option<Token>, is_stored: bool) {
        let (Some(token), Some(deduplicator)) = (claim, self.deduplicator.clone()) else { return };
        tokio::spawn(async move {
            let ended = if is_stored {
                deduplicator.confirm(token).await
            } else {
                deduplicator.give_back(token).await
            };
            if let Err(error) = ended {
                tracing::debug!(%error, "a claim was left to expire");
            }
        });
    }

    async fn amendment(
        &self,
        channel: &Arc<Channel>,
        amendment: Amendment,
        is_deletion: bool,
    ) -> Result<Verdict, Error> {
        // An edit waits for its original, which may be its conversation's first; a deletion begins nothing.
        let opening = (!is_deletion).then(|| channel.opening(&amendment.chat));
        let key = key(channel, &amendment.chat, opening);
        // Whether the contact still waits for something.
        let newest = if is_deletion { ANSWER_NOW_MESSAGES } else { 0 };
        let need = Need { newest, ..self.need_of(channel, &amendment.chat, &amendment.of, amendment.at) };
        let policy = Arc::clone(&channel.policy);
        let step = move |docket: &mut Docket| {
            let elsewhere = inbox::amend(docket, &policy, &amendment, is_deletion);
            (amended(docket, &amendment, is_deletion), elsewhere)
        };
        match change(&*self.ledger, key, need, step).await {
            Err(Error::Gone) => self.ignore(channel, name_of(is_deletion)).await,
            Err(error) => Err(error),
            Ok((verdict, None)) => Ok(verdict),
            Ok((verdict, Some(amended))) => {
                let (stays, policy) = (Key::Id(amended.stays), Arc::clone(&channel.policy));
                let learn = move |docket: &mut Docket| inbox::learn_of_amendment(docket, &policy, &amended);
                ignore_gone(change(&*self.ledger, stays, Need::default(), learn).await)?;
                Ok(verdict)
            }
        }
    }

    /// A message that is known by that key, unless it was removed, or written before its chat was erased.
    fn need_of(&self, channel: &Channel, chat: &ChatId, key: &str, at: Option<Time>) -> Need {
        let tombstones = self.tombstones_of(channel, chat, key, at);
        Need { keys: vec![key.to_owned()], tombstones, ..Need::default() }
    }

    fn tombstones_of(&self, channel: &Channel, chat: &ChatId, key: &str, at: Option<Time>) -> Vec<Tombstone> {
        let mut tombstones = vec![self.tombstones.of(&channel.name, chat, key)];
        tombstones.extend(at.map(|at| self.tombstones.of_chat(&channel.name, chat, at)));
        tombstones
    }

    async fn state(&self, channel: &Arc<Channel>, state: &str) -> Result<Verdict, Error> {
        let now = self.ledger.now().await?;
        let is_changed = repair::keep_state(&*self.registry, &channel.name, state, now).await?;
        if is_changed {
            return Ok(Verdict::Accepted(None));
        }
        // Of no conversation, so no event tells of it.
        counter!("baton_duplicates_total").increment(1);
        Ok(Verdict::Duplicate(None))
    }

    /// Whose it was is not noted: such an event hangs on no conversation, and would outlive its person.
    async fn ignore(&self, channel: &Arc<Channel>, what: &str) -> Result<Verdict, Error> {
        let entry = Entry::of(EventType::WebhookIgnored).action("acknowledged").with("what", what);
        self.note(channel, entry).await?;
        Ok(Verdict::Ignored)
    }

    /// Of what hangs on no conversation, or no longer: a message that was older than allowed, a body that is kept.
    async fn skip(&self, channel: &Arc<Channel>, by: &str) -> Result<Verdict, Error> {
        let entry = Entry::of(EventType::DuplicateWebhook).action("skipped").with("by", by);
        self.note(channel, entry).await?;
        Ok(Verdict::Duplicate(None))
    }

    async fn note(&self, channel: &Arc<Channel>, entry: Entry) -> Result<(), Error> {
        let event = entry.outside(&channel.name, (self.clock)());
        self.ledger.keep(vec![event], Vec::new()).await
    }

    /// Once, for as long as nobody has decided about it: it comes again where the provider has not heard that it need not.
    async fn keep_raw(&self, channel: &Arc<Channel>, body: &[u8], reason: &str) -> Result<Verdict, Error> {
        let now = (self.clock)();
        let letter = DeadLetter {
            id: self.tombstones.id_of(&channel.name, body),
            kind: LetterKind::Webhook,
            channel: channel.name.clone(),
            conversation: None,
            subject: None,
            state: LetterState::Open,
            reason: reason.to_owned(),
            attempts: 1,
            first_at: now,
            last_at: now,
            payload: payload_of(body),
        };
        let event: Event = Entry::of(EventType::WebhookDeadLettered)
            .action("kept")
            .with("dead_letter_id", letter.id.to_string())
            .with("reason", reason)
            .outside(&channel.name, now);
        if self.ledger.keep_once(event, letter).await? {
            return Ok(Verdict::DeadLetter);
        }
        self.skip(channel, "dead_letter").await
    }
}

fn key(channel: &Channel, chat: &ChatId, opening: Option<Opening>) -> Key {
    Key::Chat { channel: channel.name.clone(), chat: chat.clone(), opening }
}

/// It had its effect before, on that message if it is known which.
fn repeated(docket: &mut Docket, message: Option<Uuid>) -> Verdict {
    let entry = Entry::of(EventType::DuplicateWebhook).action("skipped").with("by", "provider_id");
    docket.record(match message {
        Some(id) => entry.message(id),
        None => entry,
    });
    Verdict::Duplicate(message)
}

/// What became of an amendment of the contact's.
fn amended(docket: &mut Docket, amendment: &Amendment, is_deletion: bool) -> Verdict {
    let of = Some(amendment.of.as_str());
    let original = docket.messages().iter().find(|it| it.provider_message_id.as_deref() == of);
    if original.is_none() && !docket.is_changed() {
        // It waits already for its original.
        return repeated(docket, None);
    }
    let original = original.map(|message| message.id).filter(|_| !docket.is_changed());
    match original.filter(|id| is_known_amendment(docket, *id, amendment, is_deletion)) {
        Some(id) => repeated(docket, Some(id)),
        None => Verdict::Accepted(None),
    }
}

/// Whether an amendment that has changed nothing of that message came before: a late one, which a newer one had overtaken, did
/// not.
fn is_known_amendment(docket: &Docket, id: Uuid, amendment: &Amendment, is_deletion: bool) -> bool {
    let Some(message) = docket.message(id) else { return false };
    let is_last_edit = |at: Time| amendment.at.is_none_or(|this| this == at);
    match is_deletion {
        true => message.deleted_at.is_some(),
        false => message.deleted_at.is_none() && message.edited_at.is_some_and(is_last_edit),
    }
}

/// What was removed is there for as long as the provider keeps it, and is not news.
fn unless_removed(verdict: Result<Verdict, Error>) -> Result<Verdict, Error> {
    match verdict {
        Err(Error::Removed(_)) => Ok(Verdict::Ignored),
        verdict => verdict,
    }
}

const fn verdict_of(admitted: Admitted) -> Verdict {
    match admitted {
        Admitted::Stored(id) => Verdict::Accepted(Some(id)),
        Admitted::Duplicate(id) => Verdict::Duplicate(Some(id)),
    }
}

/// An amendment, as the provider names it.
const fn name_of(is_deletion: bool) -> &'static str {
    if is_deletion { "deletedMessage" } else { "editedMessage" }
}
