//! The dashboard in a real browser, served by the real program: what people see and do.

mod driver;

mod line;

mod server;

mod accessible;

mod agents;

mod busy;

mod channels;

mod drafts;

mod erasing;

mod feed;

mod follow_ups;

mod hostile;

mod keyboard;

mod letters;

mod webhooks;

mod places;

mod sending;

mod settings;

mod signing_in;

mod takeover;

mod tour;

mod pictures;

use self::{
    driver::{Browser, key},
    line::Line,
    server::Server,
};

/// Runs each story on both footings: those whose moments come through Redis and the store, which may take their time.
macro_rules! on_both_footings {
    ($($name:ident),+ $(,)?) => {
        $crate::browser::on_sqlite!($($name),+);
        mod postgres_and_redis {
            $(#[tokio::test]
            async fn $name() {
                let server = $crate::browser::Server::on_postgres().await;
                super::$name(&server).await;
                server.end().await;
            })+
        }
    };
}

/// Runs each story on SQLite alone: those that the page decides. What it asks of the server has its own tests on both.
macro_rules! on_sqlite {
    ($($name:ident),+ $(,)?) => {
        mod sqlite {
            $(#[tokio::test]
            async fn $name() {
                let server = $crate::browser::Server::on_sqlite().await;
                super::$name(&server).await;
                server.end().await;
            })+
        }
    };
}

use {on_both_footings, on_sqlite};

const MEI: &str = "6580000001@c.us";

/// A browser with the first admin signed in, in the inbox.
async fn signed_in(server: &Server) -> Browser {
    let browser = Browser::open().await;
    browser.go(&server.link).await;
    browser.sees("nav", "Live").await;
    browser.go(&format!("{}/inbox", server.address)).await;
    browser.sees("nav", "Live").await;
    browser
}

/// The same, with Mei's conversation open. She has written something already.
async fn reading_mei(server: &Server) -> Browser {
    let browser = signed_in(server).await;
    open(&browser, "Mei").await;
    browser
}

/// The same, while a long answer to Mei leaves: the first of its three parts has, perhaps another, and each is typed for so
/// long that a person comes between. She has been greeted before, so that her conversation is open by then.
async fn reading_what_leaves_in_parts(server: &Server) -> Browser {
    server.behaves(serde_json::json!({ "model_delay_ms": 0 })).await;
    server.writes(MEI, "Mei", &["Hi"]).await;
    server.until(|| server.phone(MEI), |sent| sent.len() == 1).await;
    let browser = reading_mei(server).await;
    let slowly = serde_json::json!({ "settings": { "typing_max_ms": 15_000 } });
    server.asks("PATCH", "/api/v1/channels/sandbox", Some(slowly)).await;
    server.writes(MEI, "Mei", &["Tell me everything about delivery, please"]).await;
    server.until(|| server.phone(MEI), |sent| sent.len() >= 2).await;
    browser
}

/// A person answers Mei, who has asked when the shop is open, and the AI suggests an answer: with her conversation's id.
async fn reading_a_suggestion(server: &Server) -> (Browser, String) {
    server.behaves(serde_json::json!({ "model_delay_ms": 0 })).await;
    let human = serde_json::json!({ "mode": "HUMAN" });
    server.asks("PUT", &format!("/api/v1/channels/sandbox/chats/{MEI}/mode"), Some(human)).await;
    let id = server.conversation(MEI).await["id"].as_str().expect("an id").to_owned();
    let drafting = serde_json::json!({ "drafting": true });
    server.asks("PATCH", &format!("/api/v1/conversations/{id}"), Some(drafting)).await;
    server.writes(MEI, "Mei", &["When are you open on Sunday?"]).await;
    let browser = reading_mei(server).await;
    browser.sees(".draft", "Monday to Saturday").await;
    (browser, id)
}

/// Opens the conversation with that contact.
async fn open(browser: &Browser, name: &str) {
    browser.sees(".row", name).await;
    browser.run(
        "[...document.querySelectorAll('.row')].find((it) => it.innerText.includes(arguments[0])).click()",
        serde_json::json!([name]),
    )
    .await;
    browser.sees("#thread-title", name).await;
}
