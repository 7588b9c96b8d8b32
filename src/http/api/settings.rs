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

/// All settings. Whoever may not see all channels sees those that a channel may override.
#[utoipa::path(get, path = "/api/v1/settings", tag = "Installation",
    responses((status = 200, body = List<Setting>)))]
pub(crate) async fn list(doors: Data<Doors>, caller: Caller) -> Answered {
    let is_shown = |setting: &&ports::Setting| caller.channels.is_none() || setting.channel_key.is_some();
    let settings = doors.settings.iter().filter(is_shown).cloned().map(|setting| Setting {
        name: setting.name,
        value: setting.value,
        set: setting.is_set,
        source: setting.source,
        channel_key: setting.channel_key,
    });
    Ok(Answer::ok(&List { items: settings.collect(), next_cursor: None }))
}
