//! Rules: a follow-up whose time has come is a message. While nothing of it has left, people see it as pending.
//!
//! In: the open business. Out: its words withdrawn, or whether they may be leaving.

use uuid::Uuid;

use crate::{
    domain::{
        docket::Docket,
        message::{Delivery, DeliveryReason, DeliveryState, Message, Origin},
    },
    flow::outbox,
};

/// Withdraws those that wait to leave, if they match, with all of their parts. True if there was one.
pub fn withdraw(
    docket: &mut Docket,
    reason: DeliveryReason,
    by: &str,
    matches: impl Fn(&Delivery) -> bool,
) -> bool {
    let waiting = owed(docket).filter(|(_, delivery)| delivery.state == DeliveryState::Queued);
    let replies: Vec<Uuid> =
        waiting.filter(|(_, delivery)| matches(delivery)).map(|(_, delivery)| delivery.reply).collect();
    outbox::withdraw(docket, reason, by, |delivery| replies.contains(&delivery.reply)) > 0
}

/// Whether one waits to leave.
pub fn waits(docket: &Docket) -> bool {
    owed(docket).any(|(_, delivery)| delivery.state == DeliveryState::Queued)
}

/// Whether one is leaving, or nobody knows whether it has left.
pub fn may_be_leaving(docket: &Docket) -> bool {
    owed(docket).any(|(_, delivery)| delivery.state != DeliveryState::Queued)
}

/// The same, of those that chase the contact in the silence that lasts: to one from before, they have replied.
pub fn may_be_leaving_now(docket: &Docket) -> bool {
    let mut of_now = owed(docket).filter(|(message, _)| is_of_this_silence(docket, message));
    of_now.any(|(_, delivery)| delivery.state != DeliveryState::Queued)
}

/// Whether one besides that message waits to leave or may be leaving, in the silence that lasts.
pub fn is_another_owed(docket: &Docket, id: Uuid) -> bool {
    owed(docket).any(|(message, _)| message.id != id && is_of_this_silence(docket, message))
}

fn is_of_this_silence(docket: &Docket, message: &Message) -> bool {
    message.seq > docket.conversation.contact_seq.max(docket.conversation.memo.alive_seq)
}

/// Those of which nothing has left, by their first part. The archive asks the same in its own language.
fn owed(docket: &Docket) -> impl Iterator<Item = (&Message, &Delivery)> {
    let follow_ups = docket.messages().iter().filter(|message| message.origin == Origin::FollowUp);
    follow_ups
        .filter_map(|message| Some((message, message.delivery.as_ref()?)))
        .filter(|(_, delivery)| delivery.part == 1 && delivery.state.is_open())
}
