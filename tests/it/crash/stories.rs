//! The chats that are told at every failure point. Each ends at rest, and says what must be true of it beside the
//! promises: as long as some fate is unknown, not all of it has left; once a person has seen to that, it has.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use baton::flow::generator::FailureKind;

use super::{
    life::{HOUR_MS, Life, MINUTE_MS, SECOND_MS},
    promises::{Promise, Record, demand},
};
use crate::world::{Answer, Evidence, Hold, PNG, Step};

/// The promises hold at rest, and again when a person has seen to what is unknown; then the phone shows these words,
/// unless they were called off by name.
async fn ends_with(life: &mut Life, texts: &[&str]) -> Promise {
    life.comes_to_rest().await?;
    life.sees_to_the_unknown().await?;
    let record = Record::of(&life.mei()).await;
    let is_called_off =
        |text: &str| record.message(text).is_some_and(|message| message["delivery"]["state"] == "cancelled");
    let all = texts.iter().all(|text| life.is_shown(text) || is_called_off(text));
    demand(all, "P8: the phone does not show everything")
}

/// Nothing has happened before.
pub(super) async fn begins(_: &mut Life) {}

pub(super) async fn a_burst_is_answered_in_parts_and_followed_up(life: &mut Life) -> Promise {
    life.rules(|policy| {
        policy.split_chars = 25;
        policy.follow_up_after_ms = vec![HOUR_MS];
        policy.follow_up_text = Some("Still there?".to_owned());
    });
    // Answered alone, if a crash comes between the two.
    life.world.assistant.add(Step::says("Two condos.").to("condos").always());
    let answer = "The first one is large.\n\nThe second one is small.";
    life.world.assistant.add(Step::says(answer).to("Orchard").always());
    life.writes("M1", "Show me condos").await;
    life.after(100).await;
    life.writes("M2", "In Orchard").await;
    life.after(3 * SECOND_MS).await;
    life.comes_to_rest().await?;
    life.sees_to_the_unknown().await?;
    for _ in 0..4 {
        life.after(HOUR_MS / 2).await;
    }
    ends_with(life, &["The first one is large.", "The second one is small.", "Still there?"]).await
}

pub(super) async fn a_takeover_stops_a_generation(life: &mut Life) -> Promise {
    let hold = Hold::new();
    life.world.assistant.add(Step::says("Two condos.").to("condos").held(&hold).always());
    life.writes("M1", "Show me condos").await;
    life.pass(3 * SECOND_MS);
    life.works_until(&hold).await;
    life.takes_over().await;
    life.agent_says("This is Ana.").await;
    life.after(0).await;
    life.writes("M2", "Which one is large?").await;
    life.after(SECOND_MS).await;
    ends_with(life, &["This is Ana."]).await?;
    demand(!life.is_shown("Two condos."), "P4: what a takeover stopped has left")
}

pub(super) async fn a_takeover_stops_a_reply_half_sent(life: &mut Life) -> Promise {
    life.rules(|policy| {
        policy.split_chars = 25;
        policy.typing_ms_per_char = 30;
    });
    let answer = "The first one is large.\n\nThe second one is small.";
    life.world.assistant.add(Step::says(answer).always());
    life.takes_over().await;
    life.writes("M1", "Which one is large?").await;
    life.after(SECOND_MS).await;
    life.releases().await;
    life.after(0).await;
    // The first part is typed by then, and the second is not.
    life.after(800).await;
    life.takes_over().await;
    ends_with(life, &[]).await
}

pub(super) async fn a_send_is_refused_and_tried_again(life: &mut Life) -> Promise {
    life.world.assistant.add(Step::says("Two condos.").always());
    life.world.gateway.answers(Answer::NotLinked);
    life.world.gateway.answers(Answer::Again);
    life.writes("M1", "Show me condos").await;
    life.after(3 * SECOND_MS).await;
    life.after(MINUTE_MS).await;
    ends_with(life, &["Two condos."]).await
}

