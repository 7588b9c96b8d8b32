//! Rules: what a person changes about a conversation: status, assignee, labels, name, read or not.
//!
//! In: a patch. Out: the changed conversation and its events.

use uuid::Uuid;

use super::{Patch, Refusal, Who, conflict, invalid};
use crate::{
    domain::{
        conversation::Status,
        docket::{Docket, Entry},
        event::EventType,
        label::{self, LABELS_MAX, Label, Labelling},
        message::{Author, Kind, Message},
        policy::Policy,
    },
    flow::{conversations, drafts},
};

pub(in crate::flow) fn apply(
    docket: &mut Docket,
    policy: &Policy,
    patch: &Patch,
    who: &Who,
) -> Result<(), Refusal> {
    if let Some(expected) = patch.expected_assignee
        && expected != docket.conversation.assignee
    {
        return Err(conflict("version_conflict", "somebody else holds the conversation"));
    }
    let labels = patch.labelling.as_ref().map(|labelling| labels_after(docket, labelling)).transpose()?;
    let is_moved = match patch.status {
        None => false,
        Some((Status::Closed, _)) => {
            conversations::close(docket, policy, &who.actor);
            false
        }
        Some((Status::Snoozed, until)) => {
            let until = until.filter(|until| *until > docket.now);
            let until = until.ok_or_else(|| invalid("/snoozed_until", "must be in the future".to_owned()))?;
            conversations::set_status(docket, Status::Snoozed, Some(until), &who.actor)
        }
        Some((Status::Open, _)) => conversations::set_status(docket, Status::Open, None, &who.actor),
    };
    if is_moved {
        conversations::set_overdue_at(docket, policy);
    }
    if let Some(assignee) = patch.assignee
        && assignee != docket.conversation.assignee
    {
        assign(docket, assignee, &who.actor);
    }
    if let Some(labels) = labels {
        label(docket, labels, &who.actor);
    }
    if let Some(drafting) = patch.drafting
        && drafting != docket.conversation.drafting
    {
        suggest(docket, policy, drafting, &who.actor);
    }
    if patch.lets_follow_up && docket.conversation.opted_out {
        docket.conversation.opted_out = false;
        docket.conversation.memo.opted_out_by = None;
        docket.record(Entry::of(EventType::ConversationUpdated).action("opted_in").by(&who.actor));
    }
    if let Some(name) = &patch.contact_name {
        // Said again by a person, a name stays also where it was the provider's.
        docket.conversation.contact_named_by_agent = true;
        if docket.conversation.contact_name.as_ref() != Some(name) {
            docket.conversation.contact_name = Some(name.clone());
            docket.record(Entry::of(EventType::ConversationUpdated).action("renamed").by(&who.actor));
        }
    }
    if patch.clear_attention {
        conversations::clear(docket, &who.actor, |_| true);
        conversations::set_overdue_at(docket, policy);
        // A person who has looked has seen who waits too long already.
        let now = docket.now.0;
        docket.conversation.memo.overdue_at.take_if(|at| *at <= now);
    }
    Ok(())
}

/// Gives the conversation to another agent, or to nobody.
pub(in crate::flow) fn assign(docket: &mut Docket, assignee: Option<Uuid>, by: &str) {
    docket.conversation.assignee = assignee;
    let entry = Entry::of(EventType::ConversationUpdated).action("assigned").by(by);
    docket.record(entry.with("assignee", assignee.map(|id| id.to_string())));
}

/// Suggestions in HUMAN from now on, or no more.
pub(in crate::flow) fn suggest(docket: &mut Docket, policy: &Policy, drafting: bool, by: &str) {
    docket.conversation.drafting = drafting;
    let entry = Entry::of(EventType::ConversationUpdated).action("drafting").by(by);
    docket.record(entry.with("drafting", drafting));
    if drafting {
        drafts::consider(docket, policy);
    } else {
        drafts::give_up_wish(docket, "drafting_off", by, |wish| wish.by.is_none());
    }
}

/// What the conversation is labelled with then.
fn labels_after(docket: &Docket, labelling: &Labelling) -> Result<Vec<Label>, Refusal> {
    let labels = labelling.of(&docket.labels);
    if labels.len() > LABELS_MAX {
        return Err(invalid("/add_labels", format!("a conversation has at most {LABELS_MAX}")));
    }
    Ok(labels)
}

/// Labels the conversation with these, and with nothing else.
pub(in crate::flow) fn label(docket: &mut Docket, labels: Vec<Label>, by: &str) {
    let names = |labels: &[Label]| labels.iter().map(|label| label.name.clone()).collect::<Vec<_>>();
    let added = names(&label::beyond(&labels, &docket.labels));
    let removed = names(&label::beyond(&docket.labels, &labels));
    if added.is_empty() && removed.is_empty() {
        return;
    }
    let entry = Entry::of(EventType::ConversationUpdated).action("labelled").by(by);
    docket.record(entry.with("labels", names(&labels)).with("added", added).with("removed", removed));
    docket.labels = labels;
}

pub(super) fn counts_as_unread(message: &Message) -> bool {
    !matches!(message.kind, Kind::Reaction | Kind::PollVote)
}

