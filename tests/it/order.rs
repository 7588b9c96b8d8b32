//! What a contact writes is taken in its order, one turn at a time, and what we answer leaves in its order.

use baton::{
    domain::policy::BurstPolicy,
    flow::{generator::Line, reply::TurnEnd, turn::Outcome},
};

use crate::world::{CHANNEL, Database, Haste, Step, WEBHOOK_TOKEN, World, green_api, on_both_stores};

on_both_stores!(
    two_messages_a_moment_apart_get_one_answer_to_both_in_order,
    with_queue_two_messages_get_two_answers_one_after_the_other,
    what_was_said_before_a_backlog_is_read_with_the_first_of_it,
    a_turn_whose_beginning_was_not_heard_of_runs_all_the_same,
    a_newer_message_restarts_an_answer_that_has_not_left,
    parts_leave_in_order_each_after_the_one_before,
    two_conversations_neither_mix_nor_wait_for_each_other,
    an_edit_of_a_message_that_waits_is_what_is_answered,
    of_several_edits_the_newest_counts_whichever_comes_last,
    an_edit_of_a_message_that_never_came_is_answered,
    an_edit_of_what_stands_under_a_file_leaves_the_file,
);

const MEI: &str = "6580000001@c.us";
const TOM: &str = "6580000002@c.us";

/// Scenario 2 of the race conditions: two messages 100 ms apart.
async fn two_messages_a_moment_apart_get_one_answer_to_both_in_order(world: &World) {
    let mei = world.chat(MEI);
    world.assistant_says("Two condos in Orchard.");
    mei.writes("M1", "Show me condos").await;
    world.after(100).await;
    mei.writes("M2", "In Orchard").await;
    world.after(3_000).await;
    mei.reads(
        "
        contact: Show me condos [answered]
        contact: In Orchard [answered]
        assistant: Two condos in Orchard. [sent]
        = AI 1, rollout
        = the phone shows: Two condos in Orchard.
        ",
    )
    .await;
    let lines = &world.assistant.requests()[0].lines;
    assert_eq!(lines, &[Line::Contact("Show me condos".into()), Line::Contact("In Orchard".into())]);
}

async fn with_queue_two_messages_get_two_answers_one_after_the_other(world: &World) {
    world.rules(|policy| policy.burst = BurstPolicy::Queue);
    let mei = world.chat(MEI);
    let first = world.assistant_holds("Two condos.");
    world.assistant_says("One of them is in Orchard.");
    mei.writes("M1", "Show me condos").await;
    world.pass(100);
    mei.writes("M2", "In Orchard").await;
    world.drain_until(&first).await;
    world.pass(3_000);
    assert_eq!(world.assistant.requests().len(), 1, "one turn at a time");
    first.release();
    world.drain().await;
    mei.reads(
        "
        contact: Show me condos [answered]
        contact: In Orchard [answered]
        assistant: Two condos. [sent]
        assistant: One of them is in Orchard. [sent]
        = AI 1, rollout
        = the phone shows: Two condos. | One of them is in Orchard.
        ",
    )
    .await;
}

async fn what_was_said_before_a_backlog_is_read_with_the_first_of_it(world: &World) {
    world.rules(|policy| (policy.burst, policy.ai_history) = (BurstPolicy::Queue, 3));
    let mei = world.chat(MEI);
    world.assistant_says("Hello Mei.");
    mei.writes("M1", "I am Mei").await;
    world.after(3_000).await;
    for n in 1..=6 {
        world.assistant_says("Yes.");
        mei.writes(&format!("Q{n}"), &format!("And {n}?")).await;
        world.pass(100);
    }
    world.drain().await;
    let lines = &world.assistant.requests()[1].lines;
    let contact = |text: &str| Line::Contact(text.into());
    assert_eq!(lines, &[contact("I am Mei"), Line::Assistant("Hello Mei.".into()), contact("And 1?")]);
}

async fn a_newer_message_restarts_an_answer_that_has_not_left(world: &World) {
    let mei = world.chat(MEI);
    let first = world.assistant_holds("Two condos.");
    mei.writes("M1", "Show me condos").await;
    world.pass(3_000);
    world.drain_until(&first).await;
    mei.writes("M2", "In Orchard").await;
    first.release();
    world.drain().await;
    world.assistant_says("Two condos in Orchard.");
    world.after(3_000).await;
    mei.reads(
        "
        contact: Show me condos [answered]
        contact: In Orchard [answered]
        assistant: Two condos in Orchard. [sent]
        * turn_superseded: restarted
        = AI 1, rollout
        = the phone shows: Two condos in Orchard.
        ",
    )
    .await;
}

