//! The channels as they run here: each with its rules, its gateway and the tokens of its door, loaded from the registry
//! and loaded again when a row changes.

mod of_environment;

mod behind_http;

#[cfg(test)]
pub(super) mod tests;

use std::{
    collections::{BTreeSet, HashMap},
    sync::{Arc, Mutex, PoisonError, RwLock},
    time::{Duration, Instant},
};

use anyhow::Context as _;
use futures_util::stream::{self, StreamExt as _};
use tokio::sync::{Notify, Semaphore};

use super::vault::Vault;
use crate::{
    adapters::{
        green_api::{Account, GreenApi},
        sandbox::Sandbox,
    },
    config::{AiProvider, Settings},
    domain::{
        policy::Policy,
        time::{Time, duration},
    },
    flow::{
        back_office::{
            registry::{self, Registry},
            vault::Vault as _,
        },
        instance::channels::{Channel, Channels},
        provider::Provider,
        repair,
    },
    http::ports::{self, Secret, Secrets},
};

/// The channel on which a contact is played by hand.
pub(super) use crate::flow::provider::SANDBOX;

/// The channel that the environment sets up.
pub(super) const DEFAULT: &str = "default";

/// How many new accounts are asked at once how they are, and for how long at most.
const ASKED_AT_ONCE: usize = 16;
const ASKED_FOR: Duration = Duration::from_secs(2);
/// How many phones are linked at once.
const LINKING_MAX: usize = 8;

/// What to do about an account that does not answer as it should, wherever that is told.
pub(super) const CHECK_ACCOUNT: &str =
    "check its instance, its token, and its address (its own, else BATON_GREEN_API_URL)";
/// What to do where a shell has other settings than the server.
pub(super) const AGREE: &str =
    "correct these here if the server has the right ones; else start `baton serve` again with them";

/// What it takes to turn rows of the registry into channels that run.
pub(super) struct ChannelLoader {
    /// What the flow sees.
    pub(super) channels: Arc<Channels>,
    registry: Arc<dyn Registry>,
    settings: Arc<Settings>,
    vault: Arc<Vault>,
    http: reqwest::Client,
    sandbox: Option<Arc<Sandbox>>,
    /// Only of channels whose provider posts to us: where we fetch, there is no door.
    tokens: RwLock<HashMap<String, Vec<Secret>>>,
    /// Those with an account at a provider, unlike the sandbox.
    accounts: RwLock<BTreeSet<String>>,
    unknown: tokio::sync::Mutex<HashMap<String, Instant>>,
    loaded: Mutex<HashMap<String, Time>>,
    /// What those with a ceiling of cost have spent today, as it was counted last. Held while any channel is put in: of a
    /// count and a change of the same moment neither may undo the other.
    spent: Mutex<HashMap<String, f64>>,
    linking: Semaphore,
    /// Something was changed through this instance: the others are to hear of it.
    pub(super) changed: Notify,
}

impl ChannelLoader {
    /// None loaded yet.
    pub(super) fn new(
        registry: Arc<dyn Registry>,
        settings: Arc<Settings>,
        vault: Arc<Vault>,
        http: reqwest::Client,
        sandbox: Option<Arc<Sandbox>>,
    ) -> Self {
        Self {
            channels: Arc::default(),
            registry,
            settings,
            vault,
            http,
            sandbox,
            tokens: RwLock::default(),
            accounts: RwLock::default(),
            unknown: tokio::sync::Mutex::default(),
            loaded: Mutex::default(),
            spent: Mutex::default(),
            linking: Semaphore::new(LINKING_MAX),
            changed: Notify::new(),
        }
    }

    fn secrets(&self, row: &registry::Channel) -> Option<Secrets> {
        Secrets::from_bytes(&self.vault.open(row.sealed.as_deref()?)?)
    }

    /// Loads what changed. A channel that cannot be set up is left out, and said so once.
    pub(super) async fn load(&self) -> anyhow::Result<()> {
        let rows = self.registry.channels().await.context("the channels cannot be read")?;
        for name in self.channels.names() {
            if !rows.iter().any(|row| row.name == name) {
                self.channels.remove(&name);
                self.locked().remove(&name);
                self.tokens.write().unwrap_or_else(PoisonError::into_inner).remove(&name);
                self.accounts.write().unwrap_or_else(PoisonError::into_inner).remove(&name);
                self.spent().remove(&name);
            }
        }
        // The sandbox's row stays when the sandbox is off, with its conversations.
        let runs = |row: &registry::Channel| row.provider != SANDBOX || self.sandbox.is_some();
        let is_changed = |row: &registry::Channel| self.locked().get(&row.name) != Some(&row.updated_at);
        let changed: Vec<_> = rows.into_iter().filter(|row| runs(row) && is_changed(row)).collect();
        self.ask_how_they_are(&changed).await;
        for row in changed {
            let mut spent = self.spent();
            match self.set_up(&row, &mut spent) {
                Ok((channel, tokens)) => {
                    self.tokens
                        .write()
                        .unwrap_or_else(PoisonError::into_inner)
                        .insert(row.name.clone(), tokens);
                    self.channels.put(channel);
                    if row.provider != SANDBOX {
                        let mut accounts = self.accounts.write().unwrap_or_else(PoisonError::into_inner);
                        accounts.insert(row.name.clone());
                    }
                }
                Err(error) => tracing::error!(
                    channel = row.name,
                    error = format!("{error:#}"),
                    "a channel is not set up"
                ),
            }
            self.locked().insert(row.name, row.updated_at);
        }
        Ok(())
    }

