//! Channels over a real registry, as they are loaded when their rows change.

use execution::broadcast::{self, Broadcast};
use serde_json::json;
use tokio_util::sync::CancellationToken;
use wiremock::{Mock, MockServer, ResponseTemplate, matchers::path};

use super::*;
use crate::{
    adapters::{
        http_client::http_client,
        test_stores::{self, NOW},
    },
    app::{chores::tests::Gateway, coordination::share_channels, vault::KEY_BYTES},
};

/// A loader over a SQLite file of their own, where these settings are set.
async fn loader(set: &[(&str, &str)]) -> (ChannelLoader, tempfile::TempDir) {
    let (store, folder) = test_stores::sqlite().await;
    (loader_over(Arc::new(store), set), folder)
}

fn loader_over(registry: Arc<dyn Registry>, set: &[(&str, &str)]) -> ChannelLoader {
    let settings = Settings::default().adjusted(&[], set).expect("right");
    ChannelLoader::new(
        registry,
        Arc::new(settings),
        Arc::new(Vault::new(&[[1; KEY_BYTES]]).expect("a vault")),
        http_client(super::super::CONNECT).expect("a client"),
        None,
    )
}

/// The row of a channel on this instance.
pub(in crate::app) fn row(loader: &ChannelLoader, name: &str, instance: &str) -> registry::Channel {
    let secrets = Secrets { token: Some("token".to_owned()), ..Secrets::default() };
    registry::Channel {
        instance: Some(instance.to_owned()),
        // Where nobody answers.
        api_url: Some("http://127.0.0.1:9".to_owned()),
        sealed: loader.vault.seal(&secrets.to_bytes()),
        ..registry::Channel::new(name, "green_api", Time(1))
    }
}

/// Gives it another ceiling, which is loaded as after any change.
async fn set_ceiling(loader: &ChannelLoader, row: &mut registry::Channel, ceiling: serde_json::Value) {
    let before = row.updated_at;
    row.settings.insert("ai_spend_per_day".to_owned(), ceiling);
    row.settings.retain(|_, value| !value.is_null());
    row.updated_at = before.plus_ms(1);
    assert!(loader.registry.put_channel(row, before).await.expect("written"));
    loader.load().await.expect("loaded");
}

/// Channels with these ceilings, loaded.
pub(in crate::app) async fn with_ceilings(
    set: &[(&str, &str)],
    ceilings: &[(&str, Option<f64>)],
) -> (ChannelLoader, tempfile::TempDir) {
    let (loader, folder) = loader(set).await;
    for (at, (name, ceiling)) in ceilings.iter().enumerate() {
        let mut channel = row(&loader, name, &format!("710500000{at}"));
        channel.settings.extend(ceiling.map(|ceiling| ("ai_spend_per_day".to_owned(), json!(ceiling))));
        assert!(loader.registry.add_channel(&channel).await.expect("written"));
    }
    loader.load().await.expect("loaded");
    (loader, folder)
}

impl ChannelLoader {
    /// By which they are loaded.
    pub(in crate::app) fn settings(&self) -> Arc<Settings> {
        Arc::clone(&self.settings)
    }
}

