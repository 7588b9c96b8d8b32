//! A shop where something happens all the time: the page is there at once, and stays light however long it is open.
//!
//! `TEST_MEASURES=target/release/baton cargo xtask test a_page_stays_light --no-capture` measures that program with ten
//! thousand conversations, over an hour's worth of events, and holds it to what it shall take on a machine that is not busy
//! otherwise. Without, less is looked at, and no clock.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{Browser, Server, server::measured, signed_in};

/// So many contacts write one round, and so many of them at the same time.
const TOGETHER: usize = 200;
const AT_ONCE: usize = 20;
/// Each message is told of twice: what was written, and what the conversation is now.
const EVENTS_EACH: usize = 2;
const EVENTS_A_SECOND: usize = 50;

/// Longest wait until a page is as light as it is to be.
const PATIENCE: Duration = Duration::from_secs(30);

/// How much there is, and how much happens.
struct Shop {
    conversations: usize,
    events: usize,
}

#[tokio::test]
async fn a_page_stays_light_however_much_happens() {
    let is_measured = measured().is_some();
    let shop = if is_measured {
        Shop { conversations: 10_000, events: 60 * 60 * EVENTS_A_SECOND }
    } else {
        Shop { conversations: 1_200, events: 6_000 }
    };
    let server = Server::without_model().await;
    for from in (0..shop.conversations).step_by(TOGETHER) {
        write(&server, from..from + TOGETHER, 0).await;
    }
    let browser = signed_in(&server).await;
    browser.until("return document.querySelectorAll('.row').length > 10", json!([])).await;
    if is_measured {
        is_quick(&browser, &server).await;
    }
    stays_light(&browser, &server, &shop).await;
    browser.close().await;
    server.end().await;
}

/// After the first half of all events the page has grown as far as it ever will.
async fn stays_light(browser: &Browser, server: &Server, shop: &Shop) {
    let rounds = shop.events / EVENTS_EACH / TOGETHER;
    let mut half_way: Option<Weight> = None;
    for half in [1..=rounds / 2, rounds / 2 + 1..=rounds] {
        let last = *half.end();
        for round in half {
            let from = round * TOGETHER % shop.conversations;
            write(server, from..from + TOGETHER, round).await;
        }
        browser.sees(".row", &said(last)).await;
        // What was drawn before may not be collected yet, nor the list be loaded anew, where the machine does much else.
        let from = Instant::now();
        let weight = loop {
            let weight = Weight::of(browser).await;
            let Some(half) = &half_way else { break weight };
            let Some(wrong) = weight.beside(half) else { break weight };
            assert!(from.elapsed() < PATIENCE, "{wrong}: {half:?}, then {weight:?}");
            tokio::time::sleep(Duration::from_millis(100)).await;
        };
        eprintln!("after {} events: {weight:?}", last * TOGETHER * EVENTS_EACH);
        half_way = Some(weight);
    }
}

/// What a page that was open for long takes of the machine.
#[derive(Debug)]
struct Weight {
    heap_kb: i64,
    nodes: i64,
    listed: usize,
    rows: usize,
}

impl Weight {
    /// What is more than it was half-way, or too much.
    fn beside(&self, half: &Self) -> Option<&'static str> {
        [
            // A page keeps up to a thousand conversations, as it happens.
            (self.heap_kb >= half.heap_kb + 3_000, "the page keeps more and more"),
            // Twice the rows in view.
            (self.nodes >= half.nodes + 2_500, "the page holds more and more"),
            (self.rows >= 60, "only what is in view is drawn"),
            // What comes while the list is loaded anew comes on top.
            (self.listed > 500 + 2 * TOGETHER, "a list that is seen from its top begins anew"),
        ]
        .into_iter()
        .find_map(|(is_so, words)| is_so.then_some(words))
    }

    async fn of(browser: &Browser) -> Self {
        browser.devtools("HeapProfiler.collectGarbage", json!({})).await;
        browser.devtools("Performance.enable", json!({})).await;
        let metrics = browser.devtools("Performance.getMetrics", json!({})).await;
        let of = |name: &str| {
            let all = metrics["metrics"].as_array().expect("a list").iter();
            let found = all.clone().find(|it| it["name"] == name).unwrap_or_else(|| panic!("no {name}"));
            found["value"].as_f64().expect("a number") as i64
        };
        let rows = "const rows = [...document.querySelectorAll('.list .row')]; \
                    return [rows.length, Number(rows[0].closest('[aria-setsize]').getAttribute('aria-setsize'))]";
        let rows: [usize; 2] =
            serde_json::from_value(browser.run(rows, json!([])).await).expect("two numbers");
        let [rows, listed] = rows;
        Self { heap_kb: of("JSHeapUsedSize") / 1_000, nodes: of("Nodes"), listed, rows }
    }
}

