//! The line to the server may break: that is said, and afterwards nothing is missing.

use super::{Browser, Line, MEI, Server, on_both_footings, open};

on_both_footings!(a_cut_line_is_said_and_afterwards_nothing_is_missing);

async fn a_cut_line_is_said_and_afterwards_nothing_is_missing(server: &Server) {
    let line = Line::to(&server.address).await;
    let browser = Browser::open().await;
    browser.go(&server.link.replace(&server.address, &line.address)).await;
    browser.sees("nav", "Live").await;
    browser.go(&format!("{}/inbox", line.address)).await;
    server.writes(MEI, "Mei", &["Before the cut"]).await;
    open(&browser, "Mei").await;
    browser.sees(".from-contact", "Before the cut").await;

    line.cut();
    browser.sees(".connection", "Reconnecting").await;
    let during: Vec<String> = (1..=10).map(|n| format!("During the cut, {n}")).collect();
    for text in &during {
        server.writes(MEI, "Mei", &[text]).await;
    }
    server.writes("6580000002@c.us", "Jonas", &["New meanwhile"]).await;
    assert!(!browser.text(".thread-body").await.contains("During"), "the line is cut");

    line.mend();
    browser.sees(".connection", "Live").await;
    for text in &during {
        browser.sees(".from-contact", text).await;
    }
    browser.sees(".row", "New meanwhile").await;
    // Once each, and in order.
    let shown = browser
        .run(
            "return [...document.querySelectorAll('.from-contact .says')].map((it) => it.innerText)",
            serde_json::json!([]),
        )
        .await;
    let wanted: Vec<&str> =
        std::iter::once("Before the cut").chain(during.iter().map(String::as_str)).collect();
    assert_eq!(shown, serde_json::json!(wanted));
    browser.close().await;
}
