//! The channel that the environment sets up, written into the registry with the sandbox; and where the settings of a shell are
//! others than the server had.

use std::time::Duration;

use anyhow::{Context as _, bail};

use super::{ChannelLoader, DEFAULT, SANDBOX};
use crate::{
    config,
    domain::time::Time,
    flow::{
        back_office::{registry, vault::Vault as _},
        provider::GREEN_API,
    },
    http::ports::{self, Secrets},
};

/// Attempts to write the channel of the environment.
const WRITES_MAX: usize = 5;
const WRITES_EVERY: Duration = Duration::from_millis(100);

impl ChannelLoader {
    /// Writes the channel of the environment, and the sandbox, into the registry.
    pub(in crate::app) async fn register(&self, now: Time) -> anyhow::Result<()> {
        // Another instance may write the state of the channel between our look and our word.
        for _ in 0..WRITES_MAX {
            if self.written(now).await? {
                return Ok(());
            }
            tokio::time::sleep(WRITES_EVERY).await;
        }
        bail!("others keep changing the channel {DEFAULT}, so it was not saved")
    }

    /// Whether nobody has changed it meanwhile.
    async fn written(&self, now: Time) -> anyhow::Result<bool> {
        let rows = self.registry.channels().await.context("the channels cannot be read")?;
        let row = |name: &str| rows.iter().find(|row| row.name == name).cloned();
        if let Some(instance) = &self.settings.green_api_instance {
            let before = row(DEFAULT);
            let secrets = self.secrets_of_environment(before.as_ref())?;
            let channel = registry::Channel {
                instance: Some(instance.clone()),
                api_url: Some(self.settings.green_api_url.clone()),
                sealed: self.vault.seal(&secrets.to_bytes()),
                managed_by_environment: true,
                ..before.clone().unwrap_or_else(|| registry::Channel::new(DEFAULT, GREEN_API, now))
            };
            let other = rows.iter().find(|row| row.shares_account_with(&channel));
            if let Some(other) = other {
                tracing::error!(
                    instance,
                    channel = other.name,
                    "the instance of BATON_GREEN_API_INSTANCE is on another channel too, and each customer would be \
                     answered twice: take it out of the settings, or off that channel"
                );
            }
            // Two that share it from before stay as they are: which of them is to go, nobody here can say.
            let has_it = before.as_ref().is_some_and(|before| before.instance == channel.instance);
            if before.as_ref().is_some_and(|before| self.is_sealed_for_others(before)) {
                tracing::error!(
                    channel = DEFAULT,
                    "BATON_SECRET_KEY does not open what is kept of this channel, and it stays as it is: set the key with which \
                     it was encrypted. If that is lost, set BATON_GREEN_API_WEBHOOK_TOKEN too, and all is kept anew"
                );
            } else if (other.is_none() || has_it) && !self.write(before, channel, now).await? {
                return Ok(false);
            }
        } else if let Some(before) = row(DEFAULT).filter(|row| row.managed_by_environment) {
            // The environment no longer names it: from now on the API may change it.
            let channel = registry::Channel { managed_by_environment: false, ..before.clone() };
            if !self.write(Some(before), channel, now).await? {
                return Ok(false);
            }
        }
        if self.sandbox.is_some() {
            match row(SANDBOX) {
                None => drop(self.write(None, registry::Channel::new(SANDBOX, SANDBOX, now), now).await?),
                // From before the name was kept for the sandbox.
                Some(other) if other.provider != SANDBOX => tracing::warn!(
                    channel = SANDBOX,
                    "a channel of this name has an account at a provider, so there is no sandbox (BATON_SANDBOX)"
                ),
                Some(_) => {}
            }
        }
        Ok(true)
    }

    /// A key that is set may be mistyped, while other instances continue with the right one: the token of the door, which was
    /// made here and set at the provider, would be lost for all.
    fn is_sealed_for_others(&self, row: &registry::Channel) -> bool {
        let is_needed = self.settings.green_api_webhook_token.is_none();
        is_needed && self.settings.secret_key.is_some() && row.sealed.is_some() && self.secrets(row).is_none()
    }

    async fn write(
        &self,
        before: Option<registry::Channel>,
        mut channel: registry::Channel,
        now: Time,
    ) -> anyhow::Result<bool> {
        let is_same = before.as_ref().is_some_and(|before| {
            let opened =
                |row: &registry::Channel| row.sealed.as_deref().and_then(|sealed| self.vault.open(sealed));
            before.instance == channel.instance
                && before.api_url == channel.api_url
                && before.managed_by_environment == channel.managed_by_environment
                && opened(before) == opened(&channel)
        });
        if is_same {
            return Ok(true);
        }
        channel.updated_at = now;
        let is_written = match before {
            // Another instance that starts at the same moment may have written the same.
            None => self.registry.add_channel(&channel).await,
            Some(before) => self.registry.put_channel(&channel, before.updated_at).await,
        };
        is_written.with_context(|| format!("the channel {} cannot be written", channel.name))
    }

    /// The token of the door is the one set; else the one made before; else a new one.
    fn secrets_of_environment(&self, before: Option<&registry::Channel>) -> anyhow::Result<Secrets> {
        let before = before.and_then(|row| self.secrets(row)).unwrap_or_default();
        let mut set = self.settings.green_api_webhook_token.iter().flat_map(|tokens| tokens.iter());
        let mut next = || set.next().map(|token| token.expose().to_owned());
        let webhook_token = match next().or(before.webhook_token) {
            Some(token) => token,
            None => self.fresh_webhook_token()?,
        };
        Ok(Secrets {
            token: self.settings.green_api_token.as_ref().map(|token| token.expose().to_owned()),
            webhook_token: Some(webhook_token),
            previous_webhook_token: next(),
        })
    }

    fn fresh_webhook_token(&self) -> anyhow::Result<String> {
        if ports::Channels::has_doors(self) {
            tracing::warn!(
                "BATON_GREEN_API_WEBHOOK_TOKEN is not set: one was made, and every webhook without it is refused; \
                 `baton connect` tells it to Green API, or set one that you know, here and in its console"
            );
        }
        registry::Token::fresh_secret().context("the system provides no random bytes")
    }

    /// Settings here by which the channel of the environment has not been set up: the server has others, or was not started
    /// since they were changed.
    pub(in crate::app) fn unlike(&self, row: &registry::Channel) -> Vec<&'static str> {
        let Some(instance) = self.settings.green_api_instance.as_ref().filter(|_| row.name == DEFAULT) else {
            return Vec::new();
        };
        // What cannot be opened is told as that.
        let Some(stored) = self.secrets(row) else { return Vec::new() };
        let token = self.settings.green_api_token.as_ref();
        let webhook_token =
            self.settings.green_api_webhook_token.as_ref().and_then(|tokens| tokens.iter().next());
        let differs = |set: Option<&config::Secret>, stored: Option<String>| {
            set.is_some_and(|set| stored.as_deref() != Some(set.expose()))
        };
        let found = [
            ("BATON_GREEN_API_INSTANCE", row.instance.as_ref() != Some(instance)),
            ("BATON_GREEN_API_URL", row.api_url.as_ref() != Some(&self.settings.green_api_url)),
            ("BATON_GREEN_API_TOKEN", differs(token, stored.token)),
            ("BATON_GREEN_API_WEBHOOK_TOKEN", differs(webhook_token, stored.webhook_token)),
        ];
        found.into_iter().filter_map(|(name, differs)| differs.then_some(name)).collect()
    }
}
