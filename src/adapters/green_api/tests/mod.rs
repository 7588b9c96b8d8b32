//! The adapter against the gateway's own bodies, against bodies that went wrong, and against servers that misbehave.

use std::{io, net::SocketAddr, time::Duration};

use reqwest::dns::{Addrs, Name, Resolve, Resolving};

use super::{Account, GreenApi};
use crate::{
    adapters::http_client::{builder, http_client},
    domain::chat::ChatId,
    flow::provider::{Incoming, Outgoing, Provider, Unreadable, boot_time},
};

mod fixtures;

mod oddities;

mod gateway;

mod wire;

mod secrecy;

/// A token as nothing else in a test reads.
const TOKEN: &str = "d75b3a66374942c5b3c019c698abc2067e151558acbd412345";

fn account(api_url: &str) -> Account {
    Account {
        channel: "default".to_owned(),
        instance: "7103000001".to_owned(),
        api_url: api_url.to_owned(),
        token: TOKEN.to_owned(),
        timeout: Duration::from_secs(5),
    }
}

fn client() -> reqwest::Client {
    http_client(Duration::from_secs(1)).expect("a client")
}

fn gateway_at(api_url: &str) -> GreenApi {
    GreenApi::new(&account(api_url), client()).expect("an address")
}

/// Reads a body with the account of the fixtures.
fn read(body: impl AsRef<[u8]>) -> Result<Incoming, Unreadable> {
    super::read::read("default", "7103000001", body.as_ref())
}

fn mira() -> ChatId {
    ChatId::parse("6580000001@c.us").expect("a chat id")
}

fn outgoing(text: &str) -> Outgoing {
    Outgoing {
        chat: mira(),
        text: text.to_owned(),
        file: None,
        quoted: None,
        idempotency_key: "0199f0c2-key".to_owned(),
        begin_by: boot_time() + Duration::from_secs(60),
        timeout: Duration::from_secs(5),
    }
}

/// Finds every name at one address, once it may.
struct Finder {
    at: Option<SocketAddr>,
    not_before: Duration,
}

impl Resolve for Finder {
    fn resolve(&self, _: Name) -> Resolving {
        let (at, not_before) = (self.at, self.not_before);
        Box::pin(async move {
            while boot_time() <= not_before {
                tokio::task::yield_now().await;
            }
            match at {
                Some(at) => Ok(Box::new(std::iter::once(at)) as Addrs),
                None => {
                    Err(Box::new(io::Error::other("no such name"))
                        as Box<dyn std::error::Error + Send + Sync>)
                }
            }
        })
    }
}

fn gateway_found_by(finder: Finder, port: u16) -> GreenApi {
    let client =
        builder(Duration::from_secs(1)).expect("a client").dns_resolver(finder).build().expect("a client");
    GreenApi::new(&account(&format!("http://gateway.example:{port}")), client).expect("an address")
}

#[test]
fn an_account_and_its_gateway_show_no_token() {
    let shown =
        format!("{:?} {:?}", account("https://gateway.example"), gateway_at("https://gateway.example"));
    assert!(shown.contains("7103000001") && !shown.contains(TOKEN), "{shown}");
}

#[test]
fn an_address_that_is_none_is_refused() {
    for address in ["", "gateway.example", "ftp://gateway.example", "https://"] {
        assert!(GreenApi::new(&account(address), client()).is_err(), "{address}");
    }
}

#[test]
fn a_body_reads_the_same_through_the_place() {
    let gateway = gateway_at("https://gateway.example");
    let body = include_bytes!("../../../../tests/fixtures/webhooks/state_blocked.json");
    assert_eq!(gateway.read(body).expect("readable"), Incoming::State("blocked".to_owned()));
}
