//! Who may come in: by a link that is good once, then by a password.

use serde_json::json;

use super::{Browser, Server, key, on_sqlite};

on_sqlite!(
    the_first_person_comes_in_by_the_link_and_later_by_a_password,
    a_second_link_works_in_the_tab_of_one_that_was_used,
);

async fn the_first_person_comes_in_by_the_link_and_later_by_a_password(server: &Server) {
    let browser = Browser::open().await;
    browser.go(&server.address).await;
    browser.sees("form", "Sign in").await;
    browser.go(&server.link).await;
    browser.sees("nav", "Live").await;
    let address = browser.run("return location.href", json!([])).await;
    assert!(!address.as_str().expect("an address").contains('#'), "the link stays nowhere: {address}");

    let me = server.asks("GET", "/api/v1/agents", None).await["items"][0].clone();
    let (id, email) = (me["id"].as_str().expect("an id"), me["email"].as_str().expect("an address"));
    server
        .asks("PATCH", &format!("/api/v1/agents/{id}"), Some(json!({ "password": "correct horse battery" })))
        .await;
    browser.settled("await fetch('/api/v1/session', { method: 'DELETE' })", json!([])).await;

    // A link is good once.
    let again = Browser::open().await;
    again.go(&server.link).await;
    again.sees(".door [role=alert]", "This link was used already").await;
    again.fill("input[type=email]", email).await;
    again.fill("input[type=password]", &format!("wrong{}", key::ENTER)).await;
    again.sees(".door [role=alert]", "not the e-mail and password").await;
    again.run("document.querySelector('input[type=password]').value = ''", json!([])).await;
    again.fill("input[type=password]", &format!("correct horse battery{}", key::ENTER)).await;
    again.sees("nav", "Live").await;
    // The cookie is out of reach of scripts.
    assert_eq!(again.run("return document.cookie", json!([])).await, json!(""));
    again.close().await;

    browser.go(&format!("{}/inbox", server.address)).await;
    browser.sees("form", "Sign in").await;
    browser.close().await;
}

async fn a_second_link_works_in_the_tab_of_one_that_was_used(server: &Server) {
    let browser = Browser::open().await;
    browser.go(&format!("{}/sign-in#of-nobody", server.address)).await;
    browser.sees(".door [role=alert]", "This link was used already").await;
    let me = server.asks("GET", "/api/v1/agents", None).await["items"][0].clone();
    let path = format!("/api/v1/agents/{}/link", me["id"].as_str().expect("an id"));
    let made = server.asks("POST", &path, None).await;
    let secret = made["link"].as_str().and_then(|link| link.split('#').nth(1)).expect("a link");
    // Only the end of the address changes: the browser loads nothing.
    browser.go(&format!("{}/sign-in#{secret}", server.address)).await;
    browser.sees("nav", "Live").await;
    let address = browser.run("return location.href", json!([])).await;
    assert!(!address.as_str().expect("an address").contains('#'), "the link stays nowhere: {address}");
    // One that is void ends nothing.
    browser.go(&format!("{}/sign-in#of-nobody", server.address)).await;
    browser.sees(".door [role=alert]", "You are signed in as").await;
    browser.click(".door button").await;
    browser.sees(".door [role=alert]", "You are still signed in").await;
    browser.misses(".door", "Your session has ended").await;
    browser.click(".door [role=alert] a").await;
    browser.sees("nav", "Live").await;
    browser.close().await;
}

/// The browser asks for English.
#[tokio::test]
async fn who_has_chosen_no_language_reads_that_of_the_installation() {
    let server = Server::speaking("es").await;
    let browser = Browser::open().await;
    browser.go(&server.address).await;
    browser.sees("form", "Iniciar sesión").await;
    browser.go(&server.link).await;
    browser.sees("nav", "En vivo").await;
    browser.go(&format!("{}/settings/you", server.address)).await;
    browser.sees("[aria-labelledby=you-look]", "Como está configurado para todos: Español").await;
    browser.fill("select[name=language]", "English").await;
    browser.sees("nav", "Live").await;
    // What was chosen is kept with the person.
    browser.run("localStorage.clear()", json!([])).await;
    browser.go(&format!("{}/inbox", server.address)).await;
    browser.sees("nav", "Live").await;
    browser.close().await;
    server.end().await;
}
