//! `baton check`: everything that Baton needs, looked at once, each with its remedy.

use std::{sync::Arc, time::Duration};

mod address;

mod channels;

mod clock;

mod work;

mod greetings;

use super::{
    CONNECT, channel_loader::CHECK_ACCOUNT, generators::Generators, redis, stores::Store, with_causes,
};
use crate::{
    adapters::{http_client::http_client, postgres::unverified_host},
    config::{AiProvider, Settings},
    flow::{archive::Archive, back_office::registry::Registry, generator::Generator as _},
};

/// Less room than this is too little.
const FREE_MIB: u64 = 256;
/// Redis is waited for this long.
const PING: Duration = Duration::from_secs(2);

/// How something is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Severity {
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
    pub standing: Severity,
    /// How it is.
    pub detail: String,
    /// How to fix it.
    pub remedy: Option<String>,
}

impl Finding {
    fn right(subject: &'static str, detail: impl Into<String>) -> Self {
        Self { subject, standing: Severity::Right, detail: detail.into(), remedy: None }
    }

    fn odd(subject: &'static str, detail: impl Into<String>, remedy: &str) -> Self {
        Self { subject, standing: Severity::Odd, detail: detail.into(), remedy: Some(remedy.to_owned()) }
    }

    fn wrong(subject: &'static str, detail: impl Into<String>, remedy: &str) -> Self {
        Self { subject, standing: Severity::Wrong, detail: detail.into(), remedy: Some(remedy.to_owned()) }
    }
}

/// Looks at everything.
pub async fn check(settings: &Settings) -> Vec<Finding> {
    let mut findings = Vec::new();
    match Store::connect_existing(settings).await {
        Ok(store) => look_at_store(settings, &store, &mut findings).await,
        Err(error) => {
            findings.push(Finding::wrong(
                "database",
                with_causes(&error),
                "check BATON_DATABASE_URL; `baton serve` makes a SQLite file, a PostgreSQL must run",
            ));
            look_without_store(settings, &mut findings).await;
        }
    }
    findings.push(look_at_redis(settings).await);
    findings.push(look_at_model(settings).await);
    findings
}

async fn look_at_tables(store: &Store) -> Finding {
    let place = store.describe();
    if store.is_half_restored().await.unwrap_or(false) {
        let how = format!("{place} holds only a part of a backup");
        return Finding::wrong("database", how, "run `baton restore FILE --again`");
    }
    match store.is_migrated().await {
        Ok(true) => match store.try_to_write().await {
            Ok(()) => Finding::right("database", place),
            Err(error) => Finding::wrong(
                "database",
                format!("{place}: {}", with_causes(&error)),
                "give the server's user write access, and free space",
            ),
        },
        Ok(false) => Finding::wrong(
            "database",
            format!("{place} is not up to date"),
            "run `baton migrate`, or start `baton serve`",
        ),
        Err(error) => Finding::wrong(
            "database",
            with_causes(&error),
            "see what the server says; a pooler in between must lend connections by the session",
        ),
    }
}

/// Whether others may read what goes to the database.
fn look_at_way(settings: &Settings) -> Option<Finding> {
    let (host, mode) = unverified_host(settings.database_url.expose()).filter(|_| settings.is_postgres())?;
    Some(Finding::odd(
        "database",
        format!("{host} need not prove who it is (sslmode={mode}): anyone in between can read all of it"),
        "add ?sslmode=verify-full to BATON_DATABASE_URL, and &sslrootcert=FILE for an authority of its own",
    ))
}

async fn look_at_store(settings: &Settings, store: &Store, findings: &mut Vec<Finding>) {
    findings.push(look_at_tables(store).await);
    findings.extend(look_at_way(settings));
    findings.extend(clock::look(settings, store).await);
    findings.push(look_at_disk(store).await);
    if store.is_migrated().await.unwrap_or(false)
        && let Err(error) = store.require_key(settings).await
    {
        findings.push(Finding::wrong("key", with_causes(&error), "without it no channel can send"));
    }
    findings.extend(address::look(settings).await);
    match channels::look(settings, store).await {
        Ok(found) => findings.extend(found),
        Err(error) => {
            findings.push(Finding::wrong("channels", with_causes(&error), "see the database above"))
        }
    }
    if let Err(error) = look_at_work(settings, store, findings).await {
        findings.push(Finding::wrong("people", with_causes(&error), "see the database above"));
    }
}

