//! The channels as they run here: each with its rules, its gateway and the tokens of its door, loaded from the registry
//! and loaded again when a row changes.

#[cfg(test)]
pub(super) mod tests;

use std::{
    collections::{BTreeSet, HashMap},
    sync::{Arc, Mutex, PoisonError, RwLock},
    time::{Duration, Instant},
};

use anyhow::{Context as _, bail};
use async_trait::async_trait;
use futures_util::stream::{self, StreamExt as _};
use serde_json::{Map, Value};
use tokio::sync::Semaphore;

use super::vault::Vault;
use crate::{
    adapters::{
        green_api::{Account, GreenApi},
        sandbox::Sandbox,
    },
    config::{self, AiProvider, Receive, Settings},
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
        provider::{GREEN_API, LinkCode, Provider},
        repair,
    },
    http::ports::{self, Secret, Secrets},
};

/// The channel on which a contact is played by hand.
pub(super) use crate::flow::provider::SANDBOX;

/// The channel that the environment sets up.
pub(super) const DEFAULT: &str = "default";

/// A name that nobody knows is not looked up again within this, and not more than a few at once.
const UNKNOWN: Duration = Duration::from_secs(1);
const UNKNOWN_MAX: usize = 64;
/// How many new accounts are asked at once how they are, and for how long at most.
const ASKED_AT_ONCE: usize = 16;
const ASKED_FOR: Duration = Duration::from_secs(2);
/// How many phones are linked at once.
const LINKING_MAX: usize = 8;
/// Longest name of a channel.
const NAME_MAX: usize = 40;
/// Attempts to write the channel of the environment.
const WRITES_MAX: usize = 5;
const WRITES_EVERY: Duration = Duration::from_millis(100);

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
        }
    }

    /// Writes the channel of the environment, and the sandbox, into the registry.
    pub(super) async fn register(&self, now: Time) -> anyhow::Result<()> {
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
        if self.sandbox.is_some() && row(SANDBOX).is_none() {
            self.write(None, registry::Channel::new(SANDBOX, SANDBOX, now), now).await?;
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
    pub(super) fn unlike(&self, row: &registry::Channel) -> Vec<&'static str> {
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

fn is_reached(ceiling: Option<f64>, spent: Option<&f64>) -> bool {
    ceiling.zip(spent).is_some_and(|(ceiling, spent)| *spent >= ceiling)
}
