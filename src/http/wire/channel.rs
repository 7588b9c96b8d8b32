//! Channels and tokens. Secrets go in, never out.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde::Serialize;
use serde_json::{Map, Value};
use utoipa::ToSchema;

use super::{
    At, Id, LinkStateWord, RoleWord,
    basic::{Seen, Word},
};
use crate::{
    domain::brake::Latched,
    flow::{back_office::registry, provider::LinkCode},
    http::ports::LinkState,
};

/// Why the follow-ups of a channel wait.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ChannelBrake)]
pub(crate) struct Brake {
    since: At,
    /// How many had been sent that day.
    sends: i64,
    /// On the best of the thirty days before.
    best: i64,
}

impl From<Latched> for Brake {
    fn from(latched: Latched) -> Self {
        Self { since: At(latched.at), sends: latched.sends, best: latched.best }
    }
}

/// A number of the business.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Channel {
    name: String,
    /// For people.
    title: Option<String>,
    /// `green_api` or `sandbox`.
    provider: String,
    instance: Option<String>,
    api_url: Option<String>,
    /// What it overrides.
    settings: Map<String, Value>,
    /// As the provider names it; null while it is not known.
    state: Option<String>,
    /// Far more follow-ups left than on any day before: the others wait until an admin releases them. Null: they do not.
    brake: Option<Brake>,
    /// `environment`: its credentials are read-only here.
    managed_by: Option<&'static str>,
    created_at: At,
    updated_at: At,
    /// Only in the answer to the request that made the channel, if the token was made here: shown once.
    #[serde(skip_serializing_if = "Option::is_none")]
    webhook_token: Option<String>,
}

fn known(state: String) -> Option<String> {
    (!state.is_empty()).then_some(state)
}

impl From<registry::Channel> for Channel {
    fn from(channel: registry::Channel) -> Self {
        Self {
            name: channel.name,
            title: channel.title,
            provider: channel.provider,
            instance: channel.instance,
            api_url: channel.api_url,
            settings: channel.settings,
            state: known(channel.state),
            brake: channel.brake.latched.map(Brake::from),
            managed_by: channel.managed_by_environment.then_some("environment"),
            created_at: At(channel.created_at),
            updated_at: At(channel.updated_at),
            webhook_token: None,
        }
    }
}

impl Channel {
    /// With the token that was made for it: shown to the one who made the channel, and to nobody after.
    pub(crate) fn with_token(self, webhook_token: Option<String>) -> Self {
        Self { webhook_token, ..self }
    }
}

/// A channel as those see it who only answer.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ChannelGlance {
    name: String,
    title: Option<String>,
    state: Option<String>,
    brake: Option<Brake>,
}

impl From<registry::Channel> for ChannelGlance {
    fn from(channel: registry::Channel) -> Self {
        Self {
            name: channel.name,
            title: channel.title,
            state: known(channel.state),
            brake: channel.brake.latched.map(Brake::from),
        }
    }
}

/// A channel, as the caller may see it.
pub(crate) type ShownChannel = Seen<Channel, ChannelGlance>;

/// A token of the API.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Token {
    id: Id,
    name: String,
    role: RoleWord,
    /// On which channels; null: on all.
    channels: Option<Vec<String>>,
    /// As which agent it acts.
    agent_id: Option<Id>,
    /// Void after this.
    expires_at: Option<At>,
    created_at: At,
}

impl From<registry::Token> for Token {
    fn from(token: registry::Token) -> Self {
        Self {
            id: Id(token.id),
            name: token.name,
            role: Word(token.role),
            channels: token.channels,
            agent_id: token.agent.map(Id),
            expires_at: token.expires_at.map(At),
            created_at: At(token.created_at),
        }
    }
}

/// A token just made.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct NewToken {
    /// What is kept of it.
    #[serde(flatten)]
    pub(crate) kept: Token,
    /// The token itself: shown now and never again.
    pub(crate) token: String,
}

/// What there is to link the phone of a channel with.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct PhoneLink {
    state: LinkStateWord,
    /// With `qr_code`: what the phone is to see, as a `data:` address of a PNG. Good for some twenty seconds.
    image: Option<String>,
    /// With `unavailable`: why, in the provider's words.
    detail: Option<String>,
}

impl From<LinkCode> for PhoneLink {
    fn from(code: LinkCode) -> Self {
        let (state, image, detail) = match code {
            LinkCode::Shown(png) => {
                let image = format!("data:image/png;base64,{}", STANDARD.encode(png));
                (LinkState::QrCode, Some(image), None)
            }
            LinkCode::Linked => (LinkState::Linked, None, None),
            LinkCode::Unavailable { detail } => (LinkState::Unavailable, None, Some(detail)),
        };
        Self { state: Word(state), image, detail }
    }
}