    /// An account that was never asked counts as able to send: it is asked before anything can leave by it, or what is said there
    /// would wait in the provider's queue, where no takeover stops it. One that does not answer now is asked again later.
    async fn ask_how_they_are(&self, rows: &[registry::Channel]) {
        let new = rows.iter().filter(|row| row.provider != SANDBOX && row.state.is_empty());
        let asked = stream::iter(new).for_each_concurrent(ASKED_AT_ONCE, async |row| {
            // Why one cannot be set up is said where it is.
            if let Ok(account) = self.account(row) {
                self.look_again(&row.name, &account).await;
            }
        });
        if tokio::time::timeout(ASKED_FOR, asked).await.is_err() {
            tracing::warn!(
                "some accounts do not say whether their phone is linked, and count as linked until they do"
            );
        }
    }

    fn set_up(
        &self,
        row: &registry::Channel,
        spent: &mut HashMap<String, f64>,
    ) -> anyhow::Result<(Channel, Vec<Secret>)> {
        let mut policy = self.settings.policy()?;
        let is_sandbox = row.provider == SANDBOX;
        if is_sandbox {
            policy.has_model = true;
            policy.send_interval_ms = policy.send_interval_ms.min(100);
        } else if self.settings.provider() == AiProvider::Scripted && self.settings.ai_provider.is_none() {
            policy.has_model = false;
        }
        let mut policy: Policy = self.settings.overlay(&policy, &row.settings)?;
        if policy.ai_spend_per_day.is_none() {
            // Nothing is counted any more: what was counted says nothing of the day on which a ceiling is set again.
            spent.remove(&row.name);
        }
        policy.is_spent = is_reached(policy.ai_spend_per_day, spent.get(&row.name));
        policy.brake = row.brake;
        let secrets = self.secrets(row);
        let provider: Arc<dyn Provider> = if is_sandbox {
            self.sandbox.clone().context("the sandbox is off (BATON_SANDBOX)")?
        } else {
            Arc::new(self.account(row)?)
        };
        let tokens = secrets
            .filter(|_| ports::Channels::has_doors(self))
            .map(|secrets| [secrets.webhook_token, secrets.previous_webhook_token])
            .into_iter()
            .flatten()
            .flatten()
            .map(Secret)
            .collect();
        Ok((Channel { name: row.name.clone(), policy: Arc::new(policy), provider }, tokens))
    }

    /// What a channel has spent today. What has begun continues.
    pub(super) fn set_spent(&self, name: &str, cost: f64) {
        let mut spent = self.spent();
        // Its ceiling may have been taken away, and the channel too, while this was counted.
        let Some(channel) = self.channels.get(name) else { return };
        let Some(ceiling) = channel.policy.ai_spend_per_day else { return };
        spent.insert(name.to_owned(), cost);
        let is_spent = is_reached(Some(ceiling), Some(&cost));
        if is_spent == channel.policy.is_spent {
            return;
        }
        if is_spent {
            tracing::warn!(channel = name, spent = cost, ceiling, "the ceiling of cost is reached for today");
        }
        let policy = Policy { is_spent, ..Policy::clone(&channel.policy) };
        self.channels.put(Channel { policy: Arc::new(policy), ..Channel::clone(&channel) });
    }

    /// The account behind a row.
    pub(super) fn account(&self, row: &registry::Channel) -> anyhow::Result<GreenApi> {
        let secrets = self.secrets(row).with_context(|| {
            format!("its credentials cannot be opened: was {} changed?", self.vault.source())
        })?;
        let account = Account {
            channel: row.name.clone(),
            instance: row.instance.clone().context("it names no instance")?,
            api_url: row.api_url.clone().unwrap_or_else(|| self.settings.green_api_url.clone()),
            token: secrets.token.context("it has no token")?,
            timeout: duration(self.settings.green_api_timeout_ms),
        };
        Ok(GreenApi::new(&account, self.http.clone())?)
    }

    /// The token that the provider should show at a channel's door.
    pub(super) fn own_webhook_token(&self, row: &registry::Channel) -> Option<String> {
        self.secrets(row)?.webhook_token
    }

    /// The channels that have an account at a provider.
    pub(super) fn accounts(&self) -> Vec<String> {
        self.accounts.read().unwrap_or_else(PoisonError::into_inner).iter().cloned().collect()
    }

    /// The provider has said that the phone is linked, or is not: those who wait for that learn of it now, and not when the
    /// webhook comes.
    async fn look_again(&self, channel: &str, provider: &dyn Provider) {
        let Ok(state) = provider.state().await else { return };
        let kept = async {
            let now = self.registry.now().await?;
            repair::keep_state(&*self.registry, channel, &state, now).await
        };
        if let Err(error) = kept.await {
            tracing::debug!(%error, channel, "the channel's state was not kept");
        }
    }

    /// Whether the registry has any channel that would run here, set up or not.
    pub(super) fn are_there(&self) -> bool {
        !self.locked().is_empty()
    }

    fn spent(&self) -> std::sync::MutexGuard<'_, HashMap<String, f64>> {
        self.spent.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn locked(&self) -> std::sync::MutexGuard<'_, HashMap<String, Time>> {
        self.loaded.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn is_reached(ceiling: Option<f64>, spent: Option<&f64>) -> bool {
    ceiling.zip(spent).is_some_and(|(ceiling, spent)| *spent >= ceiling)
}
