//! What the API tells of what happened: lists of events, timelines, and windows of messages.

use serde_json::{Value, json};

use crate::world::{World, on_both_stores};

on_both_stores!(
    events_are_narrowed_and_come_in_either_order,
    what_events_are_about_is_shown_beside_them_as_it_is_now,
    a_timeline_tells_of_one_message_or_one_turn,
    messages_are_read_in_windows_that_join,
    a_list_is_read_page_by_page_whatever_order_a_database_knows,
);

const MEI: &str = "6580000001@c.us";
const TOM: &str = "6580000002@c.us";

/// A message answered, and another of somebody else ten seconds later.
async fn two_answers(world: &World) {
    for (chat, id, text, answer) in [(MEI, "M1", "Condos?", "Two."), (TOM, "M2", "Houses?", "None.")] {
        world.assistant_says(answer);
        world.chat(chat).writes(id, text).await;
        world.after(3_000).await;
        world.pass(7_000);
    }
}

async fn events(world: &World, query: &str) -> Vec<Value> {
    let page = world.get(&format!("/api/v1/events?limit=200&{query}")).await;
    page["items"].as_array().expect("a list").clone()
}

fn types(events: &[Value]) -> Vec<&str> {
    events.iter().map(|event| event["type"].as_str().expect("a type")).collect()
}

async fn events_are_narrowed_and_come_in_either_order(world: &World) {
    let begun = world.now();
    two_answers(world).await;
    let all = events(world, "").await;
    let mut backwards = events(world, "order=desc").await;
    backwards.reverse();
    assert_eq!(all, backwards);
    for query in ["type=turn_started,turn_completed", "type=turn_started&type=turn_completed"] {
        let wanted = ["turn_started", "turn_completed", "turn_started", "turn_completed"];
        assert_eq!(types(&events(world, query).await), wanted, "{query}");
    }
    let (from, to) = (begun.plus_ms(10_000), begun.plus_ms(10_001));
    let second = events(world, &format!("type=message_received&since={from}")).await;
    assert_eq!(second.len(), 1);
    assert_eq!(events(world, &format!("type=message_received&since={from}&until={to}")).await, second);
    let first = events(world, &format!("type=message_received&until={from}")).await;
    assert_eq!((first.len(), first[0]["at"].as_str()), (1, Some(begun.to_string().as_str())));
    let tom = world.chat(TOM).conversation().await;
    let id = tom["id"].as_str().expect("an id");
    let his = events(world, &format!("conversation_id={id}&order=desc")).await;
    assert!(his.len() > 4 && his.iter().all(|event| event["conversation_id"] == tom["id"]));
    assert_eq!(events(world, "channel=default").await, all);
    let label = json!({ "name": "VIP" });
    assert_eq!(world.ask("POST", "/api/v1/labels", Some(label)).await.status, 201);
    assert_eq!(types(&events(world, "type=label_updated").await), ["label_updated"]);
    assert_eq!(events(world, "channel=default").await, all, "what is of no channel is not of this one");
    assert_eq!(events(world, "channel=other").await, Vec::<Value>::new());
    for (query, pointer) in [("type=turn", "/type"), ("since=noon", "/since"), ("order=up", "/order")] {
        let reply = world.ask("GET", &format!("/api/v1/events?{query}"), None).await;
        assert_eq!((reply.status, &reply.body["errors"][0]["pointer"]), (400, &json!(pointer)));
    }
}

async fn what_events_are_about_is_shown_beside_them_as_it_is_now(world: &World) {
    two_answers(world).await;
    let mei = world.chat(MEI);
    let (conversation, message) = (mei.conversation().await, mei.message("Condos?").await);
    let plain = events(world, "").await;
    let both = events(world, "include=conversation,message").await;
    assert_eq!(plain.len(), both.len());
    for (event, without) in both.iter().zip(&plain) {
        assert_eq!(event["id"], without["id"]);
        assert!(without.get("conversation").is_none() && without.get("message").is_none());
        assert_eq!(event["conversation"]["id"], event["conversation_id"]);
        assert_eq!(event["message"]["id"], event["message_id"]);
    }
    let received = both.iter().find(|event| event["type"] == "message_received").expect("it was");
    assert_eq!((&received["conversation"], &received["message"]), (&conversation, &message));
    let one = events(world, "include=message").await;
    assert!(one.iter().all(|event| event.get("conversation").is_none() && event.get("message").is_some()));
}

