//! One suite for the people, run on both stores.

use futures_util::future::join_all;
use uuid::Uuid;

use crate::{
    adapters::test_stores::{NOW, TestStore, on_both_stores},
    domain::time::Time,
    flow::back_office::people::{Agent, Change, Link, Outcome, People, Role, Session},
};

on_both_stores!(
    agents_are_read_back_as_they_were_added,
    an_address_belongs_to_one_agent_in_whatever_case,
    the_first_agent_is_added_once,
    a_change_touches_only_what_it_names,
    somebody_who_may_do_everything_is_always_left,
    of_admins_who_disable_each_other_one_stays,
    another_password_ends_all_sessions_but_that_in_which_it_was_set,
    whoever_is_disabled_loses_sessions_and_links,
    whoever_may_more_signs_in_anew,
    a_session_begins_only_with_the_password_that_holds_now,
    a_link_is_good_once_and_for_a_time,
    of_many_who_use_a_link_at_once_one_comes_in,
    sessions_are_renewed_ended_and_forgotten,
    what_a_dashboard_keeps_comes_back_as_it_was,
    an_agent_is_changed_only_while_they_see_no_more_than_was_said,
    no_link_outlives_that_its_agent_sees_more,
);

fn person(name: &str, role: Role) -> Agent {
    Agent {
        id: Uuid::now_v7(),
        name: name.to_owned(),
        email: format!("{name}@Example.com"),
        role,
        channels: None,
        is_disabled: false,
        created_at: NOW,
        updated_at: NOW,
    }
}

async fn added<S: TestStore>(store: &S, name: &str, role: Role) -> Agent {
    let agent = person(name, role);
    assert!(store.add_agent(&agent, Some("hash"), None).await.expect("writes"));
    agent
}

fn link(hash: &str, agent: Uuid) -> Link {
    Link { hash: hash.to_owned(), agent, created_at: NOW, expires_at: NOW.plus_ms(1_000) }
}

fn session(hash: &str, agent: Uuid) -> Session {
    Session { hash: hash.to_owned(), agent, created_at: NOW, used_at: NOW, expires_at: NOW.plus_ms(1_000) }
}

async fn signed_in<S: TestStore>(store: &S, hash: &str, agent: Uuid) {
    assert!(store.begin_session(&session(hash, agent), "hash").await.expect("writes"));
}

async fn changed<S: TestStore>(store: &S, id: Uuid, change: Change) -> Outcome {
    store.change_agent(id, &change, NOW.plus_ms(5)).await.expect("writes")
}

async fn use_link<S: TestStore>(store: &S, link: &str, session: &str, now: Time) -> Option<Uuid> {
    store.begin_session_by_link(link, session, now, now.plus_ms(1_000)).await.expect("writes")
}

async fn agents_are_read_back_as_they_were_added<S: TestStore>(store: &S) {
    let shop =
        Agent { channels: Some(vec!["shop".to_owned()]), is_disabled: true, ..person("zoe", Role::Agent) };
    assert!(store.add_agent(&shop, None, None).await.expect("writes"));
    let ana = added(store, "ana", Role::Admin).await;
    assert_eq!(store.agents().await.expect("reads"), [ana.clone(), shop.clone()], "by name");
    assert_eq!(store.agent(shop.id).await.expect("reads"), Some(shop.clone()));
    assert_eq!(store.agent(Uuid::now_v7()).await.expect("reads"), None);
    assert_eq!(store.agent_of("ANA@example.COM").await.expect("reads"), Some((ana, Some("hash".to_owned()))));
    assert_eq!(store.agent_of("zoe@example.com").await.expect("reads"), Some((shop, None)));
    assert_eq!(store.agent_of("nobody@example.com").await.expect("reads"), None);
}

