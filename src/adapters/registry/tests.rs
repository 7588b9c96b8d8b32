//! One suite for the registry, run on both stores.

mod two_ids;

use serde_json::json;
use uuid::Uuid;

use crate::{
    adapters::{
        rows::Json,
        sql::{Statement, cell},
        test_stores::{self, NOW, TestStore, begun, on_both_stores},
    },
    domain::{
        brake::{Brake, Latched},
        event::{EventType, actor},
        time::Time,
        turn::LetterKind,
    },
    flow::{
        archive::{Archive, EventFilter, PageOf, Recorded},
        back_office::registry::{Channel, Registry, Role, Token, Tokens},
        ledger::Error,
        poll,
    },
};

on_both_stores!(
    an_installation_has_one_id,
    channels_are_added_once_and_read_back_whole,
    an_account_is_one_channels_also_of_two_that_ask_for_it_at_once,
    two_that_share_an_account_from_before_can_be_parted,
    overwriting_a_channel_leaves_its_state,
    a_channel_with_conversations_stays,
    what_was_limited_to_a_channel_has_nothing_of_the_next_of_its_name,
    another_account_is_in_no_known_state,
    a_change_of_state_is_recorded_once,
    a_hold_only_ever_moves_forward,
    a_hold_is_let_go_only_by_who_knows_it,
    a_brake_is_latched_once_and_stays_until_it_is_released,
    a_brake_is_not_latched_by_what_was_counted_before_a_release,
    the_turn_to_look_up_belongs_to_one_at_a_time,
    what_was_claimed_before_the_clock_was_set_back_holds_nobody_up,
    an_instance_that_starts_over_and_over_does_not_put_off_the_look,
    tokens_are_found_by_their_hash_until_they_are_revoked,
    tokens_are_narrowed_before_a_page_of_them_is_cut,
);

const HOUR_MS: i64 = 3_600_000;

fn channel(name: &str) -> Channel {
    Channel {
        name: name.to_owned(),
        title: Some("Shop".to_owned()),
        provider: "green_api".to_owned(),
        instance: Some(format!("instance of {name}")),
        api_url: Some("https://example.test".to_owned()),
        sealed: Some(vec![0, 1, 255]),
        settings: json!({ "burst_quiet_ms": 500 }).as_object().cloned().expect("an object"),
        state: String::new(),
        brake: Default::default(),
        managed_by_environment: true,
        created_at: NOW,
        updated_at: NOW,
    }
}

async fn recorded<S: TestStore>(store: &S) -> Vec<Recorded> {
    store.events(&EventFilter::default(), &PageOf { limit: 50, cursor: None }).await.expect("a page").items
}

async fn an_installation_has_one_id<S: TestStore>(store: &S) {
    let id = store.installation().await.expect("reads");
    assert_eq!(id.len(), 32);
    assert_eq!(store.installation().await.expect("reads"), id);
}

async fn channels_are_added_once_and_read_back_whole<S: TestStore>(store: &S) {
    let shop = channel("shop");
    let bare = Channel {
        title: None,
        instance: None,
        api_url: None,
        sealed: None,
        managed_by_environment: false,
        ..channel("a-shop")
    };
    assert!(store.add_channel(&shop).await.expect("writes"));
    assert!(store.add_channel(&bare).await.expect("writes"));
    assert!(!store.add_channel(&Channel { title: None, ..shop.clone() }).await.expect("writes"), "taken");
    assert_eq!(store.channels().await.expect("reads"), [bare, shop]);
    let refused = store.add_channel(&channel("No Such Name")).await;
    assert!(matches!(refused, Err(Error::Refused(_))), "{refused:?}");
}

