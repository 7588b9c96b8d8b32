//! One message of a contact is one trace, from its webhook to its delivery, whichever instances have their hands in it.

mod collector;

use std::{collections::HashSet, net::TcpListener};

use baton::flow::{generator::FailureKind, sender};
use serde_json::json;

use self::collector::{Collector, attributes};
use crate::{
    program::Program,
    world::{Answer, Chat, Hold, Step, World, on_both_stores},
};

on_both_stores!(
    a_message_is_one_trace_from_its_webhook_to_its_delivery,
    a_burst_is_answered_in_the_trace_of_its_first_message,
    a_newer_message_is_seen_to_restart_the_answer,
    an_answer_that_a_newer_message_withdraws_ends_no_trace,
    a_takeover_is_seen_to_end_the_generation,
    parts_that_a_takeover_stops_are_told_with_those_that_left,
    a_model_that_fails_is_told_beside_the_attempt_that_follows,
    a_message_that_a_person_answers_is_told_without_a_turn,
    a_send_that_is_refused_or_unclear_is_told_as_such,
    a_turn_that_another_instance_takes_over_stays_in_its_trace,
    a_delivery_that_another_instance_hears_of_is_told_in_the_trace_of_the_message,
    nothing_waits_for_a_collector_that_is_away,
);

const MEI: &str = "6580000001@c.us";

async fn traced(world: &World) -> (Collector, Chat<'_>) {
    let collector = Collector::start().await;
    world.is_traced_to(&collector.url()).await;
    (collector, world.chat(MEI))
}

/// The instance that everybody asks sends its traces, and all of them together tell this story, and nothing of Mei.
async fn reads(world: &World, collector: &Collector, story: &str) {
    world.process().sends_traces().await;
    collector.reads(story);
    let spans = collector.spans();
    let ids: HashSet<_> = spans.iter().map(|sent| &sent.span.span_id).collect();
    assert_eq!(ids.len(), spans.len(), "each span has an id of its own");
    collector.knows_nothing_of(&["6580000001", "c.us", "condos", "Condos", "Mei", "Hello", "OUT1", "MSG1"]);
}

async fn a_message_is_one_trace_from_its_webhook_to_its_delivery(world: &World) {
    world.rules(|policy| {
        policy.split_chars = 25;
        policy.typing_ms_per_char = 100;
        policy.typing_max_ms = 2_000;
        policy.ai_model = "small-1".to_owned();
    });
    let (collector, mei) = traced(world).await;
    let (reply, send) = (Hold::new(), world.gateway.holds());
    let step = Step::says("The first of the condos.\n\nThe second of them.").and_counts(12, 34);
    world.assistant.add(step.held(&reply));
    mei.writes("MSG1", "Show me condos").await;
    world.pass(3_000);
    world.drain_until(&reply).await;
    world.pass(1_500);
    reply.release();
    world.drain().await;
    world.pass(500);
    world.drain_until(&send).await;
    world.pass(250);
    send.release();
    world.drain().await;
    world.after(2_000).await;
    world.pass(500);
    mei.reports("OUT1", "delivered").await;
    mei.reports("OUT2", "read").await;
    reads(
        world,
        &collector,
        "
        trace 1
        message 0..7250, answered, sent by 2
          webhook 0 by 2
          wait 0..3000 by 2
          generation 3000..4500, completed, 12, 34 by 2
          send 5000..5250 1/2, sent by 2
          delivered 5250..7750 1/2, delivered by 2
          send 7250..7250 2/2, sent by 2
          delivered 7250..7750 2/2, read by 2
          read 7250..7750 2/2, read by 2
        ",
    )
    .await;

    let message = mei.message("Show me condos").await;
    let id = message["id"].as_str().expect("an id").replace('-', "");
    for sent in collector.spans() {
        assert_eq!(hex::encode(&sent.span.trace_id), id, "the trace is found by the id of the message");
        assert_eq!(sent.resource["service.name"], "baton");
        assert_eq!(sent.resource["service.version"], env!("CARGO_PKG_VERSION"));
        let told = attributes(&sent.span.attributes);
        let conversation = message["conversation_id"].as_str();
        assert_eq!(told.get("messaging.message.conversation_id").map(String::as_str), conversation);
        assert_eq!(
            (&*told["messaging.system"], &*told["messaging.destination.name"]),
            ("whatsapp", "default")
        );
        if sent.span.name == "generation" {
            assert_eq!(
                (&*told["gen_ai.request.model"], &*told["gen_ai.operation.name"]),
                ("small-1", "chat")
            );
            assert_eq!(
                (&*told["baton.turn.id"], &*told["baton.turn.attempt"]),
                (message["turn_id"].as_str().expect("it was answered"), "1")
            );
        }
    }
}

