//! Something in every table that is carried.

use serde_json::json;
use uuid::Uuid;

use super::TestStore;
use crate::{
    adapters::{
        rows::{ParkedRow, RequestRow},
        sql::Statement,
        test_stores::{NOW, begun, event, from_contact, from_us, letter, scheduled, suggested, turn},
    },
    domain::{
        docket::{Parked, Remembered, Report},
        draft::DraftState,
        event::EventType,
        message::{Author, DeliveryState},
        turn::{FollowUpState, LetterKind},
    },
};

/// Fills every table. Texts hold what is easily lost on the way.
pub(super) async fn fill<D: TestStore>(store: &D) {
    let conversation = begun("shop", "6580000001@c.us");
    store.keep_conversation(&conversation).await;
    let odd = "two\nlines, \"quotes\", \\ and \u{1f984} \u{7}";
    let mut sent = from_us(2, Author::Assistant, odd, NOW, DeliveryState::Unknown);
    if let Some(delivery) = &mut sent.delivery {
        delivery.unclear = 2;
    }
    let messages = vec![from_contact(1, odd, NOW), sent];
    store.keep_messages(&conversation, messages).await;
    let answered = turn(NOW);
    let answering = answered.id;
    store.keep_turns(&conversation, vec![answered]).await;
    store.keep_follow_ups(&conversation, vec![scheduled(NOW, FollowUpState::Pending)]).await;
    store.keep_drafts(&conversation, vec![suggested(NOW, DraftState::Edited, 3)]).await;
    store.keep_letters(vec![letter("shop", LetterKind::Webhook, NOW)]).await;
    let parked = Parked {
        id: Uuid::now_v7(),
        provider_message_id: "BAE5A".to_owned(),
        report: Report::Deletion,
        at: NOW,
    };
    store.keep(vec![ParkedRow::of(conversation.id, parked)]).await;
    let remembered = Remembered {
        key: "agent:ana /messages k1".to_owned(),
        body_hash: "hash".to_owned(),
        message: Uuid::now_v7(),
        answer: json!({ "takeover": null }),
        at: NOW,
    };
    store.keep(vec![RequestRow::of(conversation.id, remembered)]).await;
    let said = |number| event(Some(&conversation), Some(number), EventType::MessageReceived, NOW);
    store.keep_events(vec![said(1), said(2), event(None, None, EventType::ChannelUpdated, NOW)]).await;
    for statement in [
        Statement::new(
            "insert into channels (name, provider, sealed, settings, managed_by_environment, created_at, updated_at) \
             values ('shop', 'green_api', $1, '{\"burst\":\"queue\"}', $2, 1, 9007199254740993)",
        )
        .with(Some(vec![1, 0, 255]))
        .with(true),
        Statement::new(
            "insert into agents (id, name, email, email_folded, role, disabled, created_at, updated_at) \
             values ('ana', 'Ana', 'Ana@example.com', 'ana@example.com', 'admin', $1, 1, -1)",
        )
        .with(false),
        Statement::new(
            "insert into tokens (id, name, hash, role, created_at) values ('t', 'ci', 'hash', 'read', 1)",
        ),
        Statement::new("insert into labels (id, name, folded, created_at) values ('l', 'VIP', 'vip', 1)"),
        Statement::new(
            "insert into canned_replies (id, shortcut, folded, text, owner, created_at) \
             values ('c', 'hours', 'hours', 'Until eight.', 'ana', 1)",
        ),
        Statement::new(
            "insert into kept_answers (key, body_hash, owner, until, sealed, at) values ('k', 'h', 'o', 2, $1, 1)",
        )
        .with(Some(vec![1, 2, 3])),
        Statement::new("insert into conversation_labels (conversation_id, label_id) values ($1, 'l')")
            .with(conversation.id),
        Statement::new(
            "insert into cached_answers (turn_id, channel, question, prompt, conversation_id, alone, at) \
             values ($1, 'shop', 'q', 'p', $2, $3, 1)",
        )
        .with(answering)
        .with(conversation.id)
        .with(true),
        Statement::new("insert into enclosures (id, bytes, at) values ('e', $1, 1)").with(Some(vec![0, 1, 254])),
        Statement::new(
            "insert into audit (id, at, actor, deed, details) values ('d', 1, 'shell', 'token_created', '{}')",
        ),
        Statement::new("insert into tombstones (hash, kind) values ('h', 'erased')"),
        Statement::new("insert into tombstone_keys (id, sealed, at) values ('k', $1, 1)").with(Some(vec![9])),
        Statement::new("insert into erasures (conversation_id, actor, worked_at) values ($1, 'shell', 1)")
            .with(conversation.id),
        Statement::new("insert into erased_chats (chat_id, channel, conversation_id) values ('c', 'shop', $1)")
            .with(conversation.id),
        Statement::new(
            "insert into erased_usage (channel, at, model, input_tokens, output_tokens) values ('shop', 1, 'm', 2, 3)",
        ),
        Statement::new(
            "insert into endpoints (id, url, state, cursor_xact, cursor_id, created_at, updated_at) \
             values ('e', 'https://example.com', 'active', 7, 9, 1, 1)",
        ),
        Statement::new("insert into endpoint_secrets (id, endpoint_id, sealed) values ('s', 'e', $1)")
            .with(Some(vec![4])),
        // What stays behind.
        Statement::new(
            "insert into deliveries (id, endpoint_id, event_xact, event_id, kind, channel, lane, state, attempts, at, next_at) \
             values ('d', 'e', 7, 10, 'message_sent', 'shop', 'l', 'pending', 0, 1, 1)",
        ),
        Statement::new(
            "insert into sessions (hash, agent, created_at, used_at, expires_at) values ('s', 'ana', 1, 1, 2)",
        ),
        Statement::new("insert into sign_in_links (hash, agent, created_at, expires_at) values ('s', 'ana', 1, 2)"),
        Statement::new("insert into generation_starts (slot, begun_at) values (1, 1)"),
    ] {
        store.write(statement).await.expect("the row is sound");
    }
}
