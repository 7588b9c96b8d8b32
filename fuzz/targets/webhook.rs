//! Any bytes as the body of a webhook. None may panic; what is read is of bounded size, belongs to this account, and is
//! known again by its fingerprint, however its JSON is laid out.

#![no_main]

use std::{fmt::Write as _, sync::LazyLock, time::Duration};

use baton::{
    adapters::{
        green_api::{Account, GreenApi, fingerprint_of},
        http_client::http_client,
    },
    domain::{chat::ChatId, message::Kind, time::Time},
    flow::provider::{Amendment, Arrival, Incoming, Provider, Status},
};
use libfuzzer_sys::fuzz_target;
use serde_json::Value;

/// The account of the fixtures, and one that is not theirs.
const INSTANCE: i64 = 7_103_000_001;
static OURS: LazyLock<GreenApi> = LazyLock::new(|| gateway(INSTANCE));
static ANOTHER: LazyLock<GreenApi> = LazyLock::new(|| gateway(INSTANCE + 1));

const CHANNEL: &str = "default";

/// One body in so many is read again with each of its texts made too long, with something to see or without.
const LONG_EVERY: usize = 32;

/// In characters, as the contract and the tables have them; ids of the provider in bytes.
const TEXT_MAX: usize = 65_536;
const NAME_MAX: usize = 256;
const CHAT_MAX: usize = 129;
const URL_MAX: usize = 2_048;
/// A call's id has its status behind it.
const ID_MAX: usize = NAME_MAX + 1 + 64 * 4;

fuzz_target!(|body: &[u8]| {
    let outcome = checked(body);
    let Ok(value) = serde_json::from_slice::<Value>(body) else {
        assert!(outcome.is_err() && fingerprint_of(CHANNEL, body).is_none(), "this is not JSON");
        return;
    };
    let laid_out = laid_out_otherwise(&value);
    assert_eq!(known(read(&OURS, laid_out.as_bytes())), known(outcome.clone()), "laid out otherwise");
    assert_eq!(fingerprint_of(CHANNEL, laid_out.as_bytes()), fingerprint_of(CHANNEL, body));

    let is_anothers = outcome == Ok(Incoming::OtherInstance);
    if let Some(instance) = value["instanceData"]["idInstance"].as_i64() {
        assert_eq!(is_anothers, instance != INSTANCE, "a body belongs to the account that it names");
    }
    let elsewhere = read(&ANOTHER, body);
    assert!(
        is_anothers || elsewhere == Ok(Incoming::OtherInstance) || elsewhere == outcome,
        "two accounts read it differently: {elsewhere:?}"
    );
    // The fuzzer comes upon no text longer than any that is taken; and to read one takes time.
    if body.len().is_multiple_of(LONG_EVERY) {
        for n in 0.. {
            for piece in ["é", "\u{200b}"] {
                let mut value = value.clone();
                if !lengthen(&mut value, &mut { n }, piece) {
                    return;
                }
                let _either = checked(value.to_string().as_bytes());
            }
        }
    }
});

fn gateway(instance: i64) -> GreenApi {
    let account = Account {
        channel: CHANNEL.to_owned(),
        instance: instance.to_string(),
        api_url: "https://gateway.example".to_owned(),
        token: "token".to_owned(),
        timeout: Duration::from_secs(1),
    };
    GreenApi::new(&account, http_client(account.timeout).expect("a client")).expect("an address")
}

fn read(gateway: &GreenApi, body: &[u8]) -> Result<Incoming, String> {
    gateway.read(body).map_err(|unreadable| unreadable.reason)
}

/// What a body says, once that was checked.
fn checked(body: &[u8]) -> Result<Incoming, String> {
    let outcome = read(&OURS, body);
    match &outcome {
        Ok(incoming) => check(incoming, body),
        Err(reason) => assert!(
            reason.is_ascii() && (1..=NAME_MAX).contains(&reason.len()),
            "a reason is a few words of our own: {reason}"
        ),
    }
    outcome
}

