//! `baton check --live`: whether the server of these settings answers, asked over its own door. What a container asks of
//! itself, in an image that has no shell and no other program.

use std::{
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    time::Duration,
};

use super::{CONNECT, Finding, Severity, with_causes};
use crate::{adapters::http_client::http_client, config::Settings};

/// A server that takes longer to say that it lives does not.
const ANSWER: Duration = Duration::from_secs(2);

/// Asks the server where it listens, and nothing else: neither database nor provider is touched.
pub async fn is_alive(settings: &Settings) -> Finding {
    let url = format!("http://{}/healthz", near(settings.listen));
    let (standing, detail) = match ask(&url).await {
        Ok(status) if status.is_success() => (Severity::Right, format!("{url} answers")),
        Ok(status) => (Severity::Wrong, format!("{url} answers {status}")),
        Err(error) => (Severity::Wrong, format!("{url} does not answer: {}", with_causes(&error))),
    };
    let cure = "start `baton serve`, or name its address with BATON_LISTEN";
    let remedy = (standing == Severity::Wrong).then(|| cure.to_owned());
    Finding { subject: "server", standing, detail, remedy }
}

async fn ask(url: &str) -> anyhow::Result<reqwest::StatusCode> {
    Ok(http_client(CONNECT)?
        .get(url)
        .timeout(ANSWER)
        .send()
        .await
        .map_err(reqwest::Error::without_url)?
        .status())
}

/// Where a server that listens there is reached from the same machine.
pub(super) fn near(listens: SocketAddr) -> SocketAddr {
    let ip = match listens.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    };
    SocketAddr::new(ip, listens.port())
}
