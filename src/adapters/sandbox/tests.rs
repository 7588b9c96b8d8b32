//! A contact, a phone and a gateway that misbehaves on request.

use super::*;
use crate::domain::{message::OutcomeReason, policy::Policy};

fn noon() -> Time {
    Time(1_767_600_000_000)
}

fn mei() -> ChatId {
    ChatId::parse("6580000001@c.us").expect("a chat id")
}

fn outgoing(text: &str) -> Outgoing {
    Outgoing {
        chat: mei(),
        text: text.to_owned(),
        file: None,
        quoted: None,
        idempotency_key: "key".to_owned(),
        begin_by: boot_time() + Duration::from_secs(60),
        timeout: Duration::from_millis(20),
    }
}

fn arrival(incoming: Incoming) -> Arrival {
    match incoming {
        Incoming::Message(arrival) | Incoming::Phone(arrival) | Incoming::Echo(arrival) => arrival,
        other => panic!("{other:?} is no message"),
    }
}

fn written(sandbox: &Sandbox, body: &str) -> Arrival {
    arrival(sandbox.read(body.as_bytes()).expect("readable"))
}

/// Everything reported so far, in a word each.
fn reported(reports: &mut mpsc::Receiver<Incoming>) -> Vec<String> {
    let mut words = Vec::new();
    while let Ok(report) = reports.try_recv() {
        words.push(match report {
            Incoming::Echo(echo) => format!("echo {}", echo.text),
            Incoming::Status(status) => status.detail,
            other => panic!("{other:?} is no report"),
        });
    }
    words
}

