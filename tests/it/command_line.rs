//! The program as a shell sees it: what it says, where, and with which exit code.

mod models;

mod tools;

mod demo;

use std::{
    io::{BufRead as _, BufReader, Write as _},
    path::Path,
    process::{Child, Command, Output, Stdio},
    sync::{Arc, Mutex},
};

use serde_json::{Value, json};
use wiremock::{
    Mock, MockServer, Request, ResponseTemplate,
    matchers::{method, path_regex},
};

/// `baton` in that folder, with no variables of its own.
fn command(folder: &Path, words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_baton"));
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("BATON_") {
            command.env_remove(name);
        }
    }
    command.current_dir(folder).args(words);
    command
}

/// Runs `baton` in an empty folder, with these variables and no others of its own.
fn baton(folder: &Path, words: &[&str], variables: &[(&str, &str)]) -> Output {
    command(folder, words).envs(variables.iter().copied()).output().expect("it runs")
}

/// What it answers, and with which exit code.
fn said(output: &Output) -> (String, Option<i32>) {
    (String::from_utf8_lossy(&output.stdout).trim().to_owned(), output.status.code())
}

/// A server, until the end of the test.
struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().expect("a folder")
}

#[test]
fn a_wrong_setting_is_one_line_and_exit_code_2() {
    let folder = folder();
    std::fs::write(folder.path().join("strange.toml"), "brust = \"queue\"\n").expect("written");
    for (words, variables, line) in [
        (
            &["serve", "--burst", "often"][..],
            &[][..],
            "baton: --burst: \"often\" is not one of interrupt, collect, queue",
        ),
        (
            &["serve"],
            &[("BATON_AI_ATTEMPTS", "0")],
            "baton: BATON_AI_ATTEMPTS: \"0\" is not a whole number from 1 to 20",
        ),
        (
            &["serve", "--config", "strange.toml"],
            &[],
            "baton: brust in strange.toml: there is no such setting, did you mean burst? .env.example lists all",
        ),
        (
            &["serve"],
            &[("BATON_API_TOKEN", "c4nary")],
            "baton: BATON_API_TOKEN: must have at least 20 characters (openssl rand -hex 24 makes one)",
        ),
        (
            &["serve"],
            &[("BATON_API_TOKEN", "tokenünicode-tokenünicode")],
            "baton: BATON_API_TOKEN: must be one word of ASCII letters, digits and signs",
        ),
        (
            &["serve"],
            &[("BATON_PUBLIC_URL", "https://baton.example.com/?x=1")],
            "baton: BATON_PUBLIC_URL: must end with its path",
        ),
        (
            &["serve"],
            &[("BATON_PUBLIC_URL", "https://baton.example.com:99999")],
            "baton: BATON_PUBLIC_URL: is not an address: invalid port number",
        ),
    ] {
        let output = baton(folder.path(), words, variables);
        assert_eq!(String::from_utf8_lossy(&output.stderr), format!("{line}\n"));
        assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0), "{words:?}");
    }
}

#[test]
fn a_baton_toml_in_the_folder_is_read_unasked() {
    let folder = folder();
    std::fs::write(folder.path().join("baton.toml"), "stale_ms = \"soon\"\n").expect("written");
    let output = baton(folder.path(), &["openapi"], &[]);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(stderr.starts_with("baton: stale_ms (settings file): "), "{stderr}");
    assert_eq!(output.status.code(), Some(2));
}

#[test]
fn a_misspelt_variable_is_told_by_every_command() {
    let folder = folder();
    for words in [&["migrate"][..], &["token", "list"], &["check"]] {
        let output = baton(folder.path(), words, &[("BATON_DATABSE_URL", "sqlite://other.db")]);
        let told = [output.stdout, output.stderr].concat();
        let told = String::from_utf8_lossy(&told);
        assert_eq!(
            told.matches("without effect: BATON_DATABSE_URL (did you mean BATON_DATABASE_URL?)").count(),
            1,
            "{words:?}: {told}"
        );
    }
}

