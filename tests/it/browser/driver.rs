//! A browser that does as it is told: Chromium without a window, over WebDriver. In: what a person does. Out: what they
//! would see. All waiting is done by the page itself, which looks at every frame, so nothing here sleeps.

use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::TcpStream,
    path::Path,
    process::{Child, Command, Stdio},
    time::Duration,
};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use baton::adapters::http_client::http_client;
use reqwest::Method;
use serde_json::{Value, json};

/// Longest wait for something to appear. The machine may be busy with other tests.
const PATIENCE_MS: u64 = 90_000;

/// What WebDriver calls the reference of an element (W3C WebDriver, section "Elements").
const ELEMENT: &str = "element-6066-11e4-a52e-4f735466cecf";

/// By this name our own machine is another one to the browser, as it is to those of an office: what it gives only to pages
/// over TLS or of the machine itself, it does not give there.
const ELSEWHERE: &str = "--host-resolver-rules=MAP baton.lan 127.0.0.1";

/// The same engine without all that windows need: it starts in a third of the time. This is the program itself, where
/// Debian puts it; what stands on the path is a script, and ended with its driver, it would leave the program running.
const SHELL: &str = "/usr/lib/chromium/chromium-headless-shell";

/// Puts what the page says about itself (faults, broken policies) where a test finds it, before its first script runs.
const RECORDER: &str = "window.faults = []; \
    addEventListener('error', (event) => faults.push(String(event.message))); \
    addEventListener('unhandledrejection', (event) => faults.push(String(event.reason))); \
    document.addEventListener('securitypolicyviolation', (event) => faults.push(`policy: ${event.violatedDirective} ${event.blockedURI}`));";

/// A key, as WebDriver writes it.
pub(super) mod key {
    pub(crate) const TAB: &str = "\u{e004}";
    pub(crate) const END: &str = "\u{e010}";
    pub(crate) const ENTER: &str = "\u{e007}";
    pub(crate) const ESCAPE: &str = "\u{e00c}";
    pub(crate) const CONTROL: &str = "\u{e009}";
}

pub(super) struct Browser {
    driver: Child,
    port: u16,
    http: reqwest::Client,
    session: String,
}

impl Drop for Browser {
    fn drop(&mut self) {
        // A test that failed has not closed its window: asked to end, the driver closes it; killed, it would not.
        let asked = TcpStream::connect(("127.0.0.1", self.port)).and_then(|mut line| {
            line.write_all(b"GET /shutdown HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n")?;
            line.read_to_end(&mut Vec::new())
        });
        if asked.is_err() {
            let _ = self.driver.kill();
        }
        let _ = self.driver.wait();
    }
}

impl Browser {
    /// Opens a window of its own, with no memory of others.
    pub(super) async fn open() -> Self {
        let (driver, port) = start_driver();
        let http = http_client(Duration::from_millis(2 * PATIENCE_MS)).expect("a client");
        let address = format!("http://127.0.0.1:{port}/session");
        // The sandbox of Chromium needs rights that a container does not have. Only our own pages are opened.
        let mut options = json!({ "args": [
            "--headless=new", "--no-sandbox", "--disable-gpu", "--lang=en-GB", "--accept-lang=en-GB", "--mute-audio", ELSEWHERE,
        ] });
        if Path::new(SHELL).is_file() {
            options["binary"] = json!(SHELL);
        }
        let wish = json!({ "capabilities": { "alwaysMatch": {
            "timeouts": { "script": PATIENCE_MS, "pageLoad": PATIENCE_MS },
            "goog:chromeOptions": options,
        } } });
        let answer = told(http.post(&address).json(&wish)).await;
        let id = answer["sessionId"].as_str().expect("a session").to_owned();
        let browser = Self { driver, port, http, session: format!("{address}/{id}") };
        browser.devtools("Page.addScriptToEvaluateOnNewDocument", json!({ "source": RECORDER })).await;
        browser.size(1280, 800).await;
        browser
    }

    /// Closes the window. What the page had to complain of fails the test.
    pub(super) async fn close(self) {
        assert_eq!(self.faults().await, json!([]), "the page has faults");
        self.command(Method::DELETE, "", None).await;
    }

    /// What went wrong in the page, since it was loaded.
    pub(super) async fn faults(&self) -> Value {
        self.run("return window.faults ?? []", json!([])).await
    }

