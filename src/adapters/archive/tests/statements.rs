//! Every statement of the archive and the registry, prepared by both databases: a column that is gone or a word that
//! only the other one understands is found here, whatever the tests of behaviour happen to reach.

use std::{collections::BTreeSet, sync::Mutex};

use uuid::Uuid;

use super::{super::cursor, first};
use crate::{
    adapters::{
        sql::{Engine, Part, Statement, Store},
        test_stores::{NOW, TestStore, begun, on_both_stores},
    },
    domain::{
        chat::ChatId,
        conversation::Status,
        event::EventType,
        mode::Mode,
        time::Time,
        turn::{FollowUpState, LetterKind, LetterState},
    },
    flow::{
        archive::{
            Archive, ConversationFilter, EventFeed, EventFilter, FollowUpFilter, Group, LetterFilter,
            MessageFilter, PageOf, Sort, Statistics, UnknownSends, Window,
        },
        back_office::{
            idempotency_keys::IdempotencyKeys,
            registry::{Channel, Registry, Role, Token, Tokens},
        },
        ledger::Error,
        spending::Used,
    },
};

on_both_stores!(every_statement_can_be_prepared);

/// A store that notes the text of all it is asked.
struct Noting<'s, S> {
    store: &'s S,
    texts: Mutex<BTreeSet<String>>,
}

impl<S> Noting<'_, S> {
    fn note(&self, statement: &Statement) {
        let (text, _) = statement.clone().into_parts();
        self.texts.lock().expect("nobody panics here").insert(text);
    }
}

impl<S: Store> Store for Noting<'_, S> {
    type Row = S::Row;

    const ENGINE: Engine = S::ENGINE;

    fn moment(&self) -> Option<Time> {
        // As in operation, so that the clock's own words are prepared too.
        match S::ENGINE {
            Engine::Postgres => None,
            Engine::Sqlite => self.store.moment(),
        }
    }

    async fn rows(&self, statement: Statement) -> Result<Vec<S::Row>, Error> {
        self.note(&statement);
        self.store.rows(statement).await
    }

    async fn write(&self, statement: Statement) -> Result<u64, Error> {
        self.note(&statement);
        self.store.write(statement).await
    }

    async fn write_together(&self, parts: Vec<Part>) -> Result<bool, Error> {
        for part in &parts {
            self.note(&part.clone().into_parts().0);
        }
        self.store.write_together(parts).await
    }
}

async fn every_statement_can_be_prepared<S: TestStore>(store: &S) {
    let noting = Noting { store, texts: Mutex::default() };
    let mei = begun("shop", "6580000001@c.us");
    // One that is found, so that the queries about what hangs on it are asked.
    store.keep_conversation(&mei).await;
    lists(&noting, &mei.chat, mei.id).await.expect("nothing of it is refused");
    single(&noting, &mei.chat, mei.id).await.expect("nothing of it is refused");
    registry(&noting).await.expect("nothing of it is refused");
    let texts = noting.texts.into_inner().expect("nobody panicked");
    assert!(texts.len() > 50, "only {} statements were asked", texts.len());
    for text in texts {
        store.prepare(text.clone()).await.unwrap_or_else(|e| panic!("{e}:\n{text}"));
    }
}

