//! Nothing is sent twice, and nothing that is owed is lost: a send of unknown fate is looked up, and one that certainly did not
//! go is tried again.

use baton::flow::{ledger, provider::NoAnswer, sender};
use tokio::task::JoinHandle;
use uuid::Uuid;

use crate::{
    failures::only_letter,
    world::{Answer, Chat, Evidence, Hold, Step, World, green_api, on_both_stores},
};

on_both_stores!(
    a_send_of_unknown_fate_is_settled_by_its_echo_and_never_repeated,
    a_look_that_the_provider_did_not_answer_is_made_again_soon,
    a_claim_whose_commit_was_not_heard_of_is_given_back,
    a_claim_that_is_run_again_takes_its_answer_back_all_the_same,
    after_an_unclear_send_nothing_leaves_the_channel_until_the_gateway_answers,
    of_several_unclear_sends_none_holds_the_channel_once_the_gateway_answers,
    a_gateway_that_others_ask_too_much_is_there_all_the_same,
    a_gateway_that_nobody_reaches_does_not_use_up_what_is_owed,
    a_message_that_alone_is_turned_away_ends_in_front_of_a_person,
    later_parts_wait_for_one_of_unknown_fate,
    a_crash_during_a_send_leaves_it_unknown_and_unrepeated,
    while_the_phone_is_not_linked_messages_wait_and_can_still_be_stopped,
    what_the_provider_reports_moves_a_message_only_forward,
    a_report_that_names_no_chat_is_of_the_message_that_it_names,
    a_message_of_another_system_takes_over,
);

const MEI: &str = "6580000001@c.us";
const MINUTE_MS: i64 = 60_000;

async fn a_send_of_unknown_fate_is_settled_by_its_echo_and_never_repeated(world: &World) {
    let mei = world.chat(MEI);
    world.gateway.answers(Answer::LostAfter);
    world.assistant_says("Two condos.");
    mei.writes("M1", "Show me condos").await;
    world.after(3_000).await;
    assert_eq!(mei.conversation().await["attention"]["reason"], "send_unknown");
    world.after(MINUTE_MS).await;
    world.crash().await;
    world.after(MINUTE_MS).await;
    assert_eq!(mei.echoes("OUT1", "Two condos.").await, "accepted");
    mei.echoes("OUT1", "Two condos.").await;
    world.after(60 * MINUTE_MS).await;
    mei.reads(
        "
        contact: Show me condos [answered]
        assistant: Two condos. [sent]
        * send_uncertain: reconciling
        * send_reconciled: confirmed_sent
        = AI 1, rollout
        = the phone shows: Two condos.
        ",
    )
    .await;
    assert_eq!(world.gateway.posts().len(), 1);
}

/// A contact whose answer is written and has not begun to leave; the conversation.
async fn has_an_answer_owed(chat: Chat<'_>) -> Uuid {
    chat.world.assistant_says("Two condos.");
    chat.writes("M1", "Show me condos").await;
    chat.world.pass(3_000);
    let conversation = chat.conversation_id().await;
    chat.world.process().answer(conversation).await;
    conversation
}

async fn a_look_that_the_provider_did_not_answer_is_made_again_soon(world: &World) {
    let mei = world.chat(MEI);
    world.gateway.shows_in(Evidence::Journal);
    world.gateway.answers(Answer::LostAfter);
    mei.agent_says("Hi Mei.").await;
    world.drain().await;
    let looks_after = async |ms| {
        world.pass(ms);
        world.process().look().await;
        mei.message("Hi Mei.").await["delivery"]["state"].clone()
    };
    world.gateway.shows_nothing(true);
    assert_eq!(looks_after(3 * MINUTE_MS).await, "unknown");
    world.gateway.shows_nothing(false);
    assert_eq!(looks_after(MINUTE_MS / 2).await, "sent", "the journal has it");
}

