//! `baton connect`: what an account at Green API is set to, what it should be, and the change; then the proof that what a
//! customer writes, and what is answered on the phone, arrives here.

use std::{sync::Arc, time::Duration};

use anyhow::{Context as _, anyhow, bail};

use super::{
    CONNECT,
    channel_loader::{AGREE, CHECK_ACCOUNT, ChannelLoader, DEFAULT},
    now,
    stores::Store,
};
use crate::{
    adapters::{
        green_api::{Difference, Door, GreenApi},
        http_client::http_client,
    },
    config::{Receive, Settings},
    domain::{event::EventType, mode::Reason, time::Time},
    flow::{
        archive::{Archive, EventFilter, PageOf, Recorded},
        back_office::registry::{Channel, Registry},
        outbox,
        provider::{GREEN_API, Provider as _, Unanswered},
    },
};

/// The account restarts with its new settings, which takes it up to five minutes.
const RESTART: Duration = Duration::from_secs(360);
/// How often it is asked; once a second is all that it allows.
const ASK_EVERY: Duration = Duration::from_secs(2);
/// How often the journal is read for what arrives.
const LOOK_EVERY: Duration = Duration::from_millis(500);

/// An account, and what has to change.
pub struct Connection {
    /// The channel's name.
    pub channel: String,
    /// How the account is, as the provider names it.
    pub state: String,
    /// What has to change; nothing: it is connected.
    pub differences: Vec<Difference>,
    account: GreenApi,
    door: Door,
}

/// What came while it was waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arrived {
    /// A contact has written.
    Message,
    /// Somebody has answered on the linked phone, and so taken over.
    PhoneAnswer,
}

/// Looks at the accounts of all channels, or of one: each by the channel's name, or why it cannot be connected. One account
/// that does not answer stands in no other's way.
pub async fn connections(
    settings: &Settings,
    only: Option<&str>,
) -> anyhow::Result<Vec<(String, anyhow::Result<Connection>)>> {
    let store = Store::connect_existing(settings).await?;
    store.require_migrated().await?;
    let (registry, settings): (Arc<dyn Registry>, _) = (store.places(), Arc::new(settings.clone()));
    let vault = Arc::new(store.vault(&settings).await?);
    let http = http_client(CONNECT)?;
    let loader = ChannelLoader::new(Arc::clone(&registry), Arc::clone(&settings), vault, http, None);
    let mut rows = registry.channels().await?;
    // A server may run by other variables than this shell has: what it has set up is left alone.
    if settings.green_api_instance.is_some() && !rows.iter().any(|row| row.name == DEFAULT) {
        loader.register(now()).await?;
        rows = registry.channels().await?;
    }
    let rows: Vec<_> = rows
        .iter()
        .filter(|row| row.provider == GREEN_API && only.is_none_or(|name| name == row.name))
        .collect();
    if rows.is_empty() {
        match only {
            Some(name) => bail!("there is no channel {name} at Green API"),
            None => bail!(
                "there is no channel at Green API yet: set BATON_GREEN_API_INSTANCE and BATON_GREEN_API_TOKEN, or add one in the \
                 dashboard"
            ),
        }
    }
    let mut connections = Vec::with_capacity(rows.len());
    for row in rows {
        connections.push((row.name.clone(), look_at(&settings, &loader, row).await));
    }
    Ok(connections)
}

async fn look_at(settings: &Settings, loader: &ChannelLoader, row: &Channel) -> anyhow::Result<Connection> {
    let unlike = loader.unlike(row);
    if !unlike.is_empty() {
        bail!("the server has set it up with another {}: {AGREE}", unlike.join(", "));
    }
    let door = door(settings, &row.name, loader.own_webhook_token(row))?;
    let account = loader.account(row)?;
    let unanswered = |why: Unanswered| anyhow!("{why}: {CHECK_ACCOUNT}");
    let state = account.state().await.map_err(unanswered)?;
    let found = account.settings(Some(&door.token)).await.map_err(unanswered)?;
    let differences = found.differences(&door);
    Ok(Connection { channel: row.name.clone(), state, differences, account, door })
}

