//! Step: the oldest owed message of a conversation leaves, once.
//!
//! In: conversations whose head is due. Out: one POST under one attempt, begun within a second of its claim or not at
//! all, and what became of it, settled under that attempt.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use metrics::histogram;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::{
    back_office::registry::Registry,
    instance::{
        channel_breaker::ChannelBreaker,
        channels::{Channel, Channels},
        dispatch::Dispatch,
        measure::seconds,
    },
    journal,
    ledger::{self, Key, Ledger, Need, change, ignore_gone, insist},
    media::enclosures::Enclosures,
    outbox::{self, BEGIN_WITHIN_MS, Claim, Settled},
    provider::{CREDENTIALS_REFUSED, Outgoing, OutgoingFile, Sent, boot_time},
    repair,
};
use crate::domain::{
    chat::ChatId,
    docket::Docket,
    message::{DeliveryReason, Message},
    time::{Time, duration},
};

/// A full channel is tried again after this, if nothing settles before.
const FULL_MS: i64 = 250;
/// A channel that cannot send is looked at again after this: its state may have been reported meanwhile.
const DOWN_MS: i64 = 2_000;
/// How long the provider's answer is kept while the store is unavailable. Beyond the lease too: the attempt is then of
/// unknown fate, and this is what settles it.
const SETTLE: Duration = Duration::from_secs(60);

/// Late files that are kept at once: each may be of some megabytes.
const LATE_FILES_MAX: usize = 4;

/// So far back it is known what the contact has taken back since, if they were the last to speak.
const CLAIM_MESSAGES: usize = 10;

/// How many messages back a claim may have begun to answer.
const GIVE_BACK_MESSAGES: usize = 50;

/// What a look at one conversation came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// A message was claimed and settled.
    Worked,
    /// Nothing is owed, or the one before has not found its end.
    Idle,
    /// Not for this many milliseconds.
    NotYet(i64),
    /// The channel lets nothing through for this long.
    Blocked(i64),
}

/// The step.
pub struct Sender {
    /// Where conversations are changed.
    pub ledger: Arc<dyn Ledger>,
    /// Where channels are known.
    pub registry: Arc<dyn Registry>,
    /// The rules and gateways.
    pub channels: Arc<Channels>,
    /// Where the files are that people send.
    pub enclosures: Arc<dyn Enclosures>,
    /// Holds a channel whose gateway gave no clear answer.
    pub breaker: Arc<ChannelBreaker>,
    /// Files that were read when the moment to begin had passed, by message: the next attempt has them at hand.
    pub late_files: Mutex<HashMap<Uuid, OutgoingFile>>,
    /// What replies cost besides the model.
    pub dispatch: Arc<Dispatch>,
    /// The process ends: an answer that has not come by now is not waited for.
    pub stop: CancellationToken,
    /// The moment by this machine's clock.
    pub clock: fn() -> Time,
}

/// A message that is `sending` now, and all that its POST and its end need.
pub struct Claimed {
    /// The conversation.
    pub conversation: Uuid,
    /// The channel over which it is sent.
    pub channel: Arc<Channel>,
    /// The chat to which it is sent.
    pub chat: ChatId,
    /// The attempt under which it is sent.
    pub attempt: Uuid,
    /// The message.
    pub message: Box<Message>,
    /// Those of the contact that were covered by replies, and count as answered since the claim.
    pub covered: Vec<Uuid>,
    /// By [`boot_time`]: begun before then, or not at all.
    pub begin_by: Duration,
}

/// A POST begins before then if its claim is asked for now: a process that sleeps in between sees it.
pub fn begin_by() -> Duration {
    boot_time() + duration(BEGIN_WITHIN_MS)
}