#[test]
fn a_server_that_is_told_to_stop_while_it_starts_stops() {
    let folder = folder();
    // A database that takes the connection and says nothing.
    let database = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
    let url = format!("postgres://{}/baton", database.local_addr().expect("an address"));
    let mut process = command(folder.path(), &["serve", "--listen", "127.0.0.1:0"])
        .env("BATON_DATABASE_URL", url)
        .env("BATON_SECRET_KEY", "5e".repeat(32))
        .spawn()
        .expect("it starts");
    let _connection = database.accept().expect("it asks its database");
    let pid = rustix::process::Pid::from_child(&process);
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).expect("it runs");
    assert!(process.wait().expect("it ends").success(), "a signal that nobody hears would have killed it");
}

#[test]
fn a_server_that_can_hear_nobody_any_more_ends() {
    let folder = folder();
    // Enough for the database and the listener, not for those who would answer.
    let words = ["-c", "ulimit -n 25; exec \"$0\" serve --listen 127.0.0.1:0", env!("CARGO_BIN_EXE_baton")];
    let mut server = command(folder.path(), &[]);
    let mut limited = Command::new("sh");
    limited.current_dir(folder.path()).args(words).stderr(Stdio::piped());
    for (name, value) in server.env("RUST_BACKTRACE", "0").get_envs() {
        match value {
            Some(value) => limited.env(name, value),
            None => limited.env_remove(name),
        };
    }
    let output = limited.output().expect("it ends by itself");
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(told.contains("Too many open files") && told.contains("the HTTP server ended"), "{told}");
}

#[test]
fn help_and_version_are_answers_and_anything_unknown_is_wrong_usage() {
    let folder = folder();
    for (words, code) in
        [(&["--help"][..], 0), (&["--version"], 0), (&["mode", "--help"], 0), (&["dance"], 2), (&[], 2)]
    {
        let output = baton(folder.path(), words, &[]);
        assert_eq!(output.status.code(), Some(code), "{words:?}");
        assert_eq!(output.stdout.is_empty(), code != 0, "{words:?}");
    }
    assert!(
        std::fs::read_dir(folder.path()).expect("a folder").next().is_none(),
        "nothing was made by asking"
    );
}

/// The status of a sign-in with that.
async fn sign_in(base: &str, body: &Value) -> u16 {
    let http =
        baton::adapters::http_client::http_client(std::time::Duration::from_secs(5)).expect("a client");
    let asked = http.post(format!("{base}/api/v1/session")).json(body).send().await.expect("an answer");
    asked.status().as_u16()
}

/// As whom somebody acts with that token.
async fn whose(base: &str, token: &str) -> Value {
    let http =
        baton::adapters::http_client::http_client(std::time::Duration::from_secs(5)).expect("a client");
    let asked = http.get(format!("{base}/api/v1/me")).bearer_auth(token).send().await.expect("an answer");
    asked.json::<Value>().await.expect("JSON")["id"].clone()
}

/// A server of its own in that folder, and the link that its first start prints.
fn serve(folder: &Path) -> (Server, String) {
    let mut serve = command(folder, &["serve", "--listen", "127.0.0.1:0", "--log-format", "json"]);
    let child = serve.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("it starts");
    let mut server = Server(child);
    let mut lines =
        BufReader::new(server.0.stderr.take().expect("piped")).lines().map(|line| line.expect("text"));
    let link = lines.find(|line| line.contains("/sign-in#")).expect("a link").trim().to_owned();
    assert!(link.starts_with("http://127.0.0.1:"), "a line of its own, not of the log: {link}");
    (server, link)
}