async fn a_claim_whose_commit_was_not_heard_of_is_given_back(world: &World) {
    let mei = world.chat(MEI);
    let conversation = has_an_answer_owed(mei).await;
    let process = world.process();
    process.fuse.loses_next_answer();
    assert!(matches!(process.send(conversation).await, Err(ledger::Error::Unavailable(_))));
    assert_eq!(mei.message("Two condos.").await["delivery"]["state"], "queued", "nothing was posted");
    world.after(0).await;
    mei.reads(
        "
        contact: Show me condos [answered]
        assistant: Two condos. [sent]
        = AI 1, rollout
        = the phone shows: Two condos.
        ",
    )
    .await;
}

async fn a_claim_that_is_run_again_takes_its_answer_back_all_the_same(world: &World) {
    let mei = world.chat(MEI);
    let conversation = has_an_answer_owed(mei).await;
    let process = world.process();
    world.gateway.answers(Answer::Again);
    process.fuse.repeats_next_step();
    process.send(conversation).await.expect("the store answers");
    assert!(!process.fuse.repeats_step(), "the claim was run again");
    mei.take_over().await;
    mei.reads(
        "
        contact: Show me condos [left_to_human, mode_human]
        assistant: Two condos. [cancelled, mode_changed]
        * message_failed: retried
        * mode_change_before_send: discarded_message
        * mode_changed
        * agent_took_over
        = HUMAN 2, agent_button
        = the phone shows nothing
        ",
    )
    .await;
}

/// What is owed there is sent, and waits until the gateway says how it is, which it does once that is let go.
async fn waits_for_the_gateway(
    world: &World,
    of: Uuid,
) -> (Hold, JoinHandle<Result<sender::Outcome, ledger::Error>>) {
    let (silence, process) = (world.gateway.is_silent(), world.process());
    let mut sending = tokio::spawn(async move { process.send(of).await });
    tokio::select! {
        biased;
        () = silence.reached() => {}
        ended = &mut sending => panic!("nobody waits for the gateway: {ended:?}"),
    }
    (silence, sending)
}

async fn after_an_unclear_send_nothing_leaves_the_channel_until_the_gateway_answers(world: &World) {
    let (mei, ana) = (world.chat(MEI), world.chat("6580000002@c.us"));
    let (of_mei, of_ana) = (has_an_answer_owed(mei).await, has_an_answer_owed(ana).await);
    let process = world.process();
    world.gateway.answers(Answer::LostBefore);
    let (silence, sending) = waits_for_the_gateway(world, of_mei).await;
    assert_eq!(mei.message("Two condos.").await["delivery"]["state"], "unknown", "it is settled");
    let blocked = process.send(of_ana).await;
    assert!(matches!(blocked, Ok(sender::Outcome::Blocked(_))), "nobody else's leaves: {blocked:?}");
    assert_eq!(world.gateway.posts().len(), 1);
    silence.release();
    assert!(matches!(sending.await, Ok(Ok(sender::Outcome::Worked))));
    assert!(matches!(process.send(of_ana).await, Ok(sender::Outcome::Worked)));
    assert_eq!(world.gateway.posts().len(), 2);
}

async fn of_several_unclear_sends_none_holds_the_channel_once_the_gateway_answers(world: &World) {
    world.rules(|policy| policy.send_in_flight = 2);
    let [mei, tom, eve] = [MEI, "6580000002@c.us", "6580000003@c.us"].map(|chat| world.chat(chat));
    let (of_mei, of_tom) = (has_an_answer_owed(mei).await, has_an_answer_owed(tom).await);
    let of_eve = has_an_answer_owed(eve).await;
    let process = world.process();
    let (first, second) = (world.gateway.loses(), world.gateway.loses());
    let sends = |of| {
        let process = world.process();
        tokio::spawn(async move { process.send(of).await })
    };
    let to_mei = sends(of_mei);
    first.reached().await;
    let to_tom = sends(of_tom);
    second.reached().await;
    let silence = world.gateway.is_silent();
    first.release();
    silence.reached().await;
    world.pass(400);
    second.release();
    assert!(matches!(to_tom.await, Ok(Ok(sender::Outcome::Worked))));
    assert!(matches!(process.send(of_eve).await, Ok(sender::Outcome::Blocked(_))));
    silence.release();
    assert!(matches!(to_mei.await, Ok(Ok(sender::Outcome::Worked))));
    assert!(matches!(process.send(of_eve).await, Ok(sender::Outcome::Worked)), "nothing is held any longer");
    assert_eq!(world.gateway.posts().len(), 3);
}

