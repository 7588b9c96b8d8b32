//! Step: what the provider posts becomes its one effect, committed before it is acknowledged.
//!
//! In: a webhook body that has passed the door. Out: a message in the inbox, a takeover, a settled send, a moved
//! status, or a dead letter; and which of these it was.

use std::sync::Arc;

use base64::Engine as _;
use execution::deduplicate_webhook::{Claim, Deduplicator, Token};
use serde_json::{Value, json};
use uuid::Uuid;

use super::{
    channels::{Channel, Channels},
    inbox::{self, Admitted},
    ledger::{Error, Key, Ledger, Need, change},
    merge::{self, link},
    mode_switch::ANSWER_NOW_MESSAGES,
    provider::{Amendment, Arrival, Incoming, Status, Unreadable},
    reconcile::{self, Copy, Matched},
    registry::Registry,
    repair,
    start::Start,
    tombstones::{Removal, Tombstones},
};
use crate::domain::{
    chat::ChatId,
    conversation::Opening,
    docket::{Docket, Entry},
    event::{Event, EventType, actor},
    mode::Reason,
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
    pub start: Option<Start>,
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
            Err(Error::Removed(Removal::Expired)) if !is_status => self.repeated(channel).await,
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
    pub async fn take_kept(&self, channel: &str, kept: &Value) -> Result<Result<Verdict, String>, Error> {
        let Some(channel) = self.channels.get(channel) else { return Err(Error::Gone) };
        match channel.provider.read(&body_of(kept)) {
            Ok(incoming) => match self.take_incoming(&channel, incoming).await {
                Err(Error::Refused(source)) => Ok(Err(source.to_string())),
                verdict => verdict.map(Ok),
            },
            Err(Unreadable { reason }) => Ok(Err(reason)),
        }
    }

    /// Takes a message that came to light only later. One that was removed is there for as long as the provider keeps it, and
    /// is no news.
    pub async fn take_missed(&self, channel: &Arc<Channel>, arrival: Arrival) -> Result<Verdict, Error> {
        self.take_late(channel, arrival, inbox::admit).await
    }

    /// The same for one that somebody may have answered already: a person on the phone, or the installation of which this one
    /// is restored.
    pub async fn take_for_people(&self, channel: &Arc<Channel>, arrival: Arrival) -> Result<Verdict, Error> {
        self.take_late(channel, arrival, inbox::admit_for_people).await
    }

    async fn take_late(
        &self,
        channel: &Arc<Channel>,
        arrival: Arrival,
        rule: Admit,
    ) -> Result<Verdict, Error> {
        match self.message(channel, arrival, rule).await {
            Err(Error::Removed(_)) => Ok(Verdict::Ignored),
            verdict => verdict,
        }
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
        let tombstones = keys.iter().map(|key| self.tombstones.of(&channel.name, &first.chat, key)).collect();
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
        let key = key(channel, &arrival.chat, Some(opening));
        // A turn may begin with it, and reads what was said before.
        let newest = if self.start.is_some() { channel.policy.ai_history } else { 0 };
        let (keys, keys_are_new) = (vec![inbox::key_of(&arrival)], claim.is_some());
        let tombstones = vec![self.tombstones.of(&channel.name, &arrival.chat, &keys[0])];
        let need = Need { keys, keys_are_new, newest, tombstones, ..Need::default() };
        let policy = Arc::clone(&channel.policy);
        let start = self.start.clone().map(|start| (start.claimant(), start));
        let step = move |docket: &mut Docket| {
            let admitted = rule(docket, &policy, &arrival);
            let begun = start.as_ref().and_then(|(claimant, start)| start.begin(docket, &policy, claimant));
            (admitted, begun)
        };
        let outcome = change(&*self.ledger, key, need, step).await;
        self.end_claim(claim, outcome.is_ok());
        let (admitted, begun) = outcome?;
        if let (Some(start), Some(begun)) = (&self.start, begun) {
            start.run(channel, begun);
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
        // Words without their original are better than none; a deletion without one begins nothing.
        let opening = (!amendment.text.is_empty()).then(|| channel.opening(&amendment.chat));
        let key = key(channel, &amendment.chat, opening);
        // Whether the contact still waits for something.
        let newest = if is_deletion { ANSWER_NOW_MESSAGES } else { 0 };
        let need = Need { newest, ..self.need_of(channel, &amendment) };
        let policy = Arc::clone(&channel.policy);
        let step = move |docket: &mut Docket| {
            inbox::amend(docket, &policy, &amendment, is_deletion);
            if docket.is_changed() { Verdict::Accepted(None) } else { Verdict::Duplicate(None) }
        };
        match change(&*self.ledger, key, need, step).await {
            Err(Error::Gone) => self.ignore(channel, name_of(is_deletion)).await,
            verdict => verdict,
        }
    }

    async fn own_amendment(
        &self,
        channel: &Arc<Channel>,
        amendment: Amendment,
        is_deletion: bool,
        copy: Copy,
    ) -> Result<Verdict, Error> {
        let (key, need) = (key(channel, &amendment.chat, None), self.need_of(channel, &amendment));
        let step = move |docket: &mut Docket| {
            let matched = reconcile::take_amendment(docket, &amendment, is_deletion, copy);
            as_verdict(docket, matched)
        };
        match change(&*self.ledger, key, need, step).await {
            Ok(Verdict::Ignored) | Err(Error::Gone) => self.ignore(channel, name_of(is_deletion)).await,
            verdict => verdict,
        }
    }

    fn need_of(&self, channel: &Channel, amendment: &Amendment) -> Need {
        let tombstones = vec![self.tombstones.of(&channel.name, &amendment.chat, &amendment.of)];
        Need { keys: vec![amendment.of.clone()], tombstones, ..Need::default() }
    }

    async fn copy(&self, channel: &Arc<Channel>, arrival: Arrival, copy: Copy) -> Result<Verdict, Error> {
        let (reason, by) = match copy {
            Copy::Phone => (Reason::AgentPhone, actor::PHONE),
            Copy::Api => (Reason::OtherSystem, actor::OTHER_SYSTEM),
        };
        let chat = arrival.chat.clone();
        let keys = vec![inbox::key_of(&arrival)];
        let mut tombstones = vec![self.tombstones.of(&channel.name, &arrival.chat, &keys[0])];
        if !arrival.text.trim().is_empty() {
            // Erased while it was being sent, it is known by its words alone.
            tombstones.push(self.tombstones.of_words(&channel.name, &arrival.chat, &arrival.text));
        }
        let need = Need { keys, tombstones, ..Need::default() };
        let policy = Arc::clone(&channel.policy);
        let step = move |docket: &mut Docket| {
            let matched = reconcile::take_copy(docket, &policy, &arrival, copy);
            as_verdict(docket, matched)
        };
        match change(&*self.ledger, key(channel, &chat, None), need.clone(), step.clone()).await {
            Err(Error::Gone) => {}
            outcome => return outcome,
        }
        // What we say may be shown under another id than what they say: a takeover must not miss its conversation.
        let other = merge::other_id(channel, &chat).await;
        let is_unknown = other.is_err();
        let key = key(channel, &chat, Some(channel.opening_by_a_person(&chat, reason, by)));
        let begin = move |docket: &mut Docket| {
            if is_unknown {
                merge::ask_again(docket);
            }
            step(docket)
        };
        let other = other.ok().flatten();
        self.linked(channel, &chat, other.as_ref(), change(&*self.ledger, key, need, begin)).await
    }

    async fn status(&self, channel: &Arc<Channel>, status: Status) -> Result<Verdict, Error> {
        let (Some(chat), Some(state)) = (status.chat, status.state) else {
            return self.ignore(channel, &status.detail).await;
        };
        let key = key(channel, &chat, None);
        let tombstones = vec![self.tombstones.of(&channel.name, &chat, &status.id)];
        let need = Need { keys: vec![status.id.clone()], tombstones, ..Need::default() };
        let policy = Arc::clone(&channel.policy);
        let step = move |docket: &mut Docket| {
            let matched = reconcile::take_status(docket, &policy, &status.id, state, status.reason);
            as_verdict(docket, matched)
        };
        match change(&*self.ledger, key, need, step).await {
            Ok(Verdict::Ignored) | Err(Error::Gone) => self.ignore(channel, &status.detail).await,
            verdict => verdict,
        }
    }

    async fn state(&self, channel: &Arc<Channel>, state: &str) -> Result<Verdict, Error> {
        let is_changed = repair::keep_state(&*self.registry, &channel.name, state, (self.clock)()).await?;
        Ok(if is_changed { Verdict::Accepted(None) } else { Verdict::Duplicate(None) })
    }

    /// Whose it was is not noted: such an event hangs on no conversation, and would outlive its person.
    async fn ignore(&self, channel: &Arc<Channel>, what: &str) -> Result<Verdict, Error> {
        let entry = Entry::of(EventType::WebhookIgnored).action("acknowledged").with("what", what);
        self.note(channel, entry).await?;
        Ok(Verdict::Ignored)
    }

    /// Of a message that was older than allowed.
    async fn repeated(&self, channel: &Arc<Channel>) -> Result<Verdict, Error> {
        let by = Removal::Expired.as_str();
        let entry = Entry::of(EventType::DuplicateWebhook).action("skipped").with("by", by);
        self.note(channel, entry).await?;
        Ok(Verdict::Duplicate(None))
    }

    async fn note(&self, channel: &Arc<Channel>, entry: Entry) -> Result<(), Error> {
        let event = entry.outside(&channel.name, (self.clock)());
        self.ledger.keep(vec![event], Vec::new()).await
    }

    async fn keep_raw(&self, channel: &Arc<Channel>, body: &[u8], reason: &str) -> Result<Verdict, Error> {
        let now = (self.clock)();
        let letter = DeadLetter {
            id: Uuid::now_v7(),
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
        self.ledger.keep(vec![event], vec![letter]).await?;
        Ok(Verdict::DeadLetter)
    }
}

/// An amendment, as the provider names it.
const fn name_of(is_deletion: bool) -> &'static str {
    if is_deletion { "deletedMessage" } else { "editedMessage" }
}

fn key(channel: &Channel, chat: &ChatId, opening: Option<Opening>) -> Key {
    Key::Chat { channel: channel.name.clone(), chat: chat.clone(), opening }
}

const fn verdict_of(admitted: Admitted) -> Verdict {
    match admitted {
        Admitted::Stored(id) => Verdict::Accepted(Some(id)),
        Admitted::Duplicate(id) => Verdict::Duplicate(Some(id)),
    }
}

fn as_verdict(docket: &Docket, matched: Matched) -> Verdict {
    match matched {
        Matched::Nothing => Verdict::Ignored,
        Matched::Ours(id) if docket.is_changed() => Verdict::Accepted(Some(id)),
        Matched::Ours(id) => Verdict::Duplicate(Some(id)),
        Matched::Parked => Verdict::Accepted(None),
        Matched::Foreign(id) => Verdict::Accepted(Some(id)),
    }
}

/// The body as it came: JSON if it is some, else text, else base64.
fn payload_of(body: &[u8]) -> Value {
    match std::str::from_utf8(body) {
        Ok(text) => {
            serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.replace('\0', "\u{fffd}")))
        }
        Err(_) => json!({
            "encoding": "base64",
            "data": base64::engine::general_purpose::STANDARD.encode(body),
        }),
    }
}

/// The body of what [`payload_of`] kept.
pub(super) fn body_of(kept: &Value) -> Vec<u8> {
    if let Value::String(text) = kept {
        return text.clone().into_bytes();
    }
    let encoded = (kept["encoding"] == "base64").then(|| kept["data"].as_str()).flatten();
    let decoded = encoded.and_then(|data| base64::engine::general_purpose::STANDARD.decode(data).ok());
    decoded.unwrap_or_else(|| kept.to_string().into_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kept_body_is_given_back_as_it_came() {
        for body in [
            br#"{"typeWebhook":"incomingMessageReceived","idMessage":"A"}"#.as_slice(),
            br#"{"text":"\ud800"}"#,
            b"not json at all",
            b"",
            b"\xff\xfe\x00 bytes",
            br#"{"encoding":"base64"}"#,
            br#"{"data":"%","encoding":"base64"}"#,
        ] {
            let given_back = body_of(&payload_of(body));
            let as_json = |bytes: &[u8]| serde_json::from_slice::<Value>(bytes).ok();
            let is_same =
                given_back == body || as_json(body).is_some_and(|it| as_json(&given_back) == Some(it));
            assert!(is_same, "{}", String::from_utf8_lossy(&given_back));
        }
    }
}
