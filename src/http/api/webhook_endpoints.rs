//! Webhook endpoints: who outside receives events. For admins. Secrets are shown once, when they are made.

use actix_web::web::{Data, Path};
use serde::Deserialize;
use utoipa::ToSchema;
use uuid::Uuid;

use super::{Answered, page_of, shown, tokens};
use crate::{
    domain::{
        docket::Entry,
        endpoint::{self, ENDPOINT, State},
        event::EventType,
    },
    flow::{
        back_office::audit::Deed,
        desk::Refusal,
        notify::{
            self,
            endpoints::{self, Delivery, ENDPOINTS_MAX, Summary},
        },
    },
    http::{
        answer::Answer,
        auth::Caller,
        doors::Doors,
        idempotent,
        problem::Problem,
        read::{self, IdempotencyKey, Json, Nothing, Optional, Query, WhichPage, given},
        wire::{ALL_EVENTS, Endpoint, EndpointStateWord, Id, List, NewEndpoint, WebhookDelivery},
    },
};

/// Longest description.
const DESCRIPTION_MAX: usize = 200;

/// Most endpoints that an admin of some channels adds: there are as many as all together may have.
const OF_SOME_CHANNELS_MAX: usize = 10;

/// How long the previous secret signs too after a change.
const BOTH_SIGN_MS: i64 = 86_400_000;

/// Endpoints, the oldest first.
#[utoipa::path(get, path = "/api/v1/webhook-endpoints", tag = "Webhooks", params(WhichPage),
    responses((status = 200, body = List<Endpoint>)))]
pub(crate) async fn list(doors: Data<Doors>, caller: Caller, query: Query<WhichPage>) -> Answered {
    let page = query.0.page()?;
    let mut all = doors.endpoints.endpoints().await?;
    all.retain(|standing| is_shown(&caller, standing));
    let all = all.into_iter().map(|standing| without_others(&caller, standing)).collect();
    let page = page_of(all, &page, |it| (it.endpoint.created_at.0, it.endpoint.id))?;
    Ok(Answer::ok(&List::of(page, Endpoint::from)))
}

/// One endpoint.
#[utoipa::path(get, path = "/api/v1/webhook-endpoints/{id}", tag = "Webhooks", params(("id" = Id, Path,)),
    responses((status = 200, body = Endpoint)))]
pub(crate) async fn one(doors: Data<Doors>, caller: Caller, id: Path<Id>) -> Answered {
    Ok(Answer::ok(&Endpoint::from(seen(&doors, &caller, id.0).await?)))
}

/// An endpoint to add.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = WebhookEndpointRequest)]
pub(crate) struct WebhookEndpointRequest {
    /// Where events are posted: https, at a host that anyone may reach, unless `BATON_WEBHOOK_HOSTS` names it.
    url: String,
    /// Types of events. `["*"]`, null or left out: all.
    events: Option<Vec<String>>,
    /// Of which channels; null or left out: of all that you may see.
    channels: Option<Vec<String>>,
    /// What it is for.
    description: Option<String>,
}

/// Adds an endpoint, which receives what happens from now on. Its secret is shown this once. A repeat with the same
/// `Idempotency-Key` answers as the first did.
#[utoipa::path(post, path = "/api/v1/webhook-endpoints", tag = "Webhooks", request_body = WebhookEndpointRequest,
    params(("Idempotency-Key" = Option<String>, Header, description = "1 to 255 characters")),
    responses((status = 201, body = NewEndpoint)))]
pub(crate) async fn add(
    doors: Data<Doors>,
    caller: Caller,
    once: IdempotencyKey,
    body: Json<WebhookEndpointRequest>,
) -> Answered {
    let request = once.of(&caller, body.hash());
    idempotent::once(&doors, request, added(&doors, &caller, body.value)).await
}

