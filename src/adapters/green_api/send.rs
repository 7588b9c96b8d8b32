//! Sends one text or file, once. In: an [`Outgoing`]. Out: what is certain about it. Whether anything was written decides most:
//! before that, every failure may be tried again; after it, only an answer that says so.

use bytes::Bytes;
use futures_util::TryStreamExt as _;
use reqwest::{
    Method,
    header::{CONTENT_TYPE, RETRY_AFTER},
    multipart,
};
use serde_json::{Value, json};

use super::{
    begin::{Progress, TimedBody},
    endpoint::{Answer, Endpoint},
    part::Part,
    wording::NAME_MAX,
};
use crate::{
    domain::message::DeliveryReason,
    flow::provider::{CREDENTIALS_REFUSED, Outgoing, OutgoingFile, Sent, boot_time},
};

/// Wait after the gateway said that it is asked too often.
const TOO_OFTEN_MS: u64 = 1000;

/// Longest wait that the gateway is believed to want; one bad header must not hold a customer's answer for a day.
const TOO_OFTEN_MAX_MS: u64 = 300_000;

/// Most that chance adds to it, so that instances do not come back together.
const TOO_OFTEN_JITTER_MS: u64 = 500;

pub(super) async fn send(endpoint: &Endpoint, message: &Outgoing) -> Sent {
    if boot_time() > message.begin_by {
        return Sent::TooLate;
    }
    let (request, content_type, body) = match &message.file {
        None => {
            let request = endpoint.request(Method::POST, "sendMessage", message.timeout);
            (request, "application/json".to_owned(), text(message).into())
        }
        Some(file) => {
            let request = endpoint.upload("sendFileByUpload", message.timeout);
            match upload(message, file).await {
                Ok((content_type, body)) => (request, content_type, body),
                Err(error) => {
                    return Sent::Refused {
                        reason: DeliveryReason::Refused,
                        detail: endpoint.describe(error),
                    };
                }
            }
        }
    };
    let (body, watch) = TimedBody::new(body, message.begin_by);
    let response = request
        .header(CONTENT_TYPE, content_type)
        // Green API ignores it; a gateway in front of it may not.
        .header("Idempotency-Key", &message.idempotency_key)
        .body(reqwest::Body::wrap(body))
        .send()
        .await;
    let response = match response {
        Ok(response) => response,
        Err(error) if error.is_builder() => {
            return Sent::Refused { reason: DeliveryReason::Refused, detail: endpoint.describe(error) };
        }
        Err(error) => {
            return match watch.progress() {
                Progress::Late => Sent::TooLate,
                Progress::Waiting => Sent::Unreached { detail: endpoint.describe(error) },
                Progress::Begun => Sent::Unclear { detail: endpoint.describe(error) },
            };
        }
    };
    let status = response.status().as_u16();
    let wait_seconds =
        response.headers().get(RETRY_AFTER).and_then(|value| value.to_str().ok()?.trim().parse().ok());
    let wait_seconds = wait_seconds.unwrap_or(0);
    match endpoint.answer(response).await {
        Ok(answer) => verdict(endpoint, &answer, wait_seconds),
        // The status alone says that it was not sent; which of its meanings holds was in the part that is lost.
        Err(detail) if status == 400 => Sent::Again { after_ms: None, detail },
        Err(_) => verdict(endpoint, &Answer::empty(status), wait_seconds),
    }
}

fn text(message: &Outgoing) -> String {
    let mut body = json!({"chatId": message.chat.as_str(), "message": message.text});
    if let Some(quoted) = &message.quoted {
        body["quotedMessageId"] = Value::from(quoted.as_str());
    }
    body.to_string()
}

