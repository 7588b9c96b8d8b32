//! `baton check`: everything that Baton needs, looked at once, each with its cure.

use std::{sync::Arc, time::Duration};

use super::{CONNECT, generators::Generators, numbers::Numbers, redis, stores::Store};
use crate::{
    adapters::{
        http_client::http_client,
        scripted::{self, Scripted},
    },
    config::{AiProvider, Receive, Settings},
    flow::{dispatch::Dispatch, generator::Generator as _, outbox},
};

/// Clocks that differ by more than this make leases hard to read.
const SKEW_MS: i64 = 2_000;
/// Less room than this is too little.
const FREE_MIB: u64 = 256;
/// Redis is waited for this long.
const PING: Duration = Duration::from_secs(2);

/// How something is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// As it should be.
    Right,
    /// Allowed, but somebody should know.
    Odd,
    /// Something will not work.
    Wrong,
}

/// One thing that `check` looked at.
#[derive(Debug, Clone)]
pub struct Finding {
    /// What.
    pub subject: &'static str,
    /// Whether it is as it should be.
    pub standing: Standing,
    /// How it is.
    pub detail: String,
    /// How to mend it.
    pub remedy: Option<String>,
}

impl Finding {
    fn right(subject: &'static str, detail: impl Into<String>) -> Self {
        Self { subject, standing: Standing::Right, detail: detail.into(), remedy: None }
    }

    fn odd(subject: &'static str, detail: impl Into<String>, remedy: &str) -> Self {
        Self { subject, standing: Standing::Odd, detail: detail.into(), remedy: Some(remedy.to_owned()) }
    }

    fn wrong(subject: &'static str, detail: impl Into<String>, remedy: &str) -> Self {
        Self { subject, standing: Standing::Wrong, detail: detail.into(), remedy: Some(remedy.to_owned()) }
    }
}

/// Looks at everything.
pub async fn check(settings: &Settings) -> Vec<Finding> {
    let mut findings = Vec::new();
    match Store::connect_existing(settings).await {
        Ok(store) => look_at_store(settings, &store, &mut findings).await,
        Err(error) => findings.push(Finding::wrong(
            "database",
            format!("{error:#}"),
            "check BATON_DATABASE_URL; `baton serve` makes a SQLite file, a PostgreSQL must run",
        )),
    }
    findings.push(look_at_redis(settings).await);
    findings.push(look_at_model(settings).await);
    findings
}

async fn look_at_store(settings: &Settings, store: &Store, findings: &mut Vec<Finding>) {
    findings.push(if store.is_half_restored().await.unwrap_or(false) {
        Finding::wrong(
            "database",
            format!("{} holds only a part of a backup", store.describe()),
            "run `baton restore FILE --again`",
        )
    } else if store.is_migrated().await {
        Finding::right("database", store.describe())
    } else {
        Finding::wrong(
            "database",
            format!("{} is not up to date", store.describe()),
            "run `baton migrate`, or start `baton serve`",
        )
    });
    let ledger = store.ledger(Arc::new(Dispatch::default()));
    match ledger.now().await {
        Ok(theirs) => {
            let apart_ms = theirs.since(super::now()).abs();
            findings.push(if apart_ms > SKEW_MS {
                Finding::wrong(
                    "clock",
                    format!("{apart_ms} ms apart from the database's"),
                    "set the clocks by NTP",
                )
            } else {
                Finding::right("clock", format!("{apart_ms} ms apart from the database's"))
            });
        }
        Err(error) => findings.push(Finding::wrong("clock", error.to_string(), "see the database above")),
    }
    findings.push(look_at_disk(store).await);
    match look_at_channels(settings, store).await {
        Ok(found) => findings.extend(found),
        Err(error) => {
            findings.push(Finding::wrong("channels", format!("{error:#}"), "see the database above"))
        }
    }
}

/// Whether what was acknowledged outlives a crash, and whether there is room for more.
async fn look_at_disk(store: &Store) -> Finding {
    match store {
        Store::Postgres(postgres) => match postgres.durability().await {
            Ok(kept) if !kept.reaches_disk => Finding::wrong(
                "disk",
                "PostgreSQL acknowledges commits before they reach the disk",
                "set fsync and synchronous_commit to on: a crash would lose messages that were acknowledged",
            ),
            Ok(kept) if !kept.reaches_standby => Finding::odd(
                "disk",
                "commits reach the disk of one server only",
                "for failover without loss, replicate synchronously (synchronous_standby_names)",
            ),
            Ok(_) => Finding::right("disk", "commits reach the disk, and a standby"),
            Err(error) => Finding::wrong("disk", error.to_string(), "see the database above"),
        },
        Store::Sqlite(sqlite) => {
            let folder = sqlite.path().parent().filter(|folder| !folder.as_os_str().is_empty());
            match rustix::fs::statvfs(folder.unwrap_or(std::path::Path::new("."))) {
                Ok(found) => {
                    let free_mib = found.f_bavail.saturating_mul(found.f_frsize) / (1 << 20);
                    let detail = format!("{free_mib} MiB free");
                    if free_mib < FREE_MIB {
                        Finding::wrong("disk", detail, "make room: a full disk refuses webhooks")
                    } else {
                        Finding::right("disk", detail)
                    }
                }
                Err(error) => {
                    Finding::wrong("disk", error.to_string(), "check the folder of BATON_DATABASE_URL")
                }
            }
        }
    }
}

