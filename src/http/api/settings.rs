//! Settings as they are in force: for reading only.

use actix_web::web::Data;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::{Answered, page_of};
use crate::{
    flow::archive::PageOf,
    http::{
        answer::Answer,
        auth::Caller,
        doors::Doors,
        ports,
        problem::Problem,
        read::{self, Query},
        wire::List,
    },
};

/// Which settings.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct ListQuery {
    /// At most this many: 1 to 200, all if not given.
    limit: Option<i64>,
    /// `next_cursor` of the page before.
    cursor: Option<String>,
}

impl ListQuery {
    fn page(self) -> Result<PageOf, Problem> {
        let limit = if self.limit.is_some() { read::limit_of(self.limit)? } else { usize::MAX };
        Ok(PageOf { limit, cursor: self.cursor })
    }
}

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

/// What a person who connects a number has to know: how contacts' messages come in, and at which addresses.
const OF_EACH_CHANNEL: [&str; 3] = ["BATON_GREEN_API_RECEIVE", "BATON_GREEN_API_URL", "BATON_PUBLIC_URL"];

/// All settings. A caller who may not see all channels sees those that a channel may override, and those that connect it.
#[utoipa::path(get, path = "/api/v1/settings", tag = "Installation", params(ListQuery),
    responses((status = 200, body = List<Setting>)))]
pub(crate) async fn list(doors: Data<Doors>, caller: Caller, query: Query<ListQuery>) -> Answered {
    let page = query.0.page()?;
    let is_of_each = |setting: &ports::Setting| {
        setting.channel_key.is_some() || OF_EACH_CHANNEL.contains(&setting.name.as_str())
    };
    let is_shown = |setting: &&ports::Setting| caller.channels.is_none() || is_of_each(setting);
    let all = doors.settings.iter().filter(is_shown).cloned().enumerate().collect();
    let page = page_of(all, &page, |(place, _)| *place)?;
    Ok(Answer::ok(&List::of(page, |(_, setting)| Setting {
        name: setting.name,
        value: setting.value,
        set: setting.is_set,
        source: setting.source,
        channel_key: setting.channel_key,
    })))
}
