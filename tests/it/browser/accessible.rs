//! For everybody: nothing that axe objects to, in the light and in the dark, and nothing wider than a small phone.

use serde_json::{Value, json};
use wiremock::{Mock, MockServer, ResponseTemplate, matchers::any};

use super::{Browser, MEI, Server, reading_a_suggestion, reading_mei, server::TOKEN, signed_in};

const PAGES: [&str; 16] = [
    "/inbox",
    "/follow-ups",
    "/dead-letters",
    "/overview",
    "/playground",
    "/settings/you",
    "/settings/people",
    "/settings/channels",
    "/settings/channels/shop",
    "/settings/connect",
    "/settings/labels",
    "/settings/canned-replies",
    "/settings/tokens",
    "/settings/audit",
    "/settings/webhooks",
    "/settings/all",
];

/// What is shown to who is not signed in.
const OPEN_PAGES: [&str; 2] = ["/sign-in", "/docs"];

/// Something of everything: an answer in parts that was cut, one in one piece, a note, a label, a person needed, a number
/// with its gateway.
async fn furnish(server: &Server) -> (String, MockServer) {
    let gateway = MockServer::start().await;
    let linked = ResponseTemplate::new(200).set_body_json(json!({ "stateInstance": "authorized" }));
    Mock::given(any()).respond_with(linked).mount(&gateway).await;
    let shop = json!({
        "name": "shop", "provider": "green_api", "instance": "7103000001", "api_url": gateway.uri(),
        "token": "secret", "webhook_token": TOKEN,
    });
    server.asks("POST", "/api/v1/channels", Some(shop)).await;
    server.behaves(json!({ "model_delay_ms": 0 })).await;
    server.writes(MEI, "Mei", &["Tell me everything about delivery, please"]).await;
    server.until(|| server.phone(MEI), |sent| !sent.is_empty()).await;
    let mode = format!("/api/v1/channels/sandbox/chats/{MEI}/mode");
    server.asks("PUT", &mode, Some(json!({ "mode": "HUMAN" }))).await;
    let id = server.conversation(MEI).await["id"].as_str().expect("an id").to_owned();
    let at = |what: &str| format!("/api/v1/conversations/{id}/{what}");
    server.asks("POST", &at("notes"), Some(json!({ "text": "She ordered in March, too." }))).await;
    server.asks("POST", &at("messages"), Some(json!({ "text": "Shall I put one aside for you?" }))).await;
    let label = json!({ "name": "regular", "colour": "#1c6b3a", "description": "has bought before" });
    server.asks("POST", "/api/v1/labels", Some(label)).await;
    let endpoint = json!({ "url": "https://crm.example.com/baton", "events": ["message_received"], "description": "the CRM" });
    let endpoint = server.asks("POST", "/api/v1/webhook-endpoints", Some(endpoint)).await;
    let endpoint = format!("/api/v1/webhook-endpoints/{}", endpoint["id"].as_str().expect("an id"));
    server.asks("PATCH", &endpoint, Some(json!({ "state": "paused" }))).await;
    server
        .asks("PATCH", &format!("/api/v1/conversations/{id}"), Some(json!({ "labels": ["regular"] })))
        .await;
    server.writes("6580000002@c.us", "Jonas", &["Hallo! How much is delivery?"]).await;
    server.writes("6580000003@c.us", "Amara", &["Can I talk to a person?"]).await;
    server.until(|| server.phone("6580000003@c.us"), |sent| !sent.is_empty()).await;
    (id, gateway)
}

/// The pages and, as the last, the inbox with a conversation open.
fn paths(id: &str) -> Vec<String> {
    PAGES.iter().map(|page| (*page).to_owned()).chain([format!("/inbox/{id}")]).collect()
}

pub(super) async fn show(browser: &Browser, server: &Server, path: &str) {
    browser.go(&format!("{}{path}", server.address)).await;
    browser.until("return document.querySelector('.connection.is-live')", json!([])).await;
    // The page itself is fetched after the shell.
    whole(browser).await;
}

