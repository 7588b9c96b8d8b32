//! How a call failed, sorted by what the caller does next. In: statuses, error frames and errors of the connection.
//! Out: failures in our own words only, for a server's may repeat the key or a contact's text.

use std::time::Duration;

use jiff::{Timestamp, fmt::rfc2822};
use reqwest::{
    Response, StatusCode,
    header::{DATE, HeaderMap, RETRY_AFTER},
};
use serde_json::Value;

use super::stream;
use crate::flow::generator::{Failure, FailureKind};

/// Largest error body that is read for its code.
const ERROR_MAX_BYTES: usize = 64 << 10;

/// Longest wait that is accepted.
const RETRY_AFTER_MAX_MS: i64 = 24 * 60 * 60 * 1000;

pub(crate) fn failed(kind: FailureKind, detail: impl Into<String>) -> Failure {
    Failure::new(kind, detail)
}

pub(super) fn idle(limit: Duration) -> Failure {
    failed(FailureKind::TimedOut, format!("no byte for {} ms", limit.as_millis()))
}

pub(super) fn too_slow(limit: Duration) -> Failure {
    failed(FailureKind::TimedOut, format!("not done in {} ms", limit.as_millis()))
}

/// No answer came at all.
pub(super) fn cannot_connect(error: &reqwest::Error) -> Failure {
    if error.is_connect() {
        let what =
            if error.is_dns() { "the name of the server cannot be looked up" } else { "cannot connect" };
        failed(FailureKind::Unreachable, what)
    } else {
        failed(FailureKind::Cut, "the connection broke before an answer")
    }
}

/// The server answered with a status that is not a success.
pub(super) async fn refused(response: Response, patience: Duration) -> Failure {
    let status = response.status();
    let retry_after_ms = retry_after_ms(response.headers());
    let body = stream::collect(response.bytes_stream(), patience, ERROR_MAX_BYTES).await;
    // Without a body that can be read, the status says enough.
    let answer = body.ok().and_then(|body| serde_json::from_slice::<Value>(&body).ok());
    let kind = kind_of(status, answer.as_ref());
    let retry_after_ms = retry_after_ms.filter(|_| kind.is_worth_another_try());
    Failure { retry_after_ms, ..failed(kind, format!("status {}", status.as_u16())) }
}

fn kind_of(status: StatusCode, answer: Option<&Value>) -> FailureKind {
    match (by_status(status), answer.map(error_of).and_then(kind_of_code)) {
        (
            FailureKind::RateLimited | FailureKind::Refused,
            Some(kind @ (FailureKind::Quota | FailureKind::TooLong)),
        )
        | (FailureKind::Refused, Some(kind @ (FailureKind::Filtered | FailureKind::Malformed))) => kind,
        (kind, _) => kind,
    }
}

/// Where servers put what went wrong: under `error`, or at the top; some put all of it into a list.
pub(super) fn error_of(answer: &Value) -> &Value {
    let answer = answer.get(0).unwrap_or(answer);
    answer.get("error").filter(|error| !error.is_null()).unwrap_or(answer)
}

/// Whether that is an error, though no field of this name says so: in the middle of a stream some servers send what they
/// answer a bad request with.
pub(crate) fn is_error(frame: &Value) -> bool {
    let says_error = |name| frame.get(name).and_then(Value::as_str) == Some("error");
    let has_detail = frame.get("detail").is_some_and(|detail| !detail.is_null());
    says_error("object") || says_error("type") || has_detail || kind_of_code(frame).is_some()
}

/// The server sent an error in place of an answer, with a good status.
pub(crate) fn error_frame(error: &Value) -> Failure {
    let kind = kind_of_code(error).unwrap_or(FailureKind::Server);
    failed(kind, "an error in place of an answer")
}

fn by_status(status: StatusCode) -> FailureKind {
    match status.as_u16() {
        429 => FailureKind::RateLimited,
        402 => FailureKind::Quota,
        413 => FailureKind::TooLong,
        408 | 409 | 425 | 500.. => FailureKind::Server,
        _ => FailureKind::Refused,
    }
}

/// By the words that servers use in `code` and `type`, or by a status in their place.
fn kind_of_code(error: &Value) -> Option<FailureKind> {
    if is_too_long(error) {
        return Some(FailureKind::TooLong);
    }
    [error.get("code"), error.get("type"), error.get("status")].into_iter().flatten().find_map(|code| {
        let number = code.as_u64().or_else(|| code.as_str()?.parse().ok());
        match number {
            Some(number) => u16::try_from(number)
                .ok()
                .and_then(|number| StatusCode::from_u16(number).ok())
                .filter(|status| status.as_u16() >= 400)
                .map(by_status),
            None => kind_of_word(&code.as_str()?.to_ascii_lowercase()),
        }
    })
}

