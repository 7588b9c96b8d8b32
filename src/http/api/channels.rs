//! Channels: numbers of the business. Their secrets go in, encrypted, and never come out.

use actix_web::web::{Data, Path};
use serde::Deserialize;
use serde_json::{Map, Value};
use utoipa::ToSchema;

use super::{Answered, gateways, page_of, shown, tokens::new_secret};
use crate::{
    domain::{docket::Entry, event::EventType, policy::WEBHOOK_TOKEN_MIN},
    flow::{
        back_office::{audit::Deed, registry},
        provider::{GREEN_API, SANDBOX},
    },
    http::{
        answer::Answer,
        auth::Caller,
        doors::Doors,
        idempotent,
        ports::Secrets,
        problem::Problem,
        read::{self, IdempotencyKey, Json, Nothing, Optional, Query, WhichPage, given},
        wire::{Channel, List, ShownChannel},
    },
};

/// Longest title, instance, address or secret.
const WORDS_MAX: usize = 200;

/// The setting that only an admin of all channels overrides: they pay.
const CEILING: &str = "ai_spend_per_day";
/// How often a change is made again on what others have changed at the same moment.
const CHANGES_MAX: usize = 8;

/// Channels by name. Who may not change them sees their name, title and state.
#[utoipa::path(get, path = "/api/v1/channels", tag = "Channels", params(WhichPage),
    responses((status = 200, body = List<ShownChannel>)))]
pub(crate) async fn list(doors: Data<Doors>, caller: Caller, query: Query<WhichPage>) -> Answered {
    let page = query.0.page()?;
    let mut all = doors.registry.channels().await?;
    all.retain(|channel| caller.sees(&channel.name));
    let page = page_of(all, &page, |channel| channel.name.clone())?;
    Ok(Answer::ok(&List::of(page, |channel| ShownChannel::by(caller.role, channel))))
}

/// One channel.
#[utoipa::path(get, path = "/api/v1/channels/{name}", tag = "Channels", params(("name" = String, Path,)),
    responses((status = 200, body = ShownChannel)))]
pub(crate) async fn one(doors: Data<Doors>, caller: Caller, name: Path<String>) -> Answered {
    let channel = seen(&doors, &caller, &name).await?;
    Ok(Answer::ok(&ShownChannel::by(caller.role, channel)))
}

/// A channel to add.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = NewChannel)]
pub(crate) struct NewChannel {
    /// `[a-z0-9-]{1,40}`, and not `sandbox`; never changes.
    name: String,
    title: Option<String>,
    /// `green_api`.
    provider: String,
    instance: String,
    /// Where the account is; null or left out: where `BATON_GREEN_API_URL` says. An admin who may not see all channels names
    /// addresses of Green API alone, or at the host of that setting: else 403.
    api_url: Option<String>,
    token: String,
    /// With which the provider posts; made if left out, and shown unless notifications are fetched (`BATON_GREEN_API_RECEIVE`).
    webhook_token: Option<String>,
    /// The one before, valid too.
    previous_webhook_token: Option<String>,
    #[serde(default)]
    settings: Map<String, Value>,
}

/// Adds a channel. An instance that is on another one already is 409 `in_use`. A repeat with the same `Idempotency-Key`
/// answers as the first did.
#[utoipa::path(post, path = "/api/v1/channels", tag = "Channels", request_body = NewChannel,
    params(("Idempotency-Key" = Option<String>, Header, description = "1 to 255 characters")),
    responses((status = 201, body = Channel)))]
pub(crate) async fn add(
    doors: Data<Doors>,
    caller: Caller,
    once: IdempotencyKey,
    body: Json<NewChannel>,
) -> Answered {
    let request = once.of(&caller, body.hash());
    idempotent::once(&doors, request, added(&doors, &caller, body.value)).await
}

