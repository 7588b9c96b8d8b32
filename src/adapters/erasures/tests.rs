use std::collections::{BTreeMap, BTreeSet};

use uuid::Uuid;

use super::QUARTER_MS;
use crate::{
    adapters::{
        rows::{ParkedRow, RequestRow},
        sql::{Statement, cell},
        test_stores::{
            self, NOW, TestStore, begun, event, from_contact, letter, on_both_stores, scheduled, suggested,
            turn,
        },
    },
    domain::{
        conversation::Conversation,
        docket::{Docket, Erasure, Parked, Remembered, Report},
        draft::DraftState,
        event::EventType,
        turn::{DeadLetter, FollowUpState, LetterKind, Turn},
    },
    flow::{
        forgetting::{
            erasures::{Erasing, Erasures, OwnedRows, TombstoneKeys, Turned},
            expiry::Expiry as _,
        },
        generator::cached_answers::{Answered, Answers as _, Question},
        ledger::{Key, Need, change},
        spending::Used as _,
    },
};

on_both_stores!(
    whatever_hangs_on_a_conversation_goes_with_it,
    messages_go_page_by_page_and_their_hashes_stay,
    two_who_go_on_with_one_erasure_count_nothing_twice,
    two_who_begin_at_once_keep_one_key,
    what_was_spent_on_the_erased_counts_that_day,
);

/// What becomes of the rows of a table when a person is erased.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    /// They hang on a conversation, and go with it.
    Go,
    /// They hang on a message, and go with it.
    GoWithMessages,
    /// They hang on none and may name anybody: they are looked through.
    AreLookedThrough,
    /// Hashes that say nothing without their key, which is encrypted.
    AreHashes,
    /// They are of the business: of its people, its numbers, its own texts.
    Stay,
}

use Fate::{AreHashes, AreLookedThrough, Go, GoWithMessages, Stay};

/// Every table with every column. Whoever adds one decides here what becomes of it when a person is erased, and sees to
/// it: in [`OwnedRows`], in the eraser, or not at all.
const DECIDED: [(&str, Fate, &str); 33] = [
    (
        "agents",
        Stay,
        "channels created_at disabled email email_folded id name password preferences role updated_at",
    ),
    // What people of the business did; of a contact only the id of a conversation that is no more.
    ("audit", Stay, "actor at deed details id subject"),
    ("cached_answers", Go, "alone at channel conversation_id prompt question turn_id"),
    ("canned_replies", Stay, "channels created_at folded id owner shortcut text"),
    (
        "channels",
        Stay,
        "api_url brake_released_at braked_at braked_best braked_sends created_at instance look_up_at managed_by_environment \
         name next_send_at poll_owner poll_until provider repair_at repaired_to sealed sends settings state title updated_at",
    ),
    ("chats", Go, "channel chat_id conversation_id"),
    ("conversation_labels", Go, "conversation_id label_id"),
    (
        "conversations",
        Go,
        "assignee attention attention_since channel chat_id contact_name contact_named_by_agent contact_seq created_at \
         drafting erased_at event_seq fence follow_up_at id last_message_at lease_owner lease_turn lease_until memo mode \
         mode_actor mode_changed_at mode_reason mode_until mode_version opted_out our_seq read_seq send_at send_rank seq \
         snoozed_until stamp status tend_at turn_at unread updated_at waiting_since",
    ),
    // Webhooks that cannot be read hang on no conversation, and are looked through.
    (
        "dead_letters",
        Go,
        "attempts channel conversation_id first_at id kind last_at payload reason state subject",
    ),
    // What an endpoint answered may hold words of whom it was told of.
    (
        "deliveries",
        Go,
        "answer at attempts channel conversation_id endpoint_id event_id event_xact first_at id kind lane last_at last_ms \
         next_at reason state status",
    ),
    (
        "drafts",
        Go,
        "based_on_seq conversation_id created_at decided_at decided_by edit_distance id message_id state text turn_id",
    ),
    // Under the ids of the messages that carry them.
    ("enclosures", GoWithMessages, "at bytes id"),
    ("endpoint_secrets", Stay, "endpoint_id id sealed until"),
    (
        "endpoints",
        Stay,
        "channels created_at cursor_id cursor_xact description disabled_reason events failing_since id owned_until owner \
         state updated_at url",
    ),
    ("erased_chats", Go, "channel chat_id conversation_id"),
    // Sums of a channel.
    ("erased_usage", Stay, "at channel input_tokens model output_tokens"),
    ("erasures", Go, "actor conversation_id removed worked_at"),
    // Those that hang on no conversation say nothing of whose they are.
    (
        "events",
        Go,
        "action actor at channel conv_seq conversation_id details id kind message_id mode_version turn_id xact",
    ),
    (
        "follow_ups",
        Go,
        "attempts conversation_id created_at created_by due_at id instructions message_id reason state text",
    ),
    ("generation_starts", Stay, "begun_at slot"),
    ("installation", Stay, "forgotten_id forgotten_xact generation id one retained_at xact_offset"),
    ("kept_answers", AreLookedThrough, "at body_hash key owner sealed until"),
    ("labels", Stay, "colour created_at description folded id name"),
    (
        "messages",
        Go,
        "agent at attempt_at attempt_id attempts author channel conversation_id deleted_at delivered_at due_at edited_at \
         gate id idempotency_key key kind lane lease_until left_at media mode_version open origin outcome outcome_reason \
         part parts provider_at provider_message_id queued_at quoted read_at reason reply_id sender sent_at seq \
         starts_turn state text turn_id typing_ms unclear",
    ),
    ("parked", Go, "at conversation_id id provider_message_id report"),
    ("requests", Go, "answer at body_hash conversation_id key message_id"),
    ("sessions", Stay, "agent created_at expires_at hash used_at"),
    ("sign_in_links", Stay, "agent created_at expires_at hash used_at"),
    ("tokens", Stay, "agent channels created_at expires_at hash id name role"),
    ("tombstone_keys", Stay, "at id sealed"),
    ("tombstones", AreHashes, "hash kind until"),
    (
        "turns",
        Go,
        "attempt conversation_id ended_at fence first_token_at id input_tokens is_final last_seq messages mode_version \
         model output_tokens purpose reason started_at state wasted",
    ),
    // Of the migrations themselves.
    ("_sqlx_migrations", Stay, "checksum description execution_time installed_on success version"),
];

