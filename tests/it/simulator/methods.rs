//! Every method of Green API's list, with its verb, what it needs and what it answers.

use serde_json::{Value, json};

use super::{
    Stand,
    stand::{INSTANCE, QUICK, TOKEN},
};

const CHAT: &str = "6580000001@c.us";

fn methods() -> Vec<Value> {
    let list: Value =
        serde_json::from_str(include_str!("../../fixtures/green-api-methods.json")).expect("a list");
    list["methods"].as_array().expect("methods").clone()
}

/// Names, and of lists the first entry's: not the values, which the example made up.
fn shape(value: &Value) -> Value {
    match value {
        Value::Object(fields) => fields
            .iter()
            .map(|(name, field)| (name.clone(), shape(field)))
            .collect::<serde_json::Map<_, _>>()
            .into(),
        Value::Array(entries) => entries.first().map_or(json!([]), |first| json!([shape(first)])),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Value::Null,
    }
}

/// What the example has and the answer lacks.
fn lacks(example: &Value, answer: &Value, place: &str) -> Vec<String> {
    match (example, answer) {
        (Value::Object(fields), Value::Object(has)) => fields
            .iter()
            .flat_map(|(name, field)| match has.get(name) {
                Some(value) => lacks(field, value, &format!("{place}.{name}")),
                None => vec![format!("{place}.{name}")],
            })
            .collect(),
        (Value::Array(entries), Value::Array(has)) => match (entries.first(), has.first()) {
            (Some(entry), Some(value)) => lacks(entry, value, &format!("{place}[]")),
            (Some(_), None) => vec![format!("{place}[]")],
            (None, _) => vec![],
        },
        (Value::Object(_) | Value::Array(_), _) => vec![place.to_owned()],
        _ => vec![],
    }
}

/// An account in which there is something of everything.
async fn lived_in() -> (Stand, String, String) {
    let stand = Stand::new(QUICK);
    stand.contact_writes(CHAT, "Hi").await;
    let picture =
        json!({ "chatId": CHAT, "fileName": "bowl.jpg", "urlFile": "https://shop.example/bowl.jpg" });
    let picture = stand.plays("contact", picture).await["idMessage"].as_str().expect("an id").to_owned();
    stand.contact_writes(CHAT, "Hi").await;
    let message = json!({ "chatId": CHAT, "message": "We have two sizes" });
    let (_, sent) = stand.call("POST", "sendMessage", Some(&message)).await;
    stand.answered(CHAT, 1).await;
    (stand, sent["idMessage"].as_str().expect("an id").to_owned(), picture)
}

#[tokio::test]
async fn every_method_of_the_list_is_served_with_its_verb_and_answers_in_its_shape() {
    let methods = methods();
    assert!(methods.len() > 35, "the list was found: {}", methods.len());
    for method in &methods {
        let name = method["name"].as_str().expect("a name");
        let (stand, sent, picture) = lived_in().await;
        let body = method.get("body").map(|body| {
            let body = body.to_string().replace("SENT", &sent).replace("PICTURE", &picture);
            serde_json::from_str::<Value>(&body).expect("JSON")
        });
        let verb = method["verb"].as_str().expect("a verb");
        for other in ["GET", "POST", "DELETE"].into_iter().filter(|other| *other != verb) {
            assert_eq!(stand.call(other, name, body.as_ref()).await.0, 404, "{other} {name}");
        }
        if name == "showMessagesQueue" {
            stand.plays("state", json!({ "stateInstance": "notAuthorized" })).await;
            let waiting = json!({ "chatId": CHAT, "message": "later", "linkPreview": true });
            stand.call("POST", "sendMessage", Some(&waiting)).await;
        }
        let (status, answer) = match name {
            "sendFileByUpload" => uploads(&stand, true).await,
            "uploadFile" => uploads(&stand, false).await,
            "receiveNotification" => {
                stand.plays("notification", notification()).await;
                stand.call(verb, name, None).await
            }
            "deleteNotification" => {
                let path = format!("/waInstance{INSTANCE}/{name}/{TOKEN}/1");
                stand.ask(verb, &path, None).await
            }
            _ => stand.call(verb, name, body.as_ref()).await,
        };
        assert_eq!(status, 200, "{name}: {answer}");
        let missing = lacks(&shape(&method["answer"]), &answer, name);
        assert!(missing.is_empty(), "{missing:?} of {answer}");
        assert_eq!(method["answer"].is_null(), answer.is_null(), "{name}: {answer}");
        for field in method["required"].as_array().into_iter().flatten() {
            let mut body = body.clone().unwrap_or_else(|| json!({}));
            let field = field.as_str().expect("a name");
            // The number may be left out for a chat.
            if let Some(body) = body.as_object_mut() {
                body.remove(field);
            }
            if name != "sendFileByUpload" {
                let (status, said) = stand.call(verb, name, Some(&body)).await;
                assert_eq!(status, 400, "{name} without {field}: {said}");
                assert!(
                    said["message"].as_str().is_some_and(|words| words.contains(field)),
                    "{name}: {said}"
                );
            }
        }
        stand.end().await;
    }
}