async fn an_address_belongs_to_one_agent_in_whatever_case<S: TestStore>(store: &S) {
    let ana = added(store, "ana", Role::Admin).await;
    let other = Agent { email: "ANA@example.com".to_owned(), ..person("other", Role::Agent) };
    let link = link("aa", other.id);
    assert!(!store.add_agent(&other, None, Some(&link)).await.expect("writes"), "taken");
    assert_eq!(use_link(store, "aa", "s", NOW).await, None, "nor is there a link");
    let ben = added(store, "ben", Role::Agent).await;
    let to = |email: &str| Change { email: Some(email.to_owned()), ..Change::default() };
    assert_eq!(changed(store, ben.id, to("Ana@Example.COM")).await, Outcome::Taken);
    assert_eq!(changed(store, ana.id, to("Ana@Example.COM")).await, Outcome::Changed, "it is hers");
    assert_eq!(changed(store, ana.id, to("ana@shop.example")).await, Outcome::Changed);
    assert_eq!(changed(store, ben.id, to("ana@example.com")).await, Outcome::Changed, "it is free now");
    let found = store.agent_of("ana@example.com").await.expect("reads");
    assert_eq!(found.map(|(agent, _)| agent.id), Some(ben.id));
}

async fn the_first_agent_is_added_once<S: TestStore>(store: &S) {
    let all: Vec<(Agent, Link)> = (0..4)
        .map(|n| {
            let agent = person(&format!("admin{n}"), Role::Admin);
            let link = link(&format!("link{n}"), agent.id);
            (agent, link)
        })
        .collect();
    let began = join_all(all.iter().map(|(agent, link)| store.add_first_agent(agent, link))).await;
    let began: Vec<bool> = began.into_iter().map(|began| began.expect("writes")).collect();
    assert_eq!(began.iter().filter(|began| **began).count(), 1, "{began:?}");
    let first = began.iter().position(|began| *began).expect("one");
    assert_eq!(store.agents().await.expect("reads"), [all[first].0.clone()]);
    for (n, (agent, _)) in all.iter().enumerate() {
        let whose = use_link(store, &format!("link{n}"), &format!("s{n}"), NOW).await;
        assert_eq!(whose, (n == first).then_some(agent.id));
    }
}

async fn a_change_touches_only_what_it_names<S: TestStore>(store: &S) {
    added(store, "boss", Role::Admin).await;
    let ana = added(store, "ana", Role::Admin).await;
    signed_in(store, "aa", ana.id).await;
    let changes = [
        Change { name: Some("Ana".to_owned()), ..Change::default() },
        Change { role: Some(Role::Agent), ..Change::default() },
        Change { channels: Some(Some(vec!["shop".to_owned()])), ..Change::default() },
        Change { preferences: Some("{}".to_owned()), ..Change::default() },
        Change { is_disabled: Some(false), ..Change::default() },
    ];
    for outcome in join_all(changes.into_iter().map(|change| changed(store, ana.id, change))).await {
        assert_eq!(outcome, Outcome::Changed);
    }
    let wanted = Agent {
        name: "Ana".to_owned(),
        role: Role::Agent,
        channels: Some(vec!["shop".to_owned()]),
        updated_at: NOW.plus_ms(5),
        ..ana.clone()
    };
    let now = store.session("aa").await.expect("reads").expect("it goes on");
    assert_eq!(now, (session("aa", ana.id), wanted.clone()));
    assert_eq!(
        changed(store, ana.id, Change { channels: Some(None), ..Change::default() }).await,
        Outcome::Changed
    );
    let wanted = Agent { channels: None, ..wanted };
    assert_eq!(store.agent_of(&ana.email).await.expect("reads"), Some((wanted, Some("hash".to_owned()))));
    assert_eq!(changed(store, Uuid::now_v7(), Change::default()).await, Outcome::Gone);
}

async fn somebody_who_may_do_everything_is_always_left<S: TestStore>(store: &S) {
    let ana = added(store, "ana", Role::Admin).await;
    let limited = Agent { channels: Some(vec!["shop".to_owned()]), ..person("limited", Role::Admin) };
    assert!(store.add_agent(&limited, None, None).await.expect("writes"));
    let off = Change { is_disabled: Some(true), ..Change::default() };
    let less = [
        off.clone(),
        Change { role: Some(Role::Agent), ..Change::default() },
        Change { channels: Some(Some(vec!["shop".to_owned()])), ..Change::default() },
    ];
    for change in &less {
        assert_eq!(changed(store, ana.id, change.clone()).await, Outcome::LastAdmin, "{change:?}");
    }
    assert_eq!(store.agent(ana.id).await.expect("reads"), Some(ana.clone()), "nothing has changed");
    assert_eq!(changed(store, limited.id, off.clone()).await, Outcome::Changed, "others may go");
    let ben = added(store, "ben", Role::Admin).await;
    assert_eq!(changed(store, ana.id, off.clone()).await, Outcome::Changed);
    assert_eq!(changed(store, ana.id, off.clone()).await, Outcome::Changed, "twice is once");
    assert_eq!(changed(store, ben.id, off).await, Outcome::LastAdmin, "one who is disabled does not count");
}