/// Whether the model cannot read as much, or not at once: what is asked too much of in one request stays so, however long
/// one waits. Some servers have no code for it, and say so in these words.
fn is_too_long(error: &Value) -> bool {
    const CODES: [&str; 3] = ["context_length_exceeded", "exceed_context_size_error", "request_too_large"];
    const WORDS: [&str; 18] = [
        "maximum context length",
        "longer than the model's context length",
        "context length is only",
        "context length of only",
        "longer than the maximum model length",
        "maximum prompt length is",
        "exceeds the maximum number of tokens",
        "exceeded model token limit",
        "exceeds the available context size",
        "exceed context limit",
        "range of input length should be",
        "inputs must have less than",
        "inputs tokens + max_new_tokens must be",
        "input is too long",
        "prompt is too long",
        "prompt too long",
        "request too large",
        "exceeds the context window",
    ];
    let text = |name| error.get(name).and_then(Value::as_str).unwrap_or_default().to_ascii_lowercase();
    // Some put the names of fields into backticks.
    let message = error.as_str().map_or_else(|| text("message") + &text("detail"), str::to_ascii_lowercase);
    let message = message.replace('`', "");
    [text("code"), text("type")].iter().any(|code| CODES.contains(&code.as_str()))
        || WORDS.iter().any(|words| message.contains(words))
}

fn kind_of_word(word: &str) -> Option<FailureKind> {
    Some(match word {
        "insufficient_quota"
        | "quota_exceeded"
        | "billing_hard_limit_reached"
        | "insufficient_balance"
        | "insufficient_credits"
        | "billing_error"
        | "billing_not_active" => FailureKind::Quota,
        "rate_limit_exceeded"
        | "rate_limit_error"
        | "rate_limited"
        | "too_many_requests"
        | "requests"
        | "tokens" => FailureKind::RateLimited,
        "content_filter" | "content_policy_violation" | "responsibleaipolicyviolation" => {
            FailureKind::Filtered
        }
        "invalid_request_error"
        | "invalid_api_key"
        | "authentication_error"
        | "permission_error"
        | "model_not_found"
        | "not_found_error" => FailureKind::Refused,
        // The model's call made no sense: the next one does, most of the time.
        "tool_use_failed" | "output_parse_failed" => FailureKind::Malformed,
        "server_error"
        | "internal_error"
        | "internal_server_error"
        | "api_error"
        | "overloaded_error"
        | "overloaded"
        | "service_unavailable"
        | "engine_overloaded"
        | "timeout_error"
        | "timeout" => FailureKind::Server,
        _ => return None,
    })
}

/// `Retry-After` in seconds, fractions included, or as a date, which is held against the server's own clock where it
/// shows one; `retry-after-ms` is finer and goes first.
fn retry_after_ms(headers: &HeaderMap) -> Option<i64> {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).map(str::trim);
    let millis = |text: &str| text.parse::<f64>().ok().filter(|number| number.is_finite());
    let ms = if let Some(ms) = text("retry-after-ms").and_then(millis) {
        ms
    } else {
        let after = text(RETRY_AFTER.as_str())?;
        match millis(after) {
            Some(seconds) => seconds * 1000.0,
            None => {
                let server_now = text(DATE.as_str()).and_then(date_ms);
                date_ms(after)? - server_now.unwrap_or_else(|| as_ms(Timestamp::now()))
            }
        }
    };
    let ms = ms.ceil().clamp(0.0, RETRY_AFTER_MAX_MS as f64) as i64;
    Some(ms)
}

fn date_ms(text: &str) -> Option<f64> {
    rfc2822::parse(text).ok().map(|at| as_ms(at.timestamp()))
}

