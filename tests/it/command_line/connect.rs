//! `baton connect`: an account of Green API is set up from a shell.

use std::{
    io::{BufRead as _, BufReader},
    process::Stdio,
    sync::{Arc, Mutex},
};

use serde_json::{Value, json};
use wiremock::{
    Mock, MockServer, Request, ResponseTemplate,
    matchers::{method, path_regex},
};

use super::{Server, asks, baton, command, folder, said, serve};

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