async fn whole(browser: &Browser) {
    browser.until("return document.querySelector('h1, #thread-title') && !document.querySelector('[aria-busy=true], main .waiting')", json!([])).await;
}

/// What is folded is a part of the page.
async fn show_unfolded(browser: &Browser, server: &Server, path: &str) {
    if OPEN_PAGES.contains(&path) {
        browser.go(&format!("{}{path}", server.address)).await;
        whole(browser).await;
    } else {
        show(browser, server, path).await;
    }
    browser.run("document.querySelectorAll('details').forEach((it) => { it.open = true })", json!([])).await;
}

/// Who looks at which pages: a person of the business, and somebody who is not signed in.
async fn visits(server: &Server, id: &str) -> [(Browser, Vec<String>); 2] {
    let open = OPEN_PAGES.map(ToOwned::to_owned).to_vec();
    [(signed_in(server).await, paths(id)), (Browser::open().await, open)]
}

#[tokio::test]
async fn every_page_is_for_everybody() {
    let server = &Server::on_sqlite().await;
    let (id, _gateway) = furnish(server).await;
    let axe = concat!(env!("CARGO_MANIFEST_DIR"), "/dashboard/node_modules/axe-core/axe.min.js");
    let axe =
        std::fs::read_to_string(axe).expect("axe is there: `npm ci` in dashboard/, or cargo xtask test");
    let mut wrong: Vec<String> = Vec::new();
    for (browser, paths) in visits(server, &id).await {
        for path in paths {
            browser.dark(false).await;
            show_unfolded(&browser, server, &path).await;
            let script = format!("{axe}; return await axe.run(document, {{ resultTypes: ['violations'] }});");
            wrong.extend(objections(&browser, &script, &path).await);
            // What the dark changes are colours.
            browser.dark(true).await;
            let script = "return await axe.run(document, { runOnly: ['color-contrast'], resultTypes: ['violations'] });";
            wrong.extend(objections(&browser, script, &format!("{path}, dark")).await);
        }
        browser.close().await;
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

async fn objections(browser: &Browser, script: &str, page: &str) -> Vec<String> {
    let found = browser.settled(script, json!([])).await;
    let violations = found["violations"].as_array().unwrap_or_else(|| panic!("{page}: {found}"));
    violations.iter().map(|violation| described(page, violation)).collect()
}

fn described(page: &str, violation: &Value) -> String {
    let nodes: Vec<&Value> =
        violation["nodes"].as_array().into_iter().flatten().map(|node| &node["html"]).collect();
    format!("{page}: {}: {} {nodes:?}", violation["id"], violation["help"])
}

#[tokio::test]
async fn every_page_fits_a_small_phone() {
    let server = &Server::on_sqlite().await;
    let (id, _gateway) = furnish(server).await;
    for (browser, paths) in visits(server, &id).await {
        browser.size(320, 640).await;
        for path in paths {
            fits(&browser, server, &path).await;
        }
        browser.close().await;
    }
}

/// 320 px are the width of the smallest phones in use.
async fn fits(browser: &Browser, server: &Server, path: &str) {
    show_unfolded(browser, server, path).await;
    // Beside a bar for scrolling there is less room.
    let widths = "const { scrollWidth, clientWidth } = document.documentElement; return [innerWidth, scrollWidth - clientWidth]";
    let widths = browser.run(widths, json!([])).await;
    assert_eq!(widths, json!([320, 0]), "{path} is wider than the phone");
    // What is to be pressed lies within it.
    let outside = browser
            .run(
                "return [...document.querySelectorAll('button, a[href], input, select, textarea')].filter((it) => it.checkVisibility({ visibilityProperty: true })) \
                   .filter((it) => { const { left, right, width } = it.getBoundingClientRect(); \
                     const scroller = it.closest('.rows, [role=tablist], .unseen, .skip'); \
                     return width > 0 && !scroller && (left < -1 || right > innerWidth + 1); }).map((it) => it.outerHTML.slice(0, 120))",
                json!([]),
            )
            .await;
    assert_eq!(outside, json!([]), "{path}");
}

/// A laptop's window at 200 %, a phone with its keyboard, and a laptop's window at 400 %.
const LITTLE: [(u32, u32); 3] = [(683, 320), (412, 430), (320, 256)];

#[tokio::test]
async fn who_answers_and_the_button_that_sends_are_in_reach_where_there_is_little_room() {
    let server = &Server::on_sqlite().await;
    let (browser, _) = reading_a_suggestion(server).await;
    let lines = "const field = document.querySelector('.composer textarea'); field.value = 'a line\\n'.repeat(10); \
        field.dispatchEvent(new InputEvent('input', { bubbles: true }));";
    browser.run(lines, json!([])).await;
    browser
        .until("return !document.querySelector('.composer .is-primary[aria-disabled=true]')", json!([]))
        .await;
    // As far as a finger or a wheel can scroll it: what is cut off, a script could scroll too.
    let reach = "const thread = document.querySelector('.thread'); \
        if (getComputedStyle(thread).overflowY === 'auto') thread.scrollTop = given(1); \
        const it = document.querySelector(given(0)); const { left, top, width, height, bottom } = it.getBoundingClientRect(); \
        return innerWidth === given(2) && top >= 0 && bottom <= innerHeight && it.contains(document.elementFromPoint(left + width / 2, top + height / 2));";
    for (width, height) in LITTLE {
        browser.size(width, height).await;
        for (what, scrolled) in [(".mode-pill", 0), (".mode-pill", 2_000), (".composer .is-primary", 2_000)] {
            browser.until(reach, json!([what, scrolled, width])).await;
        }
    }
    browser.close().await;
}

/// An iPhone, which leaves the page as large as it was and shows a part of it.
#[tokio::test]
async fn a_keyboard_that_lies_over_the_page_hides_neither_who_answers_nor_what_is_written() {
    let server = &Server::on_sqlite().await;
    server.behaves(json!({ "model_delay_ms": 60_000 })).await;
    server.writes(MEI, "Mei", &["Hi"]).await;
    let browser = reading_mei(server).await;
    browser.size(390, 844).await;
    let shows = "Object.defineProperties(visualViewport, { height: { configurable: true, value: arguments[0] }, offsetTop: { configurable: true, value: arguments[1] } }); \
        visualViewport.dispatchEvent(new Event('resize'));";
    let band = "return ['.mode-pill', '.composer textarea', '.composer .is-primary'].every((one) => { \
        const { top, bottom } = document.querySelector(one).getBoundingClientRect(); return top >= given(0) && bottom <= given(1); })";
    browser.run(shows, json!([450, 310])).await;
    browser.until(band, json!([310, 760])).await;
    browser.run(shows, json!([844, 310])).await;
    browser
        .until("return document.querySelector('.mode-pill').getBoundingClientRect().top < 200", json!([]))
        .await;
    browser.until(band, json!([0, 844])).await;
    browser.close().await;
}

#[tokio::test]
async fn nothing_to_be_pressed_lies_under_a_notch_or_the_bar_of_a_phone_that_is_held_across() {
    let server = &Server::on_sqlite().await;
    server.writes(MEI, "Mei", &["Hi"]).await;
    let browser = reading_mei(server).await;
    browser.size(844, 390).await;
    let insets = json!({ "insets": { "left": 47, "right": 47, "bottom": 21 } });
    browser.devtools("Emulation.setSafeAreaInsetsOverride", insets).await;
    // What stood beside the thread in a wide window slides away.
    let is_away = "return getComputedStyle(document.querySelector('.context')).visibility === 'hidden'";
    browser.until(is_away, json!([])).await;
    let under = "return [...document.querySelectorAll('.shell :is(button, a[href], textarea)')].filter((it) => it.checkVisibility({ visibilityProperty: true })) \
        .filter((it) => { const { left, right, bottom } = it.getBoundingClientRect(); return left < 47 || right > 797 || bottom > 369; }) \
        .filter((it) => !it.closest('.rail, .list, .thread-scroll') || it.getBoundingClientRect().left < 47).map((it) => it.outerHTML.slice(0, 120))";
    assert_eq!(browser.run(under, json!([])).await, json!([]));
    browser.close().await;
}
