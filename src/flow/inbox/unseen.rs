//! Rules: the contact edits or deletes a message that never came, or has not come yet.
//!
//! In: an amendment of which nothing is known. Out: kept for its original; an edit whose original does not come is a message
//! all the same, or what the contact says would be lost.

use super::{
    Admitted, admit,
    amend::{change, is_edit},
    chase_no_more, said_to_others,
};
use crate::{
    domain::{
        docket::{Docket, Parked, Report},
        event::actor,
        message::Sender,
        policy::Policy,
        time::Time,
    },
    flow::{merge, provider::Arrival, reconcile},
};

/// Keeps a report for its original, once. It is a sign of life whatever it is about.
pub(super) fn keep(docket: &mut Docket, policy: &Policy, of: &str, report: Report) {
    let is_kept = |parked: &Parked| parked.provider_message_id == of && parked.report == report;
    // What our side wrote is not theirs to change.
    if docket.parked().iter().any(is_kept) || reconcile::by_provider_id(docket, of).is_some() {
        return;
    }
    if docket.is_new() && docket.conversation.chat.phone().is_none() {
        merge::ask_once(docket);
    }
    docket.park(of, report);
    if said_to_others(docket, policy).is_none() {
        chase_no_more(docket);
    }
}

/// The provider's ids of messages of which nothing but an edit has come, and is waited for no longer.
pub fn edits_of_unseen(docket: &Docket) -> Vec<String> {
    let is_due = |parked: &&Parked| parked.original_awaited_until().is_some_and(|until| until <= docket.now);
    let mut ids: Vec<String> =
        docket.parked().iter().filter(is_due).map(|parked| parked.provider_message_id.clone()).collect();
    ids.sort_unstable();
    ids.dedup();
    ids
}

/// Admits what the edits of those ids say, under the ids of their originals: should these come after all, they are known, and
/// so do later amendments find them. Needs the messages with these ids. What was deleted meanwhile is no message.
pub fn admit_edited(docket: &mut Docket, policy: &Policy, ids: &[String]) {
    for id in ids {
        let is_about = |parked: &Parked| parked.provider_message_id == *id;
        let is_deleted =
            docket.parked().iter().any(|parked| is_about(parked) && parked.report == Report::Deletion);
        let edits = docket.unpark(|parked| is_about(parked) && is_edit(parked));
        if is_deleted {
            continue;
        }
        let Some((edited_at, newest)) = newest(edits) else { continue };
        // It came where nobody looks for amendments: it was said to others.
        if let Some(original) = reconcile::by_provider_id(docket, id) {
            change(docket, original, &newest, actor::CONTACT);
        } else if let Report::Edit { text, by, .. } = newest
            && !text.is_empty()
        {
            let arrival = Arrival {
                sender: by.map(|id| Sender { id, name: String::new() }),
                ..Arrival::plain(&docket.conversation.chat, id, text, edited_at)
            };
            if let Admitted::Stored(message) = admit(docket, policy, &arrival)
                && let Some(message) = docket.edit(message)
            {
                message.edited_at = Some(edited_at);
            }
        }
    }
}

/// The newest of these edits, and when it was made.
fn newest(edits: Vec<Parked>) -> Option<(Time, Report)> {
    let edited_at = |parked: &Parked| match parked.report {
        Report::Edit { provider_at, .. } => provider_at.map_or(parked.at, Time),
        Report::Echo { .. } | Report::Status { .. } | Report::Deletion | Report::Ours { .. } => parked.at,
    };
    edits.into_iter().map(|parked| (edited_at(&parked), parked.report)).max_by_key(|(at, _)| *at)
}
