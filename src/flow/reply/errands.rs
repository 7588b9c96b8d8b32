//! Rules: what the assistant asked of the business, from the commit of its reply until that begins to leave.
//!
//! In: replies that are committed, begin to leave, or never will. Out: an event for each errand, in the transaction in
//! which the first words of its reply are claimed for sending; nothing of a reply that was discarded.

use uuid::Uuid;

use crate::{
    domain::{
        docket::{Docket, Entry},
        event::{EventType, actor},
        tool::Errand,
    },
    flow::generator::tools::Asking,
};

/// The reply of that turn is owed, and these errands with it.
pub(in crate::flow) fn keep(docket: &mut Docket, turn: Uuid, errands: &[Asking]) {
    let of_turn = |it: &Asking| Errand { turn, tool: it.tool.clone(), arguments: it.arguments.clone() };
    docket.conversation.memo.errands.extend(errands.iter().map(of_turn));
}

/// That reply begins to leave, or has nothing to say: the business is notified.
pub(in crate::flow) fn tell(docket: &mut Docket, turn: Uuid) {
    let memo = &mut docket.conversation.memo;
    let (told, others) = std::mem::take(&mut memo.errands).into_iter().partition(|it| it.turn == turn);
    memo.errands = others;
    let told: Vec<Errand> = told;
    if !told.is_empty() {
        memo.told = Some(turn);
    }
    for errand in told {
        docket.record(
            Entry::of(EventType::ToolCalled)
                .by(actor::ASSISTANT)
                .turn(turn)
                .with("tool", errand.tool)
                .with("arguments", errand.arguments),
        );
    }
}

/// Nothing of that reply will leave: what it spoke of is not done.
pub(in crate::flow) fn forget(docket: &mut Docket, turn: Uuid) {
    docket.conversation.memo.errands.retain(|errand| errand.turn != turn);
}

/// Whether the business was notified of what that reply speaks of: then it is not written a second time.
pub(in crate::flow) fn are_told(docket: &Docket, turn: Uuid) -> bool {
    docket.conversation.memo.told == Some(turn)
}
