use serde_json::{Value, json};
use uuid::Uuid;

use super::{World, fakes, idempotent::under_key};
use crate::flow::{back_office::registry::Role, desk::Refusal};

const BATCH: &str = "/api/v1/conversations/batch";

fn some(world: &World, channels: &[&str]) -> Vec<Uuid> {
    let put = |channel: &&str| world.shelf.put(fakes::overview(fakes::conversation(channel, "1@c.us")));
    channels.iter().map(put).collect()
}

#[tokio::test]
async fn a_wrong_batch_is_told_by_pointer_and_does_nothing() {
    let world = World::new();
    let ids = some(&world, &["shop", "shop"]);
    let set = json!({ "status": "closed" });
    for (body, pointer) in [
        (json!({ "ids": [], "set": set }), "/ids"),
        (json!({ "ids": vec![Uuid::now_v7(); 101], "set": set }), "/ids"),
        (json!({ "ids": [ids[0], ids[1], ids[0]], "set": set }), "/ids/2"),
        (json!({ "ids": ["x"], "set": set }), "/ids/0"),
        (json!({ "ids": ids }), ""),
        (json!({ "ids": ids, "set": set, "mode": { "mode": "AI" } }), ""),
        (json!({ "ids": ids, "set": { "status": "shut" } }), "/set/status"),
        (json!({ "ids": ids, "set": { "status": "snoozed" } }), "/set/snoozed_until"),
        (json!({ "ids": ids, "set": { "add_labels": ["new"] } }), "/set/add_labels/0"),
        (json!({ "ids": ids, "mode": { "mode": "HUMAN", "answer_now": true } }), "/mode/answer_now"),
        (json!({ "ids": ids, "all": true, "set": set }), "/all"),
    ] {
        let reply = world.ask("POST", BATCH, Some(body.clone())).await;
        assert_eq!((reply.problem().0, reply.pointer().as_str()), (400, pointer), "{body}");
    }
    assert!(world.clerk.heard().is_empty(), "no step was asked");
}

#[tokio::test]
async fn conversations_are_given_only_to_who_can_open_each() {
    let world = World::new();
    world.has_channels(&["shop"]);
    let ids = some(&world, &["other", "shop"]);
    let ana = world.agent("ana", "agent", json!(["shop"])).await;
    let ana = ana.get("/api/v1/me").await.json()["id"].clone();
    let give = async |to: &Value| {
        let reply = world.ask("POST", BATCH, Some(json!({ "ids": ids, "set": { "assignee": to } }))).await;
        (reply.status, reply.json())
    };
    let (status, told) = give(&json!(Uuid::now_v7())).await;
    assert_eq!((status, &told["errors"][0]["pointer"]), (400, &json!("/set/assignee")));
    let (status, told) = give(&ana).await;
    assert_eq!(
        (status, &told["items"][0]["status"], &told["items"][1]["status"]),
        (200, &json!(400), &json!(200))
    );
    assert_eq!(told["items"][0]["problem"]["errors"][0]["pointer"], "/set/assignee");
    assert_eq!(told["items"][0]["id"], json!(ids[0]));
    assert_eq!(world.clerk.heard().len(), 1, "of one only the step was asked");
}

#[tokio::test]
async fn what_the_step_refuses_is_told_by_its_place_in_the_batch() {
    let world = World::new();
    let ids = some(&world, &["shop"]);
    let detail = "must be in the future".to_owned();
    *world.clerk.refusal.lock().unwrap() =
        Some(Refusal::Invalid { pointer: "/snoozed_until".to_owned(), detail });
    let set = json!({ "status": "snoozed", "snoozed_until": "2020-01-01T00:00:00Z" });
    let reply = world.ask("POST", BATCH, Some(json!({ "ids": ids, "set": set }))).await;
    let told = &reply.json()["items"][0];
    assert_eq!(
        (&told["status"], &told["problem"]["errors"][0]["pointer"]),
        (&json!(400), &json!("/set/snoozed_until"))
    );
}

#[tokio::test]
async fn each_conversation_has_an_answer_of_its_own() {
    let world = World::new();
    let ids = some(&world, &["shop", "other", "shop"]);
    let nobody = Uuid::now_v7();
    world.admit("shop", Role::Agent, None, Some(&["shop"]));
    let refusal = Refusal::Conflict { code: "version_conflict", detail: "somebody has it".into() };
    *world.clerk.refusal.lock().unwrap() = Some(refusal);
    let body = json!({ "ids": [nobody, ids[0], ids[1], ids[2]], "set": { "drafting": true } });
    let reply = world.ask_as("shop", "POST", BATCH, Some(body)).await;
    assert_eq!(reply.status, 200, "{}", reply.body);
    let items = reply.json()["items"].as_array().unwrap().clone();
    let told: Vec<_> = items
        .iter()
        .map(|it| (it["id"].clone(), it["status"].as_i64().unwrap(), it["problem"]["code"].clone()))
        .collect();
    assert_eq!(
        told,
        [
            (json!(nobody), 404, json!("not_found")),
            (json!(ids[0]), 409, json!("version_conflict")),
            (json!(ids[1]), 404, json!("not_found")),
            (json!(ids[2]), 200, Value::Null),
        ]
    );
    assert_eq!(items[1]["problem"]["current"]["id"], json!(ids[0]));
    assert_eq!((&items[3]["conversation"]["id"], &items[3]["receipt"]), (&json!(ids[2]), &Value::Null));
    assert_eq!(world.clerk.heard().len(), 2, "what is not there for them is not touched");
}

#[tokio::test]
async fn a_switch_of_many_stops_all_before_it_waits_for_any() {
    let world = World::new();
    let ids = some(&world, &["shop"; 40]);
    let body = json!({ "ids": ids, "mode": { "mode": "HUMAN", "settle_ms": 5_000 } });
    let reply = world.ask("POST", BATCH, Some(body)).await;
    assert_eq!(reply.status, 200, "{}", reply.body);
    let items = reply.json()["items"].as_array().unwrap().clone();
    assert_eq!(items.len(), 40);
    for (item, id) in items.iter().zip(&ids) {
        assert_eq!((&item["id"], &item["receipt"]["settled"]), (&json!(id), &json!(true)));
        assert_eq!((&item["conversation"], &item["problem"]), (&Value::Null, &Value::Null));
    }
    let heard = world.clerk.heard();
    let switched: Vec<String> = ids.iter().map(|id| format!("{id} to HUMAN by environment")).collect();
    assert_eq!(heard[..40], switched);
    assert_eq!(heard[40..], vec!["settle within 5 s"; 40]);
}

#[tokio::test]
async fn a_batch_under_the_same_key_is_done_once() {
    let world = World::new();
    let ids = some(&world, &["shop"]);
    let body = json!({ "ids": ids, "mode": { "mode": "HUMAN" } });
    let first = under_key(&world, BATCH, "k1", body.clone()).await;
    assert_eq!(world.clerk.heard().len(), 2, "switched and settled");
    let again = under_key(&world, BATCH, "k1", body.clone()).await;
    assert_eq!((again.status, again.json()), (200, first.json()));
    assert!(world.clerk.heard().is_empty());
    let other = under_key(&world, BATCH, "k1", json!({ "ids": ids, "mode": { "mode": "AI" } })).await;
    assert_eq!(other.problem(), (422, "idempotency_key_reused".to_owned()));
    under_key(&world, BATCH, "k2", body).await;
    assert_eq!(world.clerk.heard().len(), 2);
}