async fn added(doors: &Doors, caller: &Caller, wanted: WebhookEndpointRequest) -> Answered {
    let now = (doors.now)();
    let made = endpoint::Endpoint {
        id: Uuid::now_v7(),
        url: url(doors, caller, wanted.url)?,
        events: wanted.events.map(events).transpose()?.flatten(),
        channels: tokens::channels(doors, caller, wanted.channels).await?,
        description: wanted.description.map(description).transpose()?,
        state: State::Active,
        disabled_reason: None,
        failing_since: None,
        created_at: now,
        updated_at: now,
    };
    let (secret, sealed) = fresh_secret(doors)?;
    if caller.channels.is_some() {
        let seen =
            doors.endpoints.endpoints().await?.into_iter().filter(|standing| is_shown(caller, standing));
        if seen.count() >= OF_SOME_CHANNELS_MAX {
            return Err(too_many(OF_SOME_CHANNELS_MAX));
        }
    }
    if !doors.endpoints.add_endpoint(&made, sealed).await? {
        return Err(too_many(ENDPOINTS_MAX));
    }
    noted(doors, caller, &made, made.channels.as_deref(), "added", Deed::EndpointAdded).await;
    let location = format!("/api/v1/webhook-endpoints/{}", made.id);
    let kept = Endpoint::from(Summary { endpoint: made, waiting: 0, last: None });
    Ok(Answer::created(location, &NewEndpoint { kept, secret }))
}

fn too_many(most: usize) -> Problem {
    Problem::conflict("too_many", format!("there are {most} endpoints, and no more than that"), None)
}

/// What is to be changed; what is left out stays.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = WebhookEndpointChange)]
pub(crate) struct WebhookEndpointChange {
    url: Option<String>,
    /// `["*"]` or null: all.
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<Vec<String>>)]
    events: Option<Option<Vec<String>>>,
    /// Null: all that you may see.
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<Vec<String>>)]
    channels: Option<Option<Vec<String>>>,
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<String>)]
    description: Option<Option<String>>,
    /// `active` or `paused`. What happens while an endpoint is paused or disabled is delivered when it is active again.
    state: Option<EndpointStateWord>,
}

/// Changes an endpoint: pauses it, or makes it active again, also after it was switched off.
#[utoipa::path(patch, path = "/api/v1/webhook-endpoints/{id}", tag = "Webhooks", params(("id" = Id, Path,)),
    request_body = WebhookEndpointChange, responses((status = 200, body = Endpoint)))]
pub(crate) async fn change(
    doors: Data<Doors>,
    caller: Caller,
    id: Path<Id>,
    body: Json<WebhookEndpointChange>,
) -> Answered {
    let wanted = body.value;
    let before = seen(&doors, &caller, id.0).await?.endpoint;
    if wanted.state.is_some_and(|word| word.0 == State::Disabled) {
        return Err(Problem::invalid("/state", "must be active or paused"));
    }
    let channels = match wanted.channels {
        Some(channels) => Some(tokens::channels(&doors, &caller, channels).await?),
        None => None,
    };
    let change = endpoints::Change {
        url: wanted.url.map(|text| url(&doors, &caller, text)).transpose()?,
        events: match wanted.events {
            Some(words) => Some(words.map(events).transpose()?.flatten()),
            None => None,
        },
        channels,
        description: match wanted.description {
            Some(text) => Some(text.map(description).transpose()?),
            None => None,
        },
        state: wanted.state.map(|word| word.0),
        within: caller.channels.clone(),
    };
    if !doors.endpoints.change_endpoint(id.0, &change, (doors.now)()).await? {
        return Err(Problem::not_found());
    }
    let now = change.channels.unwrap_or_else(|| before.channels.clone());
    noted(&doors, &caller, &before, now.as_deref(), "changed", Deed::EndpointChanged).await;
    one(doors, caller, id).await
}

/// Removes an endpoint, and the deliveries it was still owed.
#[utoipa::path(delete, path = "/api/v1/webhook-endpoints/{id}", tag = "Webhooks", params(("id" = Id, Path,)),
    responses((status = 204)))]
pub(crate) async fn remove(doors: Data<Doors>, caller: Caller, id: Path<Id>) -> Answered {
    let gone = seen(&doors, &caller, id.0).await?.endpoint;
    if !doors.endpoints.remove_endpoint(id.0, caller.channels.as_deref()).await? {
        return Err(Problem::not_found());
    }
    noted(&doors, &caller, &gone, gone.channels.as_deref(), "removed", Deed::EndpointRemoved).await;
    Ok(Answer::empty())
}

/// Makes another secret, and shows it this once. The one before signs too for 24 hours. A repeat with the same
/// `Idempotency-Key` answers as the first did.
#[utoipa::path(post, path = "/api/v1/webhook-endpoints/{id}/rotate-secret", tag = "Webhooks",
    params(("id" = Id, Path,), ("Idempotency-Key" = Option<String>, Header, description = "1 to 255 characters")),
    responses((status = 200, body = NewEndpoint)))]