#[tokio::test]
async fn of_every_column_it_is_decided_what_becomes_of_it_when_a_person_is_erased() {
    let (store, database) = test_stores::postgres().await;
    let columns: Vec<(String, String)> = sqlx::query_as(
        "select table_name::text, column_name::text from information_schema.columns where table_schema = 'public'",
    )
    .fetch_all(&store.pool)
    .await
    .expect("the columns");
    let mut there: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (table, column) in columns {
        there.entry(table).or_default().insert(column);
    }
    let decided: BTreeMap<String, BTreeSet<String>> = DECIDED
        .iter()
        .map(|(table, _, columns)| {
            (table.to_string(), columns.split_whitespace().map(str::to_owned).collect())
        })
        .collect();
    assert_eq!(there, decided, "nobody has decided about these columns: see DECIDED");
    for (table, fate, columns) in DECIDED {
        let hangs = columns.split_whitespace().any(|column| column == "conversation_id");
        assert_eq!(hangs || table == "conversations", fate == Go, "{table}");
    }
    database.remove(store).await;
}

/// A conversation of which there is a row in every table, closed for good.
async fn closed<S: TestStore>(store: &S, messages: i64) -> Conversation {
    let mei = begun("shop", "6580000001@c.us");
    store.keep_conversation(&mei).await;
    let said = (1..=messages).map(|seq| from_contact(seq, "Hello", NOW)).collect();
    store.keep_messages(&mei, said).await;
    let run = turn(NOW);
    let answered = Answered {
        question: Question { channel: "shop".to_owned(), words: "when".to_owned(), prompt: "p".to_owned() },
        conversation: mei.id,
        turn: run.id,
        alone: true,
        at: NOW,
    };
    store.keep_turns(&mei, vec![run]).await;
    store.keep_answer(&answered).await.expect("kept");
    store.keep_follow_ups(&mei, vec![scheduled(NOW, FollowUpState::Pending)]).await;
    store.keep_drafts(&mei, vec![suggested(NOW, DraftState::Stale, 0)]).await;
    store
        .keep_letters(vec![DeadLetter {
            conversation: Some(mei.id),
            ..letter("shop", LetterKind::Turn, NOW)
        }])
        .await;
    store.keep_events(vec![event(Some(&mei), Some(1), EventType::MessageReceived, NOW)]).await;
    let report = Report::Edit { text: "Hi".to_owned(), provider_at: None, by: None };
    let parked = Parked { id: Uuid::now_v7(), provider_message_id: "M1".to_owned(), report, at: NOW };
    store.keep(vec![ParkedRow::of(mei.id, parked)]).await;
    let remembered = Remembered {
        key: "K1".to_owned(),
        body_hash: String::new(),
        message: Uuid::now_v7(),
        answer: serde_json::Value::Null,
        at: NOW,
    };
    store.keep(vec![RequestRow::of(mei.id, remembered)]).await;
    let label = Uuid::now_v7();
    let labels =
        Statement::new("insert into labels (id, name, folded, created_at) values ($1, 'VIP', 'vip', 1)");
    store.write(labels.with(label)).await.expect("kept");
    let labelled =
        Statement::new("insert into conversation_labels (conversation_id, label_id) values ($1, $2)");
    store.write(labelled.with(mei.id).with(label)).await.expect("kept");
    for told in [
        Statement::new(
            "insert into endpoints (id, url, state, created_at, updated_at) \
             values ($1, 'https://example.com', 'active', 1, 1)",
        )
        .with(label),
        Statement::new(
            "insert into deliveries (id, endpoint_id, event_xact, event_id, kind, channel, conversation_id, lane, state, \
             attempts, at, next_at, answer) \
             values ($1, $1, 1, 1, 'message_sent', 'shop', $2, 'l', 'delivered', 1, 1, 1, 'Thank you, Mei')",
        )
        .with(label)
        .with(mei.id),
    ] {
        store.write(told).await.expect("kept");
    }
    let erasure = Erasure {
        actor: "shell".to_owned(),
        chats: Vec::new(),
        echoes: vec!["words".to_owned()],
        echoed_until: NOW.plus_ms(5),
    };
    let step = move |docket: &mut Docket| docket.erase(erasure.clone());
    change(&*TestStore::ledger(store), Key::Id(mei.id), Need::default(), step).await.expect("closed");
    mei
}