/// A form, whole: only a body that is handed out at once, and says its length, is complete or not there.
async fn upload(message: &Outgoing, file: &OutgoingFile) -> Result<(String, Bytes), reqwest::Error> {
    let part = multipart::Part::stream_with_length(file.bytes.clone(), file.bytes.len() as u64)
        .file_name(file.name.clone())
        .mime_str(&file.mime_type)?;
    let mut form = multipart::Form::new()
        .text("chatId", message.chat.as_str().to_owned())
        .text("fileName", file.name.clone());
    if !file.caption.is_empty() {
        form = form.text("caption", file.caption.clone());
    }
    if let Some(quoted) = &message.quoted {
        form = form.text("quotedMessageId", quoted.clone());
    }
    let form = form.part("file", part);
    let content_type = format!("multipart/form-data; boundary={}", form.boundary());
    let body: Vec<Bytes> = form.into_stream().try_collect().await?;
    Ok((content_type, body.concat().into()))
}

/// What an answer means for the message.
fn verdict(endpoint: &Endpoint, answer: &Answer, wait_seconds: u64) -> Sent {
    let words = answer.words();
    let detail = match words.trim() {
        "" => format!("status {}", answer.status),
        // A page of a gateway in between says nothing that the status does not.
        page if page.starts_with('<') => format!("status {}", answer.status),
        words => endpoint.redact(&format!("status {}: {words}", answer.status)),
    };
    match answer.status {
        200..300 => match answer.json().as_ref().map(|json| Part::of(json).text("idMessage").trim()) {
            Some(id) if !id.is_empty() && id.len() <= NAME_MAX => Sent::Accepted { id: id.to_owned() },
            _ => Sent::Unclear { detail: format!("status {} without an id", answer.status) },
        },
        // A redirect was not followed, and whoever gave it did not take the message.
        300..400 => Sent::Unreached { detail },
        400 => match state_named_in(&words) {
            Some(state) => Sent::NotLinked { state: state.to_owned(), detail },
            None => Sent::Refused { reason: DeliveryReason::Refused, detail },
        },
        401 | 403 => Sent::NotLinked { state: CREDENTIALS_REFUSED.to_owned(), detail },
        404 | 413 | 415 => Sent::Refused { reason: DeliveryReason::Refused, detail },
        429 => {
            let wait_ms = wait_seconds.saturating_mul(1000).clamp(TOO_OFTEN_MS, TOO_OFTEN_MAX_MS);
            let jitter_ms = fastrand::u64(0..=TOO_OFTEN_JITTER_MS);
            Sent::Again { after_ms: Some((wait_ms + jitter_ms).cast_signed()), detail }
        }
        466 => Sent::Refused { reason: DeliveryReason::Quota, detail },
        500 if is_about_size(&words) => Sent::Refused { reason: DeliveryReason::Refused, detail },
        _ => Sent::Unclear { detail },
    }
}

/// The state of the instance that a 400 speaks of. A validation error is about the message, whatever words of it it
/// repeats.
pub(super) fn state_named_in(words: &str) -> Option<&'static str> {
    let words = words.trim().to_lowercase();
    if words.starts_with("validation failed") || words.starts_with("unexpected token") {
        return None;
    }
    let states = [
        ("not authorized", "notAuthorized"),
        ("not authorised", "notAuthorized"),
        ("starting", "starting"),
        ("expired", "expired"),
        ("is deleted", "deleted"),
    ];
    states.iter().find(|(phrase, _)| words.contains(phrase)).map(|(_, state)| *state)
}

fn is_about_size(words: &str) -> bool {
    let words = words.to_lowercase();
    words.contains("entity too large") || words.contains("exceeded max upload size")
}

#[cfg(test)]
mod tests {
    use std::{mem::discriminant, time::Duration};

    use super::*;
    use crate::adapters::http_client::http_client;

    fn endpoint() -> Endpoint {
        let http = http_client(Duration::from_secs(1)).expect("a client");
        Endpoint::new(http, "https://gateway.example", "7103000001", "s3cret").expect("an address")
    }

    fn said(status: u16, body: &str) -> Sent {
        verdict(&endpoint(), &Answer::new(status, body), 0)
    }

    fn not_linked(state: &str) -> Sent {
        Sent::NotLinked { state: state.to_owned(), detail: String::new() }
    }

    fn refused(reason: DeliveryReason) -> Sent {
        Sent::Refused { reason, detail: String::new() }
    }

