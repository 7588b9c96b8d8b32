//! Rule: where the provider of a channel may be, for whom. Baton asks there, inside the network around it as well.
//!
//! In: who names an address, and the address. Out: a refusal, unless they may. An admin of all channels holds the installation,
//! and may name any. One of some channels has been trusted with numbers and not with the network.

use std::sync::LazyLock;

use crate::{
    domain::hosts::Hosts,
    http::{auth::Caller, doors::Doors, problem::Problem},
};

/// Where Green API itself is, as its console names addresses of accounts.
static OF_GREEN_API: LazyLock<Hosts> = LazyLock::new(|| {
    let hosts = "green-api.com,*.green-api.com,greenapi.com,*.greenapi.com";
    // What stands here is read by a test.
    hosts.parse().unwrap_or_default()
});

/// The setting that says where accounts are, unless a channel says otherwise.
const USUAL: &str = "BATON_GREEN_API_URL";

/// Refuses an address that this caller may not name.
pub(super) fn check(doors: &Doors, caller: &Caller, url: Option<&str>) -> Result<(), Problem> {
    let (Some(url), Some(_)) = (url, &caller.channels) else { return Ok(()) };
    let usual = doors.settings.iter().find(|setting| setting.name == USUAL);
    let place = |url: &str| doors.channels.place(url);
    let usual = usual.and_then(|setting| setting.value.as_deref()).and_then(place);
    match place(url) {
        Some((host, port)) if OF_GREEN_API.names(&host, port) => Ok(()),
        place if place.is_some() && place == usual => Ok(()),
        _ => Err(Problem::forbidden(format!(
            "an api_url elsewhere than at Green API, or where {USUAL} is, is named by an admin of all channels"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn green_api_is_at_its_own_names_and_those_below_them() {
        for (host, is_theirs) in [
            ("api.green-api.com", true),
            ("7103.api.greenapi.com", true),
            ("greenapi.com", true),
            ("green-api.com.example", false),
            ("not-green-api.com", false),
            ("127.0.0.1", false),
        ] {
            assert_eq!(OF_GREEN_API.names(host, 443), is_theirs, "{host}");
        }
    }
}
