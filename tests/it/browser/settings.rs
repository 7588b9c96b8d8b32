//! What each person sets for themselves, and an admin for the others.

use serde_json::{Value, json};

use super::{Server, on_sqlite, signed_in};

on_sqlite!(
    a_phone_that_lets_no_page_notify_is_not_said_to,
    what_another_admin_has_changed_of_a_person_is_not_set_back,
    what_others_do_to_the_installation_stands_there_while_one_looks,
);

async fn a_phone_that_lets_no_page_notify_is_not_said_to(server: &Server) {
    let browser = signed_in(server).await;
    let phone = "window.Notification = class { static permission = 'granted'; constructor() { throw new TypeError('Illegal constructor'); } };";
    browser.devtools("Page.addScriptToEvaluateOnNewDocument", json!({ "source": phone })).await;
    browser.go(&format!("{}/settings/you", server.address)).await;
    browser
        .sees("[aria-labelledby=you-working]", "While this page is open and you look at something else")
        .await;
    let tick =
        "[...document.querySelectorAll('.is-tick')].find((it) => it.innerText.startsWith('Notify me'))";
    browser.run(&format!("{tick}.querySelector('input').click()"), json!([])).await;
    browser.sees("[aria-labelledby=you-working]", "phones show none").await;
    let box_of =
        format!("const {{ checked, disabled }} = {tick}.querySelector('input'); return [checked, disabled]");
    assert_eq!(browser.run(&box_of, json!([])).await, json!([false, true]));
    let kept =
        browser.settled("return (await (await fetch('/api/v1/me')).json()).preferences", json!([])).await;
    assert_eq!(kept.get("notifications"), None, "another browser of theirs may show them");
    browser.close().await;
}

async fn what_another_admin_has_changed_of_a_person_is_not_set_back(server: &Server) {
    let title = json!({ "title": "The bowl shop" });
    server.asks("PATCH", "/api/v1/channels/sandbox", Some(title)).await;
    let wish = json!({ "name": "Ana", "email": "ana@example.com", "role": "agent", "channels": ["sandbox"] });
    let ana = server.asks("POST", "/api/v1/agents", Some(wish)).await;
    let path = format!("/api/v1/agents/{}", ana["id"].as_str().expect("an id"));
    let browser = signed_in(server).await;
    browser.go(&format!("{}/settings/people", server.address)).await;
    // People know their numbers by title.
    browser.sees("tr", "ana@example.com Agent The bowl shop").await;
    browser.click_named("Edit Ana").await;
    browser.sees("dialog", "Edit Ana").await;
    server.asks("PATCH", &path, Some(json!({ "role": "admin" }))).await;
    browser.fill("dialog input[name=name]", "Mei ").await;
    browser.click("dialog footer .is-primary").await;
    let person = || async {
        let all = server.asks("GET", "/api/v1/agents", None).await;
        let found = all["items"].as_array().expect("people").iter().find(|it| it["id"] == ana["id"]).cloned();
        found.expect("Ana")
    };
    server.until(person, |it: &Value| it["name"] == "Mei Ana").await;
    assert_eq!(person().await["role"], "admin");
    browser.close().await;
}

async fn what_others_do_to_the_installation_stands_there_while_one_looks(server: &Server) {
    let browser = signed_in(server).await;
    browser.go(&format!("{}/settings/audit", server.address)).await;
    browser.sees("tr", "Signed in").await;
    let token = json!({ "name": "For the till", "role": "read" });
    server.asks("POST", "/api/v1/tokens", Some(token)).await;
    browser.sees("tr", "Made a token").await;
    browser.close().await;
}