/// Limits of time: of a first look, of opening a conversation, and of what keeps a hand waiting while others write.
async fn is_quick(browser: &Browser, server: &Server) {
    let mut paints = Vec::new();
    for _ in 0..5 {
        browser.go(&format!("{}/inbox", server.address)).await;
        browser.until("return document.querySelectorAll('.row').length > 10", json!([])).await;
        let paint = "return [performance.getEntriesByName('first-contentful-paint')[0].startTime]";
        paints.push(browser.run(paint, json!([])).await[0].as_f64().expect("milliseconds"));
    }
    eprintln!("first paint: {paints:.0?} ms");
    assert!(paints.iter().all(|ms| *ms < 1_000.0), "{paints:?}");

    let opened = browser.settled(OPEN_TWENTY, json!([])).await;
    let mut opened: Vec<f64> = serde_json::from_value(opened).expect("milliseconds");
    opened.sort_by(f64::total_cmp);
    eprintln!("a conversation opens: {opened:.0?} ms");
    assert!(opened[opened.len() / 2] < 100.0, "{opened:?}");

    let watch = "window.tasks = []; new PerformanceObserver((seen) => \
                 tasks.push(...seen.getEntries().map((it) => it.duration))).observe({ type: 'longtask' })";
    browser.run(watch, json!([])).await;
    let mut pace = tokio::time::interval(Duration::from_millis(200));
    for round in 0..100 {
        pace.tick().await;
        let each = EVENTS_A_SECOND / EVENTS_EACH / 5;
        write(server, round * each..(round + 1) * each, 1).await;
    }
    let long: Vec<f64> =
        serde_json::from_value(browser.run("return window.tasks", json!([])).await).expect("milliseconds");
    eprintln!("tasks of more than 50 ms in 20 s of {EVENTS_A_SECOND} events a second: {long:.0?} ms");
    assert!(long.iter().all(|ms| *ms <= 100.0), "{long:?}");
}

/// Opens one after another, and looks at every frame whether its name and its words are there.
const OPEN_TWENTY: &str = "const took = []; const shows = (what) => document.querySelector(what)?.innerText ?? ''; \
    for (let nth = 1; nth <= 20; nth++) { \
      const row = document.querySelectorAll('.list .row')[nth % 10]; \
      const name = row.innerText.match(/Contact \\d+/)[0]; \
      const began = performance.now(); \
      row.click(); \
      while (!shows('#thread-title').includes(name) || !shows('.from-contact .says')) await new Promise(requestAnimationFrame); \
      took.push(performance.now() - began); \
    } return took;";

/// These contacts write, one message each.
async fn write(server: &Server, contacts: std::ops::Range<usize>, round: usize) {
    let bodies: Vec<Value> = contacts
        .map(|number| {
            json!({ "chat_id": format!("65{number:08}@c.us"), "name": format!("Contact {number}"), "text": said(round) })
        })
        .collect();
    for some in bodies.chunks(AT_ONCE) {
        let webhooks = some.iter().map(|body| server.asks("POST", "/webhooks/sandbox", Some(body.clone())));
        futures_util::future::join_all(webhooks).await;
    }
}

fn said(round: usize) -> String {
    format!("Is the blue bowl there? I ask for the {round}th time")
}
