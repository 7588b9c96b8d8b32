//! The doors through which messages come in: the provider's, and the sandbox's. A body goes to intake, and only when
//! its effect is committed is it answered 200.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use actix_web::{
    HttpRequest, HttpResponse,
    http::{StatusCode, header},
    web::{Data, Path, Payload},
};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use subtle::{Choice, ConstantTimeEq};
use utoipa::ToSchema;

use super::{
    answer::{Answer, to_json},
    api::sandbox,
    auth::{Caller, digest},
    doors::Doors,
    ports::Secret,
    problem::Problem,
    read::{self, Json},
    wire::{Id, KindWord},
};
use crate::{
    domain::{chat::ChatId, message::Kind},
    flow::{
        intake::{self, Verdict},
        ledger,
    },
};

/// Refused webhooks are logged at most this often.
const TELL_EVERY: Duration = Duration::from_secs(60);

/// Most messages that the sandbox takes at once.
const SANDBOX_MAX: usize = 1_000;

/// Longest text of the sandbox's contacts.
const SANDBOX_TEXT_MAX: usize = 65_536;

/// What became of a webhook.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Stored {
    /// `accepted`, `duplicate`, `ignored` or `dead_letter`.
    status: &'static str,
}

/// What became of a message of the sandbox.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Taken {
    /// `accepted`, `duplicate`, `ignored` or `dead_letter`.
    status: &'static str,
    message_id: Option<Id>,
}

pub(crate) fn as_taken(verdict: Verdict) -> Taken {
    let message_id = match verdict {
        Verdict::Accepted(id) | Verdict::Duplicate(id) => id.map(Id),
        Verdict::Ignored | Verdict::DeadLetter => None,
    };
    Taken { status: verdict.as_str(), message_id }
}

/// Takes a webhook of Green API.
///
/// Whatever it says, it is 200 once it is stored. 401 (empty) without one of the channel's webhook tokens, 503 if it
/// could not be stored: the provider then sends it again.
#[utoipa::path(post, path = "/webhooks/green-api/{channel}", tag = "Webhooks", params(("channel" = String, Path,)),
    request_body(content = Object, description = "As Green API posts it; anything is accepted."),
    responses((status = 200, body = Stored), (status = 401, description = "Empty.")))]
pub(crate) async fn green_api(
    request: HttpRequest,
    channel: Path<String>,
    doors: Data<Doors>,
    payload: Payload,
) -> HttpResponse {
    let began = Instant::now();
    let (result, response) = match take(&request, channel.into_inner(), doors.into_inner(), payload).await {
        Ok(verdict) => {
            let body = to_json(&Stored { status: verdict.as_str() });
            (verdict.as_str(), HttpResponse::Ok().content_type("application/json").body(body))
        }
        Err(problem) if problem.status() == StatusCode::UNAUTHORIZED => {
            (problem.code(), HttpResponse::Unauthorized().finish())
        }
        Err(problem) => (problem.code(), problem.respond()),
    };
    intake::count(result, 1);
    metrics::histogram!("baton_webhook_seconds").record(began.elapsed());
    response
}

/// Webhooks are counted from 0 on, however they are answered.
pub(super) fn count_from_zero() {
    let problems = [Problem::unauthorized(), Problem::not_found(), Problem::unavailable("")];
    let words = Verdict::EACH.into_iter().map(Verdict::as_str).chain(problems.iter().map(Problem::code));
    words.for_each(|word| intake::count(word, 0));
}

/// A token that was changed on one side only stalls the provider's queue: somebody should hear of it, though not of
/// each try.
fn tell_refused(channel: &str) {
    static TOLD: Mutex<BTreeMap<String, Instant>> = Mutex::new(BTreeMap::new());
    let mut told = TOLD.lock().unwrap_or_else(PoisonError::into_inner);
    if told.get(channel).is_none_or(|at| at.elapsed() >= TELL_EVERY) {
        told.insert(channel.to_owned(), Instant::now());
        tracing::warn!(
            channel,
            "a webhook without the channel's token was refused; more in the next minute are not logged"
        );
    }
}

