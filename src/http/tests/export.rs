use std::sync::atomic::Ordering;

use actix_web::body::to_bytes;
use serde_json::{Value, json};
use uuid::Uuid;

use super::{ADMIN, World, auth::token, fakes, request};
use crate::{
    domain::message::{Kind, Quoted},
    flow::{archive::Placed, back_office::registry::Role},
};

const PATH: &str = "/api/v1/export/messages.csv";

const LINES: &str = "/api/v1/export/messages.jsonl";

fn said(world: &World, texts: impl IntoIterator<Item = String>) -> Uuid {
    let conversation = fakes::conversation("default", "6580000001@c.us");
    let mut messages = world.shelf.messages.lock().unwrap();
    for (seq, text) in (1..).zip(texts) {
        messages.push(Placed {
            conversation: conversation.id,
            channel: conversation.channel.clone(),
            chat: conversation.chat.clone(),
            message: fakes::message(seq, &text),
        });
    }
    drop(messages);
    world.shelf.put(fakes::overview(conversation))
}

#[tokio::test]
async fn messages_are_exported_as_rows_that_no_spreadsheet_runs() {
    let world = World::new();
    let id = said(&world, ["Hello, \"you\"".to_owned(), "=1+1".to_owned()]);
    let reply = world.get(PATH).await;
    assert_eq!((reply.status, reply.header("content-type")), (200, "text/csv; charset=utf-8"));
    assert_eq!(reply.header("content-disposition"), "attachment; filename=\"messages.csv\"");
    let lines: Vec<&str> = reply.body.split_terminator("\r\n").collect();
    assert_eq!(
        lines[0],
        "id,conversation_id,channel,chat_id,contact_name,seq,at,author,origin,kind,text,outcome,delivery_state"
    );
    let start = format!(",{id},default,6580000001@c.us,'=Mei,1,");
    assert!(lines[1].contains(&start) && lines[1].contains(",\"Hello, \"\"you\"\"\","), "{}", lines[1]);
    assert!(lines[2].contains(",'=1+1,"), "{}", lines[2]);
    assert_eq!(lines.len(), 3);
}

#[tokio::test]
async fn a_long_export_comes_page_by_page_and_whole() {
    let world = World::new();
    said(&world, (0..1_001).map(|n| format!("text {n}")));
    let reply = world.get(PATH).await;
    assert_eq!(reply.body.lines().count(), 1_002);
    assert!((0..1_001).all(|n| reply.body.contains(&format!(",text {n},"))));
    assert_eq!(world.shelf.asked.lock().unwrap().len(), 6, "200 messages at a time");
}

#[tokio::test]
async fn an_export_that_cannot_be_finished_breaks_off_and_does_not_look_whole() {
    let world = World::new();
    said(&world, (0..500).map(|n| format!("text {n}")));
    *world.shelf.broken_at.lock().unwrap() = Some(400);
    let asked = request("GET", PATH, None).insert_header(("Authorization", format!("Bearer {ADMIN}")));
    let response = world.open(asked).await;
    assert_eq!(response.status().as_u16(), 200, "it had begun");
    assert!(to_bytes(response.into_body()).await.is_err());
    world.shelf.is_away.store(true, Ordering::SeqCst);
    assert_eq!(world.get(PATH).await.problem(), (503, "unavailable".to_owned()));
}

#[tokio::test]
async fn an_export_breaks_off_for_whom_is_let_in_no_more() {
    let world = World::new();
    said(&world, (0..5_000).map(|n| format!("text {n}")));
    let id = token(&world, "soon", Role::Admin, None);
    let asked = request("GET", PATH, None).insert_header(("Authorization", "Bearer soon"));
    let response = world.open(asked).await;
    assert_eq!(world.ask("DELETE", &format!("/api/v1/tokens/{id}"), None).await.status, 204);
    assert!(to_bytes(response.into_body()).await.is_err(), "what is left does not come");
}

