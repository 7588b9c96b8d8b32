//! Step: two conversations turn out to be with one person, whom the provider knows under two ids. The earlier one stays; the
//! later is closed, and whatever comes for it from then on belongs to the one that stays.
//!
//! In: the two, as soon as the provider shows it; and again once the later one is at rest. Out: at once, HUMAN in both if it
//! is HUMAN in one; one conversation, as soon as nothing of the later one is owed or on its way.

use std::sync::Arc;

use uuid::Uuid;

use super::{
    channels::Channels,
    conversations::{self, By},
    ledger::{Error, Key, Ledger, Need, change},
};
use crate::domain::{
    conversation::{AttentionReason, Conversation},
    docket::{Docket, Entry},
    event::{EventType, actor},
    mode::{Mode, ModeState},
    policy::Policy,
};

/// The later of the two, as it stands.
#[derive(Debug, Clone)]
struct Later {
    conversation: Conversation,
    is_at_rest: bool,
}

/// Merges the later one into the earlier, as far as that may be done now. What must wait is done in time: the later one
/// remembers with whom it is.
pub async fn merge(
    ledger: &dyn Ledger,
    channels: &Arc<Channels>,
    earlier: Uuid,
    later: Uuid,
) -> Result<(), Error> {
    // It may have been merged, too: then this is the one in which it goes on.
    let stands = |docket: &mut Docket| docket.conversation.clone();
    let earlier = match change(ledger, Key::Id(earlier), Need::default(), stands).await {
        Err(Error::Gone) => return forget(ledger, later).await,
        earlier => earlier?,
    };
    let (stays, mode) = (earlier.id, earlier.mode);
    if stays == later {
        return Ok(());
    }
    let pair = by_policy(Arc::clone(channels), move |docket, policy| pair(docket, policy, stays, &mode));
    let Some(later) = change(ledger, Key::Id(later), itself(), pair).await? else { return Ok(()) };

    let (seen, goes) = (later.conversation.mode.version, later.conversation.id);
    let is_at_rest = later.is_at_rest;
    let receive = by_policy(Arc::clone(channels), move |docket, policy| receive(docket, policy, &later));
    change(ledger, Key::Id(stays), Need::default(), receive).await?;
    if is_at_rest {
        let leave = by_policy(Arc::clone(channels), move |docket, policy| leave(docket, policy, stays, seen));
        change(ledger, Key::Id(goes), itself(), leave).await?;
    }
    Ok(())
}

fn itself() -> Need {
    Need { itself: true, ..Need::default() }
}

/// A rule by the policy of its channel. One that is not set up here has no rules: nothing happens.
fn by_policy<T: Default>(
    channels: Arc<Channels>,
    rule: impl Fn(&mut Docket, &Policy) -> T,
) -> impl Fn(&mut Docket) -> T {
    move |docket| match channels.get(&docket.conversation.channel) {
        Some(channel) => rule(docket, &channel.policy),
        None => T::default(),
    }
}

/// The other one is gone.
async fn forget(ledger: &dyn Ledger, later: Uuid) -> Result<(), Error> {
    let forget = |docket: &mut Docket| docket.conversation.memo.same_person = None;
    match change(ledger, Key::Id(later), itself(), forget).await {
        Err(Error::Gone) => Ok(()),
        outcome => outcome,
    }
}

/// The later one learns of the earlier. None: it has gone before.
fn pair(docket: &mut Docket, policy: &Policy, stays: Uuid, mode: &ModeState) -> Option<Later> {
    if docket.conversation.memo.merged_into.is_some() {
        return None;
    }
    become_human(docket, policy, mode, None);
    docket.conversation.memo.same_person = Some(stays);
    Some(Later { conversation: docket.conversation.clone(), is_at_rest: docket.is_at_rest() })
}

/// The earlier one takes on what must not be lost with the later.
fn receive(docket: &mut Docket, policy: &Policy, later: &Later) {
    let from = &later.conversation;
    become_human(docket, policy, &from.mode, from.assignee);
    if !later.is_at_rest || docket.conversation.memo.merged.contains(&from.id) {
        return;
    }
    let conversation = &mut docket.conversation;
    conversation.memo.merged.push(from.id);
    conversation.memo.merged.extend(&from.memo.merged);
    conversation.opted_out |= from.opted_out;
    if conversation.contact_name.is_none() {
        conversation.contact_name.clone_from(&from.contact_name);
        conversation.contact_named_by_agent = from.contact_named_by_agent;
    }
    let waits = from.waiting_since.filter(|_| from.mode.mode == Mode::Human);
    let called_for = from.attention.map(|attention| attention.reason);
    if let Some(reason) = called_for.or(waits.map(|_| AttentionReason::Unanswered)) {
        conversations::raise(docket, reason);
    }
    record(docket, "merged", from.id);
}

/// The later one ends, if it still is as it was seen.
fn leave(docket: &mut Docket, policy: &Policy, stays: Uuid, version: i64) {
    let is_merged = docket.conversation.memo.merged_into.is_some();
    if is_merged || docket.conversation.mode.version != version || !docket.is_at_rest() {
        return;
    }
    conversations::close(docket, policy, actor::SYSTEM);
    docket.conversation.memo.same_person = None;
    docket.conversation.memo.merged_into = Some(stays);
    record(docket, "merged_into", stays);
}

fn record(docket: &mut Docket, what: &'static str, other: Uuid) {
    docket.record(
        Entry::of(EventType::ConversationUpdated)
            .action("merged")
            .by(actor::SYSTEM)
            .with(what, other.to_string()),
    );
}

/// A person answers the other one: so they do here, for the same reason and for as long.
fn become_human(docket: &mut Docket, policy: &Policy, other: &ModeState, agent: Option<Uuid>) {
    if other.mode == Mode::Human && docket.conversation.mode.mode == Mode::Ai {
        conversations::switch(
            docket,
            policy,
            Mode::Human,
            By { reason: other.reason, actor: &other.actor, agent },
        );
        docket.conversation.mode.until = other.until;
    }
}
