//! What is fetched instead of being posted. In: the gateway's queue of notifications, and its journal of a day. Out: webhook
//! bodies, each with the receipt that takes it off the queue; and arrivals.

use std::{borrow::Cow, time::Duration};

use serde::Deserialize;
use serde_json::{Value, value::RawValue};

use super::{
    endpoint::{Answer, Endpoint},
    journal,
    part::Part,
};
use crate::flow::provider::{Arrival, NoAnswer, Notification, Unanswered};

/// Shortest and longest wait, in seconds, that the gateway takes.
const WAIT_S: (u64, u64) = (5, 60);

/// How to end the one refusal that waiting does not end.
const CLEAR_THE_URL: &str = "a webhookUrl is set, and the gateway gives its notifications only one way: clear it in the \
                             console and wait a minute, or set BATON_GREEN_API_RECEIVE=webhook";

/// A notification as it is fetched. Its body stays text: what cannot be read is still somebody's message, and must come
/// off the queue, or it holds up all behind it.
#[derive(Deserialize)]
struct Received<'a> {
    #[serde(rename = "receiptId")]
    receipt: i64,
    #[serde(borrow)]
    body: Option<&'a RawValue>,
}

pub(super) async fn receive(
    endpoint: &Endpoint,
    wait: Duration,
    timeout: Duration,
) -> Result<Option<Notification>, Unanswered> {
    let seconds = wait.as_secs().clamp(WAIT_S.0, WAIT_S.1);
    let limit = Duration::from_secs(seconds) + timeout;
    let answer =
        endpoint.fetch("receiveNotification", ("receiveTimeout", seconds.cast_signed()), limit).await;
    if let Ok(answer) = &answer
        && answer.status == 400
        && answer.words().to_lowercase().contains("webhook url")
    {
        return Err(unanswered(CLEAR_THE_URL));
    }
    let answer = answered(answer)?;
    let text: Cow<'_, str> = String::from_utf8_lossy(answer.bytes());
    if text.trim().is_empty() {
        return Ok(None);
    }
    let (receipt, body) = match serde_json::from_str::<Option<Received<'_>>>(&text) {
        Ok(None) => return Ok(None),
        Ok(Some(received)) => (received.receipt, received.body.map_or("null", RawValue::get)),
        Err(_) => {
            let receipt =
                receipt_of(&text).ok_or_else(|| unanswered("status 200, but not a notification"))?;
            (receipt, &*text)
        }
    };
    Ok(Some(Notification { receipt, body: body.as_bytes().to_vec() }))
}

/// The receipt of a notification that is no JSON. What people write cannot stand for it: there each quote is escaped.
fn receipt_of(text: &str) -> Option<i64> {
    let (_, rest) = text.split_once("\"receiptId\"")?;
    let digits = rest.trim_start().strip_prefix(':')?.trim_start();
    let end = digits.find(|it: char| !it.is_ascii_digit()).unwrap_or(digits.len());
    digits[..end].parse().ok()
}

/// One that is gone already is as good as deleted.
pub(super) async fn acknowledge(
    endpoint: &Endpoint,
    receipt: i64,
    timeout: Duration,
) -> Result<(), Unanswered> {
    answered(endpoint.delete("deleteNotification", receipt, timeout).await).map(drop)
}

pub(super) async fn journal(
    endpoint: &Endpoint,
    channel: &str,
    minutes: i64,
    timeout: Duration,
) -> Result<Vec<Arrival>, Unanswered> {
    let answer = answered(endpoint.fetch("lastIncomingMessages", ("minutes", minutes), timeout).await)?;
    let Some(Value::Array(items)) = answer.json() else {
        return Err(unanswered("status 200, but not a list of messages"));
    };
    let mut arrivals = Vec::new();
    for item in &journal::as_they_stand(items) {
        match journal::arrival(channel, endpoint.instance(), Part::of(item)) {
            Ok(arrival) => arrivals.extend(arrival),
            Err(error) => tracing::warn!(channel, %error, "an item of the journal cannot be read"),
        }
    }
    arrivals.sort_by_key(|arrival| arrival.at);
    Ok(arrivals)
}

/// The answer, if it is one.
pub(super) fn answered(answer: Result<Answer, String>) -> Result<Answer, Unanswered> {
    let answer = answer.map_err(|detail| Unanswered { detail, no_answer: NoAnswer::Silence })?;
    match answer.status {
        200 => Ok(answer),
        status => {
            let no_answer = match status {
                401 | 403 => NoAnswer::Refused,
                429 => NoAnswer::TooMany,
                _ => NoAnswer::Silence,
            };
            Err(Unanswered { detail: format!("status {status}"), no_answer })
        }
    }
}

pub(super) fn unanswered(detail: &str) -> Unanswered {
    Unanswered { detail: detail.to_owned(), no_answer: NoAnswer::Silence }
}