async fn added(doors: &Doors, caller: &Caller, wanted: NewChannel) -> Answered {
    let is_name = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    if !(1..=40).contains(&wanted.name.len()) || !wanted.name.chars().all(is_name) {
        return Err(Problem::invalid("/name", "must be 1 to 40 of a-z, 0-9 and -"));
    }
    if !caller.sees(&wanted.name) {
        return Err(Problem::forbidden("a new channel is not among the channels that you are for"));
    }
    if wanted.provider != GREEN_API {
        return Err(Problem::invalid("/provider", format!("must be {GREEN_API}")));
    }
    // By that name the playground would write to customers.
    if wanted.name == SANDBOX {
        return Err(Problem::invalid("/name", format!("{SANDBOX} is the channel of the playground")));
    }
    let mut settings = wanted.settings;
    settings.retain(|_, value| !value.is_null());
    check_settings(doors, &settings)?;
    check_ceiling(caller, &Map::new(), &settings)?;
    let is_made_here = wanted.webhook_token.is_none();
    let webhook_token = match wanted.webhook_token {
        Some(token) => webhook_secret("/webhook_token", token)?,
        None => new_secret()?,
    };
    let secrets = Secrets {
        token: Some(secret("/token", wanted.token)?),
        webhook_token: Some(webhook_token.clone()),
        previous_webhook_token: optional(
            "/previous_webhook_token",
            wanted.previous_webhook_token,
            webhook_secret,
        )?,
    };
    let api_url = optional("/api_url", wanted.api_url, address)?;
    gateways::check(doors, caller, api_url.as_deref())?;
    let now = (doors.now)();
    let channel = registry::Channel {
        title: optional("/title", wanted.title, words)?,
        instance: Some(instance("/instance", wanted.instance)?),
        api_url,
        sealed: Some(sealed(doors, &secrets)?),
        settings,
        ..registry::Channel::new(&wanted.name, &wanted.provider, now)
    };
    if !doors.registry.add_channel(&channel).await? {
        let all = doors.registry.channels().await?;
        if let Some(current) = all.iter().find(|other| other.name == channel.name) {
            let current = Some(shown(&Channel::from(current.clone())));
            return Err(Problem::conflict("name_taken", "there is a channel of that name", current));
        }
        return Err(match all.iter().find(|other| other.shares_account_with(&channel)) {
            Some(other) => account_in_use(caller, other),
            None => Problem::unavailable("others are changing the channels"),
        });
    }
    doors.note(doors.deed(caller, Deed::ChannelAdded).to(&channel.name)).await;
    noted(doors, caller, &channel.name, "added").await;
    let location = format!("/api/v1/channels/{}", channel.name);
    let shown_once = (is_made_here && doors.channels.has_doors()).then_some(webhook_token);
    Ok(Answer::created(location, &Channel::from(channel).with_token(shown_once)))
}

/// What is to be changed; what is left out stays.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = ChannelChange)]
pub(crate) struct ChannelChange {
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<String>)]
    title: Option<Option<String>>,
    instance: Option<String>,
    #[serde(default, deserialize_with = "given")]
    /// As in a channel to add; the one that it has may be said again by anyone.
    #[schema(value_type = Option<String>)]
    api_url: Option<Option<String>>,
    token: Option<String>,
    /// The one that was valid until now becomes `previous_webhook_token`, unless the request says what that is.
    webhook_token: Option<String>,
    /// Valid alongside the other one, until the provider has it. Null: no longer valid.
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<String>)]
    previous_webhook_token: Option<Option<String>>,
    /// Merged into those there are; null removes one.
    #[serde(default)]
    settings: Map<String, Value>,
}

impl ChannelChange {
    /// The first credential it would change.
    fn credential(&self) -> Option<&'static str> {
        [
            ("/instance", self.instance.is_some()),
            ("/api_url", self.api_url.is_some()),
            ("/token", self.token.is_some()),
            ("/webhook_token", self.webhook_token.is_some()),
            ("/previous_webhook_token", self.previous_webhook_token.is_some()),
        ]
        .into_iter()
        .find_map(|(pointer, is_given)| is_given.then_some(pointer))
    }

    /// What it would change, by name: settings under their keys.
    fn named(&self) -> Vec<String> {
        let given = [
            ("title", self.title.is_some()),
            ("instance", self.instance.is_some()),
            ("api_url", self.api_url.is_some()),
            ("token", self.token.is_some()),
            ("webhook_token", self.webhook_token.is_some()),
            ("previous_webhook_token", self.previous_webhook_token.is_some()),
        ];
        let given = given.into_iter().filter(|(_, is_given)| *is_given).map(|(name, _)| name.to_owned());
        given.chain(self.settings.keys().map(|key| format!("settings.{key}"))).collect()
    }

    fn has_secret(&self) -> bool {
        self.token.is_some() || self.webhook_token.is_some() || self.previous_webhook_token.is_some()
    }
}

/// Changes a channel. It acts on the next message. Credentials of an instance that is on another channel are 409 `in_use`.
#[utoipa::path(patch, path = "/api/v1/channels/{name}", tag = "Channels", params(("name" = String, Path,)),
    request_body = ChannelChange, responses((status = 200, body = Channel)))]
pub(crate) async fn change(
    doors: Data<Doors>,
    caller: Caller,
    name: Path<String>,
    body: Json<ChannelChange>,
) -> Answered {
    let wanted = body.value;
    let deed = doors.deed(&caller, Deed::ChannelChanged).to(&name).with("changed", wanted.named());
    for _ in 0..CHANGES_MAX {
        let all = doors.registry.channels().await?;
        let before = all.iter().find(|channel| channel.name == *name && caller.sees(&name));
        let before = before.cloned().ok_or_else(Problem::not_found)?;
        let changed_at = before.updated_at;
        let channel = apply(&doors, &caller, before, &wanted)?;
        if wanted.credential().is_some()
            && let Some(other) = all.iter().find(|other| other.shares_account_with(&channel))
        {
            return Err(account_in_use(&caller, other));
        }
        // Somebody else has changed something else of it meanwhile: both changes hold.
        if doors.registry.put_channel(&channel, changed_at).await? {
            doors.note(deed).await;
            noted(&doors, &caller, &channel.name, "changed").await;
            return Ok(Answer::ok(&Channel::from(channel)));
        }
    }
    Err(Problem::unavailable("others keep changing this channel"))
}

