//! What the provider reports of our own side: copies of what was sent, from here or elsewhere, its changes, its statuses.

use std::sync::Arc;

use uuid::Uuid;

use super::{Intake, Verdict, is_known_amendment, key, name_of, repeated};
use crate::{
    domain::{
        chat::{ChatId, ChatKind},
        conversation::AttentionReason,
        docket::Docket,
        message::DeliveryState,
        turn::{LetterKind, LetterState},
    },
    flow::{
        conversations, inbox,
        instance::channels::Channel,
        ledger::{Error, Key, Need, change, ignore_gone},
        merge,
        provider::{Amendment, Arrival, Status},
        reconcile::{self, Copy, Matched},
    },
};

/// Messages that are looked at for what was written after a message on the phone, and before its webhook.
const WRITTEN_AFTER_MAX: usize = 20;

impl Intake {
    /// A message of our side that was sent from elsewhere, or a copy of one of ours.
    pub(super) async fn copy(
        &self,
        channel: &Arc<Channel>,
        arrival: Arrival,
        copy: Copy,
    ) -> Result<Verdict, Error> {
        let (chat, id) = (arrival.chat.clone(), inbox::key_of(&arrival));
        let mut need = self.need_of(channel, &chat, &id, arrival.at);
        if copy == Copy::Phone {
            // What it may be no answer to came between its writing and its webhook.
            need.newest = WRITTEN_AFTER_MAX;
        }
        if !arrival.text.trim().is_empty() {
            // Erased while it was being sent, it is known by its words alone.
            need.tombstones.push(self.tombstones.of_words(&channel.name, &chat, &arrival.text));
        }
        let policy = Arc::clone(&channel.policy);
        let step = move |docket: &mut Docket| {
            let matched = reconcile::take_copy(docket, &policy, &arrival, copy);
            as_verdict(docket, matched, |docket, id| is_known_copy(docket, id, copy))
        };
        match self.where_sent(channel, &chat, &id, need.clone(), step.clone()).await {
            Err(Error::Gone) => {}
            outcome => return outcome,
        }
        // What we say may be shown under another id than what they say: a takeover must not miss its conversation.
        let other = merge::other_id(&*self.registry, channel, &chat).await;
        let is_unknown = other.is_err();
        let by = copy.by();
        let key = key(channel, &chat, Some(channel.opening_by_a_person(&chat, by.reason, by.actor)));
        let begin = move |docket: &mut Docket| {
            match is_unknown {
                true => merge::ask_again(docket),
                false => merge::is_told(docket),
            }
            step(docket)
        };
        let other = other.ok().flatten();
        self.linked(channel, &chat, other.as_ref(), change(&*self.ledger, key, need, begin)).await
    }

    /// Our side has reacted or called on the phone. It begins no conversation: nothing was said.
    pub(super) async fn own_sign(
        &self,
        channel: &Arc<Channel>,
        sign: Arrival,
        is_answered: bool,
    ) -> Result<Verdict, Error> {
        let (chat, name) = (sign.chat.clone(), sign.kind.as_str());
        let mut need = self.need_of(channel, &chat, &inbox::key_of(&sign), sign.at);
        need.newest = WRITTEN_AFTER_MAX;
        let policy = Arc::clone(&channel.policy);
        let step = move |docket: &mut Docket| {
            let matched = reconcile::take_sign(docket, &policy, &sign, is_answered);
            as_verdict(docket, matched, |_, _| true)
        };
        match change(&*self.ledger, key(channel, &chat, None), need, step).await {
            Err(Error::Gone) => self.ignore(channel, name).await,
            verdict => verdict,
        }
    }

    /// Our side has edited or deleted a message of its own there.
    pub(super) async fn own_amendment(
        &self,
        channel: &Arc<Channel>,
        amendment: Amendment,
        is_deletion: bool,
        copy: Copy,
    ) -> Result<Verdict, Error> {
        let (chat, of) = (amendment.chat.clone(), amendment.of.clone());
        let need = self.need_of(channel, &chat, &of, None);
        let step = move |docket: &mut Docket| {
            let matched = reconcile::take_amendment(docket, &amendment, is_deletion, copy);
            as_verdict(docket, matched, |docket, id| is_known_amendment(docket, id, &amendment, is_deletion))
        };
        match self.where_sent(channel, &chat, &of, need, step).await {
            Ok(Verdict::Ignored) | Err(Error::Gone) => self.ignore(channel, name_of(is_deletion)).await,
            verdict => verdict,
        }
    }