async fn take(
    request: &HttpRequest,
    channel: String,
    doors: Arc<Doors>,
    payload: Payload,
) -> Result<Verdict, Problem> {
    let tokens = webhook_tokens(&doors, &channel).await?;
    let given = request.headers().get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
    if !is_right(given.unwrap_or_default(), &tokens) {
        tell_refused(&channel);
        return Err(Problem::unauthorized());
    }
    let body = read::body(request, payload, read::BODY_MAX_BYTES).await?;
    let intake = Arc::clone(&doors.intake);
    doors.run(async move { intake.take(&channel, &body).await }).await?.map_err(not_stored)
}

/// Those of a channel that is not known yet are looked up on the main runtime: a connection to the store that is opened here
/// would end with this thread, under whoever uses it then.
async fn webhook_tokens(doors: &Arc<Doors>, channel: &str) -> Result<Vec<Secret>, Problem> {
    if let Some(tokens) = doors.channels.webhook_tokens(channel) {
        return Ok(tokens);
    }
    let (channels, name) = (Arc::clone(&doors.channels), channel.to_owned());
    doors.run(async move { channels.knows(&name).await }).await?;
    doors.channels.webhook_tokens(channel).ok_or_else(Problem::not_found)
}

/// Whatever the reason, the provider must send it again.
fn not_stored(error: ledger::Error) -> Problem {
    match error {
        ledger::Error::Unavailable(_) => error.into(),
        ledger::Error::Gone
        | ledger::Error::Removed(_)
        | ledger::Error::NotACursor
        | ledger::Error::Refused(_) => {
            tracing::error!(error = error.cause(), "a webhook was not stored");
            Problem::unavailable("the webhook was not stored")
        }
    }
}

/// Whether the header carries one of these tokens: `Bearer T`, `Basic T` or bare `T`. A token may itself have been
/// configured with such a word before it. Each is compared in constant time, by digests of equal length, and all of
/// them in any case.
fn is_right(given: &str, tokens: &[Secret]) -> bool {
    let given = digest(without_scheme(given));
    let right = tokens
        .iter()
        .map(|token| without_scheme(&token.0))
        .filter(|token| !token.is_empty())
        .map(|token| given.ct_eq(&digest(token)))
        .fold(Choice::from(0), |any, this| any | this);
    right.into()
}

/// A scheme alone is no token, though somebody may have configured one so.
fn without_scheme(authorization: &str) -> &str {
    let trimmed = authorization.trim();
    let (first, rest) = trimmed.split_once(' ').unwrap_or((trimmed, ""));
    let is_scheme = first.eq_ignore_ascii_case("bearer") || first.eq_ignore_ascii_case("basic");
    if is_scheme { rest.trim_start() } else { trimmed }
}

/// What a contact of the sandbox writes.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[allow(dead_code, reason = "only checked here: the sandbox's own provider reads it")]
pub(crate) struct SandboxMessage {
    chat_id: String,
    /// The contact's name.
    name: Option<String>,
    text: String,
    /// The same id twice is a duplicate; made if left out.
    id: Option<String>,
    /// `text` if left out.
    kind: Option<KindWord>,
}

/// One of them, or an array.
#[derive(Serialize, ToSchema)]
#[serde(untagged)]
#[allow(dead_code, reason = "what comes in is read one by one, each with its place")]
pub(crate) enum OneOrSeveral<T> {
    One(T),
    Several(Vec<T>),
}

/// Takes what contacts of the sandbox write: one message, or an array of them, all of one chat, stored in one transaction.
#[utoipa::path(post, path = "/webhooks/sandbox", tag = "Webhooks",
    request_body(content = OneOrSeveral<SandboxMessage>, description = "One message, or an array of them, all of one chat."),
    responses((status = 200, body = OneOrSeveral<Taken>, description = "For an array, an array of these.")))]