async fn a_burst_is_answered_in_the_trace_of_its_first_message(world: &World) {
    let (collector, mei) = traced(world).await;
    world.assistant_says("Here are two condos.");
    mei.writes("MSG1", "Hello").await;
    world.after(1_000).await;
    mei.writes("M2", "Show me condos").await;
    world.after(3_000).await;
    reads(
        world,
        &collector,
        "
        trace 1
        message 0..4000, answered, sent by 2
          webhook 0 by 2
          wait 0..4000 by 2
          generation 4000..4000, completed -> 2 by 2
          send 4000..4000 1/1, sent by 2
        trace 2
        message 1000..4000, answered, sent -> 1 by 2
          webhook 1000 by 2
          wait 1000..4000 -> 1 by 2
        ",
    )
    .await;
}

async fn a_newer_message_is_seen_to_restart_the_answer(world: &World) {
    let (collector, mei) = traced(world).await;
    let reply = world.assistant_holds("Hello!");
    mei.writes("MSG1", "Hello").await;
    world.pass(3_000);
    world.drain_until(&reply).await;
    world.pass(500);
    mei.writes("M2", "Show me condos").await;
    reply.release();
    world.drain().await;
    world.assistant_says("Here are two condos.");
    world.after(3_000).await;
    reads(
        world,
        &collector,
        "
        trace 1
        message 0..6500, answered, sent by 2
          webhook 0 by 2
          wait 0..3000 by 2
          generation 3000..3500, superseded, newer_message by 2
          wait 3500..6500 by 2
          generation 6500..6500, completed -> 2 by 2
          send 6500..6500 1/1, sent by 2
        trace 2
        message 3500..6500, answered, sent -> 1 by 2
          webhook 3500 by 2
          wait 3500..6500 -> 1 by 2
        ",
    )
    .await;
}

async fn an_answer_that_a_newer_message_withdraws_ends_no_trace(world: &World) {
    world.rules(|policy| {
        policy.typing_ms_per_char = 1_000;
        policy.typing_max_ms = 2_000;
    });
    let (collector, mei) = traced(world).await;
    world.assistant_says("Hello!");
    mei.writes("MSG1", "Hello").await;
    world.after(3_000).await;
    world.pass(1_000);
    world.assistant_says("Here are two condos.");
    mei.writes("M2", "Show me condos").await;
    world.after(3_000).await;
    world.after(2_000).await;
    reads(
        world,
        &collector,
        "
        trace 1
        message 0..9000, answered, sent by 2
          webhook 0 by 2
          wait 0..3000 by 2
          generation 3000..3000, completed by 2
          send 3000..4000 1/1, cancelled, superseded by 2
          wait 3000..7000 by 2
          generation 7000..7000, completed -> 2 by 2
          send 9000..9000 1/1, sent by 2
        trace 2
        message 4000..9000, answered, sent -> 1 by 2
          webhook 4000 by 2
          wait 4000..7000 -> 1 by 2
        ",
    )
    .await;
}

async fn a_takeover_is_seen_to_end_the_generation(world: &World) {
    let (collector, mei) = traced(world).await;
    let reply = world.assistant_holds("Here are two condos.");
    mei.writes("MSG1", "Show me condos").await;
    world.pass(3_000);
    world.drain_until(&reply).await;
    world.pass(1_000);
    mei.take_over().await;
    reply.release();
    world.after(2_000).await;
    reads(
        world,
        &collector,
        "
        trace 1
        message 0..4000, left_to_human, mode_human by 2
          webhook 0 by 2
          wait 0..3000 by 2
          generation 3000..4000, cancelled, mode_changed by 2
        ",
    )
    .await;
}

