//! Step: two conversations turn out to be with one person, whom the provider knows under two ids. The earlier one stays; the
//! later is closed, and whatever comes for it from then on belongs to the one that stays.
//!
//! In: the two, as soon as the provider shows it; and again once the later one is at rest. Out: at once, and until then, HUMAN
//! in both if it is HUMAN in one; one conversation, as soon as nothing of the later one is owed or on its way.

mod who_answers;

use std::sync::Arc;

use uuid::Uuid;

use self::who_answers::become_human;

use super::{
    agenda,
    back_office::registry::{Linked, Registry},
    conversations, desk,
    instance::channels::{Channel, Channels},
    ledger::{Error, Key, Ledger, Need, change, ignore_gone},
    provider::{NoAnswer, Unanswered},
};
use crate::domain::{
    chat::{ChatId, ChatKind},
    conversation::{AttentionReason, Conversation},
    docket::{Docket, Entry},
    event::{EventType, actor},
    label::{LABELS_MAX, Label, Labelling},
    mode::Mode,
    policy::Policy,
    time::Time,
};

/// The first time that the provider is asked again for another id, how long it is left in peace at most, and for how long it is
/// asked.
const ASK_AGAIN_MS: i64 = 30_000;
const ASK_AGAIN_MAX_MS: i64 = 600_000;
const ASK_FOR_MS: i64 = 86_400_000;

/// The later of the two, as it stands.
#[derive(Debug, Clone)]
struct Later {
    conversation: Conversation,
    labels: Vec<Label>,
    is_at_rest: bool,
}

/// Under which other id the provider knows the person of a chat, if there is one. An error: it has not said. It is not trusted
/// where that would make one person of two with a number each: no webhook has shown it, and what each wrote is not the other's.
pub async fn other_id(
    registry: &dyn Registry,
    channel: &Channel,
    chat: &ChatId,
) -> Result<Option<ChatId>, Unanswered> {
    if chat.kind() != ChatKind::Person {
        return Ok(None);
    }
    let told = channel.provider.other_id(chat).await.inspect_err(|error| {
        tracing::debug!(%error, "whether a chat has another id was not told");
    })?;
    let Some(other) = told else { return Ok(None) };
    let unknown = |error: Error| Unanswered { detail: error.to_string(), no_answer: NoAnswer::Silence };
    Ok(may_be_one(registry, channel, [chat, &other]).await.map_err(unknown)?.then_some(other))
}

/// Where we sent the message of that id, if what is reported of it names another chat: that shows the two to be one person,
/// whatever the provider says when it is asked.
pub async fn sent_to(
    registry: &dyn Registry,
    channel: &Channel,
    chat: &ChatId,
    message: &str,
) -> Result<Option<ChatId>, Error> {
    let sent_to = registry.sent_to(&channel.name, message, chat).await?;
    let Some(other) = sent_to.filter(|other| other.may_be_same_person_as(chat)) else { return Ok(None) };
    Ok(may_be_one(registry, channel, [chat, &other]).await?.then_some(other))
}

/// Whether no number but these is known of either: two people with a number each are two.
async fn may_be_one(registry: &dyn Registry, channel: &Channel, ids: [&ChatId; 2]) -> Result<bool, Error> {
    for id in ids {
        let known = registry.ids_of(&channel.name, id).await?;
        if known.iter().any(|known| known.phone().is_some() && !ids.contains(&known)) {
            tracing::warn!(
                channel = channel.name,
                "the provider names one hidden id for two numbers: they stay two"
            );
            return Ok(false);
        }
    }
    Ok(true)
}

/// Here a person of our side acts, or a contact begins under a hidden id: the provider is to be asked for the other id, once.
/// What is said under that one must not pass by.
pub fn ask_once(docket: &mut Docket) {
    let (now, kind) = (docket.now.0, docket.conversation.chat.kind());
    let memo = &mut docket.conversation.memo;
    if memo.other_id_since.is_none() && kind == ChatKind::Person {
        memo.other_id_since = Some(now);
        memo.other_id_at = Some(now);
    }
}