pub(super) async fn an_answer_is_lost_and_the_message_found(life: &mut Life) -> Promise {
    life.world.assistant.add(Step::says("Of the first.").to("first").always());
    life.world.assistant.add(Step::says("Of the second.").to("second").always());
    life.world.assistant.add(Step::says("Of the third.").to("third").always());
    for (id, text, evidence) in [
        ("M1", "What of the first?", Evidence::Queue),
        ("M2", "What of the second?", Evidence::Journal),
        ("M3", "What of the third?", Evidence::Reports),
    ] {
        life.world.gateway.shows_in(evidence);
        life.world.gateway.answers(Answer::LostAfter);
        life.writes(id, text).await;
        life.after(3 * SECOND_MS).await;
        for _ in 0..3 {
            life.after(MINUTE_MS).await;
            life.looks().await;
        }
    }
    // What a crash makes late is answered together with the next.
    ends_with(life, &["Of the third."]).await
}

pub(super) async fn a_model_fails_for_good_and_a_person_asks_again(life: &mut Life) -> Promise {
    life.rules(|policy| policy.fallback_text = Some("A moment, please.".to_owned()));
    let is_down = Arc::new(AtomicBool::new(true));
    let asked = Arc::clone(&is_down);
    let fails = Step::fails(FailureKind::Server).when(move |_| asked.load(Ordering::Relaxed));
    life.world.assistant.add(fails.always());
    life.world.assistant.add(Step::says("Two condos.").always());
    life.writes("M1", "Show me condos").await;
    for _ in 0..5 {
        life.after(MINUTE_MS).await;
    }
    is_down.store(false, Ordering::Relaxed);
    let letters = life.asks("letters", "GET", "/api/v1/dead-letters?kind=turn", None).await.body;
    demand(letters["items"].as_array().map(Vec::len) == Some(1), "P8: not one letter of the turn")?;
    let letter = &letters["items"][0];
    demand(letter["attempts"] == 3, "P8: attempts are counted wrongly")?;
    let path = format!("/api/v1/dead-letters/{}/retry", letter["id"].as_str().expect("an id"));
    let status = life.asks("replay", "POST", &path, None).await.status;
    // The answer to the first may have been lost.
    demand(matches!(status, 202 | 409), "P8: the letter cannot be replayed")?;
    ends_with(life, &["A moment, please.", "Two condos."]).await
}

pub(super) async fn what_waits_is_edited_and_deleted(life: &mut Life) -> Promise {
    let hold = Hold::new();
    life.world.assistant.add(Step::says("Two condos.").to("condos").held(&hold).always());
    life.world.assistant.add(Step::says("Two houses.").to("houses").always());
    life.writes("M1", "Show me condos").await;
    life.writes("M2", "In Orchard").await;
    life.deletes("M2").await;
    life.pass(3 * SECOND_MS);
    life.works_until(&hold).await;
    life.edits("M1", "Show me houses").await;
    life.after(3 * SECOND_MS).await;
    ends_with(life, &["Two houses."]).await?;
    let record = Record::of(&life.mei()).await;
    let is_deleted = record
        .message("In Orchard")
        .is_some_and(|message| message["outcome"] == "ignored" && message["outcome_reason"] == "deleted");
    demand(is_deleted, "P8: a deleted message was not let go")
}

pub(super) async fn what_is_fetched_and_what_was_missed_is_answered(life: &mut Life) -> Promise {
    life.world.assistant.add(Step::says("Two condos.").to("condos").always());
    life.world.assistant.add(Step::says("One in Orchard.").to("Orchard").always());
    let fetched = life.incoming("M1", "Show me condos");
    life.world.gateway.keeps_for_fetching(&fetched);
    life.world.gateway.writes_into_journal(&fetched);
    life.fetches().await;
    life.taken.push("M1");
    life.after(3 * SECOND_MS).await;
    life.after(MINUTE_MS).await;
    let missed = life.incoming("M2", "In Orchard?");
    life.world.gateway.writes_into_journal(&missed);
    for _ in 0..3 {
        life.after(4 * MINUTE_MS).await;
        life.repairs().await;
    }
    life.taken.push("M2");
    ends_with(life, &["Two condos.", "One in Orchard."]).await
}