async fn a_timeline_tells_of_one_message_or_one_turn(world: &World) {
    two_answers(world).await;
    let mei = world.chat(MEI);
    let timeline = async |query: &str| {
        let page = world.get(&mei.path(&format!("timeline?{query}")).await).await;
        page["items"].as_array().expect("a list").clone()
    };
    let whole = timeline("").await;
    let numbers: Vec<i64> = whole.iter().map(|event| event["conv_seq"].as_i64().expect("a number")).collect();
    assert_eq!(numbers, Vec::from_iter(1..=i64::try_from(whole.len()).expect("few")));
    let mut backwards = timeline("order=desc").await;
    backwards.reverse();
    assert_eq!(backwards, whole);
    let reply = mei.message("Two.").await;
    let (message, turn) = (reply["id"].as_str().expect("an id"), reply["turn_id"].as_str().expect("an id"));
    let of_message = timeline(&format!("message_id={message}")).await;
    assert_eq!(types(&of_message), ["message_queued", "message_sent"]);
    let of_turn = timeline(&format!("turn_id={turn}&type=turn_started,turn_completed")).await;
    assert_eq!(types(&of_turn), ["turn_started", "turn_completed"]);
    assert!(of_turn.iter().all(|event| event["turn_id"] == reply["turn_id"]));
}

async fn messages_are_read_in_windows_that_join(world: &World) {
    let mei = world.chat(MEI);
    mei.take_over().await;
    for n in 1..=9 {
        mei.writes(&format!("M{n}"), &format!("{n}")).await;
    }
    let window = async |query: &str| {
        let page = world.get(&mei.path(&format!("messages?{query}")).await).await;
        let items = page["items"].as_array().expect("a list").iter();
        (
            items.map(|it| it["seq"].as_i64().expect("a number")).collect::<Vec<_>>(),
            page["next_cursor"].clone(),
        )
    };
    for (query, seqs, next) in [
        ("limit=4", vec![9, 8, 7, 6], json!("6")),
        ("limit=4&cursor=6", vec![5, 4, 3, 2], json!("2")),
        ("limit=4&before=2", vec![1], Value::Null),
        ("limit=4&after=2", vec![6, 5, 4, 3], Value::Null),
        ("limit=4&around=5", vec![7, 6, 5, 4], json!("4")),
        ("limit=5&around=5", vec![7, 6, 5, 4, 3], json!("3")),
        // Whoever comes to the newest from a search goes back from there.
        ("limit=4&around=9", vec![9, 8], json!("8")),
        ("limit=4&around=1", vec![3, 2, 1], Value::Null),
        ("limit=4&around=2", vec![4, 3, 2, 1], Value::Null),
        ("limit=4&around=50", vec![9, 8], json!("8")),
    ] {
        assert_eq!(window(query).await, (seqs, next), "{query}");
    }
}

async fn a_list_is_read_page_by_page_whatever_order_a_database_knows(world: &World) {
    for name in ["ana", "Ben", "Zoe"] {
        let agent = json!({ "name": name, "email": format!("{name}@example.com"), "role": "agent" });
        assert_eq!(world.ask("POST", "/api/v1/agents", Some(agent)).await.status, 201);
        let label = json!({ "name": name });
        assert_eq!(world.ask("POST", "/api/v1/labels", Some(label)).await.status, 201);
    }
    for list in ["agents", "labels"] {
        let (mut names, mut cursor) = (Vec::new(), String::new());
        loop {
            let page = world.get(&format!("/api/v1/{list}?limit=1{cursor}")).await;
            names.extend(page["items"].as_array().expect("a list").iter().map(|it| it["name"].clone()));
            let Some(next) = page["next_cursor"].as_str() else { break };
            cursor = format!("&cursor={next}");
        }
        names.sort_by_key(ToString::to_string);
        assert_eq!(names, ["Ben", "Zoe", "ana"], "{list}: each once");
    }
}
