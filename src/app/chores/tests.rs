//! Chores over a real store, with gateways that hang.

use std::future::pending;

use async_trait::async_trait;
use metrics_exporter_prometheus::PrometheusBuilder;
use tokio::{
    io::copy_bidirectional,
    net::{TcpListener, TcpStream},
    task::{JoinHandle, JoinSet},
};

use super::*;
use crate::{
    adapters::{
        http_client::http_client,
        test_stores::{self, NOW},
    },
    app::{
        CONNECT,
        channel_loader::tests::row,
        generators::Models,
        parts::Ground,
        stores::Store,
        vault::{KEY_BYTES, Vault},
    },
    config::Settings,
    domain::{chat::ChatId, time::Time},
    flow::{
        instance::{channels, dispatch::Dispatch},
        provider::{Arrival, Incoming, Notification, Outgoing, Provider, Sent, Unanswered, Unreadable},
    },
};

fn mira() -> ChatId {
    ChatId::parse("6580000001@c.us").expect("a chat id")
}

/// A gateway that hangs, or whose phone is linked and has one message that never came.
pub(in crate::app) struct Gateway {
    pub(in crate::app) hangs: bool,
}

#[async_trait]
impl Provider for Gateway {
    fn read(&self, _: &[u8]) -> Result<Incoming, Unreadable> {
        unreachable!("nothing is posted here")
    }

    async fn send(&self, _: &Outgoing) -> Sent {
        unreachable!("nothing is sent here")
    }

    async fn state(&self) -> Result<String, Unanswered> {
        if self.hangs {
            pending::<()>().await;
        }
        Ok("authorized".to_owned())
    }

    async fn receive(&self, _: Duration) -> Result<Option<Notification>, Unanswered> {
        Ok(None)
    }

    async fn journal(&self, _: i64) -> Result<Vec<Arrival>, Unanswered> {
        Ok(vec![Arrival::plain(&mira(), "missed", "Anyone?".to_owned(), NOW.plus_ms(-3_600_000))])
    }
}

/// The chores of an instance with two channels: one whose gateway hangs, and a healthy one after it.
async fn chores() -> (Arc<Chores>, tempfile::TempDir) {
    chores_beside(None).await
}

async fn chores_beside(redis: Option<Server>) -> (Arc<Chores>, tempfile::TempDir) {
    let (store, folder) = test_stores::sqlite().await;
    let dispatch = Arc::new(Dispatch::default());
    let ground = Ground {
        settings: Arc::new(Settings::default()),
        store: Store::Sqlite(store),
        vault: Arc::new(Vault::new(&[[1; KEY_BYTES]]).expect("a vault")),
        sandbox: None,
        observer: dispatch.clone(),
        dispatch,
    };
    let parts = Arc::new(Parts::over(ground).await.expect("parts"));
    for (name, instance) in [("hung", "7105000001"), ("well", "7105000002")] {
        let channel = row(&parts.channel_loader, name, instance);
        assert!(parts.registry.add_channel(&channel).await.expect("written"));
    }
    parts.channel_loader.load().await.expect("loaded");
    for name in parts.channel_loader.channels.names() {
        let loaded = parts.channel_loader.channels.get(&name).expect("loaded");
        let provider = Arc::new(Gateway { hangs: name == "hung" });
        parts
            .channel_loader
            .channels
            .put(channels::Channel { provider, ..channels::Channel::clone(&loaded) });
    }
    let (intake, eraser, shutdown) = (parts.intake(None, None), parts.eraser(), Shutdown::default());
    let models = Models::of(&parts.settings, &http_client(CONNECT).expect("a client")).expect("models");
    let turns = parts.turns(String::new(), &models, None, &parts.sender(&shutdown), &shutdown);
    (Arc::new(Chores::new(&parts, &intake, &turns, &eraser, redis)), folder)
}

/// Waits for that while the chore hangs.
async fn meanwhile(chore: impl Future<Output = ()>, is_so: impl AsyncFn() -> bool) {
    let looking = async {
        while !is_so().await {
            tokio::task::yield_now().await;
        }
    };
    let either = async {
        tokio::select! {
            () = chore => panic!("a gateway hangs"),
            () = looking => {}
        }
    };
    tokio::time::timeout(Duration::from_secs(20), either).await.expect("it is so while the other hangs");
}