/// The provider has not said it: it is asked again, each time after as long as it has been asked by then, up to a limit. Who has
/// not said it in a day will not.
pub fn ask_again(docket: &mut Docket) {
    let now = docket.now;
    let memo = &mut docket.conversation.memo;
    let asked_ms = now.since(Time(*memo.other_id_since.get_or_insert(now.0)));
    let next = now.plus_ms(asked_ms.clamp(ASK_AGAIN_MS, ASK_AGAIN_MAX_MS)).0;
    memo.other_id_at = (asked_ms < ASK_FOR_MS).then_some(next);
}

/// The provider has said it, or that there is none.
pub fn is_told(docket: &mut Docket) {
    let memo = &mut docket.conversation.memo;
    memo.other_id_since.get_or_insert(docket.now.0);
    memo.other_id_at = None;
}

/// Two ids of one person lead to one conversation. False if there is none yet.
pub async fn link(
    ledger: &dyn Ledger,
    registry: &dyn Registry,
    channels: &Arc<Channels>,
    channel: &str,
    ids: [&ChatId; 2],
) -> Result<bool, Error> {
    match registry.link_chats(channel, ids[0], ids[1]).await? {
        Linked::Not => Ok(false),
        Linked::Together => Ok(true),
        Linked::Apart { earlier, later } => merge(ledger, channels, earlier, later).await.map(|()| true),
    }
}

/// Merges the later one into the earlier, as far as that may be done now. What must wait is done in time: the later one
/// remembers with whom it is.
pub async fn merge(
    ledger: &dyn Ledger,
    channels: &Arc<Channels>,
    earlier: Uuid,
    later: Uuid,
) -> Result<(), Error> {
    let expect = move |docket: &mut Docket| expect(docket, later);
    let earlier = match change(ledger, Key::Id(earlier), Need::default(), expect).await {
        Err(Error::Gone) => return forget(ledger, later, earlier).await,
        earlier => earlier?,
    };
    let (stays, goes) = (earlier.id, later);
    if stays == goes {
        return Ok(());
    }
    let pair = by_policy(Arc::clone(channels), move |docket, policy| pair(docket, policy, &earlier));
    let need = Need { labels: true, ..Need::itself() };
    let later = match change(ledger, Key::Id(goes), need, pair).await {
        Err(Error::Gone) => return forget(ledger, stays, goes).await,
        later => later?,
    };
    let Some(later) = later else { return Ok(()) };

    let seen = later.clone();
    let receive = by_policy(Arc::clone(channels), move |docket, policy| receive(docket, policy, &later));
    change(ledger, Key::Id(stays), Need { labels: true, ..Need::default() }, receive).await?;
    let leave = by_policy(Arc::clone(channels), move |docket, policy| leave(docket, policy, stays, &seen));
    match change(ledger, Key::Id(goes), Need::itself(), leave).await? {
        true => tell_earlier(ledger, stays, goes).await,
        false => Ok(()),
    }
}

/// The later one has ended: the earlier one says so, once, whoever was stopped before they could have it say so.
pub async fn tell_earlier(ledger: &dyn Ledger, stays: Uuid, goes: Uuid) -> Result<(), Error> {
    let tell = move |docket: &mut Docket| {
        let expected = &mut docket.conversation.memo.expected;
        if let Some(at) = expected.iter().position(|id| *id == goes) {
            expected.swap_remove(at);
            record(docket, "merged", goes);
        }
    };
    ignore_gone(change(ledger, Key::Id(stays), Need::itself(), tell).await)?;
    let is_told = |docket: &mut Docket| docket.conversation.memo.is_untold = false;
    ignore_gone(change(ledger, Key::Id(goes), Need::itself(), is_told).await)
}