/// In an image without a shell the program itself is all that can ask.
#[test]
fn a_container_asks_its_own_server_whether_it_lives() {
    let folder = folder();
    let (mut server, link) = serve(folder.path());
    let port = link.split(['/', ':']).nth(4).expect("a port");
    let listens = format!("0.0.0.0:{port}");
    let asked = || baton(folder.path(), &["check", "--live"], &[("BATON_LISTEN", &listens)]);
    let (told, code) = said(&asked());
    assert!(told.contains(&format!("http://127.0.0.1:{port}/healthz answers")), "{told}");
    assert_eq!(code, Some(0));
    server.0.kill().and_then(|()| server.0.wait()).expect("it ends");
    let (told, code) = said(&asked());
    assert!(told.contains("does not answer"), "{told}");
    assert_eq!(code, Some(1));
}

#[tokio::test]
async fn the_first_start_invites_past_the_log_and_agents_are_kept_from_a_shell_beside_it() {
    let folder = folder();
    let (_server, link) = serve(folder.path());
    let base = link.split_once("/sign-in#").expect("a link").0.to_owned();
    for status in [204, 401] {
        assert_eq!(sign_in(&base, &json!({ "link": link })).await, status, "once");
    }

    let agent = |words: &[&str]| baton(folder.path(), &[&["agent"], words].concat(), &[]);
    let (added, code) = said(&agent(&["add", "Ana@example.com", "--json"]));
    let added: Value = serde_json::from_str(&added).expect("JSON");
    assert_eq!((code, &added["name"], &added["role"]), (Some(0), &json!("Ana"), &json!("agent")));
    assert_eq!(sign_in(&base, &json!({ "link": added["link"] })).await, 204);
    let (again, code) = said(&agent(&["link", "ana@example.com"]));
    assert_eq!((sign_in(&base, &json!({ "link": again })).await, code), (204, Some(0)));

    let mut set = command(folder.path(), &["agent", "password", "ana@example.com"]);
    let mut set = set.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("it starts");
    set.stdin.take().expect("piped").write_all(b"correct horse\nnot this\n").expect("written");
    assert_eq!(said(&set.wait_with_output().expect("it ends")), ("set".to_owned(), Some(0)));
    let right = json!({ "email": "ana@example.com", "password": "correct horse" });
    assert_eq!(sign_in(&base, &right).await, 204);
    let token = |who: &str| baton(folder.path(), &["token", "create", "hers", "--agent", who], &[]);
    for who in ["ANA@example.com", added["id"].as_str().expect("an id")] {
        let (token, code) = said(&token(who));
        assert_eq!((code, whose(&base, &token).await), (Some(0), added["id"].clone()), "{who}");
    }
    let (tokens, _) = said(&baton(folder.path(), &["token", "list"], &[]));
    assert!(tokens.contains("ACTS AS") && tokens.contains("Ana@example.com"), "{tokens}");
    assert_eq!(said(&agent(&["disable", "ana@example.com"])), ("disabled".to_owned(), Some(0)));
    for (who, wrong) in [("ana@example.com", "is disabled"), ("nobody@example.com", "there is no agent")] {
        let refused = token(who);
        assert!(String::from_utf8_lossy(&refused.stderr).contains(wrong), "{who}: {refused:?}");
        assert_eq!(said(&refused), (String::new(), Some(1)));
    }
    assert_eq!(sign_in(&base, &right).await, 401);

    let (table, _) = said(&agent(&["list"]));
    assert!(table.contains("admin@localhost") && table.contains("disabled"), "{table}");
    for (words, wrong) in [
        (&["add", "ana@EXAMPLE.com"][..], "there is an agent with the address"),
        (&["add", "ben@example.com", "--channels", "nowhere"], "there is no channel nowhere"),
        (&["disable", "admin@localhost"], "is the last admin"),
        (&["disable", "nobody@example.com"], "there is no agent with the address"),
        (&["link", "ana@example.com"], "is disabled"),
    ] {
        let output = agent(words);
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(stderr.contains(wrong), "{words:?}: {stderr}");
        assert_eq!(said(&output), (String::new(), Some(1)));
    }
    // What was refused was not done, and nobody reads that it was.
    let (token, _) = said(&baton(folder.path(), &["token", "create", "auditor", "--role", "admin"], &[]));
    let audit = asks(&token, "GET", &format!("{base}/api/v1/audit?action=agent_changed"), None).await;
    let of_ana = |deed: &Value| deed["subject"] == added["id"];
    let deeds = audit["items"].as_array().expect("a list");
    assert!(deeds.len() == 2 && deeds.iter().all(of_ana), "her password, and that she is disabled: {audit}");
}