/// The example of the list, word for word.
fn notification() -> Value {
    let methods = methods();
    let method = methods.iter().find(|method| method["name"] == "receiveNotification").expect("it is there");
    method["answer"]["body"].clone()
}

async fn uploads(stand: &Stand, in_a_form: bool) -> (u16, Value) {
    let http =
        baton::adapters::http_client::http_client(std::time::Duration::from_secs(5)).expect("a client");
    let method = if in_a_form { "sendFileByUpload" } else { "uploadFile" };
    let request = http.post(format!("{}/waInstance{INSTANCE}/{method}/{TOKEN}", stand.url));
    let file = b"%PDF-1.7 prices".to_vec();
    let request = if in_a_form {
        let part = reqwest::multipart::Part::bytes(file.clone()).file_name("price list.pdf");
        request.multipart(reqwest::multipart::Form::new().text("chatId", CHAT).part("file", part))
    } else {
        request.header("GA-Filename", "price list.pdf").body(file.clone())
    };
    let answer = request.send().await.expect("an answer");
    let (status, answer) = (answer.status().as_u16(), answer.json::<Value>().await.expect("JSON"));
    let link = answer["urlFile"].as_str().expect("a link");
    assert!(link.ends_with("/price%20list.pdf"), "{link}");
    let kept = http.get(link).send().await.expect("an answer").bytes().await.expect("a file");
    assert_eq!(kept, file);
    (status, answer)
}

#[tokio::test]
async fn whoever_has_the_wrong_account_token_or_method_is_told_so_by_status() {
    let stand = Stand::new(QUICK);
    let body = json!({ "chatId": CHAT, "message": "x" });
    for (path, status) in [
        (format!("/waInstance{INSTANCE}/sendMessage/wrong"), 401),
        (format!("/waInstance1/sendMessage/{TOKEN}"), 403),
        (format!("/waInstance{INSTANCE}/sendButtons/{TOKEN}"), 403),
        (format!("/waInstance{INSTANCE}/SendMessage/{TOKEN}"), 404),
        (format!("/waInstance{INSTANCE}/sendMessages/{TOKEN}"), 404),
        (format!("/waInstance{INSTANCE}/sendMessage/{TOKEN}/1"), 404),
        ("/".to_owned(), 404),
        ("/simulator/dance".to_owned(), 404),
    ] {
        assert_eq!(stand.ask("POST", &path, Some(&body)).await.0, status, "{path}");
    }
    let long = json!({ "chatId": CHAT, "message": "x".repeat(110 * 1024) });
    assert_eq!(stand.call("POST", "sendMessage", Some(&long)).await.0, 500);
    stand.end().await;
}

#[tokio::test]
async fn a_new_account_fetches_what_comes_as_soon_as_it_comes_or_nothing() {
    let stand = Stand::new(QUICK);
    stand.call("POST", "setSettings", Some(&json!({ "incomingWebhook": "yes" }))).await;
    let fetch = stand.call("GET", "receiveNotification", None);
    let (fetched, id) = tokio::join!(fetch, stand.contact_writes(CHAT, "Hi"));
    assert_eq!(fetched.1["body"]["idMessage"], id);
    let path = format!("/waInstance{INSTANCE}/deleteNotification/{TOKEN}/{}", fetched.1["receiptId"]);
    assert_eq!(stand.ask("DELETE", &path, None).await.1["result"], true);
    assert_eq!(stand.call("GET", "getWebhooksCount", None).await.1["count"], 0);
    stand.end().await;
}

#[tokio::test]
async fn a_call_whose_connection_breaks_is_not_answered_and_may_have_been_taken_all_the_same() {
    let stand = Stand::new(QUICK);
    let http =
        baton::adapters::http_client::http_client(std::time::Duration::from_secs(5)).expect("a client");
    for (taken, sent) in [(false, 0), (true, 1)] {
        stand.plays("faults", json!({ "fault": "drop", "taken": taken })).await;
        let request = http.post(format!("{}/waInstance{INSTANCE}/sendMessage/{TOKEN}", stand.url));
        let broken = request.json(&json!({ "chatId": CHAT, "message": "x" })).send().await;
        assert!(broken.is_err_and(|error| !error.is_timeout() && !error.is_connect()), "taken: {taken}");
        assert_eq!(stand.answered(CHAT, sent).await.len(), sent);
    }
    let message = json!({ "chatId": CHAT, "message": "y" });
    assert_eq!(stand.call("POST", "sendMessage", Some(&message)).await.0, 200, "it is over");
    stand.end().await;
}