async fn an_account_is_one_channels_also_of_two_that_ask_for_it_at_once<S: TestStore>(store: &S) {
    for round in 0..8 {
        let instance = Some(format!("71050{round}"));
        let of = |name: &str| Channel { instance: instance.clone(), ..channel(&format!("{name}-{round}")) };
        let (one, two) = (of("one"), of("two"));
        let (one, two) = tokio::join!(store.add_channel(&one), store.add_channel(&two));
        let added = [one.expect("writes"), two.expect("writes")];
        assert_eq!(added.iter().filter(|is_added| **is_added).count(), 1, "{added:?}");

        let other = Channel { instance: None, ..channel(&format!("other-{round}")) };
        let third = Channel { name: format!("third-{round}"), ..other.clone() };
        assert!(store.add_channel(&other).await.expect("writes"));
        assert!(store.add_channel(&third).await.expect("writes"));
        let taken = Channel { instance: instance.clone(), ..other.clone() };
        assert!(!store.put_channel(&taken, NOW).await.expect("writes"), "it is on another channel");
        let free = |of: &Channel| Channel { instance: Some(format!("71051{round}")), ..of.clone() };
        let (other, third) = (free(&other), free(&third));
        let (one, two) = tokio::join!(store.put_channel(&other, NOW), store.put_channel(&third, NOW));
        let changed = [one.expect("writes"), two.expect("writes")];
        assert_eq!(changed.iter().filter(|is_changed| **is_changed).count(), 1, "{changed:?}");
    }
}

async fn two_that_share_an_account_from_before_can_be_parted<S: TestStore>(store: &S) {
    let (shop, twin) = (channel("shop"), channel("twin"));
    store.add_channel(&shop).await.expect("writes");
    store.add_channel(&twin).await.expect("writes");
    let join = Statement::new("update channels set instance = $1").with(shop.instance.clone());
    store.write(join).await.expect("writes");
    let titled = Channel { title: None, instance: shop.instance.clone(), ..twin.clone() };
    assert!(store.put_channel(&titled, NOW).await.expect("writes"));
    assert!(store.put_channel(&twin, NOW).await.expect("writes"));
    assert!(!store.put_channel(&titled, NOW).await.expect("writes"), "once parted they stay so");
}

async fn overwriting_a_channel_leaves_its_state<S: TestStore>(store: &S) {
    let shop = channel("shop");
    assert!(!store.put_channel(&shop, NOW).await.expect("writes"), "there is none yet");
    store.add_channel(&shop).await.expect("writes");
    store.set_channel_state("shop", "authorized", NOW).await.expect("writes");
    let changed = Channel {
        title: None,
        sealed: Some(vec![7]),
        settings: Default::default(),
        state: "ignored".to_owned(),
        updated_at: NOW.plus_ms(5),
        ..shop
    };
    assert!(store.put_channel(&changed, NOW).await.expect("writes"));
    let late = Channel { title: Some("Late".to_owned()), updated_at: NOW.plus_ms(6), ..channel("shop") };
    assert!(!store.put_channel(&late, NOW).await.expect("writes"), "it was changed since");
    let wanted = Channel { state: "authorized".to_owned(), ..changed };
    assert_eq!(store.channels().await.expect("reads"), [wanted]);
}

const LATCHED: Latched = Latched { at: NOW, sends: 60, best: 9 };

async fn brake_of<S: TestStore>(store: &S) -> (Brake, Time) {
    let shop = store.channels().await.expect("reads").remove(0);
    (shop.brake, shop.updated_at)
}

async fn a_brake_is_latched_once_and_stays_until_it_is_released<S: TestStore>(store: &S) {
    store.add_channel(&channel("shop")).await.expect("writes");
    assert!(!store.release_brake("shop", NOW).await.expect("writes"), "it was not latched");
    let later = Latched { at: NOW.plus_ms(7), ..LATCHED };
    assert!(store.latch_brake("shop", later, None).await.expect("writes"));
    assert!(!store.latch_brake("shop", LATCHED, None).await.expect("writes"), "it was");
    // Whoever changes the channel meanwhile leaves it latched; other instances see that there is something to load.
    store
        .put_channel(&Channel { title: None, updated_at: later.at, ..channel("shop") }, later.at)
        .await
        .expect("writes");
    assert_eq!(brake_of(store).await, (Brake { latched: Some(later), released_at: None }, later.at));
    assert!(store.release_brake("shop", NOW.plus_ms(9)).await.expect("writes"));
    let released = Brake { latched: None, released_at: Some(NOW.plus_ms(9)) };
    assert_eq!(brake_of(store).await, (released, NOW.plus_ms(9)));
}

