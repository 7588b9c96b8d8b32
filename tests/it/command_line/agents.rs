//! `baton agent`, and the link that a first start prints.

use std::{io::Write as _, process::Stdio};

use serde_json::{Value, json};

use super::{asks, baton, command, folder, said, serve};

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
