//! The ledger's suite: each test runs over both stores, on a database of its own.

mod bench;

mod erase;

mod fast_path;

mod line;

mod merge;

mod newer;

mod one_file;

mod order;

mod outage;

mod hands;

mod race;

mod row;

mod rule;

mod store;

use std::sync::Arc;

use uuid::Uuid;

use crate::domain::{
    chat::ChatId,
    conversation::Opening,
    docket::Docket,
    draft::{Draft, DraftState},
    lane::Lane,
    message::{Attempt, Author, Delivery, DeliveryState, Gate, Inbound, Kind, Message, Origin, Outcome},
    mode::{Mode, Reason},
    time::Time,
    turn::{Purpose, Turn, TurnState},
};
use crate::flow::ledger::{Due, Error, Key, Ledger, Need, Work};

/// Runs each function over both stores, as two tests of its name.
macro_rules! over_both_stores {
    ($($name:ident),+ $(,)?) => {
        mod on_postgres {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $name() {
                $crate::adapters::commit::suite::store::on_postgres(super::$name).await;
            })+
        }
        mod on_sqlite {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $name() {
                $crate::adapters::commit::suite::store::on_sqlite(super::$name).await;
            })+
        }
    };
}

use over_both_stores;

/// When every test begins: 2026-01-05 08:00 UTC.
const NOW: Time = Time(1_767_600_000_000);

fn chat(number: usize) -> ChatId {
    ChatId::parse(&format!("65800{number:05}@c.us")).expect("a chat id")
}

/// By chat, begun in AI if there is none.
fn opened(number: usize) -> Key {
    let opening =
        Opening { mode: Mode::Ai, reason: Reason::Released, actor: "system".to_owned(), drafting: false };
    Key::Chat { channel: "main".to_owned(), chat: chat(number), opening: Some(opening) }
}

/// What is due in the channel of [`opened`].
async fn sweep(ledger: &dyn Ledger, work: Work, limit: usize) -> Result<Vec<Due>, Error> {
    ledger.due(work, &["main".to_owned()], limit).await
}

/// What the contact wrote.
fn from_contact(text: &str) -> Message {
    Message {
        provider_message_id: Some(text.to_owned()),
        key: Some(text.to_owned()),
        provider_at: Some(NOW),
        inbound: Some(Inbound { outcome: Outcome::Pending, reason: None, starts_turn: true }),
        ..Message::of(Author::Contact, Origin::Webhook, Kind::Text, text.to_owned())
    }
}

/// What we owe the contact.
fn from_us(text: &str) -> Message {
    let id = Uuid::now_v7();
    Message {
        author: Author::Assistant,
        origin: Origin::Turn,
        provider_message_id: None,
        key: None,
        provider_at: None,
        inbound: None,
        delivery: Some(Delivery {
            state: DeliveryState::Queued,
            reason: None,
            attempts: 0,
            part: 1,
            parts: 1,
            reply: Uuid::now_v7(),
            version: 1,
            gate: Gate::Assistant,
            lane: Lane::Reply,
            due_at: NOW,
            typing_ms: 0,
            idempotency_key: id.to_string(),
            attempt: None,
            unclear: 0,
            queued_at: NOW,
            sent_at: None,
            left_at: None,
            delivered_at: None,
            read_at: None,
        }),
        id,
        ..from_contact(text)
    }
}

/// A step that stores a message of the contact, once: a repeat finds it by its key.
fn push(text: impl Into<String>) -> impl Fn(&mut Docket) -> i64 + Send + Sync + 'static {
    let text = text.into();
    move |docket| {
        if let Some(known) = docket.messages().iter().find(|message| message.key.as_deref() == Some(&text)) {
            return known.seq;
        }
        docket.push(from_contact(&text));
        docket.conversation.seq
    }
}

/// What [`push`] needs to find itself.
fn by_key(text: impl Into<String>) -> Need {
    Need { keys: vec![text.into()], ..Need::default() }
}

/// A step that does nothing but tell what it sees.
fn look(docket: &mut Docket) -> Docket {
    docket.clone()
}

type Shared = Arc<store::Store>;

/// Claims the owed message if so many of the channel may be under way at once, and its pace allows.
fn claim_if(docket: &mut Docket, at_once: usize, pace_ms: i64) -> bool {
    let now = docket.now;
    let Some(channel) = docket.channel.as_mut() else { return false };
    if channel.in_flight >= at_once {
        docket.found_full = true;
        return false;
    }
    let Some(id) = docket.ids(|message| message.is(DeliveryState::Queued)).first().copied() else {
        return false;
    };
    let Some(channel) = docket.channel.as_mut().filter(|channel| channel.next_send_at <= now) else {
        return false;
    };
    channel.next_send_at = now.plus_ms(pace_ms);
    channel.in_flight += 1;
    channel.sends += 1;
    if let Some(delivery) = docket.edit(id).and_then(|message| message.delivery.as_mut()) {
        delivery.state = DeliveryState::Sending;
        delivery.attempt = Some(Attempt { id: Uuid::now_v7(), at: now, lease_until: now.plus_ms(16_000) });
    }
    true
}

/// Whatever was being sent has left.
fn settle(docket: &mut Docket) {
    for id in docket.ids(|message| message.is(DeliveryState::Sending)) {
        if let Some(delivery) = docket.edit(id).and_then(|message| message.delivery.as_mut()) {
            delivery.state = DeliveryState::Sent;
        }
    }
}

/// A turn that runs.
fn generating(docket: &Docket) -> Turn {
    Turn {
        id: Uuid::now_v7(),
        state: TurnState::Generating,
        purpose: Purpose::Reply,
        mode_version: 1,
        fence: 1,
        last_seq: 1,
        is_final: false,
        messages: Vec::new(),
        attempt: 1,
        started_at: docket.now,
        first_token_at: None,
        ended_at: None,
        model: "m".to_owned(),
        input_tokens: 0,
        output_tokens: 0,
        wasted: false,
        reason: None,
    }
}

/// A draft that nobody has decided about.
fn suggested(state: DraftState) -> Draft {
    Draft {
        id: Uuid::now_v7(),
        text: "Yes, we are open.".to_owned(),
        state,
        based_on_seq: 1,
        turn: Uuid::now_v7(),
        decision: None,
        created_at: NOW,
    }
}
