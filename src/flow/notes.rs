//! Rules: a colleague's note for the assistant, from the answer that has read it until that has left. It is for one answer,
//! and one that never left does not count.
//!
//! In: replies that are committed, have left, or never will. Out: the note set aside, forgotten, or there again for the next
//! turn.

use uuid::Uuid;

use super::inbox::Begun;
use crate::domain::{
    conversation::Noted,
    docket::Docket,
    message::{DeliveryState, Message},
};

/// The reply of that turn has read it. Another that was left meanwhile is for the next turn.
pub(super) fn put_away(docket: &mut Docket, begun: &Begun) {
    let memo = &mut docket.conversation.memo;
    if let Some(note) = memo.note.take_if(|note| begun.note.as_ref() == Some(note)) {
        memo.noted = Some(Noted { turn: begun.turn.id, note });
    }
}

/// That reply has left, or has nothing to say.
pub(super) fn forget(docket: &mut Docket, turn: Uuid) {
    docket.conversation.memo.noted.take_if(|noted| noted.turn == turn);
}

/// Nothing of that reply will leave: the next turn reads it, unless there is a newer one, or a part of unknown fate may have
/// brought it to the contact.
pub(super) fn bring_back(docket: &mut Docket, turn: Uuid) {
    let is_unknown = |message: &Message| message.turn == Some(turn) && message.is(DeliveryState::Unknown);
    if docket.messages().iter().any(is_unknown) {
        return;
    }
    let memo = &mut docket.conversation.memo;
    if let Some(noted) = memo.noted.take_if(|noted| noted.turn == turn) {
        memo.note.get_or_insert(noted.note);
    }
}