async fn a_brake_is_not_latched_by_what_was_counted_before_a_release<S: TestStore>(store: &S) {
    store.add_channel(&channel("shop")).await.expect("writes");
    store.latch_brake("shop", LATCHED, None).await.expect("writes");
    store.release_brake("shop", NOW.plus_ms(9)).await.expect("writes");
    assert!(!store.latch_brake("shop", LATCHED, None).await.expect("writes"));
    assert!(store.latch_brake("shop", LATCHED, Some(NOW.plus_ms(9))).await.expect("writes"));
}

async fn what_was_limited_to_a_channel_has_nothing_of_the_next_of_its_name<S: TestStore>(store: &S) {
    let limits = [None, Some(&["shop"][..]), Some(&["other", "shop", "shopping"]), Some(&["other"])];
    let after = [None, Some(&[][..]), Some(&["other", "shopping"]), Some(&["other"])];
    let after = after
        .map(|names: Option<&[&str]>| names.map(|names| names.iter().map(ToString::to_string).collect()));
    let tables = [
        (
            "insert into tokens (id, name, hash, role, created_at, channels) values ($1, $1, $1, 'admin', 0, $2)",
            "select channels from tokens order by id limit 9",
        ),
        (
            "insert into agents (id, name, email, email_folded, role, created_at, updated_at, channels) \
             values ($1, $1, $1, $1, 'agent', 0, 0, $2)",
            "select channels from agents order by id limit 9",
        ),
        (
            "insert into endpoints (id, url, state, created_at, updated_at, channels) \
             values ($1, 'https://example.com', 'active', 0, 0, $2)",
            "select channels from endpoints order by id limit 9",
        ),
        (
            "insert into canned_replies (id, shortcut, folded, text, created_at, channels) \
             values ($1, $1, $1, 'Hello', 0, $2)",
            "select channels from canned_replies order by id limit 9",
        ),
    ];
    for (row, _) in tables {
        for (id, limit) in (0..).zip(limits) {
            let limit = limit.map(|names| json!(names).to_string());
            store.write(Statement::new(row).with(Uuid::from_u128(id)).with(limit)).await.expect("writes");
        }
    }
    let letter = |of| test_stores::letter(of, LetterKind::Webhook, NOW);
    store.keep_letters(vec![letter("shop"), letter("other")]).await;
    store.add_channel(&channel("shop")).await.expect("writes");
    assert!(store.remove_channel("shop").await.expect("writes"));
    for (_, question) in tables {
        let rows = store.rows(Statement::new(question)).await.expect("reads");
        let limits = rows.iter().map(|row| cell::<Option<Json<Vec<String>>>, _>(row, "channels"));
        let limits = limits.map(|limit| limit.expect("a list").map(|Json(names)| names));
        assert_eq!(limits.collect::<Vec<Option<Vec<String>>>>(), after, "{question}");
    }
    let letters =
        store.rows(Statement::new("select l.channel from dead_letters l limit 9")).await.expect("reads");
    let whose: Vec<String> = letters.iter().map(|row| cell(row, "channel").expect("a name")).collect();
    assert_eq!(whose, ["other"], "nobody reads what came for the one before");
}

async fn a_channel_with_conversations_stays<S: TestStore>(store: &S) {
    assert!(!store.remove_channel("shop").await.expect("writes"), "there is none");
    store.add_channel(&channel("shop")).await.expect("writes");
    store.add_channel(&channel("empty")).await.expect("writes");
    store.keep_conversation(&begun("shop", "6580000001@c.us")).await;
    assert!(!store.remove_channel("shop").await.expect("writes"), "it has a conversation");
    assert!(store.remove_channel("empty").await.expect("writes"));
    assert_eq!(store.channels().await.expect("reads").len(), 1);
}