impl Sender {
    /// Sends what is due in one conversation.
    pub async fn send(&self, conversation: Uuid) -> Result<Outcome, ledger::Error> {
        let (attempt, begin_by) = (Uuid::now_v7(), begin_by());
        let (channel, chat, covered, claim, now) = match self.claim(conversation, attempt).await {
            Ok(None) | Err(ledger::Error::Gone) => return Ok(Outcome::Idle),
            Ok(Some(claimed)) => claimed,
            Err(error) => {
                self.give_back(conversation, attempt).await?;
                return Err(error);
            }
        };
        match claim {
            Claim::Claimed(message) => {
                let claimed = Claimed { conversation, channel, chat, attempt, message, covered, begin_by };
                self.deliver(claimed).await?;
                Ok(Outcome::Worked)
            }
            Claim::NotYet(at) => Ok(Outcome::NotYet(at.since(now).max(1))),
            Claim::ChannelBusy(at) => Ok(Outcome::Blocked(at.since(now).clamp(1, DOWN_MS))),
            Claim::ChannelFull => Ok(Outcome::Blocked(FULL_MS)),
            Claim::ChannelDown => Ok(Outcome::Blocked(DOWN_MS)),
            Claim::Braked | Claim::Nothing => Ok(Outcome::Idle),
        }
    }

    /// The POST of a claimed message, and its end.
    pub async fn deliver(&self, claimed: Claimed) -> Result<(), ledger::Error> {
        let channel = Arc::clone(&claimed.channel);
        self.dispatch.overhead.end(&claimed.message);
        let sent = self.post(&claimed).await;
        // What is not waited for says nothing about the gateway.
        let is_tripped = !self.stop.is_cancelled() && self.breaker.is_tripped(&channel, &sent);
        let held_until = if is_tripped { self.hold(&channel).await } else { None };
        self.settle(claimed, sent).await?;
        if let Some(held_until) = held_until {
            self.breaker.wait(&channel, held_until).await;
        }
        Ok(())
    }

    async fn claim(
        &self,
        conversation: Uuid,
        attempt: Uuid,
    ) -> Result<Option<(Arc<Channel>, ChatId, Vec<Uuid>, Claim, Time)>, ledger::Error> {
        let channels = Arc::clone(&self.channels);
        let need = Need { newest: CLAIM_MESSAGES, channel: true, ..Need::default() };
        let step = move |docket: &mut Docket| {
            let channel = channels.get(&docket.conversation.channel)?;
            let claim = outbox::claim_due(docket, &channel.policy, attempt);
            let mut covered = Vec::new();
            if let Claim::Claimed(message) = &claim {
                covered = outbox::answered_by(docket, message);
            }
            // With the moment of the store: what it says is not held against the clock of this machine.
            Some((channel, docket.conversation.chat.clone(), covered, claim, docket.now))
        };
        change(&*self.ledger, Key::Id(conversation), need, step).await
    }

    /// A claim whose commit was not heard of may have taken effect. Nothing is posted under it, and only this instance
    /// knows: given back, the message does not become one of unknown fate.
    pub async fn give_back(&self, conversation: Uuid, attempt: Uuid) -> Result<(), ledger::Error> {
        let channels = Arc::clone(&self.channels);
        // The messages that it answers are not known, but they are among the newest.
        // It waits behind the claim, should that still wait.
        let need = Need { newest: GIVE_BACK_MESSAGES, channel: true, ..Need::default() };
        let step = move |docket: &mut Docket| {
            if let Some(channel) = channels.get(&docket.conversation.channel) {
                outbox::settle(docket, &channel.policy, attempt, &Settled::Untried, 0.0);
            }
        };
        ignore_gone(insist(&*self.ledger, Key::Id(conversation), need, SETTLE, step).await)
    }

    async fn post(&self, claimed: &Claimed) -> Sent {
        let (channel, message) = (&claimed.channel, &claimed.message);
        let file = match self.file_of(claimed).await {
            Ok(file) => file,
            Err(sent) => return sent,
        };
        let outgoing = Outgoing {
            chat: claimed.chat.clone(),
            text: message.text.clone(),
            file,
            quoted: message.quoted.as_ref().map(|quoted| quoted.provider_message_id.clone()),
            idempotency_key: message
                .delivery
                .as_ref()
                .map(|delivery| delivery.idempotency_key.clone())
                .unwrap_or_default(),
            begin_by: claimed.begin_by,
            timeout: duration(outbox::send_limit_ms(&channel.policy, message)),
        };
        let began = (self.clock)();
        let sent = tokio::select! {
            biased;
            sent = channel.provider.send(&outgoing) => sent,
            () = self.stop.cancelled() => {
                Sent::Unclear { detail: "Baton was stopped before there was an answer".to_owned() }
            }
        };
        histogram!("baton_send_seconds").record(seconds((self.clock)().since(began)));
        sent
    }