/// Not the name of a channel that they do not see.
fn account_in_use(caller: &Caller, other: &registry::Channel) -> Problem {
    let other = Some(other).filter(|other| caller.sees(&other.name));
    let whose =
        other.map_or_else(|| "another channel".to_owned(), |other| format!("the channel {}", other.name));
    let detail = format!("this instance is on {whose} already: each customer would be answered twice");
    Problem::conflict("in_use", detail, other.map(|other| shown(&Channel::from(other.clone()))))
}

/// How a channel stands after a change.
fn apply(
    doors: &Doors,
    caller: &Caller,
    mut channel: registry::Channel,
    wanted: &ChannelChange,
) -> Result<registry::Channel, Problem> {
    if let Some(pointer) = wanted.credential().filter(|_| channel.managed_by_environment) {
        return Err(Problem::invalid(pointer, "the credentials of this channel come from the environment"));
    }
    if let Some(url) = wanted.api_url.clone() {
        let url = optional("/api_url", url, address)?;
        // The one that it has was named by somebody who might.
        if url != channel.api_url {
            gateways::check(doors, caller, url.as_deref())?;
        }
        // The token goes to whoever answers there, and what was given once is shown to nobody.
        if url != channel.api_url && channel.sealed.is_some() && wanted.token.is_none() {
            return Err(Problem::invalid("/token", "must be given again with another api_url"));
        }
        channel.api_url = url;
    }
    if wanted.has_secret() {
        channel.sealed = Some(reseal(doors, &channel, wanted)?);
    }
    if let Some(title) = wanted.title.clone() {
        channel.title = optional("/title", title, words)?;
    }
    if let Some(id) = wanted.instance.clone() {
        channel.instance = Some(instance("/instance", id)?);
    }
    check_ceiling(caller, &channel.settings, &wanted.settings)?;
    for (key, value) in &wanted.settings {
        if value.is_null() {
            channel.settings.remove(key);
        } else {
            channel.settings.insert(key.clone(), value.clone());
        }
    }
    // Those it has had may have become wrong by other settings since: that is no reason to refuse another title.
    if !wanted.settings.is_empty() {
        check_settings(doors, &channel.settings)?;
    }
    // By it others know that it was changed: never twice the same, however fast two follow each other.
    channel.updated_at = (doors.now)().max(channel.updated_at.plus_ms(1));
    Ok(channel)
}

fn reseal(doors: &Doors, channel: &registry::Channel, wanted: &ChannelChange) -> Result<Vec<u8>, Problem> {
    let kept = channel.sealed.as_deref().and_then(|sealed| doors.vault.open(sealed));
    let mut secrets = kept.and_then(|plain| Secrets::from_bytes(&plain)).unwrap_or_default();
    if let Some(token) = wanted.token.clone() {
        secrets.token = Some(secret("/token", token)?);
    }
    if let Some(token) = wanted.webhook_token.clone() {
        let token = Some(webhook_secret("/webhook_token", token)?);
        // The provider takes minutes to use another one, and what it posts until then must not be refused. The same one
        // again is no change: the one before it stays.
        if secrets.webhook_token != token {
            secrets.previous_webhook_token = std::mem::replace(&mut secrets.webhook_token, token);
        }
    }
    if let Some(token) = wanted.previous_webhook_token.clone() {
        secrets.previous_webhook_token = optional("/previous_webhook_token", token, webhook_secret)?;
    }
    sealed(doors, &secrets)
}

fn sealed(doors: &Doors, secrets: &Secrets) -> Result<Vec<u8>, Problem> {
    doors.vault.seal(&secrets.to_bytes()).ok_or_else(|| {
        tracing::error!("secrets of a channel cannot be sealed");
        Problem::internal()
    })
}

/// Removes a channel that has no conversations, with its dead letters. Agents, tokens, endpoints and canned replies that were
/// limited to it have nothing to do with another one of that name.
#[utoipa::path(delete, path = "/api/v1/channels/{name}", tag = "Channels", params(("name" = String, Path,)),
    responses((status = 204)))]