pub(crate) async fn rotate_secret(
    doors: Data<Doors>,
    caller: Caller,
    once: IdempotencyKey,
    id: Path<Id>,
    _: Optional<Nothing>,
) -> Answered {
    // Before an answer that was kept, which shows a secret: they may have lost the sight of it since.
    let kept = seen(&doors, &caller, id.0).await?;
    let request = once.of(&caller, String::new());
    idempotent::once(&doors, request, rotated(&doors, &caller, kept)).await
}

async fn rotated(doors: &Doors, caller: &Caller, standing: Summary) -> Answered {
    let (id, of) = (standing.endpoint.id, standing.endpoint.clone());
    let kept = Endpoint::from(standing);
    let (secret, sealed) = fresh_secret(doors)?;
    let until = (doors.now)().plus_ms(BOTH_SIGN_MS);
    if !doors.endpoints.change_secret(id, sealed, until, caller.channels.as_deref()).await? {
        return Err(Problem::not_found());
    }
    noted(doors, caller, &of, of.channels.as_deref(), "secret_rotated", Deed::EndpointChanged).await;
    Ok(Answer::ok(&NewEndpoint { kept, secret }))
}

/// Tells an endpoint `endpoint_tested`, once and now, whatever its state, and shows how that went.
#[utoipa::path(post, path = "/api/v1/webhook-endpoints/{id}/test", tag = "Webhooks",
    params(("id" = Id, Path,), ("Idempotency-Key" = Option<String>, Header, description = "1 to 255 characters")),
    responses((status = 200, body = WebhookDelivery)))]
pub(crate) async fn test(
    doors: Data<Doors>,
    caller: Caller,
    once: IdempotencyKey,
    id: Path<Id>,
    _: Optional<Nothing>,
) -> Answered {
    seen(&doors, &caller, id.0).await?;
    let request = once.of(&caller, String::new());
    let work = async {
        let tested = doors.notifier.test(id.0).await?.ok_or_else(Problem::not_found)?;
        Ok(Answer::ok(&WebhookDelivery::from(tested)))
    };
    idempotent::once(&doors, request, work).await
}

/// Deliveries made and owed to an endpoint on channels that you may see, the newest first. What has ended is kept for three days.
#[utoipa::path(get, path = "/api/v1/webhook-endpoints/{id}/deliveries", tag = "Webhooks",
    params(("id" = Id, Path,), WhichPage), responses((status = 200, body = List<WebhookDelivery>)))]
pub(crate) async fn deliveries(
    doors: Data<Doors>,
    caller: Caller,
    id: Path<Id>,
    query: Query<WhichPage>,
) -> Answered {
    let page = query.0.page()?;
    seen(&doors, &caller, id.0).await?;
    let page = doors.endpoints.deliveries(id.0, caller.channels.as_deref(), &page).await?;
    Ok(Answer::ok(&List::of(page, WebhookDelivery::from)))
}

/// Redelivers something to an endpoint, before what came later in that conversation, for another day. A test is not repeated
/// this way, nor what the endpoint no longer receives, nor what is no longer kept: 409 `not_retryable`.
#[utoipa::path(post, path = "/api/v1/webhook-endpoints/{id}/deliveries/{delivery_id}/retry", tag = "Webhooks",
    params(("id" = Id, Path,), ("delivery_id" = Id, Path,)), responses((status = 202, body = WebhookDelivery)))]
pub(crate) async fn retry(
    doors: Data<Doors>,
    caller: Caller,
    ids: Path<(Id, Id)>,
    _: Optional<Nothing>,
) -> Answered {
    let (id, delivery) = (ids.0.0, ids.1.0);
    seen(&doors, &caller, id).await?;
    of_endpoint(&doors, &caller, id, delivery).await?;
    let outcome = doors.desk.tell_again(delivery, &caller.who()).await;
    let now = WebhookDelivery::from(of_endpoint(&doors, &caller, id, delivery).await?);
    match outcome {
        Ok(()) => Ok(Answer::accepted(&now)),
        Err(refusal @ Refusal::Conflict { .. }) => {
            Err(Problem::from(refusal).with_current(Some(shown(&now))))
        }
        Err(refusal) => Err(refusal.into()),
    }
}

