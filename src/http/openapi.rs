//! The description of the API, made from the code: OpenAPI as `/openapi.json` and `baton openapi` show it.

mod examples;

use actix_web::http::StatusCode;
use std::sync::OnceLock;

use serde_json::{Value, json};
use utoipa::OpenApi;

use self::examples::{CHAT, Example};
use super::{
    api::{
        agents, audit, batch, canned_replies, channels, conversations, dead_letters, drafts, events, export,
        follow_ups, labels, live, me, media, messages, modes, qr, sandbox, session, settings, stats, tokens,
        turns, webhook_endpoints,
    },
    auth::Access,
    health, metrics, pages,
    problem::{Document, Fault},
    routes::routes,
    site::SESSION,
    webhook,
};

#[derive(OpenApi)]
#[openapi(
    info(
        title = "Baton",
        description = "Stands between a business's WhatsApp number and its AI, and never lets the two talk over a person."
    ),
    paths(
        pages::docs, pages::openapi_json, health::alive, health::ready, metrics::render,
        webhook::green_api, webhook::sandbox,
        session::sign_in, session::who, session::sign_out, me::who, me::change,
        agents::list, agents::add, agents::one, agents::change, agents::link,
        conversations::list, conversations::counts, conversations::one, conversations::change, conversations::erase,
        conversations::read,
        batch::batch, conversations::unread, live::present, live::watch, modes::switch, modes::switch_chat,
        messages::list, messages::say, messages::say_all, messages::say_to_chat, messages::note, messages::one,
        messages::withdraw, messages::retry, messages::confirm, media::fetch,
        follow_ups::one, follow_ups::schedule, follow_ups::call_off, follow_ups::list,
        drafts::list, drafts::ask, drafts::send, drafts::discard, turns::list, turns::one, events::timeline, events::list,
        dead_letters::list, dead_letters::discard, dead_letters::retry, export::messages, export::lines,
        channels::list, channels::add, channels::one, channels::change, channels::remove, channels::release_brake, qr::qr,
        labels::list, labels::add, labels::one, labels::change, labels::remove,
        canned_replies::list, canned_replies::add, canned_replies::one, canned_replies::change, canned_replies::remove,
        tokens::list, tokens::create, tokens::one, tokens::revoke,
        webhook_endpoints::list, webhook_endpoints::add, webhook_endpoints::one, webhook_endpoints::change,
        webhook_endpoints::remove, webhook_endpoints::rotate_secret, webhook_endpoints::test,
        webhook_endpoints::deliveries, webhook_endpoints::retry,
        stats::stats, settings::list, audit::list, sandbox::behaviour, sandbox::behave, sandbox::screen, sandbox::phone_message,
    ),
    components(schemas(Document<'_>, Fault))
)]
struct Described;

/// The document, as indented JSON.
pub fn openapi() -> String {
    format!("{:#}", document())
}

/// The document.
pub(super) fn document() -> &'static Value {
    static DOCUMENT: OnceLock<Value> = OnceLock::new();
    DOCUMENT.get_or_init(|| {
        let mut document = serde_json::to_value(Described::openapi()).unwrap_or_default();
        document["components"]["securitySchemes"] = json!({
            "token": { "type": "http", "scheme": "bearer" },
            "session": { "type": "apiKey", "in": "cookie", "name": SESSION },
        });
        for row in routes() {
            let method = row.method.as_str().to_ascii_lowercase();
            // Indexing would make what is not there.
            if let Some(operation) =
                document["paths"].get_mut(row.path).and_then(|path| path.get_mut(&method))
            {
                operation["operationId"] = json!(name_of(&method, row.path));
                complete(operation, row.access);
            }
        }
        examples::examples().into_iter().for_each(|example| show(&mut document, example));
        document
    })
}

/// Puts an example where what it is of is described.
fn show(document: &mut Value, example: Example) {
    let operation = &mut document["paths"][example.path][example.method];
    if let Some(body) = example.body {
        operation["requestBody"]["content"]["application/json"]["example"] = body;
    }
    let (status, answer) = example.answer;
    operation["responses"][status]["content"]["application/json"]["example"] = answer;
}

/// `get /api/v1/conversations/{id}/messages` as `get_conversations_id_messages`.
fn name_of(method: &str, path: &str) -> String {
    let path = path.strip_prefix("/api/v1").unwrap_or(path);
    let words = path.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    words.fold(method.to_owned(), |name, word| format!("{name}_{word}"))
}