async fn another_account_is_in_no_known_state<S: TestStore>(store: &S) {
    let shop = channel("shop");
    store.add_channel(&shop).await.expect("writes");
    store.set_channel_state("shop", "authorized", NOW).await.expect("writes");
    let is = async || store.channels().await.expect("reads").remove(0);
    let renamed = Channel { title: Some("Shop".to_owned()), updated_at: NOW.plus_ms(1), ..is().await };
    assert!(store.put_channel(&renamed, NOW).await.expect("writes"));
    assert_eq!(is().await.state, "authorized");
    let moved = Channel { instance: Some("7109999999".to_owned()), updated_at: NOW.plus_ms(2), ..renamed };
    assert!(store.put_channel(&moved, NOW.plus_ms(1)).await.expect("writes"));
    assert_eq!(is().await.state, "", "the account before was authorized");
    // Of one that was never asked, too; and nothing is recorded of a change that is refused.
    let again = Channel { instance: Some("7108888888".to_owned()), updated_at: NOW.plus_ms(3), ..moved };
    assert!(!store.put_channel(&again, NOW).await.expect("writes"), "it was changed since");
    assert!(store.put_channel(&again, NOW.plus_ms(2)).await.expect("writes"));
    let events: Vec<_> = recorded(store).await.into_iter().map(|recorded| recorded.event).collect();
    let told: Vec<_> = events.iter().map(|event| (event.kind, json!(event.details))).collect();
    let changed = |from: Option<&str>, to: Option<&str>| {
        (EventType::ChannelStateChanged, json!({ "from": from, "to": to }))
    };
    let known = Some("authorized");
    assert_eq!(told, [changed(None, known), changed(known, None), changed(None, None)]);
}

async fn a_change_of_state_is_recorded_once<S: TestStore>(store: &S) {
    store.add_channel(&channel("shop")).await.expect("writes");
    let set = async |state: &str, ms| {
        store.set_channel_state("shop", state, NOW.plus_ms(ms)).await.expect("writes")
    };
    assert!(set("authorized", 1).await);
    assert!(!set("authorized", 2).await, "nothing new");
    assert!(set("blocked", 3).await);
    assert!(!store.set_channel_state("other", "authorized", NOW).await.expect("writes"));
    let shop = store.channels().await.expect("reads").remove(0);
    assert_eq!((shop.state.as_str(), shop.updated_at), ("blocked", NOW.plus_ms(3)));
    let events: Vec<_> = recorded(store).await.into_iter().map(|recorded| recorded.event).collect();
    let [first, second] = events.as_slice() else { panic!("two changes, not {}", events.len()) };
    assert_eq!(json!(first.details), json!({ "from": null, "to": "authorized" }));
    assert_eq!(json!(second.details), json!({ "from": "authorized", "to": "blocked" }));
    assert_eq!((second.kind, second.channel.as_str()), (EventType::ChannelStateChanged, "shop"));
    assert_eq!(
        (second.at, second.actor.as_str(), second.conversation),
        (NOW.plus_ms(3), actor::SYSTEM, None)
    );
}

async fn a_hold_only_ever_moves_forward<S: TestStore>(store: &S) {
    store.add_channel(&channel("shop")).await.expect("writes");
    for (until, wanted) in [(100, 100), (50, 100), (200, 200)] {
        store.hold_channel("shop", NOW.plus_ms(until)).await.expect("writes");
        let row = store.row(Statement::new("select next_send_at from channels")).await.expect("reads");
        let held: i64 = cell(&row.expect("the channel"), "next_send_at").expect("a time");
        assert_eq!(held, NOW.plus_ms(wanted).0);
    }
    store.hold_channel("other", NOW).await.expect("nothing to hold");
}

async fn tokens_are_found_by_their_hash_until_they_are_revoked<S: TestStore>(store: &S) {
    let token = |name: &str, ms| Token {
        id: Uuid::now_v7(),
        name: name.to_owned(),
        role: Role::Agent,
        channels: Some(vec!["shop".to_owned()]),
        agent: Some(Uuid::now_v7()),
        expires_at: Some(NOW.plus_ms(9)),
        created_at: NOW.plus_ms(ms),
    };
    let older = token("till", 0);
    let newer =
        Token { role: Role::Metrics, channels: None, agent: None, expires_at: None, ..token("graphs", 1) };
    store.add_token(&older, "aa").await.expect("writes");
    store.add_token(&newer, "bb").await.expect("writes");
    let again = store.add_token(&token("again", 2), "aa").await;
    assert!(matches!(again, Err(Error::Refused(_))), "a hash stands for one token: {again:?}");
    assert_eq!(store.all_tokens().await.expect("reads"), [newer.clone(), older.clone()]);
    assert_eq!(store.token_of(older.id).await.expect("reads"), Some(older.clone()));
    assert_eq!(store.token("aa").await.expect("reads"), Some(older.clone()));
    assert_eq!(store.token("bb").await.expect("reads"), Some(newer));
    assert!(store.revoke_token(older.id).await.expect("writes"));
    assert!(!store.revoke_token(older.id).await.expect("writes"), "gone");
    assert_eq!(store.token("aa").await.expect("reads"), None);
    assert_eq!(store.token_of(older.id).await.expect("reads"), None);
}