async fn parts_leave_in_order_each_after_the_one_before(world: &World) {
    world.rules(|policy| policy.split_chars = 25);
    let mei = world.chat(MEI);
    let first = world.gateway.holds();
    world.assistant_says("The first one is large.\n\nThe second one is small.\n\nThe third is far away.");
    mei.writes("M1", "Show me condos").await;
    world.pass(3_000);
    world.drain_until(&first).await;
    assert_eq!(mei.message("The second one is small.").await["delivery"]["state"], "queued");
    first.release();
    world.drain().await;
    mei.reads(
        "
        contact: Show me condos [answered]
        assistant: The first one is large. [sent]
        assistant: The second one is small. [sent]
        assistant: The third is far away. [sent]
        = AI 1, rollout
        = the phone shows: The first one is large. | The second one is small. | The third is far away.
        ",
    )
    .await;
}

async fn two_conversations_neither_mix_nor_wait_for_each_other(world: &World) {
    let (mei, tom) = (world.chat(MEI), world.chat(TOM));
    let to_mei = world.assistant_holds("Two condos.");
    world.assistant.add(Step::says("Nine to six.").to("open"));
    let to_tom = world.gateway.holds();
    mei.writes("M1", "Show me condos").await;
    world.pass(3_000);
    world.drain_until(&to_mei).await;
    // The same provider id in another chat is another message.
    assert_eq!(tom.writes("M1", "When are you open?").await, "accepted");
    world.pass(3_000);
    world.drain_until(&to_tom).await;
    to_tom.release();
    to_mei.release();
    world.drain().await;
    assert_eq!(world.gateway.posts()[0].chat, TOM, "nobody waited for Mei's answer");
    mei.reads(
        "
        contact: Show me condos [answered]
        assistant: Two condos. [sent]
        = AI 1, rollout
        = the phone shows: Two condos.
        ",
    )
    .await;
    tom.reads(
        "
        contact: When are you open? [answered]
        assistant: Nine to six. [sent]
        = AI 1, rollout
        = the phone shows: Nine to six.
        ",
    )
    .await;
    let [to_mei, to_tom] = &world.assistant.requests()[..] else { panic!("two are asked") };
    assert_eq!(to_tom.lines, [Line::Contact("When are you open?".into())]);
    for (chat, id, about) in [(&mei, MEI, &to_mei.about), (&tom, TOM, &to_tom.about)] {
        let conversation = chat.conversation().await;
        let told = (about.conversation.to_string(), about.chat.as_str(), about.purpose.as_str());
        assert_eq!(told, (conversation["id"].as_str().expect("an id").to_owned(), id, "reply"));
    }
    assert_ne!(to_mei.about.turn, to_tom.about.turn);
}

async fn an_edit_of_a_message_that_waits_is_what_is_answered(world: &World) {
    let mei = world.chat(MEI);
    world.assistant_says("Two houses.");
    mei.writes("M1", "Show me condos").await;
    assert_eq!(mei.edits("M1", "Show me houses").await, "accepted");
    world.after(3_000).await;
    assert_eq!(world.assistant.requests()[0].lines, [Line::Contact("Show me houses".into())]);
    mei.reads(
        "
        contact: Show me houses [answered]
        assistant: Two houses. [sent]
        = AI 1, rollout
        = the phone shows: Two houses.
        ",
    )
    .await;
}

async fn of_several_edits_the_newest_counts_whichever_comes_last(world: &World) {
    let mei = world.chat(MEI);
    mei.take_over().await;
    mei.writes("M1", "Table for 2").await;
    let at = world.now().0 / 1_000;
    let edit = |seconds: i64, text: &str| green_api::edited(MEI, "M1", at + seconds, text);
    for (body, verdict) in [
        (edit(20, "Table for 4"), "accepted"),
        (edit(10, "Table for 3"), "accepted"),
        (edit(20, "Table for 4"), "duplicate"),
        (edit(30, "Table for 5"), "accepted"),
    ] {
        assert_eq!(world.webhook(&body).await, verdict, "{body}");
    }
    mei.message("Table for 5").await;
    // Before its original, too.
    for (id, seconds, text) in [("M2", 20, "Two"), ("M2", 10, "One")] {
        world.webhook(&green_api::edited(MEI, id, at + seconds, text)).await;
    }
    mei.writes("M2", "None").await;
    mei.message("Two").await;
}