/// Each list with every filter and with none, on its first page and on a later one.
async fn lists<S: Store>(store: &S, chat: &ChatId, id: Uuid) -> Result<(), Error> {
    let channels = || Some(vec!["shop".to_owned()]);
    let page = |list: &str, tie: String| PageOf { limit: 5, cursor: Some(cursor::write(list, 1, tie)) };
    for (sort, list) in [
        (Sort::LastMessage, "conversations-newest"),
        (Sort::WaitingSince, "conversations-waiting"),
        (Sort::Updated, "conversations-updated"),
    ] {
        for group in [Group::NeedsYou, Group::Mine(id), Group::Ai] {
            for (assignee, attention, unread) in [(None, true, true), (Some(id), false, false)] {
                let filter = ConversationFilter {
                    channels: channels(),
                    chat: Some(chat.clone()),
                    mode: Some(Mode::Ai),
                    status: Some(Status::Open),
                    assignee: Some(assignee),
                    label: Some(id),
                    attention: Some(attention),
                    group: Some(group),
                    unread: Some(unread),
                    updated_since: Some(NOW),
                    words: Some("6580".to_owned()),
                    sort,
                };
                store.conversations(&filter, &first(5)).await?;
                store.conversations(&filter, &page(list, id.to_string())).await?;
                store.counts(&filter).await?;
                store.counts(&ConversationFilter { words: None, ..filter.clone() }).await?;
            }
        }
        store.conversations(&ConversationFilter { sort, ..Default::default() }, &first(5)).await?;
    }
    for state in FollowUpState::ALL {
        let narrow = FollowUpFilter {
            state: Some(*state),
            channels: channels(),
            conversation: Some(id),
            due_before: Some(NOW),
        };
        store.follow_ups(&narrow, &page("follow-ups", id.to_string())).await?;
    }
    store.follow_ups(&FollowUpFilter::default(), &first(5)).await?;
    let narrow = LetterFilter {
        kind: Some(LetterKind::Turn),
        channels: channels(),
        conversation: Some(id),
        state: Some(LetterState::Open),
    };
    store.letters(&narrow, &page("dead-letters", id.to_string())).await?;
    store.letters(&LetterFilter::default(), &first(5)).await?;
    let narrow =
        MessageFilter { channels: channels(), conversation: Some(id), since: Some(NOW), until: Some(NOW) };
    store.exchanged(&narrow, &page("messages", id.to_string())).await?;
    store.exchanged(&MessageFilter::default(), &first(5)).await?;
    store.turns(id, &first(5)).await?;
    store.turns(id, &page("turns", id.to_string())).await?;
    store.drafts(id, &first(5)).await?;
    store.drafts(id, &page("drafts", id.to_string())).await?;
    for descending in [false, true] {
        for (conversation, list) in [(Some(id), "timeline"), (None, "events")] {
            let narrow = EventFilter {
                channel: Some("shop".to_owned()),
                conversation,
                channels: channels(),
                viewer: Some(id),
                kinds: vec![EventType::Flood, EventType::CannedReplyUpdated],
                message: Some(id),
                turn: Some(id),
                since: Some(NOW),
                until: Some(NOW),
                descending,
            };
            store.events(&narrow, &page(list, "1.1".to_owned())).await?;
            store.events(&EventFilter { conversation, descending, ..Default::default() }, &first(5)).await?;
        }
    }
    Ok(())
}

async fn single<S: Store>(store: &S, chat: &ChatId, id: Uuid) -> Result<(), Error> {
    store.conversation(id).await?;
    store.conversation_of("shop", chat).await?;
    store.overviews(&[id]).await?;
    for window in [Window::Newest, Window::Before(5), Window::After(5), Window::Around(5)] {
        store.messages(id, window, 5).await?;
    }
    store.message(id).await?;
    store.placed(&[id]).await?;
    store.beside(&[id]).await?;
    store.has_message("shop", chat, "key").await?;
    store.unknown_sends(NOW, None, 5).await?;
    store.unknown_sends(NOW, Some((NOW, id)), 5).await?;
    store.abandoned_sends(NOW, 5).await?;
    store.history(id, 5, 5).await?;
    store.turn(id).await?;
    store.draft(id).await?;
    store.letter(id).await?;
    let newest = store.newest_event().await?;
    store.tail(Some(&newest), 5).await?;
    store.tail(Some(&format!("{newest}5")), 5).await?;
    store.tail(Some(""), 5).await?;
    for channels in [None, Some(["shop".to_owned()].as_slice())] {
        store.buckets(NOW, NOW.plus_ms(10), 5, channels).await?;
        store.depths(channels).await?;
        store.modes(channels).await?;
    }
    store.proactive("shop", NOW, NOW.plus_ms(10)).await?;
    store.usage(&["shop".to_owned()], NOW).await?;
    store.forget_usage(NOW).await?;
    store.leases().await?;
    Ok(())
}

async fn registry<S: Store>(store: &S) -> Result<(), Error> {
    let channel = Channel::new("shop", "sandbox", NOW);
    let token = Token {
        id: Uuid::now_v7(),
        name: "till".to_owned(),
        role: Role::Read,
        channels: None,
        agent: None,
        expires_at: None,
        created_at: NOW,
    };
    store.installation().await?;
    store.add_channel(&channel).await?;
    store.put_channel(&channel, channel.updated_at).await?;
    store.channels().await?;
    store.set_channel_state("shop", "authorized", NOW).await?;
    store.hold_channel("shop", NOW).await?;
    store.release_channel("shop", NOW, NOW).await?;
    store.claim_look_up("shop", NOW, 1_000).await?;
    store.remove_channel("shop").await?;
    store.add_token(&token, "hash").await?;
    for channels in [None, Some(["shop".to_owned()].as_slice())] {
        store.tokens(channels, &first(5)).await?;
        let behind = cursor::write("tokens", NOW.0, token.id);
        store.tokens(channels, &PageOf { limit: 5, cursor: Some(behind) }).await?;
    }
    store.token_of(token.id).await?;
    store.token("hash").await?;
    store.revoke_token(token.id).await?;
    store.forget_requests(NOW).await?;
    let chat = |id: &str| ChatId::parse(id).expect("a chat id");
    store.link_chats("default", &chat("1@c.us"), &chat("2@lid")).await?;
    Ok(())
}