async fn of_admins_who_disable_each_other_one_stays<S: TestStore>(store: &S) {
    let mut all = Vec::new();
    for n in 0..5 {
        all.push(added(store, &format!("admin{n}"), Role::Admin).await.id);
    }
    let off = Change { is_disabled: Some(true), ..Change::default() };
    let outcomes = join_all(all.iter().map(|id| changed(store, *id, off.clone()))).await;
    let refused = outcomes.iter().filter(|outcome| **outcome == Outcome::LastAdmin).count();
    assert_eq!(refused, 1, "{outcomes:?}");
}

async fn another_password_ends_all_sessions_but_that_in_which_it_was_set<S: TestStore>(store: &S) {
    let (ana, ben) = (added(store, "ana", Role::Admin).await, added(store, "ben", Role::Agent).await);
    for (hash, agent) in [("a1", ana.id), ("a2", ana.id), ("b1", ben.id)] {
        signed_in(store, hash, agent).await;
    }
    store.add_link(&link("l", ana.id), None).await.expect("writes");
    let change =
        Change { password: Some("other".to_owned()), spared: Some("a1".to_owned()), ..Change::default() };
    assert_eq!(changed(store, ana.id, change).await, Outcome::Changed);
    for (hash, goes_on) in [("a1", true), ("a2", false), ("b1", true)] {
        assert_eq!(store.session(hash).await.expect("reads").is_some(), goes_on, "{hash}");
    }
    assert_eq!(use_link(store, "l", "s", NOW).await, None);
    assert!(!store.begin_session(&session("a3", ana.id), "hash").await.expect("writes"), "the old password");
    assert!(store.begin_session(&session("a3", ana.id), "other").await.expect("writes"));
}

async fn whoever_is_disabled_loses_sessions_and_links<S: TestStore>(store: &S) {
    added(store, "boss", Role::Admin).await;
    let ana = added(store, "ana", Role::Agent).await;
    signed_in(store, "a", ana.id).await;
    store.add_link(&link("l", ana.id), None).await.expect("writes");
    let set = |is_disabled| Change { is_disabled: Some(is_disabled), ..Change::default() };
    assert_eq!(changed(store, ana.id, set(true)).await, Outcome::Changed);
    assert!(!store.begin_session(&session("b", ana.id), "hash").await.expect("writes"));
    assert!(!store.add_link(&link("m", ana.id), None).await.expect("writes"), "nor is a new one made");
    assert_eq!(changed(store, ana.id, set(false)).await, Outcome::Changed);
    assert_eq!(store.session("a").await.expect("reads"), None, "what is gone does not come back");
    assert_eq!(use_link(store, "l", "s", NOW).await, None);
    assert_eq!(use_link(store, "m", "s", NOW).await, None);
}

async fn whoever_may_more_signs_in_anew<S: TestStore>(store: &S) {
    added(store, "boss", Role::Admin).await;
    let on = |names: &[&str]| Some(names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>());
    let ana = Agent { channels: on(&["shop", "cafe"]), ..person("ana", Role::Agent) };
    assert!(store.add_agent(&ana, Some("hash"), None).await.expect("writes"));
    let seeing = |names| Change { channels: Some(names), ..Change::default() };
    let being = |role| Change { role: Some(role), ..Change::default() };
    let cases = [
        ("fewer channels", seeing(on(&["shop"])), true),
        ("the same", seeing(on(&["shop"])), true),
        ("one more", seeing(on(&["shop", "bar"])), false),
        ("all", seeing(None), false),
        ("some again", seeing(on(&["shop"])), true),
        ("an agent as before", being(Role::Agent), true),
        ("an admin", being(Role::Admin), false),
        ("an agent again", being(Role::Agent), true),
    ];
    for (case, change, goes_on) in cases {
        store.add_link(&link(&format!("link {case}"), ana.id), None).await.expect("writes");
        signed_in(store, case, ana.id).await;
        assert_eq!(changed(store, ana.id, change).await, Outcome::Changed, "{case}");
        assert_eq!(store.session(case).await.expect("reads").is_some(), goes_on, "{case}");
        let by_link = use_link(store, &format!("link {case}"), &format!("by link {case}"), NOW).await;
        assert_eq!(by_link.is_some(), goes_on, "{case}");
    }
}