pub(crate) async fn remove(doors: Data<Doors>, caller: Caller, name: Path<String>) -> Answered {
    let channel = seen(&doors, &caller, &name).await?;
    let refused = |detail| {
        let current = Some(shown(&Channel::from(channel.clone())));
        Err(Problem::conflict("in_use", detail, current))
    };
    if channel.managed_by_environment {
        return refused("this channel comes from the environment");
    }
    if !doors.registry.remove_channel(&channel.name).await? {
        return refused("this channel has conversations");
    }
    doors.note(doors.deed(&caller, Deed::ChannelRemoved).to(&channel.name)).await;
    noted(&doors, &caller, &channel.name, "removed").await;
    Ok(Answer::empty())
}

/// Lets the follow-ups leave that the brake holds back, at the pace of the channel; counting starts over. Where it holds none,
/// nothing happens.
#[utoipa::path(post, path = "/api/v1/channels/{name}/release-brake", tag = "Channels", params(("name" = String, Path,)),
    responses((status = 200, body = Channel)))]
pub(crate) async fn release_brake(
    doors: Data<Doors>,
    caller: Caller,
    name: Path<String>,
    _: Optional<Nothing>,
) -> Answered {
    let channel = seen(&doors, &caller, &name).await?;
    let now = (doors.now)();
    if let Some(latched) = channel.brake.latched
        && doors.registry.release_brake(&channel.name, now).await?
    {
        let deed = doors.deed(&caller, Deed::BrakeReleased).to(&channel.name);
        doors.note(deed.with("sends", latched.sends).with("best", latched.best)).await;
        doors.channels.changed().await;
        let event = Entry::of(EventType::BrakeReleased).by(&caller.actor).outside(&channel.name, now);
        doors.tell(event).await;
    }
    Ok(Answer::ok(&Channel::from(seen(&doors, &caller, &name).await?)))
}

pub(super) async fn seen(doors: &Doors, caller: &Caller, name: &str) -> Result<registry::Channel, Problem> {
    let all = doors.registry.channels().await?;
    let found = all.into_iter().find(|channel| channel.name == name && caller.sees(name));
    found.ok_or_else(Problem::not_found)
}

/// Tells this instance at once, and everyone by an event.
async fn noted(doors: &Doors, caller: &Caller, name: &str, action: &'static str) {
    doors.channels.changed().await;
    let event =
        Entry::of(EventType::ChannelUpdated).action(action).by(&caller.actor).outside(name, (doors.now)());
    doors.tell(event).await;
}

fn check_settings(doors: &Doors, settings: &Map<String, Value>) -> Result<(), Problem> {
    doors
        .channels
        .check(settings)
        .map_err(|(key, detail)| Problem::invalid(format!("/settings/{key}"), detail))
}

fn check_ceiling(
    caller: &Caller,
    kept: &Map<String, Value>,
    wanted: &Map<String, Value>,
) -> Result<(), Problem> {
    let is_kept = wanted.get(CEILING).is_none_or(|new| kept.get(CEILING) == Some(new));
    if caller.channels.is_some() && !is_kept {
        return Err(Problem::forbidden("what a day may cost is set by an admin of all channels"));
    }
    Ok(())
}

/// Checks a value that may be left out.
fn optional(
    pointer: &str,
    value: Option<String>,
    check: fn(&str, String) -> Result<String, Problem>,
) -> Result<Option<String>, Problem> {
    value.map(|value| check(pointer, value)).transpose()
}

fn words(pointer: &str, text: String) -> Result<String, Problem> {
    read::text(pointer, text, WORDS_MAX)
}

fn secret(pointer: &str, text: String) -> Result<String, Problem> {
    if text.len() > WORDS_MAX || text.is_empty() || !text.chars().all(|c| c.is_ascii_graphic() || c == ' ') {
        return Err(Problem::invalid(pointer, "must be 1 to 200 printable characters"));
    }
    Ok(text)
}

/// Who guesses it speaks as the customers.
fn webhook_secret(pointer: &str, token: String) -> Result<String, Problem> {
    if token.len() < WEBHOOK_TOKEN_MIN {
        return Err(Problem::invalid(pointer, format!("must have at least {WEBHOOK_TOKEN_MIN} characters")));
    }
    secret(pointer, token)
}

fn instance(pointer: &str, id: String) -> Result<String, Problem> {
    if id.is_empty() || id.len() > 20 || !id.bytes().all(|b| b.is_ascii_digit()) {
        return Err(Problem::invalid(pointer, "must be the digits of an instance"));
    }
    Ok(id)
}

fn address(pointer: &str, url: String) -> Result<String, Problem> {
    let is_good = url.len() <= WORDS_MAX
        && url.parse::<actix_web::http::Uri>().is_ok_and(|uri| {
            matches!(uri.scheme_str(), Some("http" | "https"))
                && uri.authority().is_some_and(|authority| !authority.as_str().contains('@'))
                && uri.query().is_none()
        });
    if is_good { Ok(url) } else { Err(Problem::invalid(pointer, "must be an http or https address")) }
}