/// Loaded by what the other says alone: nothing else looks here.
#[tokio::test]
async fn what_is_changed_through_one_instance_is_loaded_by_the_others_at_once() {
    let (store, _folder) = test_stores::sqlite().await;
    let here = Arc::new(loader_over(Arc::new(store), &[]));
    let there = Arc::new(loader_over(Arc::clone(&here.registry), &[]));
    let others: Arc<dyn Broadcast> = Arc::new(broadcast::Memory::new());
    let stop = CancellationToken::new();
    for loader in [&here, &there] {
        tokio::spawn(share_channels(Arc::clone(loader), Arc::clone(&others), stop.clone()));
    }
    let mut shop = row(&here, "shop", "7105000001");
    assert!(here.registry.add_channel(&shop).await.expect("written"));
    let split = |loader: &ChannelLoader| loader.channels.get("shop").map(|shop| shop.policy.split_chars);
    for wanted in [111, 222] {
        let before = shop.updated_at;
        shop.settings.insert("split_chars".to_owned(), json!(wanted));
        shop.updated_at = before.plus_ms(1);
        assert!(here.registry.put_channel(&shop, before).await.expect("written"));
        let seen = async {
            while split(&there) != Some(wanted) {
                // The first time it may not listen yet.
                ports::Channels::changed(&*here).await;
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(Duration::from_secs(20), seen).await.expect("it is loaded there");
    }
    stop.cancel();
}

fn is_spent(loader: &ChannelLoader) -> bool {
    loader.channels.get("shop").expect("loaded").policy.is_spent
}

#[tokio::test]
async fn a_ceiling_that_is_raised_or_taken_away_silences_nobody_any_more() {
    let (loader, _folder) = loader(&[("ai_prices", "gpt=1/1")]).await;
    let mut shop = row(&loader, "shop", "7105000001");
    assert!(loader.registry.add_channel(&shop).await.expect("written"));
    loader.load().await.expect("loaded");

    set_ceiling(&loader, &mut shop, json!(1)).await;
    loader.set_spent("shop", 2.0);
    assert!(is_spent(&loader), "more than 1 was spent");
    set_ceiling(&loader, &mut shop, json!(100)).await;
    assert!(!is_spent(&loader), "100 is far");
    set_ceiling(&loader, &mut shop, json!(1)).await;
    assert!(is_spent(&loader), "what was spent is still spent");

    set_ceiling(&loader, &mut shop, json!(null)).await;
    assert!(!is_spent(&loader), "without a ceiling none is reached");
    // A count that had begun before.
    loader.set_spent("shop", 2.0);
    assert!(!is_spent(&loader));
    set_ceiling(&loader, &mut shop, json!(1)).await;
    assert!(!is_spent(&loader), "what was counted before says nothing of another day");
    loader.set_spent("shop", 0.5);
    assert!(!is_spent(&loader), "there is something left");
}

#[tokio::test]
async fn the_account_of_another_channel_is_not_set_up_a_second_time_from_the_environment() {
    let environment = [("green_api_instance", "7105000001"), ("green_api_token", "token")];
    let (loader, _folder) = loader(&environment).await;
    let shop = row(&loader, "shop", "7105000001");
    assert!(loader.registry.add_channel(&shop).await.expect("written"));
    loader.register(Time(5)).await.expect("the start goes on");
    loader.load().await.expect("loaded");
    assert_eq!(loader.channels.names(), ["shop"]);

    // Taken off that channel, it is set up at the next start.
    let parted = registry::Channel { instance: Some("7105000002".to_owned()), updated_at: Time(6), ..shop };
    assert!(loader.registry.put_channel(&parted, Time(1)).await.expect("written"));
    loader.register(Time(7)).await.expect("written");
    loader.load().await.expect("loaded");
    assert!(loader.channels.get(DEFAULT).is_some());
}

#[tokio::test]
async fn what_is_set_in_a_shell_and_not_by_the_server_is_found() {
    let set = [
        ("green_api_instance", "7103000001"),
        ("green_api_token", "token"),
        ("green_api_webhook_token", "hook-of-ours"),
    ];
    let (loader, _folder) = loader(&set).await;
    loader.register(Time(5)).await.expect("registered");
    let mut default = loader.registry.channels().await.expect("read").remove(0);
    assert_eq!(loader.unlike(&default), [""; 0]);
    let secrets = Secrets { token: Some("other".to_owned()), ..Secrets::default() };
    default.sealed = loader.vault.seal(&secrets.to_bytes());
    default.instance = Some("7103000009".to_owned());
    let unlike = ["BATON_GREEN_API_INSTANCE", "BATON_GREEN_API_TOKEN", "BATON_GREEN_API_WEBHOOK_TOKEN"];
    assert_eq!(loader.unlike(&default), unlike);
    assert_eq!(loader.unlike(&row(&loader, "shop", "7105000001")), [""; 0], "the API's own");
}

#[tokio::test]
async fn a_channel_that_cannot_be_set_up_is_there_all_the_same() {
    let (loader, _folder) = loader(&[]).await;
    loader.load().await.expect("loaded");
    assert!(!loader.are_there());
    let sealed = Vault::new(&[[2; KEY_BYTES]]).expect("a vault").seal(b"elsewhere");
    let shop = registry::Channel { sealed, ..row(&loader, "shop", "7105000001") };
    assert!(loader.registry.add_channel(&shop).await.expect("written"));
    loader.load().await.expect("loaded");
    assert!(loader.are_there() && loader.channels.names().is_empty());
}

#[tokio::test]
async fn what_another_key_has_sealed_is_not_written_over() {
    let other_key = "5e".repeat(32);
    let environment =
        [("green_api_instance", "7105000001"), ("green_api_token", "token"), ("secret_key", &other_key)];
    let (loader, _folder) = loader(&environment).await;
    let sealed = Vault::new(&[[2; KEY_BYTES]]).expect("a vault").seal(b"of instances with the right key");
    let default = registry::Channel { sealed, ..row(&loader, DEFAULT, "7105000001") };
    assert!(loader.registry.add_channel(&default).await.expect("written"));
    loader.register(Time(5)).await.expect("the start goes on");
    assert_eq!(loader.registry.channels().await.expect("read"), [default]);

    // Nothing of it is needed any more.
    let set = [&environment[..], &[("green_api_webhook_token", "hook-of-ours")]].concat();
    let settings = Arc::new(Settings::default().adjusted(&[], &set).expect("right"));
    let loader = ChannelLoader { settings, ..loader };
    loader.register(Time(6)).await.expect("written");
    let anew = loader.registry.channels().await.expect("read").remove(0);
    assert_eq!(loader.secrets(&anew).expect("it opens").webhook_token.as_deref(), Some("hook-of-ours"));
}

#[tokio::test]
async fn a_state_that_was_asked_for_is_known_since_then_by_the_clock_of_the_store() {
    let (loader, _folder) = loader(&[]).await;
    let shop = row(&loader, "shop", "7105000001");
    assert!(loader.registry.add_channel(&shop).await.expect("written"));
    loader.load().await.expect("loaded");
    loader.look_again("shop", &Gateway { hangs: false }).await;
    let shop = loader.registry.channels().await.expect("read").remove(0);
    assert_eq!((shop.state.as_str(), shop.updated_at), ("authorized", NOW));
}

#[tokio::test]
async fn an_account_is_asked_how_it_is_before_anything_can_leave_by_it() {
    let (loader, _folder) = loader(&[]).await;
    let gateway = MockServer::start().await;
    let answers = |state: &str| ResponseTemplate::new(200).set_body_json(json!({ "stateInstance": state }));
    for (name, instance, state) in
        [("flagged", "7105000001", "yellowCard"), ("well", "7105000002", "authorized")]
    {
        let asked = Mock::given(path(format!("/waInstance{instance}/getStateInstance/token")));
        asked.respond_with(answers(state)).expect(1).mount(&gateway).await;
        let channel = registry::Channel { api_url: Some(gateway.uri()), ..row(&loader, name, instance) };
        assert!(loader.registry.add_channel(&channel).await.expect("written"));
    }
    assert!(loader.registry.add_channel(&row(&loader, "silent", "7105000003")).await.expect("written"));
    loader.load().await.expect("loaded, whoever is silent");
    let rows = loader.registry.channels().await.expect("reads");
    let states: Vec<_> = rows.iter().map(|row| (row.name.as_str(), row.state.as_str())).collect();
    assert_eq!(states, [("flagged", "yellowCard"), ("silent", ""), ("well", "authorized")]);
    // Its row has another version since. Known once, it is not asked again.
    loader.load().await.expect("loaded");
}