async fn a_session_begins_only_with_the_password_that_holds_now<S: TestStore>(store: &S) {
    let ana = added(store, "ana", Role::Admin).await;
    let bare = person("bare", Role::Agent);
    assert!(store.add_agent(&bare, None, None).await.expect("writes"));
    for (agent, password, begins) in [
        (ana.id, "hash", true),
        (ana.id, "other", false),
        (bare.id, "", false),
        (Uuid::now_v7(), "hash", false),
    ] {
        let begun = store.begin_session(&session(&format!("of {agent} {password}"), agent), password).await;
        assert_eq!(begun.expect("writes"), begins, "{password}");
    }
}

async fn a_link_is_good_once_and_for_a_time<S: TestStore>(store: &S) {
    let ana = person("ana", Role::Admin);
    assert!(store.add_agent(&ana, None, Some(&link("l", ana.id))).await.expect("writes"));
    store.add_link(&link("m", ana.id), None).await.expect("writes");
    assert_eq!(use_link(store, "m", "s", NOW.plus_ms(1_000)).await, None, "too late");
    assert_eq!(use_link(store, "n", "s", NOW).await, None, "no such link");
    assert_eq!(use_link(store, "l", "s", NOW.plus_ms(999)).await, Some(ana.id));
    assert_eq!(use_link(store, "l", "t", NOW.plus_ms(999)).await, None, "once");
    let (begun, agent) = store.session("s").await.expect("reads").expect("it began");
    assert_eq!((begun.created_at, begun.used_at), (NOW.plus_ms(999), NOW.plus_ms(999)));
    assert_eq!((begun.expires_at, agent), (NOW.plus_ms(1_999), ana));
    assert_eq!(store.session("t").await.expect("reads"), None);
    let ben = added(store, "ben", Role::Agent).await;
    signed_in(store, "p", ben.id).await;
    for (hash, since, came) in [("s", 999, true), ("s", 1_000, false), ("p", 0, false), ("t", 0, false)] {
        let found = store.came_by_link(hash, NOW.plus_ms(since)).await.expect("reads");
        assert_eq!(found, came, "{hash} since {since}");
    }
}

async fn of_many_who_use_a_link_at_once_one_comes_in<S: TestStore>(store: &S) {
    let ana = added(store, "ana", Role::Admin).await;
    store.add_link(&link("l", ana.id), None).await.expect("writes");
    let names: Vec<String> = (0..8).map(|n| n.to_string()).collect();
    let all = join_all(names.iter().map(|name| use_link(store, "l", name, NOW))).await;
    assert_eq!(all.iter().flatten().count(), 1, "{all:?}");
}

async fn sessions_are_renewed_ended_and_forgotten<S: TestStore>(store: &S) {
    let ana = added(store, "ana", Role::Admin).await;
    for hash in ["a", "b", "c"] {
        signed_in(store, hash, ana.id).await;
    }
    store.add_link(&link("l", ana.id), None).await.expect("writes");
    store.renew_session("a", NOW.plus_ms(500), NOW.plus_ms(9_000)).await.expect("writes");
    store.renew_session("nobody's", NOW, NOW).await.expect("nothing to renew");
    let (renewed, _) = store.session("a").await.expect("reads").expect("there");
    let wanted =
        Session { used_at: NOW.plus_ms(500), expires_at: NOW.plus_ms(9_000), ..session("a", ana.id) };
    assert_eq!(renewed, wanted);
    assert!(store.end_session("b").await.expect("writes"));
    assert!(!store.end_session("b").await.expect("writes"), "gone");
    assert_eq!(store.forget_void(NOW.plus_ms(1_000)).await.expect("writes"), 0);
    assert_eq!(store.forget_void(NOW.plus_ms(1_001)).await.expect("writes"), 2, "one session and the link");
    for (hash, is_there) in [("a", true), ("b", false), ("c", false)] {
        assert_eq!(store.session(hash).await.expect("reads").is_some(), is_there, "{hash}");
    }
}