/// Where the account should post.
fn door(settings: &Settings, channel: &str, token: Option<String>) -> anyhow::Result<Door> {
    if settings.green_api_receive == Receive::Poll {
        return Ok(Door { url: String::new(), token: String::new() });
    }
    let base = settings.public_url.as_deref().context(
        "BATON_PUBLIC_URL must say where Green API reaches Baton; without such an address, BATON_GREEN_API_RECEIVE=poll fetches \
         what comes",
    )?;
    let token = token.context("it has no webhook token: start `baton serve` once, which makes one")?;
    Ok(Door { url: format!("{}/webhooks/green-api/{channel}", base.trim_end_matches('/')), token })
}

impl Connection {
    /// Changes what differs, and waits until it holds and the account can send. `tell` hears how it goes.
    pub async fn connect(&self, tell: impl Fn(&str)) -> anyhow::Result<()> {
        self.account.change_settings(&self.differences, &self.door).await?;
        let until = tokio::time::Instant::now() + RESTART;
        let mut told = String::new();
        loop {
            tokio::time::sleep(ASK_EVERY).await;
            let standing = self.standing().await;
            match &standing {
                Ok(()) => return Ok(()),
                Err(standing) if *standing != told => {
                    tell(standing);
                    told.clone_from(standing);
                }
                Err(_) => {}
            }
            if tokio::time::Instant::now() >= until {
                bail!("after {} minutes {told}: look again with `baton check`", RESTART.as_secs() / 60);
            }
        }
    }

    /// Whether it is as it should be; else what is still missing.
    async fn standing(&self) -> Result<(), String> {
        match self.account.state().await {
            Ok(state) if !outbox::is_able(&state) => return Err(format!("the account is {state}")),
            Ok(_) => {}
            Err(unanswered) => return Err(format!("the account does not answer ({unanswered})")),
        }
        match self.account.settings(Some(&self.door.token)).await {
            Ok(found) if found.differences(&self.door).is_empty() => Ok(()),
            Ok(_) => Err("the new settings are not in effect yet".to_owned()),
            Err(unanswered) => Err(format!("the account does not show its settings ({unanswered})")),
        }
    }
}

/// What arrives, as a running server stores it.
pub struct Proof {
    archive: Arc<dyn Archive>,
    channel: String,
    since: Time,
}

impl Proof {
    /// From now on, on that channel.
    pub async fn begin(settings: &Settings, channel: &str) -> anyhow::Result<Self> {
        let archive = Store::connect_existing(settings).await?.places();
        Ok(Self { archive, channel: channel.to_owned(), since: now() })
    }

    /// Waits until that has arrived, for at most this long. False: it has not.
    pub async fn wait_for(&self, what: Arrived, limit: Duration) -> anyhow::Result<bool> {
        let until = tokio::time::Instant::now() + limit;
        while tokio::time::Instant::now() < until {
            if self.has_arrived(what).await? {
                return Ok(true);
            }
            tokio::time::sleep(LOOK_EVERY).await;
        }
        Ok(false)
    }

    async fn has_arrived(&self, what: Arrived) -> anyhow::Result<bool> {
        let kind = match what {
            Arrived::Message => EventType::MessageReceived,
            Arrived::PhoneAnswer => EventType::ModeChanged,
        };
        let filter = EventFilter {
            channels: Some(vec![self.channel.clone()]),
            kinds: vec![kind],
            since: Some(self.since),
            descending: true,
            ..EventFilter::default()
        };
        let page = self.archive.events(&filter, &PageOf { limit: 50, cursor: None }).await?;
        let is_meant = |recorded: &Recorded| {
            what == Arrived::Message || recorded.event.details["reason"] == Reason::AgentPhone.as_str()
        };
        Ok(page.items.iter().any(is_meant))
    }
}