    fn without_detail(sent: Sent) -> Sent {
        let detail = String::new();
        match sent {
            Sent::Refused { reason, .. } => Sent::Refused { reason, detail },
            Sent::Again { .. } => Sent::Again { after_ms: None, detail },
            Sent::Unreached { .. } => Sent::Unreached { detail },
            Sent::NotLinked { state, .. } => Sent::NotLinked { state, detail },
            Sent::Unclear { .. } => Sent::Unclear { detail },
            sent @ (Sent::Accepted { .. } | Sent::TooLate) => sent,
        }
    }

    #[test]
    fn each_answer_says_what_became_of_the_message() {
        let accepted = Sent::Accepted { id: "BAE5".to_owned() };
        let again = Sent::Again { after_ms: None, detail: String::new() };
        let unreached = Sent::Unreached { detail: String::new() };
        let unclear = Sent::Unclear { detail: String::new() };
        let refused_plainly = refused(DeliveryReason::Refused);
        let validation = r#"{"message":"Validation failed. Details: 'message' must not be 'starting'"}"#;
        let table = [
            (200, r#"{"idMessage":"BAE5"}"#, &accepted),
            (201, r#"{"idMessage":"BAE5"}"#, &accepted),
            (200, "", &unclear),
            (200, "{}", &unclear),
            (200, r#"{"idMessage":"BAE5"#, &unclear),
            (200, r#"{"idMessage":" "}"#, &unclear),
            (200, r#"{"idMessage":5}"#, &unclear),
            (204, "", &unclear),
            (302, "", &unreached),
            (307, "", &unreached),
            (400, validation, &refused_plainly),
            (400, r#"{"message":"Unexpected token } in JSON at position 17"}"#, &refused_plainly),
            (400, "", &refused_plainly),
            (400, r#"{"message":"instance is starting or not authorized"}"#, &not_linked("notAuthorized")),
            (400, "instance account not authorized", &not_linked("notAuthorized")),
            (400, r#"{"message":"instance in starting process try later"}"#, &not_linked("starting")),
            (400, r#"{"message":"Instance account is expired. Renew it"}"#, &not_linked("expired")),
            (400, r#"{"message":"Instance is deleted"}"#, &not_linked("deleted")),
            (401, "", &not_linked("credentials_refused")),
            (403, "Forbidden", &not_linked("credentials_refused")),
            (404, "<html>", &refused_plainly),
            (408, "", &unclear),
            (413, "<html>", &refused_plainly),
            (415, "", &refused_plainly),
            (429, "", &again),
            (466, r#"{"invokeStatus":{"status":"QUOTE_EXCEEDED"}}"#, &refused(DeliveryReason::Quota)),
            (499, "", &unclear),
            (500, r#"{"message":"request entity too large"}"#, &refused_plainly),
            (500, r#"{"message":"Internal error when downloading file"}"#, &unclear),
            (502, "<html>", &unclear),
            (503, "", &unclear),
            (504, "", &unclear),
        ];
        for (status, body, expected) in table {
            assert_eq!(&without_detail(said(status, body)), expected, "{status} {body}");
        }
    }

    #[test]
    fn asked_too_often_we_wait_a_second_or_as_long_as_we_are_told() {
        for (header, least) in [(0, 1000), (7, 7000), (u64::MAX, 300_000)] {
            let Sent::Again { after_ms: Some(ms), .. } = verdict(&endpoint(), &Answer::new(429, ""), header)
            else {
                panic!("429 is tried again");
            };
            assert!((least..=least + 500).contains(&ms), "{ms}");
        }
    }

    #[test]
    fn the_words_of_a_refusal_hold_no_token() {
        let path = r#"{"message":"Validation failed for /waInstance7103000001/sendMessage/s3cret"}"#;
        let sent = said(400, path);
        assert_eq!(discriminant(&sent), discriminant(&refused(DeliveryReason::Refused)));
        assert!(!format!("{sent:?}").contains("s3cret"), "{sent:?}");
        assert!(format!("{sent:?}").contains("/sendMessage/***"), "{sent:?}");
    }
}