/// Makes one text too long: the one after so many others, if there are so many.
fn lengthen(value: &mut Value, others: &mut usize, piece: &str) -> bool {
    match value {
        Value::String(text) if *others == 0 => {
            *text = piece.repeat(TEXT_MAX + 99);
            true
        }
        Value::String(_) => {
            *others -= 1;
            false
        }
        Value::Array(items) => items.iter_mut().any(|item| lengthen(item, others, piece)),
        Value::Object(fields) => fields.values_mut().any(|field| lengthen(field, others, piece)),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

fn check(incoming: &Incoming, body: &[u8]) {
    match incoming {
        Incoming::Message(arrival) => {
            check_arrival(arrival, body);
            assert!(
                arrival.inert.is_some() || shows_something(&arrival.text),
                "the model would read nothing"
            );
        }
        Incoming::Phone(arrival) | Incoming::Echo(arrival) => {
            check_arrival(arrival, body);
            assert!(arrival.inert.is_none() && !arrival.is_unreadable, "our own side is not judged");
        }
        Incoming::Edit(amendment) => check_amendment(amendment),
        Incoming::Deletion(amendment) => {
            check_amendment(amendment);
            assert_eq!(amendment.text, "");
        }
        Incoming::Status(status) => check_status(status),
        Incoming::State(state) => {
            bounded(state, NAME_MAX);
            assert!(!state.is_empty());
        }
        Incoming::Quota(words) => bounded(words, 300),
        Incoming::Ignored(what) => bounded(what, 64),
        Incoming::OtherInstance => {}
    }
}

fn check_arrival(arrival: &Arrival, body: &[u8]) {
    check_chat(&arrival.chat);
    if let Some(alias) = &arrival.alias {
        check_chat(alias);
        assert_ne!(alias, &arrival.chat);
    }
    if let Some(id) = &arrival.id {
        check_id(id, ID_MAX);
    }
    assert_eq!(
        Some(&arrival.fingerprint),
        fingerprint_of(CHANNEL, body).as_ref(),
        "the same body, the same key"
    );
    assert_ne!(
        Some(&arrival.fingerprint),
        fingerprint_of("another", body).as_ref(),
        "a key is of one channel"
    );
    assert!(
        arrival.fingerprint.len() == 64 && arrival.fingerprint.bytes().all(|byte| byte.is_ascii_hexdigit())
    );
    check_time(arrival.at);
    if let Some(name) = &arrival.contact_name {
        bounded(name, NAME_MAX);
        assert!(!name.trim().is_empty());
    }
    if let Some(sender) = &arrival.sender {
        bounded(&sender.name, NAME_MAX);
        check_chat(&ChatId::parse(&sender.id).expect("a sender is a chat id"));
    }
    bounded(&arrival.text, TEXT_MAX);
    if let Some(quoted) = &arrival.quoted {
        check_id(&quoted.provider_message_id, NAME_MAX);
        bounded(&quoted.text, 300 + "[voice message] ".len());
    }
    if let Some(media) = &arrival.media {
        bounded(&media.url, URL_MAX);
        bounded(&media.mime_type, 128);
        bounded(&media.file_name, NAME_MAX);
        bounded(&media.caption, TEXT_MAX);
    }
}

fn check_amendment(amendment: &Amendment) {
    check_chat(&amendment.chat);
    check_id(&amendment.of, NAME_MAX);
    bounded(&amendment.text, TEXT_MAX);
    check_time(amendment.at);
    amendment.by.iter().for_each(check_chat);
}

fn check_status(status: &Status) {
    status.chat.iter().for_each(check_chat);
    check_id(&status.id, NAME_MAX);
    bounded(&status.detail, NAME_MAX);
    assert!(status.reason.is_none() || status.state.is_some(), "a reason is of a failure");
}

fn check_chat(chat: &ChatId) {
    assert_eq!(ChatId::parse(chat.as_str()).as_ref(), Some(chat), "what is clean stays as it is");
    assert!(chat.as_str().len() <= CHAT_MAX);
    bounded(chat.as_str(), CHAT_MAX);
    if let Some(phone) = chat.phone() {
        assert!(phone.len() > 1 && phone[1..].bytes().all(|byte| byte.is_ascii_digit()), "{phone}");
    }
}

fn check_id(id: &str, max_bytes: usize) {
    assert!((1..=max_bytes).contains(&id.len()), "{} bytes of an id", id.len());
    bounded(id, max_bytes);
}

fn check_time(at: Option<Time>) {
    let years = Time::from_seconds(1)..=Time::from_seconds(253_402_300_799);
    assert!(at.is_none_or(|at| years.contains(&at)), "a year of four digits: {at:?}");
}

/// Of at most so many characters, and such as PostgreSQL can store.
fn bounded(text: &str, max: usize) {
    let length = text.chars().count();
    assert!(length <= max, "{length} characters, of {max}: {:?}…", text.chars().take(40).collect::<String>());
    assert!(!text.contains('\0'));
}

fn shows_something(text: &str) -> bool {
    text.chars().any(|c| {
        let has_no_width = matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}');
        !(c.is_whitespace() || c.is_control() || has_no_width)
    })
}

/// The same JSON with every object backwards, and white space about.
fn laid_out_otherwise(value: &Value) -> String {
    let mut json = String::new();
    lay_out(value, &mut json);
    json
}

fn lay_out(value: &Value, json: &mut String) {
    match value {
        Value::Object(fields) => {
            json.push('{');
            for (at, (name, value)) in fields.iter().rev().enumerate() {
                let comma = if at == 0 { "" } else { "\n," };
                write!(json, "{comma}{} : ", Value::from(name.as_str())).expect("a string takes all");
                lay_out(value, json);
            }
            json.push('}');
        }
        Value::Array(items) => {
            json.push('[');
            for (at, item) in items.iter().enumerate() {
                json.push_str(if at == 0 { "\t" } else { " ," });
                lay_out(item, json);
            }
            json.push(']');
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            json.push_str(&value.to_string())
        }
    }
}

/// Without the coordinates of a place: written and read again, a number may differ in its last digit.
fn known(outcome: Result<Incoming, String>) -> Result<Incoming, String> {
    let without = |arrival: Arrival| match arrival.kind {
        Kind::Location => Arrival { text: String::new(), ..arrival },
        _ => arrival,
    };
    outcome.map(|incoming| match incoming {
        Incoming::Message(arrival) => Incoming::Message(without(arrival)),
        Incoming::Phone(arrival) => Incoming::Phone(without(arrival)),
        Incoming::Echo(arrival) => Incoming::Echo(without(arrival)),
        other => other,
    })
}
