//! Each channel's account: whether it answers, can send, and posts what Baton needs to hear.

use std::sync::Arc;

use super::{
    super::{
        CONNECT,
        channel_loader::{AGREE, CHECK_ACCOUNT, ChannelLoader, DEFAULT},
        stores::Store,
        with_causes,
    },
    Finding,
};
use crate::{
    adapters::{
        green_api::{self, Account, GreenApi},
        http_client::http_client,
    },
    config::{Receive, Settings},
    domain::time::duration,
    flow::{
        back_office::registry::{Channel, Registry},
        outbox,
        provider::{GREEN_API, Provider as _, Unanswered},
    },
};

/// Looks at every channel.
pub(super) async fn look(settings: &Settings, store: &Store) -> anyhow::Result<Vec<Finding>> {
    let (registry, settings): (Arc<dyn Registry>, _) = (store.places(), Arc::new(settings.clone()));
    let vault = Arc::new(store.vault(&settings).await?);
    let loader =
        ChannelLoader::new(Arc::clone(&registry), Arc::clone(&settings), vault, http_client(CONNECT)?, None);
    let rows = registry.channels().await?;
    if rows.is_empty() {
        let remedy = if settings.green_api_instance.is_some() {
            "start `baton serve`, which sets it up"
        } else {
            "set BATON_GREEN_API_INSTANCE and BATON_GREEN_API_TOKEN and start `baton serve`, or add one in the dashboard"
        };
        return Ok(vec![Finding::odd("channel", "there is none yet", remedy)]);
    }
    let mut findings = look_for_twins(&rows);
    findings.extend(look_for_the_default(&settings, &rows));
    findings.extend(rows.iter().filter_map(|row| look_at_settings(&settings, row)));
    for row in rows.iter().filter(|row| row.provider == GREEN_API) {
        findings.extend(look_at_environment(&loader, row));
        match loader.account(row) {
            Ok(account) => look_at_account(&settings, &loader, row, &account, &mut findings).await,
            Err(error) => findings.push(Finding::wrong(
                "channel",
                format!("{}: {}", row.name, with_causes(&error)),
                "set its credentials again",
            )),
        }
    }
    Ok(findings)
}

/// The account that the settings name, where there is no database yet that could name any: the first start sets that one up.
pub(super) async fn look_before_the_first_start(settings: &Settings) -> anyhow::Result<Vec<Finding>> {
    let (Some(instance), Some(token)) = (&settings.green_api_instance, &settings.green_api_token) else {
        return Ok(Vec::new());
    };
    let account = Account {
        channel: DEFAULT.to_owned(),
        instance: instance.clone(),
        api_url: settings.green_api_url.clone(),
        token: token.expose().to_owned(),
        timeout: duration(settings.green_api_timeout_ms),
    };
    let account = GreenApi::new(&account, http_client(CONNECT)?)?;
    Ok(vec![how_it_is(DEFAULT, account.state().await)])
}

/// Whether its own settings can be used.
fn look_at_settings(settings: &Settings, row: &Channel) -> Option<Finding> {
    let wrong = settings.check_channel(&row.settings).err()?;
    let detail = format!("{}: {} {}", row.name, wrong.setting, wrong.problem);
    Some(Finding::wrong("channel", detail, "change that setting of the channel"))
}

/// Whether the server runs it as the settings are here.
fn look_at_environment(loader: &ChannelLoader, row: &Channel) -> Option<Finding> {
    let unlike = loader.unlike(row);
    let detail = format!("{}: the server has set it up with another {}", row.name, unlike.join(", "));
    (!unlike.is_empty()).then(|| Finding::odd("channel", detail, AGREE))
}

/// Whether it can send, and if it says anything at all, whether Baton hears it.
async fn look_at_account(
    settings: &Settings,
    loader: &ChannelLoader,
    row: &Channel,
    account: &GreenApi,
    findings: &mut Vec<Finding>,
) {
    let name = &row.name;
    let state = account.state().await;
    let is_answered = state.is_ok();
    findings.push(how_it_is(name, state));
    if !is_answered {
        return;
    }
    match account.settings(loader.own_webhook_token(row).as_deref()).await {
        Ok(found) => {
            findings.extend(match settings.green_api_receive {
                Receive::Poll => look_at_queue(name, &found),
                Receive::Webhook => look_at_door(settings, name, &found),
            });
            findings.extend(look_at_pace(settings, row, &found));
            findings.push(look_at_switches(name, &found));
        }
        Err(unanswered) => {
            let detail = format!("{name}: {unanswered}");
            findings.push(Finding::wrong("webhooks", detail, "try again in a minute"));
        }
    }
}