async fn parts_that_a_takeover_stops_are_told_with_those_that_left(world: &World) {
    world.rules(|policy| {
        policy.split_chars = 25;
        policy.typing_ms_per_char = 100;
        policy.typing_max_ms = 2_000;
    });
    let (collector, mei) = traced(world).await;
    let send = world.gateway.holds();
    world.assistant_says("The first of the condos.\n\nThe second of them.");
    mei.writes("MSG1", "Show me condos").await;
    world.after(3_000).await;
    world.pass(2_000);
    world.drain_until(&send).await;
    mei.switch(json!({ "mode": "HUMAN", "settle_ms": 0 })).await;
    world.pass(100);
    send.release();
    world.drain().await;
    reads(
        world,
        &collector,
        "
        trace 1
        message 0..5100, answered, sent by 2
          webhook 0 by 2
          wait 0..3000 by 2
          generation 3000..3000, completed by 2
          send 3000..5000 2/2, cancelled, mode_changed by 2
          send 5000..5100 1/2, sent by 2
        ",
    )
    .await;
}

async fn a_model_that_fails_is_told_beside_the_attempt_that_follows(world: &World) {
    let (collector, mei) = traced(world).await;
    world.rules(|policy| policy.retry_base_ms = 60_000);
    world.assistant.add(Step::fails(FailureKind::Server));
    world.assistant_says("Here are two condos.");
    mei.writes("MSG1", "Show me condos").await;
    world.after(3_000).await;
    world.after(60_000).await;
    reads(
        world,
        &collector,
        "
        trace 1
        message 0..63000, answered, sent by 2
          webhook 0 by 2
          wait 0..3000 by 2
          generation 3000..3000, failed, server_error failed by 2
          wait 3000..63000 by 2
          generation 63000..63000, completed by 2
          send 63000..63000 1/1, sent by 2
        ",
    )
    .await;
}

async fn a_message_that_a_person_answers_is_told_without_a_turn(world: &World) {
    let (collector, mei) = traced(world).await;
    mei.agent_says("Hello, this is Ana.").await;
    world.after(1_000).await;
    mei.writes("MSG1", "Show me condos").await;
    // Somebody else, who has not seen it end, sees it changed.
    world.process().sends_traces().await;
    let other = world.another_beside().await;
    world.turn_to(other).stop().await;
    mei.edits("MSG1", "Show me large condos").await;
    mei.agent_says("Which condos?").await;
    world.after(1_000).await;
    reads(
        world,
        &collector,
        "
        trace 1
        message 1000..1000, left_to_human, mode_human by 2
          webhook 1000 by 2
        ",
    )
    .await;
}

async fn a_send_that_is_refused_or_unclear_is_told_as_such(world: &World) {
    let (collector, mei) = traced(world).await;
    for answer in [Answer::Again, Answer::LostAfter, Answer::Refused] {
        world.gateway.answers(answer);
    }
    world.assistant_says("Two condos.");
    mei.writes("MSG1", "Show me condos").await;
    world.after(3_000).await;
    world.after(2_000).await;
    world.pass(1_000);
    let echo = world.gateway.report().expect("it left");
    world.webhook(&echo).await;
    world.drain().await;
    world.assistant_says("Three condos.");
    mei.writes("M2", "And now?").await;
    world.after(3_000).await;
    reads(
        world,
        &collector,
        "
        trace 1
        message 0..5000, answered, unknown by 2
          webhook 0 by 2
          wait 0..3000 by 2
          generation 3000..3000, completed by 2
          send 3000..3000 1/1, queued by 2
          send 5000..5000 1/1, unknown, fate_unknown failed by 2
          reconcile 5000..6000 1/1, sent by 2
        trace 2
        message 6000..9000, handed_over by 2
          webhook 6000 by 2
          wait 6000..9000 by 2
          generation 9000..9000, completed by 2
          send 9000..9000 1/1, failed, no_account failed by 2
        ",
    )
    .await;
}