async fn tokens_are_narrowed_before_a_page_of_them_is_cut<S: TestStore>(store: &S) {
    let token = |n: i64, channels: Option<&[&str]>| Token {
        id: Uuid::now_v7(),
        name: n.to_string(),
        role: Role::Read,
        channels: channels.map(|names| names.iter().map(|name| (*name).to_owned()).collect()),
        agent: None,
        expires_at: None,
        created_at: NOW.plus_ms(n / 2),
    };
    let (shop, both, all, none) =
        (Some(&["shop"][..]), Some(&["shop", "other"][..]), None::<&[&str]>, Some(&[][..]));
    let tokens: Vec<Token> = [shop, both, shop, all, none, both, all, all]
        .into_iter()
        .zip(0..)
        .map(|(channels, n)| token(n, channels))
        .collect();
    for token in &tokens {
        store.add_token(token, &token.name).await.expect("writes");
    }
    let names = async |within: Option<&[&str]>| {
        let within: Option<Vec<String>> =
            within.map(|names| names.iter().map(|it| (*it).to_owned()).collect());
        let (mut names, mut cursor) = (Vec::new(), None);
        loop {
            let page = PageOf { limit: 2, cursor };
            let found = store.tokens(within.as_deref(), &page).await.expect("a page");
            names.extend(found.items.into_iter().map(|token| token.name));
            assert!(names.len() <= 8, "the next page begins behind the one before: {names:?}");
            cursor = found.next;
            if cursor.is_none() {
                break names.concat();
            }
        }
    };
    assert_eq!(names(None).await, "76543210");
    assert_eq!(names(Some(&["shop"])).await, "20");
    assert_eq!(names(Some(&["other", "shop"])).await, "5210");
    assert_eq!(names(Some(&[])).await, "");
    let nonsense = PageOf { limit: 2, cursor: Some("x".to_owned()) };
    assert!(matches!(store.tokens(None, &nonsense).await, Err(Error::NotACursor)));
}

#[tokio::test]
async fn reports_at_once_make_one_chain_of_states() {
    let (store, database) = test_stores::postgres().await;
    store.add_channel(&channel("shop")).await.expect("writes");
    let states = ["authorized", "blocked", "starting"];
    let report = async |n: usize| {
        store.set_channel_state("shop", states[n % 3], NOW).await.expect("no report fails for another's sake")
    };
    futures_util::future::join_all((0..60).map(report)).await;
    let filter = EventFilter::default();
    let events = store.events(&filter, &PageOf { limit: 200, cursor: None }).await.expect("a page").items;
    let steps: Vec<(String, String)> = events
        .iter()
        .map(|recorded| {
            let word = |key: &str| recorded.event.details[key].as_str().unwrap_or_default().to_owned();
            (word("from"), word("to"))
        })
        .collect();
    // The feed's order is that of transactions, not of the row's lock; yet each step must begin where another ended.
    let last = store.channels().await.expect("reads").remove(0).state;
    assert!(steps.iter().all(|(from, to)| from != to), "{steps:?}");
    assert!(is_walk(&steps, &last), "no order of these makes one chain to {last}: {steps:?}");
    database.remove(store).await;
}

/// Whether the steps are a walk from no state at all to the last that takes each once: as many arrivals as departures
/// at every state but the two ends.
fn is_walk(steps: &[(String, String)], last: &str) -> bool {
    let mut balance = std::collections::BTreeMap::<&str, i64>::new();
    for (from, to) in steps {
        *balance.entry(from.as_str()).or_default() -= 1;
        *balance.entry(to.as_str()).or_default() += 1;
    }
    *balance.entry("").or_default() += 1;
    *balance.entry(last).or_default() -= 1;
    balance.values().all(|count| *count == 0)
}

