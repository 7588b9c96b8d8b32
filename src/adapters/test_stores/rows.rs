//! What happened, in as few words as a test has patience for.

use serde_json::{Map, json};
use uuid::Uuid;

use super::NOW;
use crate::domain::{
    chat::ChatId,
    conversation::{Conversation, Opening},
    draft::{Decision, Draft, DraftState, SentDraft},
    event::{Event, EventType, actor},
    lane::Lane,
    message::{
        Attempt, Author, Delivery, DeliveryState, Gate, Inbound, Kind, Message, Origin, Outcome,
        OutcomeReason,
    },
    mode::{Mode, Reason},
    time::Time,
    turn::{DeadLetter, FollowUp, FollowUpState, LetterKind, LetterState, Purpose, Turn, TurnState},
};

/// A conversation in AI on that channel.
pub(crate) fn begun(channel: &str, chat: &str) -> Conversation {
    let chat = ChatId::parse(chat).expect("a chat id");
    let opening =
        Opening { mode: Mode::Ai, reason: Reason::Rollout, actor: actor::SYSTEM.to_owned(), drafting: false };
    Conversation::begin(channel, chat, &opening, NOW)
}

fn message(seq: i64, author: Author, text: &str, at: Time) -> Message {
    Message { seq, at, ..Message::of(author, Origin::Webhook, Kind::Text, text.to_owned()) }
}

/// A message of the contact that waits.
pub(crate) fn from_contact(seq: i64, text: &str, at: Time) -> Message {
    let inbound = Inbound { outcome: Outcome::Pending, reason: None, starts_turn: true };
    let key = Some(format!("key-{seq}"));
    Message { inbound: Some(inbound), key, ..message(seq, Author::Contact, text, at) }
}

/// The same message, answered, or ended in another way.
pub(crate) fn answered(message: Message, outcome: Outcome, reason: Option<OutcomeReason>) -> Message {
    Message { inbound: message.inbound.map(|inbound| Inbound { outcome, reason, ..inbound }), ..message }
}

/// A message of our side in that state; an agent's passes the gate of people.
pub(crate) fn from_us(seq: i64, author: Author, text: &str, at: Time, state: DeliveryState) -> Message {
    let (gate, origin, lane) = match author {
        Author::Agent => (Gate::Person, Origin::Dashboard, Lane::Human),
        Author::Contact | Author::Assistant | Author::System => (Gate::Assistant, Origin::Turn, Lane::Reply),
    };
    let has_left = state.is_accepted();
    let delivery = Delivery {
        state,
        reason: None,
        attempts: 1,
        part: 1,
        parts: 1,
        reply: Uuid::now_v7(),
        version: 1,
        gate,
        lane,
        due_at: at,
        typing_ms: 0,
        idempotency_key: Uuid::now_v7().to_string(),
        attempt: Some(Attempt { id: Uuid::now_v7(), at, lease_until: at.plus_ms(16_000) }),
        unclear: 0,
        queued_at: at,
        sent_at: has_left.then_some(at),
        left_at: None,
        delivered_at: None,
        read_at: None,
    };
    Message { origin, delivery: Some(delivery), ..message(seq, author, text, at) }
}

/// A run of the assistant, completed in a second.
pub(crate) fn turn(started_at: Time) -> Turn {
    Turn {
        id: Uuid::now_v7(),
        state: TurnState::Completed,
        purpose: Purpose::Reply,
        mode_version: 1,
        fence: 1,
        last_seq: 1,
        is_final: false,
        messages: vec![Uuid::now_v7()],
        attempt: 1,
        started_at,
        first_token_at: Some(started_at.plus_ms(300)),
        ended_at: Some(started_at.plus_ms(1_000)),
        model: "small".to_owned(),
        input_tokens: 100,
        output_tokens: 20,
        wasted: false,
        reason: None,
    }
}

/// A follow-up.
pub(crate) fn scheduled(due_at: Time, state: FollowUpState) -> FollowUp {
    FollowUp {
        id: Uuid::now_v7(),
        due_at,
        text: Some("Still there?".to_owned()),
        instructions: None,
        created_by: actor::ASSISTANT.to_owned(),
        created_at: NOW,
        state,
        reason: None,
        attempts: 0,
        message: None,
    }
}

/// A draft that stands so. One that was sent was changed by so many words.
pub(crate) fn suggested(created_at: Time, state: DraftState, edit_distance: i64) -> Draft {
    let decided = |sent| Some(Decision { by: "agent:ana".to_owned(), at: created_at.plus_ms(5), sent });
    let decision = match state {
        DraftState::Fresh | DraftState::Stale => None,
        DraftState::Discarded => decided(None),
        DraftState::Sent | DraftState::Edited => {
            decided(Some(SentDraft { message: Uuid::now_v7(), edit_distance }))
        }
    };
    Draft {
        id: Uuid::now_v7(),
        text: "Yes, we are open.".to_owned(),
        state,
        based_on_seq: 1,
        turn: Uuid::now_v7(),
        decision,
        created_at,
    }
}

/// An open dead letter on that channel.
pub(crate) fn letter(channel: &str, kind: LetterKind, last_at: Time) -> DeadLetter {
    DeadLetter {
        id: Uuid::now_v7(),
        kind,
        channel: channel.to_owned(),
        conversation: None,
        subject: None,
        state: LetterState::Open,
        reason: "attempts_used".to_owned(),
        attempts: 3,
        first_at: last_at,
        last_at,
        payload: json!({ "text": "hello" }).into(),
    }
}

/// An event of a conversation, or of none.
pub(crate) fn event(of: Option<&Conversation>, number: Option<i64>, kind: EventType, at: Time) -> Event {
    Event {
        at,
        channel: of.map_or_else(|| "shop".to_owned(), |conversation| conversation.channel.clone()),
        conversation: of.map(|conversation| conversation.id),
        conv_seq: number,
        message: None,
        turn: None,
        mode_version: None,
        actor: actor::SYSTEM.to_owned(),
        kind,
        action: Some("stored".into()),
        details: Map::new(),
    }
}