async fn erasing<S: TestStore>(store: &S, conversation: Uuid) -> Erasing {
    store.erasing(conversation).await.expect("reads").expect("it is being erased")
}

async fn count<S: TestStore>(store: &S, table: &str, id: Uuid) -> i64 {
    let column = if table == "conversations" { "id" } else { "conversation_id" };
    let text = format!("select count(*) as found from {table} where {column} = $1");
    // Of the words of this test alone, which live as long as it does.
    let statement = Statement::new(Box::leak(text.into_boxed_str())).with(id);
    cell(&store.row(statement).await.expect("reads").expect("a count"), "found").expect("a number")
}

async fn whatever_hangs_on_a_conversation_goes_with_it<S: TestStore>(store: &S) {
    let mei = closed(store, 3).await;
    let hanging = || DECIDED.iter().filter(|(table, fate, _)| *fate == Go && *table != "chats");
    for (table, ..) in hanging() {
        assert!(count(store, table, mei.id).await > 0, "nothing is in {table}: this test looks for nothing");
    }
    assert_eq!(count(store, "chats", mei.id).await, 0, "nobody finds it by its chat");
    let mut erasure = erasing(store, mei.id).await;
    assert_eq!((erasure.chats.as_slice(), erasure.actor.as_str()), (&[mei.chat.clone()][..], "shell"));
    let page = store.next_messages(mei.id, 10).await.expect("reads").expect("messages");
    let Turned::Removed(now) = store.bury(&erasure, &page, Vec::new()).await.expect("writes") else {
        panic!("nobody else is at it")
    };
    erasure = now;
    for kind in OwnedRows::ALL {
        let Turned::Removed(now) = store.remove(&erasure, kind, 10).await.expect("writes") else {
            panic!("there is one of {kind:?}")
        };
        erasure = now;
        assert_eq!(store.remove(&erasure, kind, 10).await.expect("writes"), Turned::Nothing, "{kind:?}");
    }
    assert_eq!(erasing(store, mei.id).await, erasure);
    assert!(store.end(&erasure).await.expect("writes"));
    assert!(!store.end(&erasure).await.expect("writes"), "once");
    for (table, ..) in hanging() {
        assert_eq!(count(store, table, mei.id).await, i64::from(*table == "events"), "{table}");
    }
    assert_eq!(store.erasing(mei.id).await.expect("reads"), None);
    assert_eq!(store.erased_since(NOW).await.expect("reads"), [mei.id]);
    assert_eq!(store.erased_since(NOW.plus_ms(1)).await.expect("reads"), Vec::<Uuid>::new());
    let rows: Vec<(&str, i64)> =
        erasure.removed.iter().map(|(table, rows)| (table.as_str(), *rows)).collect();
    assert_eq!(rows.iter().map(|(_, rows)| rows).sum::<i64>(), 12, "{rows:?}");
}