async fn an_edit_of_a_message_that_never_came_is_answered(world: &World) {
    let mei = world.chat(MEI);
    world.assistant_says("Two houses.");
    for verdict in ["accepted", "duplicate"] {
        assert_eq!(mei.edits("M1", "Show me houses").await, verdict);
    }
    world.after(29_000).await;
    assert!(world.assistant.requests().is_empty(), "its original may still come");
    world.after(1_000).await;
    assert!(!mei.message("Show me houses").await["edited_at"].is_null());
    assert_eq!(mei.writes("M1", "Show me condos").await, "duplicate");
    world.after(3_000).await;
    mei.reads(
        "
        contact: Show me houses [answered]
        assistant: Two houses. [sent]
        * duplicate_webhook: skipped
        * duplicate_webhook: skipped
        = AI 1, rollout
        = the phone shows: Two houses.
        ",
    )
    .await;
}

async fn an_edit_of_what_stands_under_a_file_leaves_the_file(world: &World) {
    let mei = world.chat(MEI);
    mei.take_over().await;
    let at = world.now().0 / 1_000;
    world.webhook(&green_api::picture_saying(MEI, "M1", at, "https://example.test/1", "order 4512")).await;
    for (words, text) in [("order 4521", "[image] order 4521"), ("", "[image]")] {
        assert_eq!(mei.edits("M1", words).await, "accepted");
        let message = mei.message(text).await;
        assert_eq!(message["media"]["caption"].as_str().unwrap_or_default(), words, "{message}");
    }
}

async fn a_turn_whose_beginning_was_not_heard_of_runs_all_the_same(world: &World) {
    let mei = world.chat(MEI);
    world.assistant_says("Two condos.");
    mei.writes("M1", "Show me condos").await;
    world.pass(3_000);
    let id = mei.conversation_id().await;
    let process = world.process();
    process.fuse.loses_next_answer();
    assert_eq!(process.answer(id).await, Outcome::Worked(TurnEnd::Owed), "nobody waits for its lease to end");
    world.drain().await;
    mei.reads(
        "
        contact: Show me condos [answered]
        assistant: Two condos. [sent]
        = AI 1, rollout
        = the phone shows: Two condos.
        ",
    )
    .await;
    assert_eq!(world.assistant.requests().len(), 1);
}

/// The same where it begins with its message: that comes again, but only to be known.
#[tokio::test]
async fn a_turn_that_has_begun_with_a_message_of_unknown_fate_runs_all_the_same() {
    let world = World::over(Database::sqlite(), None, None, Haste::Begins).await;
    world.rules(|policy| policy.burst = BurstPolicy::Queue);
    let mei = world.chat(MEI);
    world.assistant_says("Two condos.");
    let notice = green_api::incoming(MEI, "M1", world.now().0 / 1_000, "Show me condos").to_string();
    world.process().fuse.loses_next_answer();
    assert_eq!(world.knock(CHANNEL, Some(WEBHOOK_TOKEN), notice.clone()).await.status, 503);
    assert_eq!(mei.writes("M1", "Show me condos").await, "duplicate");
    world.process().rest().await;
    assert_eq!((world.assistant.requests().len(), world.gateway.posts().len()), (1, 1));
    world.end().await;
}

/// Nobody works here but the webhook itself: what need not wait for anything is begun, written and sent by what follows
/// its admission.
#[tokio::test]
async fn a_message_that_is_ripe_as_it_comes_is_answered_without_anybody_looking() {
    for (haste, answers) in [(Haste::Apart, 0), (Haste::Begins, 1)] {
        let world = World::over(Database::sqlite(), None, None, haste).await;
        world.rules(|policy| policy.burst = BurstPolicy::Queue);
        let mei = world.chat(MEI);
        world.assistant_says("Two condos.");
        mei.writes("M1", "Show me condos").await;
        world.process().rest().await;
        let done = (world.assistant.requests().len(), world.gateway.posts().len());
        assert_eq!(done, (answers, answers), "{haste:?}");
        world.drain().await;
        mei.reads(
            "
            contact: Show me condos [answered]
            assistant: Two condos. [sent]
            = AI 1, rollout
            = the phone shows: Two condos.
            ",
        )
        .await;
        assert_eq!(world.gateway.posts().len(), 1, "{haste:?}");
        world.end().await;
    }
}
