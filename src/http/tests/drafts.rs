//! Drafts over HTTP: shapes, and refusals that show the draft as it is.

use serde_json::{Value, json};
use uuid::Uuid;

use super::{ADMIN, NOW, World, fakes, request};
use crate::{
    domain::draft::{Decision, Draft, DraftState, SentDraft},
    flow::desk::Refusal,
};

fn draft(state: DraftState, decision: Option<Decision>) -> Draft {
    Draft {
        id: Uuid::now_v7(),
        text: "Yes, until nine.".to_owned(),
        state,
        based_on_seq: 7,
        turn: Uuid::now_v7(),
        decision,
        created_at: NOW,
    }
}

impl World {
    /// A conversation with this draft, and the path of its drafts.
    fn suggest(&self, draft: &Draft) -> (Uuid, String) {
        let id = self.shelf.put(fakes::overview(fakes::conversation("default", "6580000001@c.us")));
        self.shelf.drafts.lock().unwrap().push((id, draft.clone()));
        (id, format!("/api/v1/conversations/{id}/drafts"))
    }
}

#[tokio::test]
async fn a_draft_is_shown_with_every_field() {
    let world = World::new();
    let sent = SentDraft { message: Uuid::now_v7(), edit_distance: 3 };
    let decision = Decision { by: "agent:ana".to_owned(), at: NOW.plus_ms(5), sent: Some(sent) };
    let edited = draft(DraftState::Edited, Some(decision));
    let (id, path) = world.suggest(&edited);
    let page = world.get(&path).await.json();
    assert_eq!(page["next_cursor"], Value::Null);
    let wanted = json!({
        "id": edited.id.to_string(), "conversation_id": id.to_string(), "text": "Yes, until nine.", "state": "edited",
        "based_on_seq": 7, "turn_id": edited.turn.to_string(), "message_id": sent.message.to_string(),
        "decided_by": "agent:ana", "decided_at": NOW.plus_ms(5).to_string(), "edit_distance": 3,
        "created_at": NOW.to_string(),
    });
    assert_eq!(page["items"], json!([wanted]));
    let fresh = draft(DraftState::Fresh, None);
    let (_, path) = world.suggest(&fresh);
    let shown = &world.get(&path).await.json()["items"][0];
    for field in ["message_id", "decided_by", "decided_at", "edit_distance"] {
        assert!(shown.as_object().expect("a draft").contains_key(field) && shown[field].is_null(), "{field}");
    }
    assert_eq!(world.get(&format!("{path}?cursor=nonsense")).await.pointer(), "/cursor");
    let nobodys = format!("/api/v1/conversations/{}/drafts", Uuid::now_v7());
    assert_eq!(world.get(&nobodys).await.status, 404);
}

#[tokio::test]
async fn one_is_asked_for_with_a_body_that_says_nothing_or_none() {
    let world = World::new();
    let (id, path) = world.suggest(&draft(DraftState::Fresh, None));
    for body in [None, Some(json!(null)), Some(json!({}))] {
        let reply = world.ask("POST", &path, body).await;
        let wanted = json!({ "conversation_id": id.to_string(), "draft_id": Uuid::nil().to_string() });
        assert_eq!((reply.status, reply.json()), (202, wanted));
    }
    assert_eq!(world.clerk.heard(), vec![format!("draft {id} None"); 3]);
    assert_eq!(world.ask("POST", &path, Some(json!({ "text": "x" }))).await.pointer(), "/text");

    let refusal = Refusal::Conflict { code: "no_model", detail: "none".to_owned() };
    *world.clerk.refusal.lock().unwrap() = Some(refusal);
    let reply = world.ask("POST", &path, None).await;
    assert_eq!(reply.problem(), (409, "no_model".to_owned()));
    assert_eq!(reply.json()["current"]["id"], id.to_string(), "the conversation");
}

#[tokio::test]
async fn one_that_is_sent_answers_with_its_message_the_takeover_and_itself() {
    let world = World::new();
    let fresh = draft(DraftState::Fresh, None);
    let (id, path) = world.suggest(&fresh);
    let path = format!("{path}/{}/send", fresh.id);
    let reply = world.ask("POST", &path, None).await;
    assert_eq!(reply.status, 202);
    let reply = reply.json();
    assert_eq!((&reply["text"], &reply["conversation_id"]), (&json!("as written"), &json!(id.to_string())));
    assert_eq!(reply["takeover"]["settled"], true);
    assert_eq!(reply["draft"]["id"], fresh.id.to_string());
    let keyed = request("POST", &path, Some(json!({ "text": "We are.", "force": true })))
        .insert_header(("Authorization", format!("Bearer {ADMIN}")))
        .insert_header(("Idempotency-Key", "k1"));
    assert_eq!(world.send(keyed).await.json()["text"], "We are.");
    let by =
        |approval: &str, once| format!("send {} Approval {{ {approval} }} by environment {once}", fresh.id);
    let heard = world.clerk.heard();
    assert_eq!(heard[0], by("text: None, force: false", false));
    assert_eq!(heard[1], by(r#"text: Some("We are."), force: true"#, true));
    for (body, pointer) in [
        (json!({ "text": " " }), "/text"),
        (json!({ "text": "x".repeat(20_001) }), "/text"),
        (json!({ "force": "yes" }), "/force"),
        (json!({ "state": "sent" }), "/state"),
    ] {
        assert_eq!(world.ask("POST", &path, Some(body)).await.pointer(), pointer);
    }
    assert!(world.clerk.heard().is_empty(), "nobody was asked to send that");
}

#[tokio::test]
async fn a_decision_that_comes_too_late_shows_the_draft_as_it_is() {
    let world = World::new();
    let stale = draft(DraftState::Stale, None);
    let (_, path) = world.suggest(&stale);
    let path = format!("{path}/{}", stale.id);
    for (method, path, code) in
        [("POST", format!("{path}/send"), "stale"), ("DELETE", path.clone(), "already_sent")]
    {
        let refusal = Refusal::Conflict { code, detail: "too late".to_owned() };
        *world.clerk.refusal.lock().unwrap() = Some(refusal);
        let reply = world.ask(method, &path, None).await;
        assert_eq!(reply.problem(), (409, code.to_owned()));
        assert_eq!(
            (&reply.json()["current"]["id"], &reply.json()["current"]["state"]),
            (&json!(stale.id.to_string()), &json!("stale"))
        );
    }
    assert_eq!(world.ask("DELETE", &path, None).await.status, 204);
    *world.clerk.refusal.lock().unwrap() = Some(Refusal::NotFound);
    assert_eq!(world.ask("DELETE", &path, None).await.problem(), (404, "not_found".to_owned()));
}