async fn a_gateway_that_others_ask_too_much_is_there_all_the_same(world: &World) {
    let of_mei = has_an_answer_owed(world.chat(MEI)).await;
    let of_ana = has_an_answer_owed(world.chat("6580000002@c.us")).await;
    let process = world.process();
    world.gateway.answers(Answer::LostBefore);
    world.gateway.keeps_its_state(NoAnswer::TooMany);
    let (silence, sending) = waits_for_the_gateway(world, of_mei).await;
    silence.release();
    assert!(matches!(sending.await, Ok(Ok(sender::Outcome::Worked))));
    assert!(matches!(process.send(of_ana).await, Ok(sender::Outcome::Worked)), "nothing is held any longer");
    assert_eq!(world.gateway.posts().len(), 2);
}

async fn a_gateway_that_nobody_reaches_does_not_use_up_what_is_owed(world: &World) {
    let (mei, ana) = (world.chat(MEI), world.chat("6580000002@c.us"));
    let (of_mei, of_ana) = (has_an_answer_owed(mei).await, has_an_answer_owed(ana).await);
    let process = world.process();
    for _ in 0..5 {
        world.gateway.answers(Answer::Unreached);
    }
    for _ in 0..4 {
        assert!(matches!(process.send(of_mei).await, Ok(sender::Outcome::Worked)));
        world.pass(MINUTE_MS);
    }
    let (silence, sending) = waits_for_the_gateway(world, of_mei).await;
    let blocked = process.send(of_ana).await;
    assert!(matches!(blocked, Ok(sender::Outcome::Blocked(_))), "hers is not used up: {blocked:?}");
    silence.release();
    assert!(matches!(sending.await, Ok(Ok(sender::Outcome::Worked))));
    assert!(matches!(process.send(of_ana).await, Ok(sender::Outcome::Worked)));
    assert_eq!(ana.message("Two condos.").await["delivery"]["attempts"], 1);
    world.pass(MINUTE_MS);
    assert!(matches!(process.send(of_mei).await, Ok(sender::Outcome::Worked)));
    assert_eq!(mei.message("Two condos.").await["delivery"]["state"], "sent");
}

async fn a_message_that_alone_is_turned_away_ends_in_front_of_a_person(world: &World) {
    let mei = world.chat(MEI);
    for _ in 0..8 {
        world.gateway.answers(Answer::Forbidden);
    }
    mei.agent_says("Hi Mei.").await;
    for _ in 0..10 {
        world.after(MINUTE_MS).await;
        world.state("authorized").await;
    }
    assert_eq!(world.gateway.posts().len(), 8, "as often as any other");
    assert_eq!(mei.message("Hi Mei.").await["delivery"]["state"], "dead");
    assert_eq!(mei.conversation().await["attention"]["reason"], "send_failed");
    mei.agent_says("Once more.").await;
    world.after(MINUTE_MS).await;
    assert_eq!(mei.message("Once more.").await["delivery"]["state"], "sent");
}

async fn later_parts_wait_for_one_of_unknown_fate(world: &World) {
    world.rules(|policy| policy.split_chars = 25);
    let mei = world.chat(MEI);
    world.gateway.answers(Answer::LostAfter);
    world.assistant_says("The first one is large.\n\nThe second one is small.");
    mei.writes("M1", "Show me condos").await;
    world.after(3_000).await;
    world.after(MINUTE_MS).await;
    assert_eq!(world.gateway.posts().len(), 1, "the second part waits");
    mei.echoes("OUT1", "The first one is large.").await;
    world.drain().await;
    mei.reads(
        "
        contact: Show me condos [answered]
        assistant: The first one is large. [sent]
        assistant: The second one is small. [sent]
        * send_uncertain: reconciling
        * send_reconciled: confirmed_sent
        = AI 1, rollout
        = the phone shows: The first one is large. | The second one is small.
        ",
    )
    .await;
}

