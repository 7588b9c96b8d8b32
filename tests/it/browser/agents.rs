//! Two agents at once: each sees what the other does, and one can take from the other.

use std::time::{Duration, Instant};

use serde_json::json;

use super::{Browser, MEI, Server, on_both_footings, open, reading_mei};

on_both_footings!(two_agents_see_each_other_and_one_takes_from_the_other);

async fn two_agents_see_each_other_and_one_takes_from_the_other(server: &Server) {
    server.behaves(json!({ "model_delay_ms": 60_000 })).await;
    server.writes(MEI, "Mei", &["Hi"]).await;
    let first = reading_mei(server).await;
    let wish = json!({ "name": "Ana", "email": "ana@example.com", "role": "agent" });
    let ana = server.asks("POST", "/api/v1/agents", Some(wish)).await;
    let second = Browser::open().await;
    second.go(ana["link"].as_str().expect("a link")).await;
    second.sees("nav", "Live").await;
    second.go(&format!("{}/inbox", server.address)).await;
    open(&second, "Mei").await;
    first.sees(".thread-head", "Ana is looking").await;

    second.press("t").await;
    second.sees(".mode-pill", "You").await;
    first.sees(".mode-pill", "Ana").await;
    second.click(".composer textarea").await;
    // It is told of for some seconds only: whoever writes goes on until it is seen.
    let from = Instant::now();
    while !first.text(".thread-head").await.contains("Ana is writing") {
        assert!(from.elapsed() < Duration::from_secs(60), "{}", first.text(".thread-head").await);
        second.press("o").await;
    }

    // Who holds it is said before anybody talks over them.
    first.sees(".mode-acts", "Take from Ana").await;
    first.press("t").await;
    first.sees(".mode-pill", "You").await;
    second.sees(".mode-pill", "Admin").await;
    second.sees(".composer", "Admin").await;
    first.close().await;
    second.close().await;
}