/// What the settings alone say: before the first start that is all there is.
async fn look_without_store(settings: &Settings, findings: &mut Vec<Finding>) {
    findings.extend(clock::look_outside(settings, &[]).await);
    findings.extend(address::look(settings).await);
    match channels::look_before_the_first_start(settings).await {
        Ok(found) => findings.extend(found),
        Err(error) => findings.push(Finding::wrong("channel", with_causes(&error), CHECK_ACCOUNT)),
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
            Err(error) => Finding::wrong("disk", with_causes(&error.into()), "see the database above"),
        },
        Store::Sqlite(sqlite) => {
            let folder = sqlite.path().parent().filter(|folder| !folder.as_os_str().is_empty());
            match rustix::fs::statvfs(folder.unwrap_or(std::path::Path::new("."))) {
                Ok(found) => {
                    let free_mib = found.f_bavail.saturating_mul(found.f_frsize) / (1 << 20);
                    let detail = format!("{free_mib} MiB free");
                    if free_mib < FREE_MIB {
                        Finding::wrong("disk", detail, "free space: with a full disk webhooks are refused")
                    } else {
                        Finding::right("disk", detail)
                    }
                }
                Err(error) => Finding::wrong(
                    "disk",
                    with_causes(&error.into()),
                    "check the folder of BATON_DATABASE_URL",
                ),
            }
        }
    }
}

/// What a business has not said to its assistant, whom it has forgotten, and who answers without knowing it.
async fn look_at_work(settings: &Settings, store: &Store, findings: &mut Vec<Finding>) -> anyhow::Result<()> {
    let (registry, archive): (Arc<dyn Registry>, Arc<dyn Archive>) = (store.places(), store.places());
    findings.extend(work::look_at_prompts(settings, &registry.channels().await?));
    findings.extend(work::look_at_people(&*archive, super::now()).await?);
    match greetings::look(&*archive, super::now()).await {
        Ok(found) => findings.extend(found),
        // A hint, and no fault of the installation.
        Err(error) => findings.push(Finding::odd(
            "phone",
            format!("whether a phone takes over by itself could not be checked: {error}"),
            "try again when the database has less to do",
        )),
    }
    Ok(())
}

async fn look_at_redis(settings: &Settings) -> Finding {
    let server = match redis(settings) {
        Ok(Some(server)) => server,
        Ok(None) => return Finding::right("redis", "not used: one instance only"),
        Err(error) => return Finding::wrong("redis", with_causes(&error), "check BATON_REDIS_URL"),
    };
    match tokio::time::timeout(PING, server.ping()).await {
        Ok(Ok(())) => Finding::right("redis", "answers"),
        Ok(Err(error)) => {
            Finding::wrong("redis", with_causes(&error.into()), "check BATON_REDIS_URL, and that it runs")
        }
        Err(_) => Finding::wrong("redis", "does not answer", "check BATON_REDIS_URL, and that it runs"),
    }
}

async fn look_at_model(settings: &Settings) -> Finding {
    if settings.provider() == AiProvider::None {
        let remedy = if settings.ai_provider.is_some() {
            "for one, take out BATON_AI_PROVIDER=none"
        } else {
            "set BATON_AI_BASE_URL or BATON_AI_API_KEY, and BATON_AI_MODEL"
        };
        return Finding::odd("AI", "there is none: every conversation begins with people", remedy);
    }
    let generators =
        http_client(CONNECT).map_err(anyhow::Error::from).and_then(|http| Generators::new(settings, http));
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
            Finding::wrong("AI", with_causes(&error), "check BATON_AI_BASE_URL and BATON_AI_API_KEY")
        }
    }
}