#[tokio::test]
async fn a_gateway_that_hangs_keeps_no_other_channel_from_being_asked_how_it_is() {
    let (chores, _folder) = chores().await;
    let is_known = async || {
        let rows = chores.parts.registry.channels().await.expect("reads");
        rows.iter().any(|row| row.name == "well" && row.state == "authorized")
    };
    assert!(!is_known().await);
    meanwhile(Arc::clone(&chores).ask_channels(), is_known).await;
    for name in ["hung", "well"] {
        chores.keep_state(name, "notAuthorized").await.expect("written");
    }
    assert!(!is_known().await);
    meanwhile(Arc::clone(&chores).ask_channels(), is_known).await;
}

#[tokio::test]
async fn a_gateway_that_hangs_keeps_no_other_journal_from_being_looked_through() {
    let (chores, _folder) = chores().await;
    let is_found =
        async || chores.parts.archive.conversation_of("well", &mira()).await.expect("reads").is_some();
    assert!(!is_found().await);
    meanwhile(Arc::clone(&chores).look_through_journals(), is_found).await;
}

#[test]
fn a_channel_that_is_gone_keeps_no_alert_up() {
    let row = |name: &str, state: &str| Channel {
        state: state.to_owned(),
        ..Channel::new(name, "green_api", Time(1))
    };
    let (recorder, mut measured) = (PrometheusBuilder::new().build_recorder(), BTreeSet::new());
    metrics::with_local_recorder(&recorder, || {
        channel_breaker::show("shop", 1.0);
        channel_breaker::show("other", 1.0);
        show_channels(vec![row("shop", "authorized"), row("other", "notAuthorized")], &mut measured);
        show_channels(vec![row("shop", "authorized")], &mut measured);
    });
    let text = recorder.handle().render();
    for line in [
        r#"baton_channel_linked{channel="shop"} 1"#,
        r#"baton_channel_linked{channel="other"} NaN"#,
        r#"baton_breaker_state{of="channel",channel="shop"} 1"#,
        r#"baton_breaker_state{of="channel",channel="other"} NaN"#,
    ] {
        assert!(text.lines().any(|had| had == line), "{line}\nnot in\n{text}");
    }
}

/// A way to the Redis of the tests that can be cut.
async fn way_to_redis() -> (JoinHandle<()>, String) {
    let redis = std::env::var("TEST_REDIS_URL").expect("`cargo xtask test` starts one and sets it");
    let redis = reqwest::Url::parse(&redis).expect("an address");
    let to = format!("{}:{}", redis.host_str().expect("a host"), redis.port().unwrap_or(6379));
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let from = listener.local_addr().expect("bound");
    let way = tokio::spawn(async move {
        let mut open = JoinSet::new();
        while let Ok((mut client, _)) = listener.accept().await {
            let to = to.clone();
            open.spawn(async move {
                let mut server = TcpStream::connect(to).await?;
                copy_bidirectional(&mut client, &mut server).await
            });
        }
    });
    (way, format!("redis://{from}"))
}

#[tokio::test]
async fn redis_is_missed_although_nothing_happens() {
    let (way, address) = way_to_redis().await;
    let redis = Server::open_with_limit(&address, Duration::from_secs(20)).expect("an address");
    let (chores, _folder) = chores_beside(Some(redis.clone())).await;
    Arc::clone(&chores).measure().await;
    assert!(redis.is_up());
    way.abort();
    assert!(way.await.is_err_and(|ended| ended.is_cancelled()));
    Arc::clone(&chores).measure().await;
    assert!(!redis.is_up());
}

#[tokio::test]
async fn a_channel_that_is_held_is_waited_for_as_it_is_set_up_now() {
    let (chores, _folder) = chores().await;
    let (parts, shutdown) = (&chores.parts, Shutdown::default());
    let (sender, channels) = (parts.sender(&shutdown), &parts.channel_loader.channels);
    let before = channels.get("hung").expect("loaded");
    let waits = async |what: &str| {
        let held_until = sender.breaker.hold(&before).await.expect("held");
        let waiting = sender.breaker.wait(&before, held_until);
        tokio::time::timeout(Duration::from_secs(20), waiting).await.expect(what);
    };
    let mended = Arc::new(Gateway { hangs: false });
    channels.put(channels::Channel { provider: mended, ..channels::Channel::clone(&before) });
    waits("its gateway is another, which answers").await;
    assert!(parts.registry.remove_channel("hung").await.expect("written"));
    parts.channel_loader.load().await.expect("loaded");
    waits("it was removed").await;
}