    pub(super) async fn go(&self, url: &str) {
        self.command(Method::POST, "/url", Some(json!({ "url": url }))).await;
    }

    /// A window of that size, in CSS pixels: also one that is smaller than windows can be.
    pub(super) async fn size(&self, width: u32, height: u32) {
        let metrics = json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": false });
        self.devtools("Emulation.setDeviceMetricsOverride", metrics).await;
    }

    /// In the dark or in the light, from one moment to the next: nobody waits for colours.
    pub(super) async fn dark(&self, is_dark: bool) {
        let scheme = if is_dark { "dark" } else { "light" };
        let features = json!({ "features": [
            { "name": "prefers-color-scheme", "value": scheme },
            { "name": "prefers-reduced-motion", "value": "reduce" },
        ] });
        self.devtools("Emulation.setEmulatedMedia", features).await;
    }

    /// What a script of ours returns.
    pub(super) async fn run(&self, script: &str, arguments: Value) -> Value {
        self.command(Method::POST, "/execute/sync", Some(json!({ "script": script, "args": arguments })))
            .await
    }

    /// What a promise of a script comes to.
    pub(super) async fn settled(&self, script: &str, arguments: Value) -> Value {
        let script = format!(
            "const done = arguments[arguments.length - 1]; \
             (async (...given) => {{ {script} }})(...[...arguments].slice(0, -1)).then(done, (error) => done({{ fault: String(error) }}))"
        );
        self.command(Method::POST, "/execute/async", Some(json!({ "script": script, "args": arguments })))
            .await
    }

    /// Waits until this holds in the page, looking at every frame.
    pub(super) async fn until(&self, condition: &str, arguments: Value) {
        let script = format!(
            "const holds = () => {{ {condition} }}; const from = performance.now(); \
             while (!holds()) {{ \
               if (performance.now() - from > {}) return false; \
               await new Promise((next) => setTimeout(next, 16)); \
             }} return true;",
            PATIENCE_MS / 2
        )
        .replace("given(", "given.at(");
        let held = self.settled(&script, arguments.clone()).await;
        if held != json!(true) {
            let (faults, page) = (self.faults().await, self.text("body").await);
            panic!("never: {condition} {arguments} ({held})\nfaults: {faults}\nthe page: {page}");
        }
    }

    /// Waits until what the selector means holds these words.
    pub(super) async fn sees(&self, selector: &str, words: &str) {
        let condition = "return [...document.querySelectorAll(given(0))].some((it) => it.checkVisibility({ visibilityProperty: true }) && it.innerText.replace(/\\s+/g, ' ').includes(given(1)))";
        self.until(condition, json!([selector, words])).await;
    }

    /// Waits until nothing that the selector means holds these words.
    pub(super) async fn misses(&self, selector: &str, words: &str) {
        let condition = "return ![...document.querySelectorAll(given(0))].some((it) => it.checkVisibility({ visibilityProperty: true }) && it.innerText.replace(/\\s+/g, ' ').includes(given(1)))";
        self.until(condition, json!([selector, words])).await;
    }

    /// What is written there now; empty if there is nothing.
    pub(super) async fn text(&self, selector: &str) -> String {
        let script = "return document.querySelector(arguments[0])?.innerText ?? ''";
        self.run(script, json!([selector])).await.as_str().unwrap_or_default().to_owned()
    }

    /// Clicks it, once it can be seen.
    pub(super) async fn click(&self, selector: &str) {
        let element = self.element(selector).await;
        self.command(Method::POST, &format!("/element/{element}/click"), Some(json!({}))).await;
    }

    /// Clicks the button or link with these words.
    pub(super) async fn click_named(&self, words: &str) {
        let find = "return [...document.querySelectorAll('button, a[href], summary, [role=tab], [role=menuitem], [role=option]')]\
            .find((it) => it.checkVisibility({ visibilityProperty: true }) && !it.disabled && \
              [it.innerText.trim(), it.getAttribute('aria-label')].some((name) => name?.replace(/\\s+/g, ' ').startsWith(given(0))))";
        self.until(find, json!([words])).await;
        let found = self.run(&find.replace("given(0)", "arguments[0]"), json!([words])).await;
        let element = found[ELEMENT].as_str().unwrap_or_else(|| panic!("{words}: gone again")).to_owned();
        self.command(Method::POST, &format!("/element/{element}/click"), Some(json!({}))).await;
    }