/// What all operations have in common: who may use them, how they answer, and how they refuse.
fn complete(operation: &mut Value, access: Access) {
    if let Some(parameters) = operation.get_mut("parameters").and_then(Value::as_array_mut) {
        parameters.iter_mut().for_each(bound);
    }
    for (status, response) in operation["responses"].as_object_mut().into_iter().flatten() {
        let is_described = response["description"].as_str().is_some_and(|text| !text.is_empty());
        if !is_described {
            response["description"] = json!(in_words(status));
        }
    }
    operation["responses"]["default"] = json!({
        "description": "A refusal.",
        "content": { "application/problem+json": { "schema": { "$ref": "#/components/schemas/Problem" } } }
    });
    let role = match access {
        Access::Open => {
            operation["security"] = json!([]);
            return;
        }
        Access::Reads => "any but metrics",
        Access::Acts => "agent or admin",
        Access::Admin => "admin",
        Access::Metrics => "any, on all channels",
    };
    operation["security"] = json!([{ "token": [] }, { "session": [] }]);
    operation["x-role"] = json!(role);
}

/// What a parameter of that name may be, wherever it stands.
fn bound(parameter: &mut Value) {
    let bounds = match parameter["name"].as_str() {
        Some("limit") => json!({ "minimum": 1, "maximum": 200, "default": 50 }),
        Some("Idempotency-Key") => json!({ "minLength": 1, "maxLength": 255 }),
        Some("chat_id") => json!({ "pattern": "^[^@\\s/:]+@[^@\\s/:]+$", "example": CHAT }),
        // An erasure's.
        Some("confirm") => json!({ "example": CHAT }),
        _ => return,
    };
    if let (Some(schema), Value::Object(bounds)) = (parameter["schema"].as_object_mut(), bounds) {
        schema.extend(bounds);
    }
}

/// What a status says, for an answer that says nothing of its own. OpenAPI requires a description.
fn in_words(status: &str) -> &'static str {
    let code = status.parse::<u16>().ok().and_then(|code| StatusCode::from_u16(code).ok());
    code.and_then(|code| code.canonical_reason()).unwrap_or("The answer.")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::http::dashboard;

    #[test]
    fn every_route_is_described_and_every_description_has_its_route() {
        let in_the_list: BTreeSet<String> =
            routes().iter().map(|row| format!("{} {}", row.method, row.path)).collect();
        assert_eq!(in_the_list.len(), routes().len(), "a route is listed twice");
        // The dashboard is what people look at, and no part of the API.
        let is_dashboard = |route: &String| {
            let path = route.trim_start_matches("GET ");
            dashboard::PATHS.contains(&path) || path == dashboard::FILES
        };
        let in_the_list: BTreeSet<String> =
            in_the_list.into_iter().filter(|route| !is_dashboard(route)).collect();
        let mut described = BTreeSet::new();
        for (path, operations) in document()["paths"].as_object().expect("paths") {
            for method in operations.as_object().expect("operations").keys() {
                described.insert(format!("{} {path}", method.to_uppercase()));
            }
        }
        assert_eq!(described, in_the_list);
    }

    #[test]
    fn the_description_is_described_as_what_it_is() {
        let get = &document()["paths"]["/openapi.json"]["get"];
        let content = &get["responses"]["200"]["content"]["application/json"];
        assert_eq!(content["schema"]["type"], "object");
    }

    #[test]
    fn every_reference_leads_somewhere() {
        fn references(value: &Value, found: &mut BTreeSet<String>) {
            match value {
                Value::Object(fields) => {
                    if let Some(Value::String(to)) = fields.get("$ref") {
                        found.insert(to.clone());
                    }
                    fields.values().for_each(|field| references(field, found));
                }
                Value::Array(items) => items.iter().for_each(|item| references(item, found)),
                Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
            }
        }
        let mut found = BTreeSet::new();
        references(document(), &mut found);
        assert!(!found.is_empty());
        for to in found {
            let pointer = to.strip_prefix('#').expect("inside the document");
            assert!(document().pointer(pointer).is_some(), "{to}");
        }
    }

    #[test]
    fn what_some_see_only_at_a_glance_is_described_so() {
        for (path, whole) in [("agents", "Agent"), ("channels", "Channel")] {
            let answer = &document()["paths"][format!("/api/v1/{path}")]["get"]["responses"]["200"];
            let list = answer.pointer("/content/application~1json/schema/$ref").expect("a list");
            let list = document().pointer(list.as_str().expect("a reference").trim_start_matches('#'));
            let of = &list.expect("a list")["properties"]["items"]["items"];
            let named = |name: &str| json!({ "$ref": format!("#/components/schemas/{name}") });
            assert_eq!(of["anyOf"], json!([named(whole), named(&format!("{whole}Glance"))]), "{path}");
        }
    }

    #[test]
    fn every_operation_says_what_it_does_and_each_answer_what_it_is() {
        for (path, operations) in document()["paths"].as_object().expect("paths") {
            for (method, operation) in operations.as_object().expect("operations") {
                assert!(operation["summary"].is_string(), "{method} {path}");
                for (status, response) in operation["responses"].as_object().expect("responses") {
                    let words = response["description"].as_str().unwrap_or_default();
                    assert!(!words.is_empty(), "{method} {path} {status}");
                }
            }
        }
    }
}