    /// Does it in the chat in which that message was sent. A person is known by a number and by a hidden id, and what we sent to
    /// the one may be reported under the other: taken for somebody else's there, it would be a takeover.
    async fn where_sent<T: Send + 'static>(
        &self,
        channel: &Channel,
        chat: &ChatId,
        id: &str,
        need: Need,
        step: impl Fn(&mut Docket) -> T + Clone + Send + Sync + 'static,
    ) -> Result<T, Error> {
        let at = |chat: &ChatId| change(&*self.ledger, key(channel, chat, None), need.clone(), step.clone());
        // Each of our messages is reported several times, and nearly always under the number to which it was sent.
        let is_likely = chat.phone().is_none() && chat.kind() == ChatKind::Person;
        let home = if is_likely { self.sent_to(channel, chat, id).await? } else { None };
        match at(home.as_ref().unwrap_or(chat)).await {
            Err(Error::Gone) if !is_likely => match self.sent_to(channel, chat, id).await? {
                Some(home) => at(&home).await,
                None => Err(Error::Gone),
            },
            outcome => outcome,
        }
    }

    /// The other chat in which it was sent, once both are known to be with one person.
    async fn sent_to(&self, channel: &Channel, chat: &ChatId, id: &str) -> Result<Option<ChatId>, Error> {
        let home = merge::sent_to(&*self.registry, channel, chat, id).await?;
        if let Some(home) = &home {
            merge::link(&*self.ledger, &*self.registry, &self.channels, &channel.name, [home, chat]).await?;
        }
        Ok(home)
    }

    /// How far a message of ours got. Some reports do not name the chat.
    pub(super) async fn status(&self, channel: &Arc<Channel>, status: Status) -> Result<Verdict, Error> {
        let Some(state) = status.state else { return self.ignore(channel, &status.detail).await };
        let chat = match status.chat {
            Some(chat) => Some(chat),
            None => self.registry.chat_of(&channel.name, &status.id).await?,
        };
        let Some(chat) = chat else { return self.ignore(channel, &status.detail).await };
        let need = self.need_of(channel, &chat, &status.id, None);
        let (policy, id) = (Arc::clone(&channel.policy), status.id.clone());
        let step = move |docket: &mut Docket| {
            let matched = reconcile::take_status(docket, &policy, &status.id, state, status.reason);
            let has_failed = state == DeliveryState::Failed;
            let verdict =
                as_verdict(docket, matched, |docket, id| reconcile::was_reported(docket, id, state));
            (verdict, failed_elsewhere(docket, matched).filter(|_| has_failed))
        };
        match self.where_sent(channel, &chat, &id, need, step).await {
            Ok((Verdict::Ignored, _)) | Err(Error::Gone) => self.ignore(channel, &status.detail).await,
            Err(error) => Err(error),
            Ok((verdict, None)) => Ok(verdict),
            Ok((verdict, Some(stays))) => {
                // Nobody looks for it in the conversation that was merged.
                let call = |docket: &mut Docket| conversations::raise(docket, AttentionReason::SendFailed);
                ignore_gone(change(&*self.ledger, Key::Id(stays), Need::default(), call).await)?;
                Ok(verdict)
            }
        }
    }
}

/// Where a person must hear that the message has failed, if its conversation continues elsewhere. Also where it is reported
/// again, for as long as nobody has discarded its letter: the call may not have been made the first time.
fn failed_elsewhere(docket: &Docket, matched: Matched) -> Option<Uuid> {
    let Matched::Ours(id) = matched else { return None };
    let is_open = docket.letters().iter().any(|letter| {
        letter.kind == LetterKind::Send && letter.subject == Some(id) && letter.state == LetterState::Open
    });
    docket.conversation.memo.merged_into.filter(|_| is_open)
}

/// What became of a report. One that changes nothing had its effect before only if it is known: the echo of a message and its
/// first status say the same, and whichever comes second is no repeat.
fn as_verdict(
    docket: &mut Docket,
    matched: Matched,
    is_known: impl FnOnce(&Docket, Uuid) -> bool,
) -> Verdict {
    match matched {
        Matched::Nothing => Verdict::Ignored,
        Matched::Foreign(id) => Verdict::Accepted(Some(id)),
        Matched::Parked if docket.is_changed() => Verdict::Accepted(None),
        // It waits already for what it is about.
        Matched::Parked => repeated(docket, None),
        Matched::Ours(id) if docket.is_changed() || !is_known(docket, id) => Verdict::Accepted(Some(id)),
        Matched::Ours(id) => repeated(docket, Some(id)),
    }
}

/// Whether a copy that has changed nothing came before: of what was sent from here, its status may have come instead.
fn is_known_copy(docket: &Docket, id: Uuid, copy: Copy) -> bool {
    match copy {
        Copy::Phone => true,
        Copy::Api => docket.message(id).is_some_and(|message| message.delivery.is_none()),
    }
}