/// What the server answers whoever has that token.
async fn asks(token: &str, method: &str, url: &str, body: Option<&Value>) -> Value {
    let http =
        baton::adapters::http_client::http_client(std::time::Duration::from_secs(5)).expect("a client");
    let request = http.request(method.parse().expect("a method"), url).bearer_auth(token);
    let request = match body {
        Some(body) => request.json(body),
        None => request,
    };
    request.send().await.expect("an answer").json().await.expect("JSON")
}

/// A gateway with one account, as it is set. What is changed holds at once.
async fn account(set: &Arc<Mutex<Value>>) -> MockServer {
    let server = MockServer::start().await;
    let answers = |name: &str, answer: Value| {
        let template = ResponseTemplate::new(200).set_body_json(answer);
        Mock::given(method("GET")).and(path_regex(name)).respond_with(template)
    };
    answers("getStateInstance", json!({ "stateInstance": "authorized" })).mount(&server).await;
    let read = Arc::clone(set);
    let tells = move |_: &Request| ResponseTemplate::new(200).set_body_json(&*read.lock().expect("no panic"));
    Mock::given(method("GET")).and(path_regex("getSettings")).respond_with(tells).mount(&server).await;
    let written = Arc::clone(set);
    let takes = move |request: &Request| {
        let changes: Value = request.body_json().expect("JSON");
        let mut set = written.lock().expect("no panic");
        for (name, value) in changes.as_object().expect("an object") {
            set[name] = value.clone();
        }
        ResponseTemplate::new(200).set_body_json(json!({ "saveSettings": true }))
    };
    Mock::given(method("POST")).and(path_regex("setSettings")).respond_with(takes).mount(&server).await;
    server
}

