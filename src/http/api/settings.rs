//! Settings as they are in force: for reading only.

use actix_web::web::Data;
use serde::Serialize;
use utoipa::ToSchema;

use super::Answered;
use crate::http::{answer::Answer, auth::Caller, doors::Doors, ports, wire::List};

/// One setting.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Setting {
    name: String,
    /// Null for a secret, and for one that is not set.
    value: Option<String>,
    set: bool,
    /// `flag`, `environment`, `file` or `default`.
    source: &'static str,
    /// By which key a channel overrides it.
    channel_key: Option<String>,
}

/// What whoever connects a number has to know: how contacts are heard, and at which addresses.
const OF_EACH_CHANNEL: [&str; 3] = ["BATON_GREEN_API_RECEIVE", "BATON_GREEN_API_URL", "BATON_PUBLIC_URL"];

/// All settings. Whoever may not see all channels sees those that a channel may override, and those by which it is connected.
#[utoipa::path(get, path = "/api/v1/settings", tag = "Installation",
    responses((status = 200, body = List<Setting>)))]
pub(crate) async fn list(doors: Data<Doors>, caller: Caller) -> Answered {
    let is_of_each = |setting: &ports::Setting| {
        setting.channel_key.is_some() || OF_EACH_CHANNEL.contains(&setting.name.as_str())
    };
    let is_shown = |setting: &&ports::Setting| caller.channels.is_none() || is_of_each(setting);
    let settings = doors.settings.iter().filter(is_shown).cloned().map(|setting| Setting {
        name: setting.name,
        value: setting.value,
        set: setting.is_set,
        source: setting.source,
        channel_key: setting.channel_key,
    });
    Ok(Answer::ok(&List { items: settings.collect(), next_cursor: None }))
}
