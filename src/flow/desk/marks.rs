//! Rules: what a person changes about a conversation: status, assignee, name, read or not.
//!
//! In: a patch. Out: the changed conversation and its events.

use super::{Patch, Refusal, Who, conflict, invalid};
use crate::{
    domain::{
        conversation::Status,
        docket::{Docket, Entry},
        event::EventType,
        message::{Kind, Message},
        policy::Policy,
    },
    flow::conversations,
};

pub(super) fn apply(docket: &mut Docket, policy: &Policy, patch: &Patch, who: &Who) -> Result<(), Refusal> {
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

pub(super) fn counts_as_unread(message: &Message) -> bool {
    !matches!(message.kind, Kind::Reaction | Kind::PollVote)
}

pub(super) fn set_read(docket: &mut Docket, seq: i64, unread: i64, by: &str) {
    if docket.conversation.read_seq == seq && docket.conversation.unread == unread {
        return;
    }
    docket.conversation.read_seq = seq;
    docket.conversation.unread = unread;
    docket.record(Entry::of(EventType::ConversationUpdated).action("read").by(by).with("seq", seq));
}