async fn of_endpoint(
    doors: &Doors,
    caller: &Caller,
    endpoint: Uuid,
    delivery: Uuid,
) -> Result<Delivery, Problem> {
    let found = doors.endpoints.delivery(delivery).await?;
    found.filter(|it| it.endpoint == endpoint && is_theirs(caller, it)).ok_or_else(Problem::not_found)
}

/// What an endpoint received before it was narrowed may be of channels that they do not see. Tests are of none.
fn is_theirs(caller: &Caller, delivery: &Delivery) -> bool {
    delivery.event.is_none() || caller.sees(&delivery.channel)
}

fn without_others(caller: &Caller, standing: Summary) -> Summary {
    let last = standing.last.filter(|last| is_theirs(caller, last));
    Summary { last, ..standing }
}

/// Admins see the endpoints that receive no more than they see.
fn is_shown(caller: &Caller, standing: &Summary) -> bool {
    caller.sees_all_of(standing.endpoint.channels.as_deref())
}

async fn seen(doors: &Doors, caller: &Caller, id: Uuid) -> Result<Summary, Problem> {
    let found = doors.endpoints.endpoint(id).await?;
    let found = found.filter(|standing| is_shown(caller, standing)).ok_or_else(Problem::not_found)?;
    Ok(without_others(caller, found))
}

/// Notes it, and tells those who look at a list that has it, or had. Not where it is: that may hold a secret.
async fn noted(
    doors: &Doors,
    caller: &Caller,
    endpoint: &endpoint::Endpoint,
    channels: Option<&[String]>,
    action: &'static str,
    deed: Deed,
) {
    doors.note(doors.deed(caller, deed).to(endpoint.id).with("action", action)).await;
    let event = Entry::of(EventType::EndpointUpdated).action(action).by(&caller.actor);
    let event = event.with(ENDPOINT, endpoint.id.to_string());
    let event = event.for_channels(channels, endpoint.channels.as_deref());
    doors.tell(event.outside("", (doors.now)())).await;
}

fn fresh_secret(doors: &Doors) -> Result<(String, Vec<u8>), Problem> {
    let secret = notify::fresh_secret().map_err(|error| tokens::no_random(&error))?;
    let sealed = doors.vault.seal(secret.as_bytes()).ok_or_else(Problem::internal)?;
    Ok((secret, sealed))
}

/// An admin of some channels has been trusted with numbers and not with the network around Baton.
fn url(doors: &Doors, caller: &Caller, url: String) -> Result<String, Problem> {
    // Addresses are read so that what they must not hold is left out of them, and it is kept as it was typed.
    if url.chars().any(char::is_control) {
        return Err(Problem::invalid("/url", "must not hold control characters"));
    }
    let receivers = &doors.notifier.receivers;
    if let Some(why) = receivers.refuses(&url) {
        return Err(Problem::invalid("/url", why));
    }
    if caller.channels.is_some() && receivers.is_named(&url) {
        return Err(Problem::forbidden(
            "a host that BATON_WEBHOOK_HOSTS names is for an admin of all channels",
        ));
    }
    Ok(url)
}

/// None: all of them.
fn events(words: Vec<String>) -> Result<Option<Vec<EventType>>, Problem> {
    match words.as_slice() {
        [] => Err(Problem::invalid("/events", format!("must name some, or be [\"{ALL_EVENTS}\"]"))),
        [all] if all == ALL_EVENTS => Ok(None),
        some => {
            let read = |(at, word): (usize, &String)| {
                let unknown = |_| Problem::invalid(format!("/events/{at}"), "there is no such type of event");
                word.parse::<EventType>().map_err(unknown)
            };
            some.iter().enumerate().map(read).collect::<Result<_, _>>().map(Some)
        }
    }
}

fn description(text: String) -> Result<String, Problem> {
    read::text("/description", text, DESCRIPTION_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_all_or_named_one_by_one() {
        let of = |words: &[&str]| events(words.iter().map(ToString::to_string).collect());
        assert_eq!(of(&["*"]).expect("all"), None);
        let two = of(&["message_sent", "message_received"]).expect("two");
        assert_eq!(two, Some(vec![EventType::MessageSent, EventType::MessageReceived]));
        for wrong in [&[][..], &["*", "message_sent"], &["message_*"], &["message_sent", "no_such"], &[""]] {
            assert!(of(wrong).is_err(), "{wrong:?}");
        }
    }
}
