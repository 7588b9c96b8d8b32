//! The one HTTP client with which Baton calls others. Pooled, and strict: what it is asked to send goes once, to the
//! address named, or not at all. In: how long a connection may take. Out: a client for all whom we call.

use std::{sync::Arc, time::Duration};

use rustls::{ClientConfig, RootCertStore, crypto::ring};

/// A connection unused for this long is closed by us. Servers commonly do so after five seconds, and one that closes
/// just as we write leaves the fate of the request unclear.
const POOL_IDLE: Duration = Duration::from_secs(4);

/// Bytes that the other side has not acknowledged for this long are given up by the kernel, also after the request
/// timed out here and its socket was closed: they must not arrive at some later time.
#[cfg(target_os = "linux")]
const UNACKNOWLEDGED: Duration = Duration::from_secs(10);

/// The client cannot be made; nothing that needs it can run.
#[derive(Debug, thiserror::Error)]
pub enum NoClient {
    /// The cryptography does not offer what TLS needs.
    #[error("TLS cannot be set up")]
    Tls(#[from] rustls::Error),
    /// The client itself.
    #[error("the HTTP client cannot be set up")]
    Client(#[from] reqwest::Error),
}

/// Makes a client that follows no redirect, repeats nothing, asks no proxy, and trusts the roots built in.
pub fn http_client(connect_timeout: Duration) -> Result<reqwest::Client, NoClient> {
    Ok(builder(connect_timeout)?.build()?)
}

/// The same for requests that end within that limit: when one has, nothing of it arrives any more.
pub fn http_client_within(limit: Duration, connect_timeout: Duration) -> Result<reqwest::Client, NoClient> {
    let client = builder(connect_timeout)?;
    #[cfg(target_os = "linux")]
    let client = client.tcp_user_timeout(limit.min(UNACKNOWLEDGED));
    #[cfg(not(target_os = "linux"))]
    let _ = limit;
    Ok(client.build()?)
}

/// The same before its last step, for tests that find hosts in their own way.
pub(super) fn builder(connect_timeout: Duration) -> Result<reqwest::ClientBuilder, rustls::Error> {
    let roots = RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() };
    let tls = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()?
        .with_root_certificates(roots)
        .with_no_client_auth();
    let client = reqwest::Client::builder()
        .tls_backend_preconfigured(tls)
        .user_agent(concat!("baton/", env!("CARGO_PKG_VERSION")))
        .redirect(reqwest::redirect::Policy::none())
        .retry(reqwest::retry::never())
        .referer(false)
        .no_proxy()
        .connect_timeout(connect_timeout)
        .pool_idle_timeout(POOL_IDLE);
    #[cfg(target_os = "linux")]
    let client = client.tcp_user_timeout(UNACKNOWLEDGED);
    Ok(client)
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_nobody_takes_is_given_up_when_its_request_has_ended() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let client = http_client_within(Duration::from_millis(300), POOL_IDLE).expect("a client");
        // More than the two ends of a connection hold. It is accepted, and never read.
        let posted = client.post(url).body(vec![0; 64 << 20]).send();
        let posted = tokio::time::timeout(UNACKNOWLEDGED / 2, posted);
        let (_held, posted) = tokio::join!(listener.accept(), posted);
        assert!(posted.expect("given up, and before anything else").is_err());
    }
}