/// Whether an account in that state can send.
fn how_it_is(name: &str, state: Result<String, Unanswered>) -> Finding {
    match state {
        Ok(state) if outbox::is_able(&state) => {
            Finding::right("channel", format!("{name}: the phone is linked ({state})"))
        }
        Ok(state) => Finding::wrong(
            "channel",
            format!("{name}: the account is {state}"),
            "link the phone in Green API's console, or wait until it has started",
        ),
        Err(unanswered) => Finding::wrong("channel", format!("{name}: {unanswered}"), CHECK_ACCOUNT),
    }
}

/// Whether what is to be fetched is there.
fn look_at_queue(channel: &str, found: &green_api::Settings) -> Option<Finding> {
    let url = &found.webhook_url;
    let detail = format!("{channel}: the account posts to {url}, so that nothing can be fetched");
    let remedy = "clear webhookUrl in Green API's console, or set BATON_GREEN_API_RECEIVE=webhook";
    (!url.is_empty()).then(|| Finding::wrong("webhooks", detail, remedy))
}

/// Whether the account tells all that Baton goes by.
fn look_at_switches(channel: &str, found: &green_api::Settings) -> Finding {
    let off = &found.switches_off;
    if off.is_empty() {
        return Finding::right("webhooks", format!("{channel}: every switch that Baton needs is on"));
    }
    let detail = format!("{channel}: switched off: {}", off.join(", "));
    Finding::wrong(
        "webhooks",
        detail,
        "run `baton connect`: without them Baton does not see takeovers and echoes",
    )
}

/// Whether what the account posts comes to Baton's door, and is let in.
fn look_at_door(settings: &Settings, channel: &str, found: &green_api::Settings) -> Option<Finding> {
    let base = settings.public_url.as_deref()?.trim_end_matches('/');
    let url = format!("{base}/webhooks/green-api/{channel}");
    let posts_elsewhere = found.webhook_url != url;
    if posts_elsewhere {
        let to = if found.webhook_url.is_empty() { "nowhere" } else { found.webhook_url.as_str() };
        let detail = format!("{channel}: the account posts to {to}, not to {url}");
        return Some(Finding::wrong("webhooks", detail, "run `baton connect`"));
    }
    let detail = format!("{channel}: the account shows another token than Baton expects");
    (!found.has_our_token).then(|| Finding::wrong("webhooks", detail, "run `baton connect`"))
}

/// What the account takes faster than it sends waits at the provider, where no takeover reaches it.
fn look_at_pace(settings: &Settings, row: &Channel, found: &green_api::Settings) -> Option<Finding> {
    let policy = settings.policy().and_then(|policy| settings.overlay(&policy, &row.settings)).ok()?;
    let (ours, theirs) = (policy.send_interval_ms, found.send_delay_ms?);
    let detail = format!("{}: the account sends each {theirs} ms, and Baton each {ours} ms", row.name);
    let remedy = format!(
        "set BATON_SEND_INTERVAL_MS={theirs}, or delaySendMessagesMilliseconds in Green API's console: what waits there \
         cannot be taken back by a takeover"
    );
    (theirs > ours).then(|| Finding::odd("webhooks", detail, &remedy))
}

/// Two channels on one account would each get half of what comes, and answer it twice.
fn look_for_twins(rows: &[Channel]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (at, row) in rows.iter().enumerate() {
        if let Some(twin) = rows[..at].iter().find(|other| other.shares_account_with(row)) {
            let detail = format!("{} and {} are the same account", twin.name, row.name);
            findings.push(Finding::wrong("channel", detail, "remove one of them"));
        }
    }
    findings
}

/// The instance of the settings is that of another channel: the server has not set it up.
fn look_for_the_default(settings: &Settings, rows: &[Channel]) -> Option<Finding> {
    let instance = settings.green_api_instance.as_ref()?;
    let of_it = |row: &&Channel| row.instance.as_ref() == Some(instance);
    let is_set_up = rows.iter().filter(of_it).any(|row| row.name == DEFAULT);
    let other = rows.iter().find(of_it).filter(|_| !is_set_up)?;
    let detail = format!("{DEFAULT} is not set up: BATON_GREEN_API_INSTANCE is that of {}", other.name);
    Some(Finding::wrong("channel", detail, "take it out of the settings, or off that channel"))
}