/// Each channel's account: whether it answers, can send, and posts what Baton needs to hear.
async fn look_at_channels(settings: &Settings, store: &Store) -> anyhow::Result<Vec<Finding>> {
    let (registry, settings) = (store.registry(), Arc::new(settings.clone()));
    let vault = Arc::new(store.vault(&settings)?);
    let numbers =
        Numbers::new(Arc::clone(&registry), Arc::clone(&settings), vault, http_client(CONNECT)?, None);
    let rows = registry.channels().await?;
    if rows.is_empty() {
        return Ok(vec![Finding::odd(
            "channel",
            "there is none yet",
            "set BATON_GREEN_API_INSTANCE and BATON_GREEN_API_TOKEN and start `baton serve`, or add one by the API",
        )]);
    }
    let mut findings = Vec::new();
    for row in rows.iter().filter(|row| row.provider == "green_api") {
        let account = match numbers.account(row) {
            Ok(account) => account,
            Err(error) => {
                findings.push(Finding::wrong(
                    "channel",
                    format!("{}: {error:#}", row.name),
                    "set its credentials again",
                ));
                continue;
            }
        };
        match crate::flow::provider::Provider::state(&account).await {
            Ok(state) if outbox::is_able(&state) => {
                findings
                    .push(Finding::right("channel", format!("{}: the phone is linked ({state})", row.name)));
            }
            Ok(state) => findings.push(Finding::wrong(
                "channel",
                format!("{}: the account is {state}", row.name),
                "link the phone in Green API's console, or wait until it has started",
            )),
            Err(unanswered) => {
                findings.push(Finding::wrong(
                    "channel",
                    format!("{}: {unanswered}", row.name),
                    "check the instance, its token, and BATON_GREEN_API_URL",
                ));
                continue;
            }
        }
        match account.settings().await {
            Ok(found) => {
                if settings.green_api_receive == Receive::Poll && !found.webhook_url.is_empty() {
                    findings.push(Finding::wrong(
                        "webhooks",
                        format!(
                            "{}: the account posts to {}, so that nothing can be fetched",
                            row.name, found.webhook_url
                        ),
                        "clear webhookUrl in Green API's console, or set BATON_GREEN_API_RECEIVE=webhook",
                    ));
                }
                let off = found.switches_off;
                findings.push(if off.is_empty() {
                    Finding::right("webhooks", format!("{}: every switch that Baton needs is on", row.name))
                } else {
                    Finding::wrong(
                        "webhooks",
                        format!("{}: off are {}", row.name, off.join(", ")),
                        "switch them on in Green API's console: without them Baton does not see takeovers and echoes",
                    )
                });
            }
            Err(unanswered) => findings.push(Finding::wrong(
                "webhooks",
                format!("{}: {unanswered}", row.name),
                "try again in a minute",
            )),
        }
    }
    Ok(findings)
}

async fn look_at_redis(settings: &Settings) -> Finding {
    let server = match redis(settings) {
        Ok(Some(server)) => server,
        Ok(None) => return Finding::right("redis", "not used: one instance only"),
        Err(error) => return Finding::wrong("redis", format!("{error:#}"), "check BATON_REDIS_URL"),
    };
    match tokio::time::timeout(PING, server.ping()).await {
        Ok(Ok(())) => Finding::right("redis", "answers"),
        Ok(Err(error)) => {
            Finding::wrong("redis", error.to_string(), "check BATON_REDIS_URL, and that it runs")
        }
        Err(_) => Finding::wrong("redis", "does not answer", "check BATON_REDIS_URL, and that it runs"),
    }
}

async fn look_at_model(settings: &Settings) -> Finding {
    if settings.provider() == AiProvider::None {
        return Finding::odd(
            "AI",
            "there is none: every conversation begins with people",
            "set BATON_AI_BASE_URL or BATON_AI_API_KEY, and BATON_AI_MODEL",
        );
    }
    let scripted =
        Arc::new(Scripted::new(scripted::Faults::default(), Duration::from_millis(settings.ai_idle_ms)));
    let generators = http_client(CONNECT)
        .map_err(anyhow::Error::from)
        .and_then(|http| Generators::new(settings, http, scripted));
    match generators {
        Ok(generators) => match generators.check().await {
            Ok(words) => Finding::right("AI", words),
            Err(failure) => Finding::wrong(
                "AI",
                failure.to_string(),
                "check BATON_AI_BASE_URL, BATON_AI_API_KEY and BATON_AI_MODEL",
            ),
        },
        Err(error) => {
            Finding::wrong("AI", format!("{error:#}"), "check BATON_AI_BASE_URL and BATON_AI_API_KEY")
        }
    }
}