/// Marks the newest message of the contact unread again; nothing, where some are unread as it is. Sees what was loaded.
pub(in crate::flow) fn mark_unread(docket: &mut Docket, by: &str) {
    if docket.conversation.unread > 0 {
        return;
    }
    let counts = |message: &&Message| message.author == Author::Contact && counts_as_unread(message);
    if let Some(seq) = docket.messages().iter().rev().find(counts).map(|message| message.seq) {
        set_read(docket, seq - 1, 1, by);
    }
}

pub(super) fn set_read(docket: &mut Docket, seq: i64, unread: i64, by: &str) {
    if docket.conversation.read_seq == seq && docket.conversation.unread == unread {
        return;
    }
    docket.conversation.read_seq = seq;
    docket.conversation.unread = unread;
    docket.record(Entry::of(EventType::ConversationUpdated).action("read").by(by).with("seq", seq));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        domain::{message::Origin, time::Time},
        flow::{ledger::Need, play::Play},
    };

    fn labels(count: usize) -> Vec<Label> {
        let label = |n| Label {
            id: Uuid::now_v7(),
            name: format!("label {n}"),
            colour: None,
            description: None,
            created_at: Time(0),
        };
        (0..count).map(label).collect()
    }

    fn ana() -> Who {
        Who { actor: "agent:ana".to_owned(), agent: None, origin: Origin::Api }
    }

    #[test]
    fn what_is_refused_for_its_labels_changes_nothing_else() {
        let mut play = Play::new();
        play.step(|docket, policy| {
            let labelling = Some(Labelling::Whole(labels(LABELS_MAX + 1)));
            let status = Some((Status::Closed, None));
            let patch = Patch { labelling, status, drafting: Some(true), ..Patch::default() };
            let events = docket.events().len();
            let refusal = apply(docket, policy, &patch, &ana()).expect_err("too many");
            assert!(matches!(refusal, Refusal::Invalid { pointer, .. } if pointer == "/add_labels"));
            assert_eq!((docket.conversation.status, docket.events().len()), (Status::Open, events));
        });
    }

    #[test]
    fn the_name_that_is_there_is_no_news_but_is_the_persons_from_then_on() {
        let mut play = Play::new();
        play.step(|docket, policy| {
            docket.conversation.contact_name = Some("Mei".to_owned());
            let events = docket.events().len();
            for (name, more) in [("Mei", 0), ("Mei Ling", 1), ("Mei Ling", 1)] {
                let patch = Patch { contact_name: Some(name.to_owned()), ..Patch::default() };
                apply(docket, policy, &patch, &ana()).expect("it can be done");
                assert_eq!(docket.events().len(), events + more, "{name}");
                assert!(docket.conversation.contact_named_by_agent);
            }
        });
    }

    #[test]
    fn the_newest_of_the_contacts_is_unread_again_whatever_it_is_unless_some_are() {
        use Kind::{Note, Reaction, Sticker, Text, Voice};
        // What there is, how much of it is unread, and up to where it is read; then both once it is marked.
        let table: [(&[Kind], [i64; 2], [i64; 2]); 7] = [
            (&[Voice, Voice], [0, 2], [1, 1]),
            (&[Sticker], [0, 1], [1, 0]),
            (&[Text, Note, Voice], [0, 3], [1, 2]),
            (&[Text, Note, Reaction], [0, 3], [1, 0]),
            (&[Text, Text, Voice], [3, 0], [3, 0]),
            (&[Text, Voice], [1, 1], [1, 1]),
            (&[Note], [0, 1], [0, 1]),
        ];
        for (kinds, [unread, read_seq], wanted) in table {
            let mut play = Play::new();
            play.step(|docket, _| {
                for kind in kinds {
                    // A note stands for whatever our side says.
                    let author = if *kind == Note { Author::Agent } else { Author::Contact };
                    docket.push(Message::of(author, Origin::Webhook, *kind, String::new()));
                    if *kind == Text {
                        docket.conversation.contact_seq = docket.conversation.seq;
                    }
                }
                (docket.conversation.unread, docket.conversation.read_seq) = (unread, read_seq);
            });
            play.step_with(&Need { newest: 20, ..Need::itself() }, |docket, _| {
                mark_unread(docket, "agent:ana")
            });
            let is_now = [play.conversation.unread, play.conversation.read_seq];
            assert_eq!(is_now, wanted, "{kinds:?}, {unread} unread");
        }
    }

    #[test]
    fn labels_that_are_there_already_are_no_news() {
        let mut play = Play::new();
        play.step(|docket, policy| {
            let some = labels(2);
            docket.labels = some.clone();
            let events = docket.events().len();
            for labelling in [
                Labelling::Whole(vec![some[1].clone(), some[0].clone()]),
                Labelling::Change { add: some.clone(), remove: labels(1) },
            ] {
                let patch = Patch { labelling: Some(labelling), ..Patch::default() };
                apply(docket, policy, &patch, &ana()).expect("it can be done");
            }
            assert_eq!(docket.events().len(), events);
        });
    }
}