pub(super) async fn a_draft_is_written_and_a_person_sends_it(life: &mut Life) -> Promise {
    life.rules(|policy| policy.drafting = true);
    life.world.assistant.add(Step::says("Two in Orchard.").to("Orchard").always());
    life.world.assistant.add(Step::says("Two condos.").to("condos").always());
    life.writes("M1", "Show me condos").await;
    life.after(3 * SECOND_MS).await;
    life.writes("M2", "In Orchard").await;
    life.after(3 * SECOND_MS).await;
    // Whoever was lost with it is missed by now.
    life.after(MINUTE_MS).await;
    let path = life.mei().path("drafts").await;
    let drafts = life.asks("drafts", "GET", &path, None).await.body["items"].clone();
    let fresh: Vec<_> =
        drafts.as_array().into_iter().flatten().filter(|draft| draft["state"] == "fresh").collect();
    demand(fresh.len() == 1 && fresh[0]["text"] == "Two in Orchard.", "P8: the burst was not drafted")?;
    demand(life.world.gateway.posts().is_empty(), "P4: a draft left by itself")?;
    let path = format!("{path}/{}/send", fresh[0]["id"].as_str().expect("an id"));
    let sent = life.asks("send", "POST", &path, None).await;
    demand(sent.status == 202, "P8: the draft cannot be sent")?;
    ends_with(life, &["Two in Orchard."]).await?;
    let path = life.mei().path("drafts").await;
    let drafts = life.world.get(&path).await["items"].clone();
    let count =
        |state: &str| drafts.as_array().into_iter().flatten().filter(|draft| draft["state"] == state).count();
    demand((count("sent"), count("fresh")) == (1, 0), "P3: the draft was sent, and is something else")
}

pub(super) async fn a_file_is_sent_and_the_answer_is_lost(life: &mut Life) -> Promise {
    life.world.assistant.add(Step::says("Two condos.").to("condos").always());
    life.writes("M1", "Show me condos").await;
    life.world.gateway.answers(Answer::LostAfter);
    life.agent_sends_file("The floor plan.").await;
    life.after(SECOND_MS).await;
    ends_with(life, &["The floor plan."]).await?;
    let posts = life.world.gateway.posts();
    let plans: Vec<_> = posts.iter().filter(|post| post.text == "The floor plan.").collect();
    let is_whole = plans.iter().all(|post| post.file == Some(("plan.png".to_owned(), PNG.to_vec())));
    demand(is_whole, "P8: the file has not left as it was given")?;
    let record = Record::of(&life.mei()).await;
    let plan = record.message("The floor plan.");
    let url = plan.and_then(|plan| plan["media"]["url"].as_str()).ok_or("P8: the message has no file")?;
    let shown = life.world.request("GET", url, None).send().await.expect("an answer");
    demand(shown.bytes().await.expect("a body") == PNG, "P8: the file is not what it was")
}

pub(super) async fn a_person_is_erased_and_writes_again(life: &mut Life) -> Promise {
    life.world.assistant.add(Step::says("Two condos.").to("condos").always());
    life.world.assistant.add(Step::says("Two houses.").to("houses").always());
    life.writes("M1", "Show me condos").await;
    life.after(3 * SECOND_MS).await;
    life.comes_to_rest().await?;
    life.is_erased().await;
    let number = life.number().to_owned();
    for words in [number.as_str(), "Show me condos", "Two condos."] {
        let found = life.world.finds(words).await;
        // A touch before it all: the next life has its own words.
        demand(found.is_empty(), &format!("{words} is left in {found:?}"))?;
    }
    // Late, and again.
    let late = life.incoming("M1", "Show me condos");
    life.is_posted(&late).await;
    life.is_reported("OUT1", "read").await;
    life.edits("M1", "Show me flats").await;
    demand(life.world.finds(&number).await.is_empty(), "a late webhook brings the person back")?;
    life.writes("M2", "Show me houses").await;
    life.after(3 * SECOND_MS).await;
    let begins_anew = async |life: &Life| {
        let record = Record::of(&life.mei()).await;
        let said: Vec<&str> = record.messages.iter().filter_map(|message| message["text"].as_str()).collect();
        demand(said == ["Show me houses", "Two houses."], &format!("the new conversation says {said:?}"))
    };
    life.rests(begins_anew).await?;
    demand(life.is_shown("Two houses."), "P8: the new message was not answered")
}