async fn a_turn_that_another_instance_takes_over_stays_in_its_trace(world: &World) {
    let (collector, mei) = traced(world).await;
    let lost = world.assistant_holds("From the dead.");
    mei.writes("MSG1", "Show me condos").await;
    world.pass(3_000);
    world.drain_until(&lost).await;
    world.process().sends_traces().await;
    world.crash().await;
    world.assistant_says("Two condos.");
    world.after(30_000).await;
    reads(
        world,
        &collector,
        "
        trace 1
        message 0..33000, answered, sent by 3
          webhook 0 by 2
          wait 0..3000 by 2
          generation 3000..33000, failed, lease_expired failed by 3
          wait 33000..33000 by 3
          generation 33000..33000, completed by 3
          send 33000..33000 1/1, sent by 3
        ",
    )
    .await;
}

async fn a_delivery_that_another_instance_hears_of_is_told_in_the_trace_of_the_message(world: &World) {
    world.rules(|policy| policy.split_chars = 25);
    let (collector, mei) = traced(world).await;
    world.assistant_says("The first of the condos.\n\nThe second of them.");
    mei.writes("MSG1", "Show me condos").await;
    world.pass(3_000);
    // The one takes the message in, writes the answer and sends its first part; the other sends the rest, and hears of it.
    let conversation = mei.conversation_id().await;
    world.process().answer(conversation).await;
    assert_eq!(world.process().send(conversation).await.expect("the store answers"), sender::Outcome::Worked);
    world.process().sends_traces().await;
    let other = world.another_beside().await;
    world.turn_to(other).stop().await;
    world.after(1_000).await;
    world.pass(1_000);
    mei.reports("OUT1", "delivered").await;
    reads(
        world,
        &collector,
        "
        trace 1
        message 0..4000, answered, sent by 3
          webhook 0 by 2
          wait 0..3000 by 2
          generation 3000..3000, completed by 2
          send 3000..3000 1/2, sent by 2
          delivered 3000..5000 1/2, delivered by 3
          send 4000..4000 2/2, sent by 3
        ",
    )
    .await;
}

async fn nothing_waits_for_a_collector_that_is_away(world: &World) {
    let nobody = TcpListener::bind("127.0.0.1:0").and_then(|socket| socket.local_addr()).expect("a port");
    world.is_traced_to(&format!("http://{nobody}")).await;
    let mei = world.chat(MEI);
    world.assistant_says("Two condos.");
    mei.writes("MSG1", "Show me condos").await;
    world.after(3_000).await;
    mei.reads(
        "
        contact: Show me condos [answered]
        assistant: Two condos. [sent]
        = AI 1, rollout
        = the phone shows: Two condos.
        ",
    )
    .await;
    world.process().sends_traces().await;
}

/// The program itself: what it says of itself, what a hosted collector wants to see, and the last traces at its end.
#[tokio::test]
async fn the_program_sends_its_traces_with_the_usual_headers_and_the_last_ones_when_it_ends() {
    let collector = Collector::start().await;
    let mut program = Program::on_sqlite();
    for (name, value) in [
        ("BATON_OTLP_ENDPOINT", &*collector.url()),
        ("BATON_AI_PROVIDER", "scripted"),
        ("BATON_BURST_QUIET_MS", "0"),
        ("BATON_TYPING_MAX_MS", "0"),
        ("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Bearer%20a-key,x-team=shop"),
        ("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment.name=test"),
    ] {
        program.set(name, value);
    }
    let mut server = program.serves(&[]);
    server.hears(MEI, "Hello").await;
    let path = format!("/api/v1/conversations?chat_id={MEI}");
    server.until(&path, |seen| seen["items"][0]["last_message"]["delivery"]["state"] == "read").await;
    server.is_told_to_end();

    let spans = collector.spans();
    for name in ["message", "webhook", "wait", "generation", "send", "delivered", "read"] {
        assert!(spans.iter().any(|sent| sent.span.name == name), "{name} in {}", collector.told());
    }
    assert_eq!(spans[0].resource["deployment.environment.name"], "test");
    assert_eq!(spans[0].resource["service.instance.id"].len(), 32);
    for request in collector.requests() {
        assert_eq!(
            (&request.headers["authorization"], &request.headers["x-team"]),
            (&"Bearer a-key".parse().expect("a value"), &"shop".parse().expect("a value"))
        );
    }
    collector.knows_nothing_of(&["6580000001", "Hello", crate::program::TOKEN]);
    program.end().await;
}