#[tokio::test(flavor = "multi_thread")]
async fn an_account_is_connected_by_one_command_which_says_what_it_changes_and_asks_first() {
    let set =
        Arc::new(Mutex::new(json!({ "webhookUrl": "https://old.example/w", "incomingWebhook": "yes" })));
    let gateway = account(&set).await;
    let folder = folder();
    let variables = [
        ("BATON_GREEN_API_URL", gateway.uri()),
        ("BATON_GREEN_API_INSTANCE", "7103000001".to_owned()),
        ("BATON_GREEN_API_TOKEN", "c4nary-token".to_owned()),
        ("BATON_PUBLIC_URL", "https://baton.example/".to_owned()),
    ];
    let variables: Vec<(&str, &str)> =
        variables.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let run = |words: &[&str]| baton(folder.path(), words, &variables);
    assert_eq!(said(&run(&["migrate"])).1, Some(0));

    let asked = run(&["connect"]);
    let (told, code) = said(&asked);
    assert_eq!(
        (code, String::from_utf8_lossy(&asked.stderr).contains("add --yes")),
        (Some(1), true),
        "{told}"
    );
    for line in [
        "https://old.example/w",
        "https://baton.example/webhooks/green-api/default",
        "outgoingMessageWebhook",
    ] {
        assert!(told.contains(line), "{line} in {told}");
    }
    assert!(!told.contains("incomingWebhook"), "what is right is left alone: {told}");
    assert_eq!(set.lock().expect("no panic")["webhookUrl"], "https://old.example/w", "nothing was changed");

    let (told, code) = said(&run(&["connect", "--yes"]));
    assert_eq!(code, Some(0), "{told}");
    assert!(told.contains("default: connected\nIf the phone has the WhatsApp Business app"), "{told}");
    let token = set.lock().expect("no panic")["webhookUrlToken"].as_str().expect("a token").to_owned();
    assert!(token.len() >= 20 && !told.contains(&token) && !told.contains("c4nary"), "{told}");
    assert_eq!(set.lock().expect("no panic")["stateWebhook"], "yes");

    let (told, code) = said(&run(&["connect"]));
    assert_eq!(
        (told.lines().next(), code),
        (Some("default: the account is authorized, and set as Baton needs it"), Some(0))
    );
    let (told, _) = said(&run(&["check"]));
    assert!(
        told.contains("every switch that Baton needs is on") && !told.contains("run `baton connect`"),
        "{told}"
    );

    assert!(!told.contains("each 500 ms"), "as fast as Baton: {told}");
    set.lock().expect("no panic")["delaySendMessagesMilliseconds"] = json!(5_000);
    let (told, code) = said(&run(&["check"]));
    assert!(told.contains("the account sends each 5000 ms, and Baton each 500 ms"), "{told}");
    assert_eq!(code, Some(0), "it works");

    set.lock().expect("no panic")["webhookUrlToken"] = json!("another");
    let (told, code) = said(&run(&["check"]));
    assert!(told.contains("another token than Baton expects: run `baton connect`"), "{told}");
    assert_eq!(code, Some(1));
    let poll = [variables.as_slice(), &[("BATON_GREEN_API_RECEIVE", "poll")]].concat();
    let (told, code) = said(&baton(folder.path(), &["connect", "--yes"], &poll));
    assert_eq!((code, &set.lock().expect("no panic")["webhookUrl"]), (Some(0), &json!("")), "{told}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_account_that_does_not_answer_stands_in_no_others_way() {
    let set = Arc::new(Mutex::new(json!({ "webhookUrl": "https://old.example/w" })));
    let gateway = account(&set).await;
    let folder = folder();
    let (_server, link) = serve(folder.path());
    let channels = format!("{}/api/v1/channels", link.split_once("/sign-in#").expect("a link").0);
    let (token, _) = said(&baton(folder.path(), &["token", "create", "tests", "--role", "admin"], &[]));
    for (name, instance, url) in
        [("away", "7103000001", "http://127.0.0.1:9".to_owned()), ("shop", "7103000002", gateway.uri())]
    {
        let channel = json!({
            "name": name, "provider": "green_api", "instance": instance, "token": "t0ken", "api_url": url,
        });
        assert_eq!(asks(&token, "POST", &channels, Some(&channel)).await["name"], name);
    }
    let variables = [("BATON_PUBLIC_URL", "https://baton.example/")];
    let connected = baton(folder.path(), &["connect", "--yes"], &variables);
    let (told, code) = said(&connected);
    assert!(told.ends_with("shop: connected"), "{connected:?}");
    assert_eq!(set.lock().expect("no panic")["webhookUrl"], "https://baton.example/webhooks/green-api/shop");
    let wrong = String::from_utf8_lossy(&connected.stderr).into_owned();
    assert!(wrong.contains("channel away: ") && wrong.contains("not connected: away"), "{wrong}");
    assert_eq!(code, Some(1));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_account_that_refuses_is_told_with_what_to_do_before_the_first_start_and_after() {
    let gateway = MockServer::start().await;
    Mock::given(path_regex(".*")).respond_with(ResponseTemplate::new(401)).mount(&gateway).await;
    let (url, remedy) = (gateway.uri(), "status 401: check its instance, its token, and its address");
    let variables = [
        ("BATON_GREEN_API_URL", url.as_str()),
        ("BATON_GREEN_API_INSTANCE", "7103000001"),
        ("BATON_GREEN_API_TOKEN", "wr0ng-token"),
        ("BATON_GREEN_API_RECEIVE", "poll"),
    ];
    let folder = folder();
    let run = |words: &[&str]| baton(folder.path(), words, &variables);
    let (told, _) = said(&run(&["check"]));
    assert!(told.contains("there is no database at") && told.contains(remedy), "{told}");

    assert_eq!(said(&run(&["migrate"])).1, Some(0));
    let connected = run(&["connect", "--yes"]);
    let told = String::from_utf8_lossy(&connected.stderr).into_owned();
    assert!(told.contains(remedy) && told.contains("not connected: default"), "{told}");
    let mut serve = command(folder.path(), &["serve", "--listen", "127.0.0.1:0", "--log-format", "json"]);
    let serve = serve.envs(variables).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut server = Server(serve.spawn().expect("it starts"));
    let mut log = BufReader::new(server.0.stderr.take().expect("piped")).lines().map_while(Result::ok);
    let line = log.find(|line| line.contains("notifications cannot be fetched")).expect("it is logged");
    assert!(line.contains("status 401") && line.contains("check its instance"), "{line}");

    // A shell with another token than the server: which of the two is right, it cannot know.
    let other = [&variables[..2], &[("BATON_GREEN_API_TOKEN", "other")]].concat();
    let told = baton(folder.path(), &["connect", "--yes"], &other);
    let told = String::from_utf8_lossy(&told.stderr).into_owned();
    assert!(told.contains("another BATON_GREEN_API_TOKEN: correct these here if the server has"), "{told}");
}

#[test]
fn what_is_mistyped_in_a_shell_is_told_with_what_would_be_right() {
    let folder = folder();
    std::fs::write(folder.path().join("baton.toml"), "sandbox = \"on\"\n").expect("written");
    let (_server, _) = serve(folder.path());
    let run = |words: &[&str]| baton(folder.path(), words, &[]);
    let set = |chat: &str, words: &[&str]| {
        said(&run(&[&["mode", "set", chat, "HUMAN", "--channel", "sandbox"], words].concat()))
    };
    for _ in 0..2 {
        let (told, code) = set("6599999999", &[]);
        assert!(told.contains("nobody has written from 6599999999@c.us yet"), "{told}");
        assert_eq!(code, Some(0));
    }
    let (told, _) = said(&run(&["mode", "get", "6599999999", "--channel", "sandbox"]));
    assert!(told.ends_with(", switched from a shell"), "{told}");
    for (words, wrong) in [
        (
            &["mode", "set", "6599999999", "HUMAN", "--channel", "shop"][..],
            "there is no channel shop: there is sandbox",
        ),
        (&["token", "create", "x", "--channels", "shop"], "there is no channel shop: there is sandbox"),
        (&["token", "revoke", "website"], "must be an id, as `baton token list` shows it"),
        (&["dead-letters", "retry", "5"], "must be an id, as `baton dead-letters list` shows it"),
        (
            &["dead-letters", "discard", "0199d9a0-0000-7000-8000-000000000000"],
            "no open dead letter has the id 0199d9a0-0000-7000-8000-000000000000: `baton dead-letters list`",
        ),
    ] {
        let refused = run(words);
        let told = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert!(told.contains(wrong), "{words:?}: {told}");
    }
}

#[tokio::test]
async fn nobody_is_erased_under_another_key_than_the_servers() {
    let folder = folder();
    let (old, new) = ("0a".repeat(32), "0b".repeat(32));
    let text = format!("sandbox = \"on\"\nretention_days = 1\nsecret_key = \"{old}\"\n");
    std::fs::write(folder.path().join("baton.toml"), text).expect("written");
    // Before the first start there is no key to compare with.
    assert_eq!(said(&baton(folder.path(), &["migrate"], &[])).1, Some(0));
    let (token, _) = said(&baton(folder.path(), &["token", "create", "tests", "--role", "admin"], &[]));
    let (_server, link) = serve(folder.path());
    let base = link.split_once("/sign-in#").expect("a link").0.to_owned();
    let writes = async || {
        let body = json!({ "chat_id": "6580000001@c.us", "name": "Mei", "text": "Hello", "id": "M1" });
        asks(&token, "POST", &format!("{base}/webhooks/sandbox"), Some(&body)).await["status"].clone()
    };
    assert_eq!(writes().await, "accepted");

    let erase = ["erase", "6580000001", "--channel", "sandbox", "--yes"];
    let both = format!("{new},{old}");
    for words in [&erase[..], &["retention", "run"]] {
        let refused = baton(folder.path(), words, &[("BATON_SECRET_KEY", &new)]);
        let error = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert!(error.contains("cannot be opened with any key that is set here"), "{words:?}: {error}");
        assert_eq!(said(&refused), (String::new(), Some(1)), "{words:?}");
    }
    assert_eq!(writes().await, "duplicate", "it is still there");
    let (told, code) = said(&baton(folder.path(), &erase, &[("BATON_SECRET_KEY", &both)]));
    assert_eq!(code, Some(0), "{told}");
    assert_eq!(writes().await, "ignored", "and comes back no more");
}

#[tokio::test]
async fn a_person_is_erased_and_what_is_old_removed_from_a_shell_beside_a_running_server() {
    let folder = folder();
    std::fs::write(folder.path().join("baton.toml"), "sandbox = \"on\"\n").expect("written");
    let (_server, link) = serve(folder.path());
    let base = link.split_once("/sign-in#").expect("a link").0.to_owned();
    let (token, _) = said(&baton(folder.path(), &["token", "create", "tests", "--role", "admin"], &[]));
    let http =
        baton::adapters::http_client::http_client(std::time::Duration::from_secs(5)).expect("a client");
    let writes = async |id: &str| {
        let body = json!({ "chat_id": "6580000001@c.us", "name": "Mei", "text": "Hello", "id": id });
        let asked = http.post(format!("{base}/webhooks/sandbox")).bearer_auth(&token).json(&body);
        asked.send().await.expect("an answer").json::<Value>().await.expect("JSON")["status"].clone()
    };
    let chats = async || {
        let asked = http.get(format!("{base}/api/v1/conversations")).bearer_auth(&token);
        asked.send().await.expect("an answer").json::<Value>().await.expect("JSON")["items"].clone()
    };
    assert_eq!(writes("M1").await, "accepted");

    let erase = |words: &[&str]| {
        let line = [&["erase", "+6580000001", "--channel", "sandbox"], words].concat();
        let mut command = command(folder.path(), &line);
        command.stdin(Stdio::null()).output().expect("it runs")
    };
    let unasked = erase(&[]);
    assert!(String::from_utf8_lossy(&unasked.stderr).contains("--yes"), "{unasked:?}");
    assert_eq!((said(&unasked).1, chats().await.as_array().map(Vec::len)), (Some(1), Some(1)));
    let (told, code) = said(&erase(&["--yes", "--json"]));
    let told: Value = serde_json::from_str(&told).expect("JSON");
    assert_eq!((code, told["rows"]["messages"].as_i64()), (Some(0), Some(1)), "{told}");
    assert_eq!(chats().await, json!([]), "the server knows nothing of it either");
    assert_eq!(writes("M1").await, "ignored");
    assert_eq!(writes("M2").await, "accepted");
    let gone = baton(folder.path(), &["erase", "6580000002", "--channel", "sandbox", "--yes"], &[]);
    assert!(String::from_utf8_lossy(&gone.stderr).contains("there is nothing of 6580000002@c.us"));
    let elsewhere = baton(folder.path(), &["erase", "6580000001", "--yes"], &[]);
    let told = String::from_utf8_lossy(&elsewhere.stderr).into_owned();
    assert!(
        told.ends_with("on channel default; also there: baton erase 6580000001@c.us --channel sandbox\n"),
        "{told}"
    );
    assert_eq!(said(&gone), (String::new(), Some(1)));

    let run = |words: &[&str]| baton(folder.path(), &[&["retention", "run"], words].concat(), &[]);
    let kept = run(&[]);
    assert!(String::from_utf8_lossy(&kept.stderr).contains("everything is kept"), "{kept:?}");
    assert_eq!(said(&kept), (String::new(), Some(1)));
    for words in [&["--retention-days", "3", "--dry-run"][..], &["--retention-days", "3"]] {
        assert_eq!(said(&run(words)), ("none".to_owned(), Some(0)), "all of it is young");
    }
}
