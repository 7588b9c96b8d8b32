//! Links with which people sign in, for anyone who can start the program: the first agent's at the first start, and the demo's.

use std::net::SocketAddr;

use anyhow::{Context as _, bail};

use super::liveness::near;
use crate::{
    config::Settings,
    domain::time::Time,
    flow::back_office::{
        people::{Agent, People, Role},
        sign_in::{self, fresh_link},
    },
    http::site::sign_in_link,
};

/// The address before every path: where Baton is reached from outside, else where it listens.
pub fn base(settings: &Settings, listens: SocketAddr) -> String {
    let here = || format!("http://{}", near(listens));
    settings.public_url.clone().unwrap_or_else(here)
}

/// Another link for that agent, as a browser opens it.
pub async fn invite(people: &dyn People, agent: &Agent, base: &str, now: Time) -> anyhow::Result<String> {
    let (link, secret) = fresh_link(agent.id, now).context("the system provides no random bytes")?;
    if !people.add_link(&link, None).await? {
        bail!("{} is disabled: a link would not let them in", agent.email);
    }
    Ok(sign_in_link(base, &secret))
}

/// Where there is no agent at all there is one from now on: the link with which they come in.
pub(super) async fn first(people: &dyn People, base: &str, now: Time) -> anyhow::Result<Option<String>> {
    let secret = sign_in::begin(people, now).await?;
    Ok(secret.map(|secret| sign_in_link(base, &secret)))
}

/// A link for who may do everything: the first agent's, or another one.
pub(super) async fn for_admin(people: &dyn People, base: &str, now: Time) -> anyhow::Result<String> {
    if let Some(link) = first(people, base, now).await? {
        return Ok(link);
    }
    let all = people.agents().await?;
    let is_admin =
        |agent: &&Agent| agent.role == Role::Admin && !agent.is_disabled && agent.channels.is_none();
    let admin = all.iter().find(is_admin).context("there is no admin")?;
    invite(people, admin, base, now).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_leads_to_where_a_browser_gets() {
        for (public, listens, wanted) in [
            ("", "127.0.0.1:8080", "http://127.0.0.1:8080"),
            ("", "0.0.0.0:9000", "http://127.0.0.1:9000"),
            ("", "[::]:9000", "http://[::1]:9000"),
            ("", "10.0.0.5:80", "http://10.0.0.5:80"),
            ("https://baton.example.com", "0.0.0.0:8080", "https://baton.example.com"),
        ] {
            let set = [("public_url", public)];
            let set = if public.is_empty() { &set[..0] } else { &set[..] };
            let settings = Settings::default().adjusted(&[], set).expect("right");
            assert_eq!(base(&settings, listens.parse().expect("an address")), wanted);
        }
    }
}
