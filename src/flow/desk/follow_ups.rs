//! Rules: what a person plans for a contact who falls silent.
//!
//! In: a wish. Out: the one follow-up that is pending from now on, or a refusal that says why.

use std::sync::Arc;

use uuid::Uuid;

use super::{
    Desk, Refusal, WITHDRAW_LOOKS_BACK, Who,
    refusal::{conflict, invalid, or_not_found, refuse_unaddressed},
    resolve_send,
};
use crate::{
    domain::{docket::Docket, message::DeliveryReason, policy::Policy, turn::FollowUp},
    flow::{
        agenda::{self, NewFollowUp},
        conversations, inbox,
        ledger::{Key, Need, change},
    },
};

impl Desk {
    /// Schedules the one follow-up, in place of what is pending, due or not, and says in which conversation. True if there was none.
    pub async fn schedule(
        &self,
        key: Key,
        new: NewFollowUp,
        who: &Who,
    ) -> Result<(Uuid, FollowUp, bool), Refusal> {
        let (channels, by) = (Arc::clone(&self.channels), who.actor.clone());
        let step = move |docket: &mut Docket| {
            let channel = channels.of_conversation(&docket.conversation.channel)?;
            let (follow_up, is_first) = schedule(docket, &channel.policy, &new, &by)?;
            Ok((docket.conversation.id, follow_up, is_first))
        };
        or_not_found(change(&*self.ledger, key, need(), step).await)?
    }

    /// Calls the pending follow-up off.
    pub async fn call_off(&self, key: Key, who: &Who) -> Result<(), Refusal> {
        let (channels, by) = (Arc::clone(&self.channels), who.actor.clone());
        let step = move |docket: &mut Docket| {
            let waits = agenda::owed::waits(docket);
            let channel =
                waits.then(|| channels.of_conversation(&docket.conversation.channel)).transpose()?;
            call_off(docket, channel.as_ref().map(|channel| &*channel.policy), &by)
        };
        or_not_found(change(&*self.ledger, key, need(), step).await)?
    }
}

/// A person plans one: not for a contact who waits, whom it would find waiting.
pub(in crate::flow) fn schedule(
    docket: &mut Docket,
    policy: &Policy,
    new: &NewFollowUp,
    by: &str,
) -> Result<(FollowUp, bool), Refusal> {
    refuse_unaddressed(&docket.conversation.chat)?;
    check_time(docket, policy, new)?;
    let is_left_waiting = conversations::is_left_waiting(docket);
    let waits = agenda::owed::waits(docket);
    let scheduled = if is_left_waiting { None } else { agenda::schedule(docket, policy, new, by) };
    let scheduled = scheduled.ok_or_else(|| {
        let detail = "in HUMAN, closed, opted out, while a message waits for its answer, or while the one before \
                      is leaving or of unknown fate";
        conflict("follow_up_not_allowed", detail)
    })?;
    if waits {
        resolve_send::take_back_words(docket, policy);
    }
    Ok(scheduled)
}

/// A person calls off what they see as pending, whether it is due or not. The channel's rules are asked where one waits to leave.
pub(in crate::flow) fn call_off(
    docket: &mut Docket,
    policy: Option<&Policy>,
    by: &str,
) -> Result<(), Refusal> {
    let mut is_done = false;
    if let Some(policy) = policy
        && agenda::owed::withdraw(docket, DeliveryReason::DeletedByAgent, by, |_| true)
    {
        resolve_send::take_back_words(docket, policy);
        inbox::set_ripe_at(docket, policy);
        is_done = true;
    }
    is_done |= agenda::cancel(docket, "called_off", by);
    if is_done {
        Ok(())
    } else if agenda::owed::may_be_leaving(docket) {
        Err(conflict("already_sent", "it is leaving, or may have left"))
    } else {
        Err(Refusal::NotFound)
    }
}

/// Who spoke last, once one that waits to leave is withdrawn.
fn need() -> Need {
    Need { newest: WITHDRAW_LOOKS_BACK, ..Need::default() }
}

/// The wrong year keeps the person for good, and the wrong time zone would be found out by nobody: it would be withheld as late.
fn check_time(docket: &Docket, policy: &Policy, new: &NewFollowUp) -> Result<(), Refusal> {
    let Some(due_at) = new.due_at else { return Ok(()) };
    if due_at.since(docket.now) > agenda::DELAY_MAX_MS {
        return Err(invalid("/due_at", "must be within a year".to_owned()));
    }
    if agenda::is_too_late(policy, due_at, docket.now) {
        return Err(invalid("/due_at", "is past, for longer than a follow-up may be late".to_owned()));
    }
    Ok(())
}
