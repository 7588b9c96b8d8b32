//! `baton erase` and `baton retention`, beside a running server.

use std::process::Stdio;

use serde_json::{Value, json};

use super::{asks, baton, command, folder, said, serve};

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