async fn what_a_dashboard_keeps_comes_back_as_it_was<S: TestStore>(store: &S) {
    let ana = added(store, "ana", Role::Admin).await;
    assert_eq!(store.preferences(ana.id).await.expect("reads").as_deref(), Some("{}"));
    let text = r#"{ "b": 1.0, "a": 123456789012345678901234567890, "b": "\u0000" }"#;
    let change = Change { preferences: Some(text.to_owned()), ..Change::default() };
    assert_eq!(changed(store, ana.id, change).await, Outcome::Changed);
    assert_eq!(store.preferences(ana.id).await.expect("reads").as_deref(), Some(text));
    assert_eq!(store.preferences(Uuid::now_v7()).await.expect("reads"), None);
}

async fn an_agent_is_changed_only_while_they_see_no_more_than_was_said<S: TestStore>(store: &S) {
    added(store, "boss", Role::Admin).await;
    let on = |names: &[&str]| Some(names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>());
    let ben = Agent { channels: on(&["shop"]), ..person("ben", Role::Agent) };
    assert!(store.add_agent(&ben, Some("hash"), None).await.expect("writes"));
    for (n, (sees, within, is_right)) in [
        (on(&["shop"]), on(&["shop", "cafe"]), true),
        (on(&["shop"]), None, true),
        (on(&["shop", "bar"]), on(&["shop", "cafe"]), false),
        (on(&[]), on(&["shop"]), false),
        (on(&["shop"]), on(&[]), false),
        (None, on(&["shop"]), false),
        (None, None, true),
    ]
    .into_iter()
    .enumerate()
    {
        let seeing = Change { channels: Some(sees.clone()), ..Change::default() };
        assert_eq!(changed(store, ben.id, seeing).await, Outcome::Changed);
        let hash = format!("link {n}");
        let is_made = store.add_link(&link(&hash, ben.id), within.as_deref()).await.expect("writes");
        assert_eq!(is_made, is_right, "{sees:?} within {within:?}");
        let begun = use_link(store, &hash, &format!("session {n}"), NOW).await;
        assert_eq!(begun.is_some(), is_right, "{sees:?} within {within:?}");
        let change =
            Change { password: Some(format!("hash {n}")), within: within.clone(), ..Change::default() };
        let wanted = if is_right { Outcome::Changed } else { Outcome::Gone };
        assert_eq!(changed(store, ben.id, change).await, wanted, "{sees:?} within {within:?}");
        let (_, password) = store.agent_of(&ben.email).await.expect("reads").expect("there");
        assert_eq!(password == Some(format!("hash {n}")), is_right, "{sees:?} within {within:?}");
    }
}

async fn no_link_outlives_that_its_agent_sees_more<S: TestStore>(store: &S) {
    added(store, "boss", Role::Admin).await;
    let shop = vec!["shop".to_owned()];
    let ben = Agent { channels: Some(shop.clone()), ..person("ben", Role::Agent) };
    assert!(store.add_agent(&ben, Some("hash"), None).await.expect("writes"));
    let links: Vec<Link> = (0..12).map(|n| link(&n.to_string(), ben.id)).collect();
    let (before, after) = links.split_at(6);
    let making = async |links: &[Link]| {
        for made in join_all(links.iter().map(|link| store.add_link(link, Some(&shop)))).await {
            made.expect("writes");
        }
    };
    let seeing = Change { channels: Some(None), ..Change::default() };
    let ((), seeing, ()) = tokio::join!(making(before), changed(store, ben.id, seeing), making(after));
    assert_eq!(seeing, Outcome::Changed);
    for link in &links {
        assert_eq!(use_link(store, &link.hash, &format!("by {}", link.hash), NOW).await, None);
    }
}