fn as_ms(at: Timestamp) -> f64 {
    at.as_millisecond() as f64
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn wait(headers: &[(&'static str, &'static str)]) -> Option<i64> {
        let headers = headers.iter().map(|(name, value)| {
            let name = reqwest::header::HeaderName::from_static(name);
            (name, reqwest::header::HeaderValue::from_static(value))
        });
        retry_after_ms(&headers.collect())
    }

    #[test]
    fn a_wait_is_read_in_every_form() {
        assert_eq!(wait(&[("retry-after", "7")]), Some(7_000));
        assert_eq!(wait(&[("retry-after", " 0.25 ")]), Some(250));
        assert_eq!(wait(&[("retry-after", "7"), ("retry-after-ms", "120")]), Some(120));
        let date =
            [("date", "Fri, 27 Nov 2026 08:00:00 GMT"), ("retry-after", "Fri, 27 Nov 2026 08:00:30 GMT")];
        assert_eq!(wait(&date), Some(30_000), "by the server's clock");
        assert_eq!(wait(&[("retry-after", "Sun, 06 Nov 1994 08:49:37 GMT")]), Some(0), "long past");
        assert_eq!(wait(&[("retry-after", "1e300")]), Some(RETRY_AFTER_MAX_MS));
        assert_eq!(wait(&[("retry-after", "-3")]), Some(0));
        for nonsense in ["soon", "", "NaN", "inf"] {
            assert_eq!(
                retry_after_ms(&[(RETRY_AFTER, nonsense.parse().expect("visible"))].into_iter().collect()),
                None
            );
        }
        assert_eq!(wait(&[]), None);
    }

    #[test]
    fn codes_are_words_or_statuses() {
        let table = [
            (json!({ "code": "insufficient_quota", "type": "insufficient_quota" }), Some(FailureKind::Quota)),
            (json!({ "code": null, "type": "server_error" }), Some(FailureKind::Server)),
            (json!({ "code": 429 }), Some(FailureKind::RateLimited)),
            (json!({ "code": "503" }), Some(FailureKind::Server)),
            (json!({ "code": 200 }), None),
            (json!({ "code": "new_word", "type": "overloaded_error" }), Some(FailureKind::Server)),
            (json!({ "type": "content_filter" }), Some(FailureKind::Filtered)),
            (json!({ "message": "insufficient_quota" }), None),
            (json!("insufficient_quota"), None),
            (
                json!({ "type": "invalid_request_error", "code": "tool_use_failed" }),
                Some(FailureKind::Malformed),
            ),
            (
                json!({ "type": "invalid_request_error", "code": "context_length_exceeded" }),
                Some(FailureKind::TooLong),
            ),
            (
                json!({ "code": 400, "message": "This model's maximum context length is 4096 tokens." }),
                Some(FailureKind::TooLong),
            ),
            (
                json!({ "type": "invalid_request_error", "message": "prompt is too long: 210000 tokens > 200000 maximum" }),
                Some(FailureKind::TooLong),
            ),
        ];
        for (error, kind) in table {
            assert_eq!(kind_of_code(&error), kind, "{error}");
        }
    }

    /// As servers have put it.
    #[test]
    fn what_is_too_long_is_known_for_it_wherever_the_error_stands() {
        let vllm = "This model's maximum context length is 4096 tokens. However, you requested 5000 tokens.";
        let sglang = "The input (9000 tokens) is longer than the model's context length (8192 tokens).";
        let mistral = "Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length";
        let gemini =
            "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).";
        let groq =
            "Request too large for model `small-1` on tokens per minute (TPM): Limit 6000, Requested 7251";
        let table = [
            (400, json!({ "object": "error", "message": vllm, "type": "BadRequestError", "code": 400 })),
            (400, json!({ "error": { "message": vllm, "type": "BadRequestError", "code": 400 } })),
            (400, json!({ "object": "error", "message": sglang, "type": "BadRequest", "code": 400 })),
            (
                400,
                json!({ "object": "error", "message": mistral, "type": "invalid_request_error", "code": "3051" }),
            ),
            (400, json!([{ "error": { "code": 400, "message": gemini, "status": "INVALID_ARGUMENT" } }])),
            (400, json!({ "error": vllm })),
            (413, json!({ "error": { "message": groq, "type": "tokens", "code": "rate_limit_exceeded" } })),
            (429, json!({ "error": { "message": groq, "type": "tokens", "code": "rate_limit_exceeded" } })),
            (
                413,
                json!({ "type": "error", "error": { "type": "request_too_large", "message": "Too many bytes" } }),
            ),
            (413, json!(null)),
        ];
        let said = [
            "You passed 9000 input tokens and requested 0 output tokens. However, the model's context length is only 8192 tokens",
            "The decoder prompt (length 9000) is longer than the maximum model length of 8192.",
            "This model's maximum prompt length is 131072 but the request contains 150123 tokens.",
            "Invalid request: Your request exceeded model token limit: 131072 (requested: 150000)",
            "input length and `max_tokens` exceed context limit: 199759 + 8192 > 200000",
            "litellm.BadRequestError: BedrockException - {\"message\":\"Input is too long for requested model.\"}",
            "<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 129024]",
            "prompt too long; exceeded max context length by 120 tokens",
            "the request exceeds the available context size. try increasing the context size",
            "However, the model is loaded with context length of only 4096 tokens, which is not enough.",
            "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. Given: 9000",
            "Input validation error: `inputs` must have less than 4096 tokens. Given: 9000",
            "Your input exceeds the context window of this model. Please adjust your input and try again.",
        ];
        let table =
            table.into_iter().chain(said.map(|words| (400, json!({ "error": { "message": words } }))));
        for (status, answer) in table {
            let code = StatusCode::from_u16(status).expect("a status");
            assert_eq!(kind_of(code, Some(&answer)), FailureKind::TooLong, "{status} {answer}");
        }
        let slower = json!({ "error": { "message": "Rate limit reached", "type": "tokens" } });
        assert_eq!(kind_of(StatusCode::TOO_MANY_REQUESTS, Some(&slower)), FailureKind::RateLimited);
        let flat = json!({ "object": "error", "message": "No such model", "code": 404 });
        assert_eq!(kind_of(StatusCode::NOT_FOUND, Some(&flat)), FailureKind::Refused);
    }

    #[test]
    fn every_status_has_its_kind() {
        let table = [
            (FailureKind::Refused, &[301, 400, 401, 403, 404, 422][..]),
            (FailureKind::Server, &[408, 409, 425, 500, 502, 503, 504, 529, 599]),
            (FailureKind::RateLimited, &[429]),
            (FailureKind::Quota, &[402]),
            (FailureKind::TooLong, &[413]),
        ];
        for (kind, statuses) in table {
            for status in statuses {
                assert_eq!(by_status(StatusCode::from_u16(*status).expect("a status")), kind, "{status}");
            }
        }
    }
}