async fn a_crash_during_a_send_leaves_it_unknown_and_unrepeated(world: &World) {
    let mei = world.chat(MEI);
    let lost = world.gateway.holds();
    world.assistant_says("Two condos.");
    mei.writes("M1", "Show me condos").await;
    world.pass(3_000);
    world.drain_until(&lost).await;
    world.crash().await;
    world.after(MINUTE_MS).await;
    mei.reads(
        "
        contact: Show me condos [answered]
        assistant: Two condos. [unknown, fate_unknown]
        * send_uncertain: reconciling
        = AI 1, rollout
        = a person is called: send_unknown
        = the phone shows nothing
        ",
    )
    .await;
    assert!(world.gateway.posts().is_empty(), "nobody tries again by themselves");
}

async fn while_the_phone_is_not_linked_messages_wait_and_can_still_be_stopped(world: &World) {
    let (mei, tom) = (world.chat(MEI), world.chat("6580000002@c.us"));
    world.gateway.answers(Answer::NotLinked);
    world.assistant.add(Step::says("Two condos.").always());
    mei.writes("M1", "Show me condos").await;
    world.after(3_000).await;
    tom.writes("M1", "Show me condos").await;
    world.after(3_000).await;
    assert_eq!(mei.message("Two condos.").await["delivery"]["state"], "queued");
    assert_eq!(mei.take_over().await["parts_discarded"], 1);
    assert_eq!(world.state("authorized").await, "accepted");
    world.after(MINUTE_MS).await;
    mei.reads(
        "
        contact: Show me condos [left_to_human, mode_human]
        assistant: Two condos. [cancelled, mode_changed]
        * mode_change_before_send: discarded_message
        * mode_changed
        * agent_took_over
        = HUMAN 2, agent_button
        = the phone shows nothing
        ",
    )
    .await;
    tom.reads(
        "
        contact: Show me condos [answered]
        assistant: Two condos. [sent]
        = AI 1, rollout
        = the phone shows: Two condos.
        ",
    )
    .await;
}

async fn what_the_provider_reports_moves_a_message_only_forward(world: &World) {
    let mei = world.chat(MEI);
    mei.agent_says("Hi Mei.").await;
    world.drain().await;
    for (word, state) in [("sent", "sent"), ("read", "read"), ("delivered", "read"), ("nonsense", "read")] {
        mei.reports("OUT1", word).await;
        assert_eq!(mei.message("Hi Mei.").await["delivery"]["state"], state, "after {word}");
    }
    mei.agent_says("Are you there?").await;
    world.drain().await;
    mei.reports("OUT2", "noAccount").await;
    assert_eq!(mei.message("Are you there?").await["delivery"]["state"], "failed");
    assert_eq!(only_letter(world).await["kind"], "send");
}

async fn a_report_that_names_no_chat_is_of_the_message_that_it_names(world: &World) {
    let mei = world.chat(MEI);
    mei.agent_says("Are you there?").await;
    world.drain().await;
    let reports = async |id: &str| {
        let mut report = green_api::status(MEI, id, world.now().0 / 1_000, "noAccount");
        report.as_object_mut().expect("an object").remove("chatId");
        world.webhook(&report).await
    };
    assert_eq!(reports("NOBODYS").await, "ignored");
    assert_eq!(reports("OUT1").await, "accepted");
    let delivery = mei.message("Are you there?").await["delivery"].clone();
    assert_eq!((&delivery["state"], &delivery["reason"]), (&"failed".into(), &"no_account".into()));
    assert_eq!(only_letter(world).await["kind"], "send");
    assert_eq!(mei.conversation().await["attention"]["reason"], "send_failed");
    assert_eq!(reports("OUT1").await, "duplicate");
}

async fn a_message_of_another_system_takes_over(world: &World) {
    let mei = world.chat(MEI);
    let reply = world.assistant_holds("Two condos.");
    mei.writes("M1", "Show me condos").await;
    world.pass(3_000);
    world.drain_until(&reply).await;
    assert_eq!(mei.echoes("Z9", "Spring sale!").await, "accepted");
    reply.release();
    world.drain().await;
    mei.reads(
        "
        contact: Show me condos [left_to_human, mode_human]
        agent: Spring sale!
        * mode_change_during_generation: cancelled_generation
        * mode_changed
        * agent_took_over
        = HUMAN 2, other_system
        = the phone shows nothing
        ",
    )
    .await;
}
