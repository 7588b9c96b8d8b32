//! Those outside who receive events, over HTTP. In: a signed body and an address that somebody typed. Out: what they
//! answered, within limits of time and size.
//!
//! An address is not trusted: it is https, at a name that leads outside (looked up by us, and connected to as it was
//! looked up) or at an address that anyone may reach. What the settings name is reached wherever it is, by http too.

#[cfg(test)]
mod tests;

use std::{error::Error as _, net::IpAddr, time::Duration};

use async_trait::async_trait;
use reqwest::{Client, Response, StatusCode, Url, header};
use tokio::time::{Instant, timeout_at};

use super::{
    addresses::{Inside, Outside, is_outside},
    http_client::{self, NoClient},
};
use crate::{
    domain::{
        endpoint::{Attempt, Trouble},
        hosts::Hosts,
    },
    flow::notify::receivers::{Parcel, Receivers},
};

/// A connection is up within this.
const CONNECT: Duration = Duration::from_secs(5);
/// The answer is there within this, connection and all.
const ANSWER: Duration = Duration::from_secs(15);
/// So much of the answer is looked at, and kept for the log.
const ANSWER_MAX: usize = 2 << 10;
/// Longest address.
const URL_MAX: usize = 2_000;

/// The way out.
pub struct Outward {
    /// Reaches only what anyone may reach.
    outside: Client,
    /// Reaches whatever a name leads to.
    anywhere: Client,
    /// Who is reached so.
    hosts: Hosts,
    limit: Duration,
}

/// Which of the two ways.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    Outside,
    Anywhere,
}

impl Outward {
    /// With hosts that are reached wherever they are.
    pub fn new(hosts: Hosts) -> Result<Self, NoClient> {
        Self::within(hosts, ANSWER)
    }

    fn within(hosts: Hosts, limit: Duration) -> Result<Self, NoClient> {
        Ok(Self {
            outside: http_client::builder(CONNECT)?.dns_resolver(Outside).build()?,
            anywhere: http_client::http_client(CONNECT)?,
            hosts,
            limit,
        })
    }

    /// How that address is reached, or why it is not.
    fn way(&self, text: &str) -> Result<(Url, Way), &'static str> {
        if text.len() > URL_MAX {
            return Err("must have at most 2000 characters");
        }
        let url = Url::parse(text).map_err(|_| "is not an address")?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err("must be https");
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err("must not hold a name or a password");
        }
        if url.fragment().is_some() {
            return Err("must not hold a fragment");
        }
        let (Some(host), Some(port)) = (url.host_str(), url.port_or_known_default()) else {
            return Err("must name a host");
        };
        let address = host.trim_matches(['[', ']']).parse::<IpAddr>();
        let is_named = match address {
            Ok(address) => self.hosts.has_address(address, port),
            Err(_) => self.hosts.names(host, port),
        };
        if is_named {
            return Ok((url, Way::Anywhere));
        }
        if url.scheme() != "https" {
            return Err("must be https, unless BATON_WEBHOOK_HOSTS names the host");
        }
        if address.is_ok_and(|address| !is_outside(address)) {
            return Err("must be an address that anyone may reach, unless BATON_WEBHOOK_HOSTS names it");
        }
        Ok((url, Way::Outside))
    }

    async fn exchange(&self, parcel: Parcel) -> Attempt {
        let failed = |trouble| Attempt { trouble: Some(trouble), ..Attempt::default() };
        let Ok((url, way)) = self.way(&parcel.url) else { return failed(Trouble::NotAllowed) };
        let client = if way == Way::Outside { &self.outside } else { &self.anywhere };
        let ends_at = Instant::now() + self.limit;
        let request = client
            .post(url)
            .header(header::CONTENT_TYPE, "application/json")
            .header("webhook-id", parcel.id)
            .header("webhook-timestamp", parcel.timestamp)
            .header("webhook-signature", parcel.signature)
            .body(parcel.body);
        match timeout_at(ends_at, request.send()).await {
            Err(_) => failed(Trouble::Timeout),
            Ok(Err(error)) => failed(unreached(&error)),
            Ok(Ok(response)) => answered(response, ends_at).await,
        }
    }
}

#[async_trait]
impl Receivers for Outward {
    fn refuses(&self, url: &str) -> Option<String> {
        self.way(url).err().map(str::to_owned)
    }

    fn is_named(&self, url: &str) -> bool {
        self.way(url).is_ok_and(|(_, way)| way == Way::Anywhere)
    }

    async fn post(&self, parcel: Parcel) -> Attempt {
        let began = Instant::now();
        let attempt = self.exchange(parcel).await;
        let took_ms = i64::try_from(began.elapsed().as_millis()).unwrap_or(i64::MAX);
        Attempt { took_ms, ..attempt }
    }
}

async fn answered(mut response: Response, ends_at: Instant) -> Attempt {
    let status = response.status();
    let trouble = match status {
        status if status.is_success() => None,
        StatusCode::GONE => Some(Trouble::Gone),
        status if status.is_redirection() => Some(Trouble::Redirected),
        _ => Some(Trouble::Refused),
    };
    let retry_after = response.headers().get(header::RETRY_AFTER).and_then(|value| value.to_str().ok());
    let retry_after_ms = retry_after
        .and_then(|text| text.trim().parse::<i64>().ok())
        .map(|seconds| seconds.saturating_mul(1_000));
    // What it says beside its status is for the log alone: whether it came does not hang on it.
    let mut answer = Vec::new();
    while answer.len() < ANSWER_MAX {
        match timeout_at(ends_at, response.chunk()).await {
            Ok(Ok(Some(piece))) => answer.extend_from_slice(&piece),
            Ok(Ok(None) | Err(_)) | Err(_) => break,
        }
    }
    answer.truncate(ANSWER_MAX);
    // Some answers are no text at all.
    let is_shown = |it: &char| !it.is_control() || it.is_whitespace();
    let text: String = String::from_utf8_lossy(&answer).chars().filter(is_shown).collect();
    Attempt {
        status: Some(status.as_u16()),
        trouble,
        answer: (!text.is_empty()).then_some(text),
        retry_after_ms,
        took_ms: 0,
    }
}

/// Nothing of the address goes on: it may hold a secret.
fn unreached(error: &reqwest::Error) -> Trouble {
    let mut cause = error.source();
    while let Some(error) = cause {
        if error.is::<Inside>() {
            return Trouble::NotAllowed;
        }
        cause = error.source();
    }
    if error.is_timeout() { Trouble::Timeout } else { Trouble::Unreachable }
}