    /// The file that a message carries, or what has become of the send without it.
    async fn file_of(&self, claimed: &Claimed) -> Result<Option<OutgoingFile>, Sent> {
        let message = &claimed.message;
        let Some(media) = &message.media else { return Ok(None) };
        if let Some(file) = self.late_files().remove(&message.id) {
            return Ok(Some(file));
        }
        match self.enclosures.enclosed(message.id).await {
            Ok(Some(bytes)) => {
                let file = OutgoingFile {
                    name: media.file_name.clone(),
                    mime_type: media.mime_type.clone(),
                    caption: media.caption.clone(),
                    bytes,
                };
                if boot_time() < claimed.begin_by {
                    return Ok(Some(file));
                }
                // Over a slow line it would always be: read once, it goes at the next attempt, which comes at once.
                let mut late_files = self.late_files();
                if late_files.len() >= LATE_FILES_MAX {
                    late_files.clear();
                }
                late_files.insert(message.id, file);
                Err(Sent::TooLate)
            }
            Ok(None) => Err(Sent::Refused {
                reason: DeliveryReason::Refused,
                detail: "the file is not kept any more".to_owned(),
            }),
            Err(error) => {
                Err(Sent::Again { after_ms: None, detail: format!("the file was not read: {error}") })
            }
        }
    }

    fn late_files(&self) -> MutexGuard<'_, HashMap<Uuid, OutgoingFile>> {
        self.late_files.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A hold that the store did not accept does not count; the send is settled all the same.
    async fn hold(&self, channel: &Channel) -> Option<Time> {
        match self.breaker.hold(channel).await {
            Ok(until) => Some(until),
            Err(error) => {
                let (error, channel) = (error.cause(), &channel.name);
                tracing::warn!(error, channel, "the channel was not held after an unclear send");
                None
            }
        }
    }

    async fn keep_state(&self, channel: &Channel, state: &str) -> Result<(), ledger::Error> {
        let now = self.ledger.now().await?;
        repair::keep_state(&*self.registry, &channel.name, state, now).await.map(drop)
    }

    async fn settle(&self, claimed: Claimed, sent: Sent) -> Result<(), ledger::Error> {
        let Claimed { conversation, channel, attempt, message, covered, .. } = claimed;
        let is_unseen = covered.is_empty() && message.turn.is_some();
        let mut need = Need { messages: covered, ..Need::default() };
        let settled = match sent {
            Sent::Accepted { id } => {
                need.keys.push(id.clone());
                need.keys_are_new = true;
                Settled::Sent(id)
            }
            Sent::Refused { reason, detail } => Settled::Refused(reason, detail),
            Sent::Again { after_ms, detail } => Settled::Again(after_ms, detail),
            Sent::Unreached { detail } => Settled::Again(None, detail),
            Sent::TooLate => Settled::Untried,
            Sent::NotLinked { state, detail } => {
                let told = journal::without_words(&detail);
                tracing::warn!(channel = channel.name, state, detail = told, "the channel cannot send");
                if let Err(error) = self.keep_state(&channel, &state).await {
                    tracing::debug!(%error, channel = channel.name, "the channel's state was not kept");
                }
                // Where the account says otherwise a moment later, it is this message that is turned away, for ever.
                if state == CREDENTIALS_REFUSED { Settled::Again(None, detail) } else { Settled::Untried }
            }
            Sent::Unclear { detail } => Settled::Unclear(detail),
        };
        if is_unseen && !matches!(settled, Settled::Sent(_) | Settled::Unclear(_)) {
            // Its claim was run again, perhaps, and has not seen what the first run had begun to answer.
            need.newest = GIVE_BACK_MESSAGES;
        }
        let (policy, jitter) = (Arc::clone(&channel.policy), fastrand::f64());
        let step = move |docket: &mut Docket| outbox::settle(docket, &policy, attempt, &settled, jitter);
        ignore_gone(insist(&*self.ledger, Key::Id(conversation), need, SETTLE, step).await)
    }
}