pub(crate) async fn sandbox(
    doors: Data<Doors>,
    caller: Caller,
    body: Json<Value>,
) -> Result<Answer, Problem> {
    let sandbox = sandbox::open(&doors, &caller)?;
    let (bodies, is_one) = match body.value {
        Value::Array(bodies) => (bodies, false),
        one => (vec![one], true),
    };
    if bodies.len() > SANDBOX_MAX {
        return Err(Problem::invalid("", format!("at most {SANDBOX_MAX} messages at once")));
    }
    let mut first = None;
    for (at, body) in bodies.iter().enumerate() {
        let at = if is_one { String::new() } else { format!("/{at}") };
        let chat = check(&at, body)?;
        if *first.get_or_insert_with(|| chat.clone()) != chat {
            let detail = "an array is taken in one transaction, which is of one chat";
            return Err(Problem::invalid(format!("{at}/chat_id"), detail));
        }
    }
    let verdicts = sandbox.take(bodies).await.map_err(not_stored)?;
    let mut taken = verdicts.into_iter().map(as_taken);
    Ok(Answer::ok(&match is_one {
        true => OneOrSeveral::One(taken.next().ok_or_else(Problem::internal)?),
        false => OneOrSeveral::Several(taken.collect()),
    }))
}

/// Whether it can be taken; the chat it is of.
fn check(at: &str, body: &Value) -> Result<ChatId, Problem> {
    let message: SandboxMessage = read::from_value(at, body)?;
    let chat = read::chat(&format!("{at}/chat_id"), &message.chat_id)?;
    if message.kind.is_some_and(|kind| kind.0 == Kind::Note) {
        return Err(Problem::invalid(format!("{at}/kind"), "no contact writes notes"));
    }
    if message.text.chars().count() > SANDBOX_TEXT_MAX || message.text.contains('\0') {
        let detail = format!("must have at most {SANDBOX_TEXT_MAX} characters, and no zero character");
        return Err(Problem::invalid(format!("{at}/text"), detail));
    }
    for (name, value) in [("name", message.name), ("id", message.id)] {
        if let Some(value) = value {
            read::text(&format!("{at}/{name}"), value, 256)?;
        }
    }
    Ok(chat)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_taken_in_each_of_its_forms_and_nothing_else_is() {
        #[rustfmt::skip]
        let table = [
            // given               configured       right
            ("Bearer secret",      "secret",        true),
            ("bearer secret",      "secret",        true),
            ("Basic secret",       "secret",        true),
            ("secret",             "secret",        true),
            ("Bearer secret",      "Bearer secret", true),
            ("Basic secret",       "Bearer secret", true),
            ("secret",             "Basic secret",  true),
            ("Bearer  secret ",    "secret",        true),
            ("Bearer secret2",     "secret",        false),
            ("Bearer Bearer secret", "secret",      false),
            ("Digest secret",      "secret",        false),
            ("Secret",             "secret",        false),
            ("",                   "secret",        false),
            ("Bearer",             "secret",        false),
            ("Bearer ",            "secret",        false),
            ("",                   "",              false),
            ("Bearer ",            "Bearer ",       false),
            ("Bearer",             "Bearer",        false),
        ];
        for (given, configured, right) in table {
            assert_eq!(
                is_right(given, &[Secret(configured.to_owned())]),
                right,
                "{given:?} for {configured:?}"
            );
        }
    }

    #[test]
    fn during_a_change_either_token_opens() {
        let tokens = [Secret("new".to_owned()), Secret("old".to_owned())];
        assert!(is_right("Bearer new", &tokens) && is_right("Bearer old", &tokens));
        assert!(!is_right("Bearer other", &tokens) && !is_right("Bearer new", &[]));
    }
}