#[tokio::test]
async fn a_conversation_shows_on_the_contacts_phone() {
    let (sandbox, mut reports) = Sandbox::new(noon);
    let asked =
        written(&sandbox, r#"{"chat_id":"6580000001@c.us","name":"Mei","text":"Open today?","id":"m1"}"#);
    assert_eq!(
        (asked.contact_name.as_deref(), asked.text.as_str(), asked.inert),
        (Some("Mei"), "Open today?", None)
    );
    sandbox.mark_read(&mei()).await;
    sandbox.show_typing(&mei(), 5_000).await;
    assert!(sandbox.typing(&mei()));
    assert!(matches!(sandbox.send(&outgoing("Until six.")).await, Sent::Accepted { .. }));
    assert!(!sandbox.typing(&mei()), "a message ends the typing");
    assert_eq!(reported(&mut reports), ["echo Until six.", "sent", "delivered", "read"]);
    let by_phone = arrival(sandbox.phone_message(&mei(), "Ana here."));
    assert_eq!(by_phone.text, "Ana here.");
    let shown: Vec<_> = sandbox.shown(&mei()).into_iter().map(|m| (m.from_us, m.text, m.status)).collect();
    let read = DeliveryState::Read;
    let expected = [(false, "Open today?", read), (true, "Until six.", read), (true, "Ana here.", read)];
    assert_eq!(shown, expected.map(|(ours, text, status)| (ours, text.to_owned(), status)));
}

#[tokio::test]
async fn each_fault_ends_a_send_in_its_own_way() {
    let unclear = |detail: &str| Sent::Unclear { detail: detail.to_owned() };
    let refused = Sent::Refused { reason: DeliveryReason::Refused, detail: "the sandbox refuses".to_owned() };
    let table = [
        (ProviderFault::Refused, 0, refused, false),
        (ProviderFault::Hang, 0, unclear("timed out"), false),
        (ProviderFault::ServerError, 0, unclear("status 502"), false),
        (ProviderFault::LostAnswer, 0, unclear("the connection broke"), true),
        (ProviderFault::None, 60_000, unclear("timed out"), true),
    ];
    for (fault, delay_ms, expected, arrives) in table {
        let (sandbox, mut reports) = Sandbox::new(noon);
        sandbox.set_faults(Faults { delay_ms, fault, duplicate_webhooks: false });
        assert_eq!(sandbox.send(&outgoing("hello")).await, expected, "{fault}");
        assert_eq!(!sandbox.shown(&mei()).is_empty(), arrives, "{fault}");
        assert_eq!(!reported(&mut reports).is_empty(), arrives, "{fault}");
    }
}

#[tokio::test]
async fn with_duplicates_on_every_report_comes_twice() {
    let (sandbox, mut reports) = Sandbox::new(noon);
    sandbox.set_faults(Faults { duplicate_webhooks: true, ..Faults::default() });
    sandbox.send(&outgoing("hello")).await;
    let twice = ["echo hello", "echo hello", "sent", "sent", "delivered", "delivered", "read", "read"];
    assert_eq!(reported(&mut reports), twice);
    assert_eq!(sandbox.shown(&mei()).len(), 1);
}

#[tokio::test]
async fn a_send_whose_moment_has_passed_leaves_nothing() {
    let (sandbox, _reports) = Sandbox::new(noon);
    let late = Outgoing { begin_by: Duration::ZERO, ..outgoing("hello") };
    assert_eq!(sandbox.send(&late).await, Sent::TooLate);
    assert!(sandbox.shown(&mei()).is_empty());
}

#[test]
fn the_same_words_without_an_id_are_two_messages_and_with_one_a_copy() {
    let (sandbox, _reports) = Sandbox::new(noon);
    let body = r#"{"chat_id":"6580000001@c.us","text":"ok"}"#;
    assert_ne!(written(&sandbox, body).id, written(&sandbox, body).id);
    let body = r#"{"chat_id":"6580000001@c.us","text":"ok","id":"m1"}"#;
    assert_eq!(written(&sandbox, body), written(&sandbox, body));
    assert_eq!(sandbox.shown(&mei()).len(), 3);
}

#[test]
fn what_starts_no_turn_says_why() {
    let (sandbox, _reports) = Sandbox::new(noon);
    let table = [
        ("text", "hello", None, "hello", false),
        ("text", " ", Some(OutcomeReason::Empty), " ", false),
        ("image", "broken", None, "[image] broken", false),
        ("voice", "", None, "[voice message]", true),
        ("sticker", "", Some(OutcomeReason::Sticker), "[sticker]", false),
        ("reaction", "👍", Some(OutcomeReason::Reaction), "[reaction] 👍", false),
    ];
    for (kind, text, inert, shown, is_unreadable) in table {
        let body = serde_json::json!({"chat_id": "6580000001@c.us", "text": text, "kind": kind}).to_string();
        let arrival = written(&sandbox, &body);
        assert_eq!(
            (arrival.inert, arrival.text.as_str(), arrival.is_unreadable),
            (inert, shown, is_unreadable),
            "{kind}"
        );
    }
}

#[test]
fn a_body_that_cannot_be_read_is_refused_without_its_words() {
    let (sandbox, _reports) = Sandbox::new(noon);
    let bodies = [
        "",
        "[]",
        r#"{"chat_id":"x@c.us"}"#,
        r#"{"chat_id":"secret words","text":"a"}"#,
        r#"{"chat_id":"x@c.us","text":"a","kind":"secret words"}"#,
        r#"{"chat_id":7,"text":"secret words"}"#,
    ];
    for body in bodies {
        let reason = sandbox.read(body.as_bytes()).expect_err(body).reason;
        assert!(!reason.contains("secret"), "{reason}");
    }
}

#[tokio::test]
async fn a_send_whose_answer_was_lost_is_found_in_the_journal() {
    let (sandbox, _reports) = Sandbox::new(noon);
    sandbox.set_faults(Faults { fault: ProviderFault::LostAnswer, ..Faults::default() });
    assert!(matches!(sandbox.send(&outgoing("Until six.")).await, Sent::Unclear { .. }));
    sandbox.phone_message(&mei(), "Ana here.");
    let found = sandbox.look_up(LookUp::Journal { minutes: 5 }).await.expect("an answer");
    let seen: Vec<_> = found.iter().map(|trace| (&trace.chat, trace.text.as_str(), trace.at)).collect();
    assert_eq!(seen, [(&mei(), "Until six.", Some(noon()))]);
    assert!(found[0].id.is_some());
    assert!(sandbox.look_up(LookUp::Queue).await.expect("an answer").is_empty());
    assert_eq!(sandbox.queue_length().await.expect("an answer"), 0);
}

#[test]
fn a_channel_of_its_name_that_is_another_providers_is_not_its_channel() {
    let [sandbox, other] = [Sandbox::new(noon).0, Sandbox::new(noon).0].map(Arc::new);
    let channels = Channels::default();
    assert!(sandbox.channel(&channels).is_none(), "it was removed");
    for (provider, is_its) in [(other, false), (sandbox.clone(), true)] {
        let policy = Arc::new(Policy::default());
        channels.put(Channel { name: SANDBOX.to_owned(), policy, provider });
        assert_eq!(sandbox.channel(&channels).is_some(), is_its);
    }
}