    /// Types into it.
    pub(super) async fn fill(&self, selector: &str, text: &str) {
        let element = self.element(selector).await;
        self.command(Method::POST, &format!("/element/{element}/value"), Some(json!({ "text": text }))).await;
    }

    /// Presses the mouse on it, and lets go at that place of the window.
    pub(super) async fn drag(&self, selector: &str, x: u32, y: u32) {
        let element = self.element(selector).await;
        let moves = json!([
            { "type": "pointerMove", "duration": 0, "origin": { ELEMENT: element }, "x": 0, "y": 0 },
            { "type": "pointerDown", "button": 0 },
            { "type": "pointerMove", "duration": 0, "x": x, "y": y },
            { "type": "pointerUp", "button": 0 },
        ]);
        let source = json!({ "type": "pointer", "id": "mouse", "actions": moves });
        self.command(Method::POST, "/actions", Some(json!({ "actions": [source] }))).await;
    }

    /// Presses keys one after another, wherever the focus is.
    pub(super) async fn press(&self, keys: &str) {
        let taps: Vec<Value> = keys
            .chars()
            .flat_map(|letter| {
                ["keyDown", "keyUp"].map(|what| json!({ "type": what, "value": letter.to_string() }))
            })
            .collect();
        self.keyboard(taps).await;
    }

    /// Presses a key while another is held.
    pub(super) async fn chord(&self, held: &str, key: &str) {
        let taps = [("keyDown", held), ("keyDown", key), ("keyUp", key), ("keyUp", held)];
        self.keyboard(taps.map(|(what, key)| json!({ "type": what, "value": key })).to_vec()).await;
    }

    async fn keyboard(&self, taps: Vec<Value>) {
        let source = json!({ "type": "key", "id": "keyboard", "actions": taps });
        self.command(Method::POST, "/actions", Some(json!({ "actions": [source] }))).await;
    }

    /// A picture of the page, as it is now.
    pub(super) async fn picture(&self) -> Vec<u8> {
        let how = json!({ "format": "webp", "quality": 80 });
        let taken = self.devtools("Page.captureScreenshot", how).await;
        STANDARD.decode(taken["data"].as_str().expect("a picture")).expect("base64")
    }

    /// The reference of the first visible thing that the selector means.
    async fn element(&self, selector: &str) -> String {
        let find = "return [...document.querySelectorAll(given(0))].find((it) => it.checkVisibility({ visibilityProperty: true }))";
        self.until(find, json!([selector])).await;
        let found = self.run(&find.replace("given(0)", "arguments[0]"), json!([selector])).await;
        found[ELEMENT].as_str().unwrap_or_else(|| panic!("{selector}: gone again")).to_owned()
    }

    pub(super) async fn devtools(&self, command: &str, parameters: Value) -> Value {
        let body = json!({ "cmd": command, "params": parameters });
        self.command(Method::POST, "/goog/cdp/execute", Some(body)).await
    }

    async fn command(&self, method: Method, path: &str, body: Option<Value>) -> Value {
        let request = self.http.request(method, format!("{}{path}", self.session));
        told(match body {
            Some(body) => request.json(&body),
            None => request,
        })
        .await
    }
}

/// What WebDriver answers; a refusal fails the test.
async fn told(request: reqwest::RequestBuilder) -> Value {
    let mut answer: Value =
        request.send().await.expect("the driver answers").json().await.expect("the driver speaks JSON");
    let value = answer["value"].take();
    assert!(value.get("error").is_none(), "{}: {}", value["error"], value["message"]);
    value
}

/// Starts the driver on a port that it chooses. It takes the same one in both families of addresses, and ends where somebody
/// has it in the other: then it chooses again.
fn start_driver() -> (Child, u16) {
    (0..5).find_map(|_| try_driver()).expect("the driver has no port")
}

fn try_driver() -> Option<(Child, u16)> {
    let mut driver = Command::new("chromedriver")
        .arg("--port=0")
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("these tests need Chromium and its driver: apt-get install chromium chromium-driver (or: cargo xtask test --install)");
    let lines = BufReader::new(driver.stdout.take().expect("its words")).lines();
    let said = lines.map_while(Result::ok).find_map(|line| {
        line.split("on port ").nth(1)?.trim_end_matches('.').parse().ok().filter(|port| *port != 0)
    });
    if said.is_none() {
        let _ = driver.kill();
        let _ = driver.wait();
    }
    said.map(|port| (driver, port))
}
