//! Rules: what a person does with drafts: asks for one, sends one as it is or changed, discards one.
//!
//! In: the draft, and what the person wants of it. Out: a wish, a message of that person, or a draft that is out of the way.

use uuid::Uuid;

use super::{
    Desk, Idempotency, NewMessage, Posted, Refusal, Who, messages,
    read_state::Ticks,
    refusal::{conflict, or_not_found, refuse_unaddressed},
};
use crate::{
    domain::{
        docket::Docket,
        draft::{Decision, Draft, DraftState, SentDraft, words_apart},
        mode::Reason,
        policy::Policy,
    },
    flow::{
        drafts,
        ledger::{Key, Need, change},
    },
};

/// How a person wants a draft sent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Approval {
    /// What to say in its place; None: it is sent as it was written.
    pub text: Option<String>,
    /// Also if it is stale or was discarded.
    pub force: bool,
}

impl Desk {
    /// Asks for a draft now, in either mode. Says in which conversation, and gives the id that it will have.
    pub async fn ask_for_draft(
        &self,
        key: Key,
        who: &Who,
        idempotency: Option<Idempotency>,
    ) -> Result<(Uuid, Uuid), Refusal> {
        let (channels, who) = (self.channels.clone(), who.clone());
        let idempotency = idempotency.unwrap_or_else(Idempotency::of_its_own);
        let request = Some(idempotency.key.clone());
        let need = Need { request, ..Need::default() };
        let step = move |docket: &mut Docket| {
            let channel = channels.of_conversation(&docket.conversation.channel)?;
            let draft = ask(docket, &channel.policy, &who, &idempotency)?;
            Ok((docket.conversation.id, draft))
        };
        or_not_found(change(&*self.ledger, key, need, step).await)?
    }

    /// Sends a draft as this person's message, which takes over.
    pub async fn send_draft(
        &self,
        key: Key,
        draft: Uuid,
        approval: Approval,
        who: &Who,
        idempotency: Option<Idempotency>,
    ) -> Result<Posted, Refusal> {
        if let Some(text) = &approval.text {
            messages::check(&[NewMessage::of(text.clone())])?;
        }
        let (channels, who) = (self.channels.clone(), who.clone());
        let idempotency = idempotency.unwrap_or_else(Idempotency::of_its_own);
        let request = Some(idempotency.key.clone());
        let need = Need { draft: Some(draft), request, ..Need::default() };
        let step = move |docket: &mut Docket| {
            let channel = channels.of_conversation(&docket.conversation.channel)?;
            let unread = docket.conversation.unread;
            let (said, remembered) = send(docket, &channel.policy, draft, &approval, &who, &idempotency)?;
            let ticks = Ticks::of(docket, &channel, docket.conversation.unread < unread);
            Ok::<_, Refusal>((said, remembered, ticks))
        };
        let (said, remembered, ticks) = or_not_found(change(&*self.ledger, key, need, step).await)??;
        if let Some(ticks) = ticks {
            ticks.give();
        }
        match remembered {
            Some(ids) => self.said_before(said, &ids).await,
            None => Ok(self.with_others(said).await),
        }
    }

    /// Puts a draft away.
    pub async fn discard_draft(&self, key: Key, draft: Uuid, who: &Who) -> Result<(), Refusal> {
        let who = who.clone();
        let need = Need { draft: Some(draft), ..Need::default() };
        let step = move |docket: &mut Docket| discard(docket, draft, &who);
        or_not_found(change(&*self.ledger, key, need, step).await)?
    }
}

/// A person wants one. The same request twice is one wish.
pub(in crate::flow) fn ask(
    docket: &mut Docket,
    policy: &Policy,
    who: &Who,
    idempotency: &Idempotency,
) -> Result<Uuid, Refusal> {
    let before = messages::made_before(docket, idempotency)?;
    if let Some(id) = before.and_then(|ids| ids.first().copied()) {
        return Ok(id);
    }
    refuse_unaddressed(&docket.conversation.chat)?;
    if !policy.has_model {
        return Err(conflict("no_model", "there is no model that could write one"));
    }
    if policy.is_spent {
        return Err(conflict("no_model", "the channel's ceiling of cost is reached for today"));
    }
    let id = drafts::ask(docket, &who.actor);
    messages::remember(docket, idempotency, &[id]);
    Ok(id)
}

/// A person says what the draft says, or what they made of it; it takes over as anything does that they say.
pub(in crate::flow) fn send(
    docket: &mut Docket,
    policy: &Policy,
    id: Uuid,
    approval: &Approval,
    who: &Who,
    idempotency: &Idempotency,
) -> Result<(Posted, Option<Vec<Uuid>>), Refusal> {
    if let Some(ids) = messages::made_before(docket, idempotency)? {
        return Ok((Posted::nothing_new(docket.conversation.id), Some(ids)));
    }
    refuse_unaddressed(&docket.conversation.chat)?;
    let draft = docket.draft(id).cloned().ok_or(Refusal::NotFound)?;
    match draft.state {
        DraftState::Fresh => {}
        DraftState::Stale | DraftState::Discarded if approval.force => {}
        DraftState::Stale => {
            return Err(conflict("stale", "something was said that it has not read"));
        }
        DraftState::Discarded => return Err(conflict("stale", "it was discarded")),
        DraftState::Sent | DraftState::Edited => {
            return Err(conflict("already_sent", "the draft was sent"));
        }
    }
    let text = approval.text.clone().unwrap_or_else(|| draft.text.clone());
    let is_as_written = text.trim() == draft.text.trim();
    let edit_distance = words_apart(&draft.text, &text);
    let state = if is_as_written { DraftState::Sent } else { DraftState::Edited };
    // Before anything is said: that would make a fresh one stale.
    docket.keep_draft(Draft { state, ..draft.clone() });
    let said = messages::speak(
        docket,
        policy,
        vec![messages::ResolvedMessage { text, quoted: None, enclosure: None }],
        who,
        Reason::DraftSent,
    );
    let message = said.messages.first().map(|message| message.id);
    let sent = message.map(|message| SentDraft { message, edit_distance });
    docket.keep_draft(Draft { state, decision: Some(decision(docket, who, sent)), ..draft.clone() });
    let mut ended = drafts::ended(&draft, state).by(&who.actor).with("edit_distance", edit_distance);
    if let Some(message) = message {
        ended = ended.message(message);
    }
    docket.record(ended);
    messages::remember(docket, idempotency, &said.ids());
    Ok((said, None))
}

/// A person does not want it.
pub(in crate::flow) fn discard(docket: &mut Docket, id: Uuid, who: &Who) -> Result<(), Refusal> {
    let draft = docket.draft(id).cloned().ok_or(Refusal::NotFound)?;
    match draft.state {
        DraftState::Fresh | DraftState::Stale => {}
        DraftState::Sent | DraftState::Edited => {
            return Err(conflict("already_sent", "the draft was sent"));
        }
        DraftState::Discarded => return Err(Refusal::NotFound),
    }
    docket.record(drafts::ended(&draft, DraftState::Discarded).by(&who.actor));
    let decision = Some(decision(docket, who, None));
    docket.keep_draft(Draft { state: DraftState::Discarded, decision, ..draft });
    Ok(())
}

fn decision(docket: &Docket, who: &Who, sent: Option<SentDraft>) -> Decision {
    Decision { by: who.actor.clone(), at: docket.now, sent }
}