/// A person has taken over here, or the contact has written: so they have in the other conversations with the same person that
/// have not ended yet.
pub async fn tell_others(ledger: &dyn Ledger, channels: &Arc<Channels>, here: Uuid) -> Result<(), Error> {
    // As it stands now: the takeover for which this was asked may have been given back.
    let look = |docket: &mut Docket| {
        let conversation = &docket.conversation;
        conversation.memo.is_untold.then(|| Arc::new(conversation.clone()))
    };
    let here = match change(ledger, Key::Id(here), Need::itself(), look).await {
        Err(Error::Gone) | Ok(None) => return Ok(()),
        Err(error) => return Err(error),
        Ok(Some(here)) => here,
    };
    let mut ended = Vec::new();
    for other in here.memo.others() {
        let as_it_stands = Arc::clone(&here);
        let learn = by_policy(Arc::clone(channels), move |docket, policy| {
            let merged_into = docket.conversation.memo.merged_into;
            if merged_into.is_none() {
                learn(docket, policy, &as_it_stands, as_it_stands.assignee);
            }
            merged_into
        });
        match change(ledger, Key::Id(other), Need::itself(), learn).await {
            Ok(None) => {}
            // It is still to be said here that it has ended.
            Ok(Some(stays)) if stays == here.id => {}
            Ok(Some(_)) | Err(Error::Gone) => ended.push(other),
            Err(error) => return Err(error),
        }
    }
    let told = (here.mode.version, here.memo.clock_at, here.memo.alive_at);
    let is_told = move |docket: &mut Docket| {
        let conversation = &mut docket.conversation;
        let memo = &conversation.memo;
        let stands = (conversation.mode.version, memo.clock_at, memo.alive_at);
        conversation.memo.is_untold &= stands != told;
        conversation.memo.expected.retain(|later| !ended.contains(later));
    };
    ignore_gone(change(ledger, Key::Id(here.id), Need::itself(), is_told).await)
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
async fn forget(ledger: &dyn Ledger, here: Uuid, gone: Uuid) -> Result<(), Error> {
    let forget = move |docket: &mut Docket| {
        let memo = &mut docket.conversation.memo;
        memo.same_person = memo.same_person.filter(|other| *other != gone);
        memo.merged.retain(|other| *other != gone);
        memo.expected.retain(|other| *other != gone);
    };
    ignore_gone(change(ledger, Key::Id(here), Need::itself(), forget).await)
}

/// The earlier one learns of the later before anything else: whoever takes it over from now on takes over both. Returns how it
/// stood then. It may have been merged, too: then this is the one in which it goes on, perhaps the later one itself.
fn expect(docket: &mut Docket, later: Uuid) -> Conversation {
    let conversation = &mut docket.conversation;
    if conversation.id != later {
        for known in [&mut conversation.memo.merged, &mut conversation.memo.expected] {
            if !known.contains(&later) {
                known.push(later);
            }
        }
    }
    conversation.clone()
}

/// The later one learns of the earlier. None: it has gone before.
fn pair(docket: &mut Docket, policy: &Policy, earlier: &Conversation) -> Option<Later> {
    if docket.conversation.memo.merged_into.is_some() {
        return None;
    }
    learn(docket, policy, earlier, None);
    docket.conversation.memo.same_person = Some(earlier.id);
    Some(Later {
        conversation: docket.conversation.clone(),
        labels: docket.labels.clone(),
        is_at_rest: docket.is_at_rest(),
    })
}

/// The earlier one takes on what must not be lost with the later; more than once, if that cannot end yet.
fn receive(docket: &mut Docket, policy: &Policy, later: &Later) {
    let from = &later.conversation;
    learn(docket, policy, from, from.assignee);
    let conversation = &mut docket.conversation;
    let known = &mut conversation.memo.merged;
    let new: Vec<Uuid> = from.memo.merged.iter().filter(|id| !known.contains(id)).copied().collect();
    known.extend(new);
    conversation.opted_out |= from.opted_out;
    if conversation.contact_name.is_none() {
        conversation.contact_name.clone_from(&from.contact_name);
        conversation.contact_named_by_agent = from.contact_named_by_agent;
    }
    if !later.is_at_rest {
        return;
    }
    let mut labels = Labelling::Change { add: later.labels.clone(), remove: Vec::new() }.of(&docket.labels);
    labels.truncate(LABELS_MAX);
    desk::patch::label(docket, labels, actor::SYSTEM);
    take_what_is_missing(docket, policy, from);
    let waits = from.waiting_since.filter(|_| from.mode.mode == Mode::Human);
    let called_for = from.attention.map(|attention| attention.reason);
    if let Some(reason) = called_for.or(waits.map(|_| AttentionReason::Unanswered)) {
        conversations::raise(docket, reason);
    }
}

/// What the later one has and this one has not: who holds it, a note for the assistant, suggestions.
fn take_what_is_missing(docket: &mut Docket, policy: &Policy, from: &Conversation) {
    if docket.conversation.assignee.is_none() && from.assignee.is_some() {
        desk::patch::assign(docket, from.assignee, actor::SYSTEM);
    }
    if from.drafting && !docket.conversation.drafting {
        desk::patch::suggest(docket, policy, true, actor::SYSTEM);
    }
    if docket.conversation.memo.note.is_none() {
        docket.conversation.memo.note.clone_from(&from.memo.note);
    }
}

/// The later one ends, if it is at rest and nothing has changed since it was seen. True if it ended now.
fn leave(docket: &mut Docket, policy: &Policy, stays: Uuid, seen: &Later) -> bool {
    let updated_at = seen.conversation.updated_at;
    let is_as_seen = Conversation { updated_at, ..docket.conversation.clone() } == seen.conversation
        && docket.is_at_rest();
    if !is_as_seen {
        return false;
    }
    conversations::close(docket, policy, actor::SYSTEM);
    let conversation = &mut docket.conversation;
    // Whom it still waits for, waits in the one that stays: here nobody looks for what is unread.
    (conversation.read_seq, conversation.unread) = (conversation.seq, 0);
    // Nor does anybody go by a clock.
    conversation.mode.until = None;
    conversation.memo.same_person = None;
    (conversation.memo.merged_into, conversation.memo.is_untold) = (Some(stays), true);
    record(docket, "merged_into", stays);
    true
}

fn record(docket: &mut Docket, what: &'static str, other: Uuid) {
    docket.record(
        Entry::of(EventType::ConversationUpdated)
            .action("merged")
            .by(actor::SYSTEM)
            .with(what, other.to_string()),
    );
}

/// Whatever must be so in both from the moment on at which it is so in one of them.
fn learn(docket: &mut Docket, policy: &Policy, other: &Conversation, agent: Option<Uuid>) {
    become_human(docket, policy, other, agent);
    if let Some(at) = other.memo.alive_at {
        agenda::heard_elsewhere(docket, Time(at));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flow::play::Play;

    #[test]
    fn the_later_one_ends_only_as_it_was_seen() {
        let earlier = Play::new().conversation;
        let stays = earlier.id;
        type Deed = fn(&mut Play);
        let table: [(&str, bool, Deed); 5] = [
            ("nothing", true, |_| {}),
            ("time passes", true, |play| play.wait(60_000)),
            ("the contact writes to a person", false, |play| {
                play.says("Are you there?");
            }),
            ("the contact opts out", false, |play| {
                play.step(|docket, _| docket.conversation.opted_out = true)
            }),
            ("another is merged into it", false, |play| {
                play.step(|docket, _| docket.conversation.memo.merged.push(Uuid::now_v7()));
            }),
        ];
        for (name, ends, deed) in table {
            let mut play = Play::new();
            play.switches(Mode::Human);
            play.step(|docket, _| docket.conversation.unread = 2);
            let seen = play.step(|docket, policy| pair(docket, policy, &earlier)).expect("it is there");
            deed(&mut play);
            assert_eq!(play.step(|docket, policy| leave(docket, policy, stays, &seen)), ends, "{name}");
            assert_eq!(play.conversation.memo.merged_into, ends.then_some(stays), "{name}");
            assert!(!ends || play.conversation.unread == 0, "{name}");
        }
    }
}