async fn messages_go_page_by_page_and_their_hashes_stay<S: TestStore>(store: &S) {
    let mei = closed(store, 5).await;
    let mut pages = Vec::new();
    while let Some(page) = store.next_messages(mei.id, 2).await.expect("reads") {
        let hashes = page.keys.iter().map(|key| format!("hash of {key}")).collect();
        let erasure = erasing(store, mei.id).await;
        assert!(matches!(store.bury(&erasure, &page, hashes).await, Ok(Turned::Removed(_))));
        pages.push((page.count, count(store, "messages", mei.id).await));
    }
    assert_eq!(pages, [(2, 3), (2, 1), (1, 0)]);
    let hashes = || async {
        let kept = Statement::new("select hash from tombstones order by hash");
        let rows = store.rows(kept).await.expect("reads");
        rows.iter().map(|row| cell(row, "hash").expect("a hash")).collect::<Vec<String>>()
    };
    let of_keys = (1..=5).map(|seq| format!("hash of key-{seq}"));
    let all: Vec<String> = of_keys.chain(["words".to_owned()]).collect();
    assert_eq!(hashes().await, all);
    assert_eq!(store.forget_echoes(NOW.plus_ms(5)).await.expect("writes"), 0);
    assert_eq!(store.forget_echoes(NOW.plus_ms(6)).await.expect("writes"), 1);
    assert_eq!(hashes().await, all[..5], "what is of a message stays for good");
}

async fn two_who_go_on_with_one_erasure_count_nothing_twice<S: TestStore>(store: &S) {
    let mei = closed(store, 4).await;
    let (one, other) = (erasing(store, mei.id).await, erasing(store, mei.id).await);
    let page = store.next_messages(mei.id, 2).await.expect("reads").expect("messages");
    let Ok(Turned::Removed(one)) = store.bury(&one, &page, vec!["a".to_owned()]).await else {
        panic!("the first")
    };
    let late = store.bury(&other, &page, vec!["b".to_owned()]).await.expect("writes");
    assert_eq!(late, Turned::Overtaken);
    assert_eq!(store.remove(&other, OwnedRows::Turns, 10).await.expect("writes"), Turned::Overtaken);
    assert_eq!((count(store, "messages", mei.id).await, count(store, "turns", mei.id).await), (2, 1));
    let hashes = Statement::new("select count(*) as found from tombstones where hash in ('a', 'b')");
    let row = store.row(hashes).await.expect("reads").expect("a count");
    assert_eq!(cell::<i64, _>(&row, "found").expect("a number"), 1, "what was not done is not kept");
    assert_eq!(erasing(store, mei.id).await, one);
    assert_eq!(store.left_behind(0, 5).await.expect("reads"), [mei.id]);
    assert_eq!(store.left_behind(1, 5).await.expect("reads"), Vec::<Uuid>::new(), "somebody is at it");
}

async fn two_who_begin_at_once_keep_one_key<S: TestStore>(store: &S) {
    let (one, other) =
        tokio::join!(store.keep_tombstone_key(0, vec![1; 8]), store.keep_tombstone_key(0, vec![2; 8]));
    one.and(other).expect("written");
    let [first] = store.tombstone_keys().await.expect("reads").try_into().expect("one key");
    store.keep_tombstone_key(1, vec![3; 8]).await.expect("written");
    assert_eq!(store.tombstone_keys().await.expect("reads"), [vec![3; 8], first], "the newest first");
}

async fn what_was_spent_on_the_erased_counts_that_day<S: TestStore>(store: &S) {
    let mei = closed(store, 1).await;
    let named = |model: &str, at| Turn { model: model.to_owned(), ..turn(at) };
    let runs = vec![turn(NOW), named("large", NOW), turn(NOW.plus_ms(-24 * 4 * QUARTER_MS))];
    store.keep_turns(&mei, runs).await;
    let shop = ["shop".to_owned()];
    let spent = async |since| {
        let used = store.usage(&shop, since).await.expect("counts");
        used.into_iter()
            .map(|(_, used)| (used.model, used.input_tokens, used.output_tokens))
            .collect::<Vec<_>>()
    };
    let quarter = NOW.plus_ms(-(NOW.0 % QUARTER_MS));
    let wanted = [("large".to_owned(), 100, 20), ("small".to_owned(), 200, 40)];
    assert_eq!(spent(quarter).await, wanted);
    for page in [1, 1, 2] {
        let erasure = erasing(store, mei.id).await;
        assert!(matches!(store.remove(&erasure, OwnedRows::Turns, page).await, Ok(Turned::Removed(_))));
        assert_eq!(spent(quarter).await, wanted);
    }
    assert_eq!(count(store, "turns", mei.id).await, 0);
    assert_eq!(spent(quarter.plus_ms(QUARTER_MS)).await, []);
    assert_eq!(store.usage(&["other".to_owned()], quarter).await.expect("counts"), []);
    assert_eq!(store.forget_usage(quarter).await.expect("forgets"), 1, "of the day before");
    assert_eq!(spent(quarter).await, wanted);
}