async fn a_hold_is_let_go_only_by_who_knows_it<S: TestStore>(store: &S) {
    store.add_channel(&channel("shop")).await.expect("writes");
    store.hold_channel("shop", NOW.plus_ms(5_000)).await.expect("writes");
    for (known_ms, wanted_ms) in [(4_000, 5_000), (5_000, 100), (100, 100)] {
        store.release_channel("shop", NOW.plus_ms(known_ms), NOW.plus_ms(100)).await.expect("writes");
        let row = store.row(Statement::new("select next_send_at from channels")).await.expect("reads");
        let held: i64 = cell(&row.expect("the channel"), "next_send_at").expect("a time");
        assert_eq!(held, NOW.plus_ms(wanted_ms).0, "{known_ms}");
    }
}

async fn the_turn_to_look_up_belongs_to_one_at_a_time<S: TestStore>(store: &S) {
    store.add_channel(&channel("shop")).await.expect("writes");
    store.add_channel(&channel("other")).await.expect("writes");
    let claim = async |name, ms| store.claim_look_up(name, NOW.plus_ms(ms), 1_000).await.expect("writes");
    assert!(claim("shop", 0).await);
    assert!(!claim("shop", 999).await, "too soon");
    assert!(claim("other", 0).await, "each channel has its own");
    assert!(claim("shop", 1_000).await);
    assert!(!claim("nobody", 0).await);
    let at_once = futures_util::future::join_all((0..8).map(|_| claim("shop", 5_000))).await;
    assert_eq!(at_once.into_iter().filter(|is_mine| *is_mine).count(), 1);
}

async fn what_was_claimed_before_the_clock_was_set_back_holds_nobody_up<S: TestStore>(store: &S) {
    store.add_channel(&channel("shop")).await.expect("writes");
    let (back, further_back) = (NOW.plus_ms(-HOUR_MS), NOW.plus_ms(-3 * HOUR_MS));
    let look_up = async |now| store.claim_look_up("shop", now, 1_000).await.expect("writes");
    assert!(look_up(NOW).await);
    assert!(!look_up(NOW.plus_ms(-1)).await, "of two at once one had looked at the clock before the other");
    assert!(look_up(back).await && !look_up(back).await);
    let repair = async |now: Time| {
        let claimed = store.claim_repair("shop", now, now.plus_ms(HOUR_MS)).await.expect("writes");
        claimed.is_some()
    };
    assert!(repair(NOW).await);
    assert!(!repair(NOW.plus_ms(-1)).await);
    assert!(repair(further_back).await && !repair(further_back).await);
    let poll = async |owner| store.claim_poll("shop", owner, poll::LEASE_MS).await.expect("writes");
    assert!(poll("gone").await && !poll("other").await);
    let ahead = Statement::new("update channels set poll_until = poll_until + $1").with(HOUR_MS);
    store.write(ahead).await.expect("writes");
    assert!(poll("other").await && !poll("third").await);
}

async fn an_instance_that_starts_over_and_over_does_not_put_off_the_look<S: TestStore>(store: &S) {
    const SETTLE_MS: i64 = 180_000;
    store.add_channel(&channel("shop")).await.expect("writes");
    let begin = async || store.begin_repair("shop", SETTLE_MS).await.expect("writes");
    let in_ms = async || {
        let row = store.row(Statement::new("select repair_at from channels")).await.expect("reads");
        cell::<Time, _>(&row.expect("the channel"), "repair_at").expect("a time").since(NOW)
    };
    let passes = async |ms: i64| {
        let statement = Statement::new("update channels set repair_at = repair_at - $1").with(ms);
        store.write(statement).await.expect("writes");
    };
    begin().await;
    assert_eq!(in_ms().await, SETTLE_MS, "what the provider kept comes first");
    passes(120_000).await;
    begin().await;
    assert_eq!(in_ms().await, SETTLE_MS - 120_000, "it is due as it was");
    // It was down by then.
    passes(120_000).await;
    begin().await;
    assert_eq!(in_ms().await, SETTLE_MS);
    store.schedule_repair("shop", HOUR_MS).await.expect("writes");
    begin().await;
    assert_eq!(in_ms().await, SETTLE_MS, "what came while none ran does not wait for the hour");
}
