//! Tests of the rules, by what people would see. Interleavings are those of a real store: one step after the other.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod bursts;

mod on_demand;

mod edits;

mod floods;

mod takeovers;

mod waiting;

mod notes;

mod ids;

mod follow_ups;

mod follow_ups_owed;

mod hours;

mod sends;

mod fates;

mod letters;

mod drafts;

mod errands;

use super::{
    desk::Who,
    inbox,
    outbox::{self, Settled},
    play::Play,
    provider::Arrival,
};
use crate::domain::message::{Kind, Origin};

pub(super) fn ana() -> Who {
    Who { actor: "agent:ana".into(), agent: None, origin: Origin::Dashboard }
}

/// The head is claimed, and nobody ever learns what became of it.
pub(super) fn loses(play: &mut Play) -> uuid::Uuid {
    let (attempt, claim) = play.claims_send();
    let outbox::Claim::Claimed(message) = claim else { panic!("nothing was claimed: {claim:?}") };
    play.settles(attempt, &Settled::Unclear("timed out".into()));
    message.id
}

/// A voice note, where nobody puts them into words.
pub(super) fn speaks(play: &mut Play, id: &str) {
    let arrival = Arrival { is_unreadable: true, kind: Kind::Voice, ..play.arrival(id, "") };
    play.step(|docket, policy| inbox::admit(docket, policy, &arrival));
}

pub(super) fn begun_reply(play: &Play) -> uuid::Uuid {
    play.messages.iter().find(|message| message.delivery.is_some()).unwrap().id
}