#[tokio::test]
async fn an_export_is_narrowed_by_time_and_conversation() {
    let world = World::new();
    let id = said(&world, ["Hello".to_owned()]);
    let asked = format!("{PATH}?from=2026-01-05T08:00:00Z&to=2026-01-06T08:00:00Z&conversation_id={id}");
    assert_eq!(world.get(&asked).await.status, 200);
    let filter = world.shelf.asked.lock().unwrap().last().cloned().unwrap();
    assert!(filter.contains(&format!("conversation: Some({id})")), "{filter}");
    assert!(filter.contains("since: Some(Time(1767600000000))"), "{filter}");
    assert!(filter.contains("until: Some(Time(1767686400000))"), "{filter}");
    let other = world.get(&format!("{PATH}?conversation_id={}", Uuid::now_v7())).await;
    assert_eq!(other.problem(), (404, "not_found".to_owned()));
    assert_eq!(world.get(&format!("{PATH}?from=yesterday")).await.pointer(), "/from");
}

#[tokio::test]
async fn only_who_is_given_messages_has_taken_them_out() {
    let world = World::new();
    let id = said(&world, ["Hello".to_owned()]);
    let deeds = async || {
        let deeds = world.get("/api/v1/audit?action=exported").await.json();
        deeds["items"].as_array().unwrap().len()
    };
    assert_eq!(world.get(&format!("{PATH}?conversation_id={}", Uuid::now_v7())).await.status, 404);
    for path in [PATH, LINES] {
        let head = world.ask("HEAD", path, None).await;
        assert_eq!((head.status, head.body.as_str()), (200, ""));
    }
    world.shelf.is_away.store(true, Ordering::SeqCst);
    assert_eq!(world.get(PATH).await.status, 503);
    world.shelf.is_away.store(false, Ordering::SeqCst);
    assert_eq!(deeds().await, 0);
    assert_eq!(world.get(&format!("{PATH}?conversation_id={id}")).await.status, 200);
    assert_eq!(deeds().await, 1);
}

#[tokio::test]
async fn messages_are_exported_as_lines_in_the_shape_of_the_api() {
    let world = World::new();
    let id = said(&world, (0..401).map(|n| format!("text {n}\nof two lines")));
    let to = |seq: i64| Some(Quoted { provider_message_id: format!("P{seq}"), text: String::new() });
    let quoting = [(400, Kind::Text, to(1)), (399, Kind::Reaction, to(401))];
    for (place, kind, quoted) in quoting {
        let message = &mut world.shelf.messages.lock().unwrap()[place].message;
        (message.kind, message.quoted) = (kind, quoted);
        if kind == Kind::Reaction {
            message.text = "[reacted 👍]".to_owned();
        }
    }
    let reply = world.get(&format!("{LINES}?conversation_id={id}")).await;
    assert_eq!((reply.status, reply.header("content-type")), (200, "application/jsonl; charset=utf-8"));
    assert_eq!(reply.header("content-disposition"), "attachment; filename=\"messages.jsonl\"");
    let lines: Vec<Value> =
        reply.body.lines().map(|line| serde_json::from_str(line).expect("one message a line")).collect();
    assert_eq!(lines.len(), 401);
    assert_eq!((&lines[400]["text"], &lines[400]["seq"]), (&json!("text 400\nof two lines"), &json!(401)));
    let one = world.shelf.messages.lock().unwrap()[400].message.id;
    assert_eq!(world.get(&format!("/api/v1/messages/{one}")).await.json(), lines[400]);
    let (quoted, reactions) = (&lines[400]["quoted"], &lines[400]["reactions"]);
    assert_eq!((&quoted["message_id"], &quoted["author"]), (&lines[0]["id"], &json!("contact")));
    assert_eq!((&reactions[0]["emoji"], &lines[399]["kind"]), (&json!("👍"), &json!("reaction")));
    let agent = Uuid::now_v7();
    world.admit("agent-token", Role::Agent, Some(agent), None);
    for path in [PATH, LINES] {
        assert_eq!(world.ask_as("agent-token", "GET", path, None).await.status, 403);
    }
}
