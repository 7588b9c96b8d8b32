//! The sandbox: how it behaves, what the contact's phone shows, and the business's own phone.

use std::sync::Arc;

use actix_web::web::{Data, Path};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::Answered;
use crate::{
    domain::{docket::Entry, event::EventType},
    flow::{desk::TEXT_MAX, provider::SANDBOX},
    http::{
        answer::Answer,
        auth::Caller,
        doors::Doors,
        ports::{self, SandboxDoor},
        problem::Problem,
        read::{self, Json},
        webhook::{Taken, as_taken},
        wire::{At, DeliveryStateWord, ModelFaultWord, ProviderFaultWord, Word},
    },
};

/// Longest delay of its model and provider.
const DELAY_MAX_MS: i64 = 600_000;

/// The sandbox, if it is on, with its channel, and there for the caller.
pub(crate) fn open(doors: &Doors, caller: &Caller) -> Result<Arc<dyn SandboxDoor>, Problem> {
    let is_there = |sandbox: &Arc<dyn SandboxDoor>| sandbox.is_there() && caller.sees(SANDBOX);
    doors.sandbox.clone().filter(is_there).ok_or_else(Problem::not_found)
}

/// How the sandbox behaves.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Behaviour {
    model_delay_ms: i64,
    model_fault: ModelFaultWord,
    provider_delay_ms: i64,
    provider_fault: ProviderFaultWord,
    /// Each webhook is delivered twice.
    duplicate_webhooks: bool,
}

impl From<ports::Behaviour> for Behaviour {
    fn from(behaviour: ports::Behaviour) -> Self {
        Self {
            model_delay_ms: behaviour.model_delay_ms,
            model_fault: Word(behaviour.model_fault),
            provider_delay_ms: behaviour.provider_delay_ms,
            provider_fault: Word(behaviour.provider_fault),
            duplicate_webhooks: behaviour.duplicate_webhooks,
        }
    }
}

/// How it behaves.
#[utoipa::path(get, path = "/api/v1/sandbox", tag = "Sandbox", responses((status = 200, body = Behaviour)))]
pub(crate) async fn behaviour(doors: Data<Doors>, caller: Caller) -> Answered {
    Ok(Answer::ok(&Behaviour::from(open(&doors, &caller)?.behaviour())))
}

/// What is to be changed; what is left out stays.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = SandboxChange)]
pub(crate) struct SandboxChange {
    model_delay_ms: Option<i64>,
    model_fault: Option<ModelFaultWord>,
    provider_delay_ms: Option<i64>,
    provider_fault: Option<ProviderFaultWord>,
    duplicate_webhooks: Option<bool>,
}

/// Changes how it behaves.
#[utoipa::path(patch, path = "/api/v1/sandbox", tag = "Sandbox", request_body = SandboxChange,
    responses((status = 200, body = Behaviour)))]
pub(crate) async fn behave(doors: Data<Doors>, caller: Caller, body: Json<SandboxChange>) -> Answered {
    let sandbox = open(&doors, &caller)?;
    let (change, is) = (body.value, sandbox.behaviour());
    let behaviour = ports::Behaviour {
        model_delay_ms: delay("/model_delay_ms", change.model_delay_ms, is.model_delay_ms)?,
        model_fault: change.model_fault.map_or(is.model_fault, |word| word.0),
        provider_delay_ms: delay("/provider_delay_ms", change.provider_delay_ms, is.provider_delay_ms)?,
        provider_fault: change.provider_fault.map_or(is.provider_fault, |word| word.0),
        duplicate_webhooks: change.duplicate_webhooks.unwrap_or(is.duplicate_webhooks),
    };
    sandbox.behave(behaviour);
    let event = Entry::of(EventType::SandboxUpdated).action("changed").by(&caller.actor);
    doors.tell(event.outside(SANDBOX, (doors.now)())).await;
    Ok(Answer::ok(&Behaviour::from(behaviour)))
}

fn delay(pointer: &str, wanted: Option<i64>, is: i64) -> Result<i64, Problem> {
    match wanted {
        None => Ok(is),
        Some(ms) if (0..=DELAY_MAX_MS).contains(&ms) => Ok(ms),
        Some(_) => Err(Problem::invalid(pointer, format!("must be 0 to {DELAY_MAX_MS}"))),
    }
}

/// What the contact's phone shows.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Screen {
    /// The business is typing.
    typing: bool,
    /// Oldest first.
    messages: Vec<Bubble>,
}

#[derive(Debug, Serialize, ToSchema)]
struct Bubble {
    id: String,
    /// `contact` or `business`.
    author: &'static str,
    text: String,
    at: At,
    /// `sent`, `delivered` or `read`.
    status: DeliveryStateWord,
}

/// What the contact's phone shows.
#[utoipa::path(get, path = "/api/v1/sandbox/chats/{chat_id}", tag = "Sandbox",
    params(("chat_id" = String, Path,)), responses((status = 200, body = Screen)))]
pub(crate) async fn screen(doors: Data<Doors>, caller: Caller, chat: Path<String>) -> Answered {
    let sandbox = open(&doors, &caller)?;
    let screen = sandbox.screen(&read::chat("/chat_id", &chat)?);
    let messages = screen.messages.into_iter().map(|bubble| Bubble {
        id: bubble.id,
        author: if bubble.from_contact { "contact" } else { "business" },
        text: bubble.text,
        at: At(bubble.at),
        status: Word(bubble.status),
    });
    Ok(Answer::ok(&Screen { typing: screen.typing, messages: messages.collect() }))
}

/// A message of the business's own phone.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PhoneMessage {
    #[schema(min_length = 1, max_length = 20_000)]
    text: String,
}

/// The business's own phone writes: a takeover by phone.
#[utoipa::path(post, path = "/api/v1/sandbox/chats/{chat_id}/phone-message", tag = "Sandbox",
    params(("chat_id" = String, Path,)), request_body = PhoneMessage, responses((status = 200, body = Taken)))]
pub(crate) async fn phone_message(
    doors: Data<Doors>,
    caller: Caller,
    chat: Path<String>,
    body: Json<PhoneMessage>,
) -> Answered {
    let sandbox = open(&doors, &caller)?;
    let text = read::text("/text", body.value.text, TEXT_MAX)?;
    let verdict = sandbox.phone_message(&read::chat("/chat_id", &chat)?, text).await?;
    Ok(Answer::ok(&as_taken(verdict)))
}
