//! What the routes ask of the channels as they run here.

use std::{
    sync::PoisonError,
    time::{Duration, Instant},
};

use async_trait::async_trait;
use serde_json::{Map, Value};

use super::ChannelLoader;
use crate::{
    config::Receive,
    flow::provider::LinkCode,
    http::ports::{self, Secret},
};

/// A name that nobody knows is not looked up again within this, and not more than a few at once.
const UNKNOWN: Duration = Duration::from_secs(1);
const UNKNOWN_MAX: usize = 64;
/// Longest name of a channel.
const NAME_MAX: usize = 40;

#[async_trait]
impl ports::Channels for ChannelLoader {
    // One that is not known here may have been added by another instance just now; names that nobody knows are not asked
    // for again within a second.
    async fn knows(&self, channel: &str) -> bool {
        if self.channels.get(channel).is_some() {
            return true;
        }
        // One looks, the others wait for what it finds.
        let mut unknown = self.unknown.lock().await;
        unknown.retain(|_, at| at.elapsed() < UNKNOWN);
        let is_found = || self.channels.get(channel).is_some();
        if is_found()
            || unknown.contains_key(channel)
            || unknown.len() >= UNKNOWN_MAX
            || channel.len() > NAME_MAX
        {
            return is_found();
        }
        if let Err(error) = self.load().await {
            tracing::debug!(error = format!("{error:#}"), "an unknown channel could not be looked up");
        }
        if !is_found() {
            unknown.insert(channel.to_owned(), Instant::now());
        }
        is_found()
    }

    fn webhook_tokens(&self, channel: &str) -> Option<Vec<Secret>> {
        let tokens = self.tokens.read().unwrap_or_else(PoisonError::into_inner);
        tokens.get(channel).filter(|tokens| !tokens.is_empty()).cloned()
    }

    fn has_doors(&self) -> bool {
        self.settings.green_api_receive == Receive::Webhook
    }

    fn check(&self, overrides: &Map<String, Value>) -> Result<(), (String, String)> {
        self.settings.check_channel(overrides).map_err(|wrong| (wrong.setting, wrong.problem))
    }

    fn place(&self, url: &str) -> Option<(String, u16)> {
        let url = reqwest::Url::parse(url.trim()).ok()?;
        Some((url.host_str()?.to_owned(), url.port_or_known_default()?))
    }

    async fn changed(&self) {
        if let Err(error) = self.load().await {
            tracing::warn!(
                error = format!("{error:#}"),
                "channels were not loaded; they will be within a second"
            );
        }
        self.changed.notify_one();
    }

    // Not more than a few are asked at once: pages ask again and again for as long as they are open, and a gateway may
    // take its time.
    async fn link_code(&self, channel: &str) -> LinkCode {
        let unavailable = |detail: &str| LinkCode::Unavailable { detail: detail.to_owned() };
        let Some(found) = self.channels.get(channel) else {
            return unavailable("the channel is not set up here");
        };
        let Ok(_turn) = self.linking.try_acquire() else {
            return unavailable("others are asking now");
        };
        match found.provider.link_code().await {
            Ok(code @ (LinkCode::Linked | LinkCode::Shown(_))) => {
                self.look_again(&found.name, &*found.provider).await;
                code
            }
            Ok(code @ LinkCode::Unavailable { .. }) => code,
            Err(unanswered) => unavailable(&unanswered.detail),
        }
    }
}
