//! The chats of a person whom the gateway knows under two ids, and who has a conversation under each, told at every failure
//! point: they become one, with all that one of them was, whoever ends on the way.

use baton::domain::message::ECHO_AWAITED_MS;
use serde_json::{Value, json};

use super::{
    life::{HOUR_MS, Life, MINUTE_MS, SECOND_MS},
    promises::{Promise, Record, demand},
};
use crate::world::{Step, green_api};

impl Life {
    fn phone(&self) -> String {
        self.mei().id.to_owned()
    }

    /// The contact writes under that id; the gateway shows the other as well, or does not.
    async fn writes_as(&mut self, chat: &str, shown: Option<&str>, id: &'static str, text: &str) {
        let mut body = green_api::incoming(chat, id, self.seconds(), text);
        if let Some(other) = shown {
            body["senderData"]["sender"] = json!(other);
        }
        self.is_posted(&body).await;
        self.taken.push(id);
    }

    async fn writes_under_the_other(&mut self, id: &'static str, text: &str) {
        let hidden = self.hidden.clone();
        self.writes_as(&hidden, None, id, text).await;
    }

    /// The two have met while something waits in the later one: they stay two until that is answered.
    async fn meets_while_something_waits(&mut self) {
        self.world.assistant.add(Step::says("Two condos.").to("condos").always());
        self.world.assistant.add(Step::says("Yes, we are.").to("Are you there").always());
        self.writes_under_the_other("M3", "Show Mei Ling condos").await;
        self.pass(100);
        let (phone, hidden) = (self.phone(), self.hidden.clone());
        self.writes_as(&phone, Some(&hidden), "M4", "Are you there?").await;
    }

    /// The promises hold, and the two are one in that mode: under either id it is the earlier one, whose story says so once.
    async fn ends_as_one(&mut self, mode: &str) -> Promise {
        self.comes_to_rest().await?;
        self.sees_to_the_unknown().await?;
        // A copy of what may have left twice is waited for where it would come.
        self.after(ECHO_AWAITED_MS).await;
        let later = self.later.clone().ok_or("nothing has begun under the other id")?;
        let (stays, found) =
            (self.mei().conversation().await, self.world.chat(&self.hidden).conversation().await);
        let goes = self.world.get(&format!("/api/v1/conversations/{later}")).await;
        demand(stays["id"] == found["id"] && stays["id"] != later, "they are still two")?;
        demand(stays["chat_id"] == self.phone(), "the later one stays")?;
        demand(stays["aliases"] == json!([self.hidden]), "the other id is not known")?;
        demand(goes["merged_into"] == stays["id"] && goes["status"] == "closed", "the later one goes on")?;
        demand(stays["mode"] == mode, &format!("P4: it is {}", stays["mode"]))?;
        let records = Record::all(self).await;
        let pending: usize = records.iter().map(|record| record.pending_follow_ups).sum();
        demand(pending <= 1, "P7: two follow-ups are pending")?;
        for record in records {
            let is_merged = |event: &&Value| event["action"] == "merged";
            let told = record.happened("conversation_updated").filter(is_merged).count();
            demand(told == 1, &format!("P9: the journal has merged {told} times"))?;
        }
        Ok(())
    }
}

/// They have written under both, and were answered under both. Whether the two are one the gateway does not say yet.
pub(super) async fn begins(life: &mut Life) {
    life.rules(|policy| {
        policy.follow_up_after_ms = vec![HOUR_MS];
        policy.follow_up_text = Some("Still there?".to_owned());
    });
    life.world.gateway.keeps_other_ids(true);
    life.world.assistant.add(Step::says("Good morning!").to("Good morning").always());
    life.world.assistant.add(Step::says("Hello!").to("Mei Ling here").always());
    life.writes("M1", "Mei Ling here").await;
    life.after(3 * SECOND_MS).await;
    life.writes_under_the_other("M2", "Good morning, Mei Ling here").await;
    life.after(3 * SECOND_MS).await;
    let later = life.world.chat(&life.hidden).conversation().await;
    life.later = later["id"].as_str().map(str::to_owned);
}

pub(super) async fn two_conversations_that_meet_become_one(life: &mut Life) -> Promise {
    life.world.assistant.add(Step::says("Two condos.").to("condos").always());
    let (phone, hidden) = (life.phone(), life.hidden.clone());
    life.writes_as(&hidden, Some(&phone), "M3", "Show Mei Ling condos").await;
    life.after(3 * SECOND_MS).await;
    life.comes_to_rest().await?;
    life.sees_to_the_unknown().await?;
    for _ in 0..4 {
        life.after(HOUR_MS / 2).await;
    }
    life.ends_as_one("AI").await?;
    demand(life.is_shown("Two condos."), "P8: the message that showed it was not answered")?;
    demand(life.is_shown("Still there?"), "P7: nobody follows up")
}

pub(super) async fn what_waits_when_they_meet_is_answered_under_its_own_id(life: &mut Life) -> Promise {
    life.meets_while_something_waits().await;
    life.after(3 * SECOND_MS).await;
    life.ends_as_one("AI").await?;
    demand(life.is_shown("Two condos.") && life.is_shown("Yes, we are."), "P8: a message was not answered")
}

pub(super) async fn two_that_the_provider_names_as_one_are_not_chased_twice(life: &mut Life) -> Promise {
    let (phone, hidden) = (life.phone(), life.hidden.clone());
    life.world.gateway.knows_as_one(&phone, &hidden);
    life.world.gateway.keeps_other_ids(false);
    for ms in [MINUTE_MS, HOUR_MS, HOUR_MS] {
        life.after(ms).await;
    }
    life.ends_as_one("AI").await?;
    // They have written since the first answer, and the second was given in the one that is closed.
    demand(!life.is_shown("Still there?"), "P7: who has written is chased")
}

pub(super) async fn a_takeover_of_the_earlier_is_one_of_both(life: &mut Life) -> Promise {
    life.meets_while_something_waits().await;
    let phone = life.phone();
    is_taken_over(life, &phone).await
}

pub(super) async fn a_takeover_of_the_later_is_one_of_both(life: &mut Life) -> Promise {
    life.meets_while_something_waits().await;
    let hidden = life.hidden.clone();
    is_taken_over(life, &hidden).await
}

/// A person takes over by that id: nothing of what waited is answered, under either.
async fn is_taken_over(life: &mut Life, chat: &str) -> Promise {
    let posts = life.world.gateway.posts().len();
    life.takes_over_of(chat).await;
    life.writes_under_the_other("M5", "Which one is large?").await;
    life.writes("M6", "Hello?").await;
    life.after(MINUTE_MS).await;
    life.ends_as_one("HUMAN").await?;
    demand(life.world.gateway.posts().len() == posts, "P4: what a takeover stopped has left")
}

pub(super) async fn whom_a_person_answers_is_answered_by_nobody_else(life: &mut Life) -> Promise {
    // No webhook shows it: it is asked for where a person writes.
    let (phone, hidden) = (life.phone(), life.hidden.clone());
    life.world.gateway.knows_as_one(&phone, &hidden);
    life.world.gateway.keeps_other_ids(false);
    life.agent_says("This is Ana.").await;
    life.after(SECOND_MS).await;
    life.writes_under_the_other("M3", "Are you there?").await;
    life.after(MINUTE_MS).await;
    life.after(HOUR_MS).await;
    life.ends_as_one("HUMAN").await?;
    demand(life.is_shown("This is Ana."), "P8: what a person wrote has not left")?;
    demand(life.world.gateway.posts().iter().all(|post| post.text != "Still there?"), "P7: they are chased")
}

pub(super) async fn who_is_given_back_stays_with_the_assistant(life: &mut Life) -> Promise {
    life.meets_while_something_waits().await;
    life.takes_over().await;
    life.pass(SECOND_MS);
    life.world.assistant.add(Step::says("Two flats.").to("there").always());
    life.releases().await;
    life.after(3 * SECOND_MS).await;
    life.ends_as_one("AI").await
}

pub(super) async fn who_has_become_one_is_erased_under_both_ids(life: &mut Life) -> Promise {
    life.world.assistant.add(Step::says("Two condos.").to("condos").always());
    let (phone, hidden) = (life.phone(), life.hidden.clone());
    life.writes_as(&hidden, Some(&phone), "M3", "Show Mei Ling condos").await;
    life.after(3 * SECOND_MS).await;
    is_erased_and_forgotten(life, &phone).await
}

pub(super) async fn who_is_erased_by_the_earlier_of_two_is_erased_under_both_ids(life: &mut Life) -> Promise {
    life.meets_while_something_waits().await;
    let phone = life.phone();
    is_erased_and_forgotten(life, &phone).await
}

pub(super) async fn who_is_erased_by_the_later_of_two_is_erased_under_both_ids(life: &mut Life) -> Promise {
    life.meets_while_something_waits().await;
    let hidden = life.hidden.clone();
    is_erased_and_forgotten(life, &hidden).await
}

async fn is_erased_and_forgotten(life: &mut Life, by: &str) -> Promise {
    life.is_erased_by(by).await;
    life.later = None;
    let is_gone = async |life: &Life| {
        for words in [life.number(), "Mei Ling"] {
            let found = life.world.finds(words).await;
            demand(found.is_empty(), &format!("{words} is left in {found:?}"))?;
        }
        Promise::Ok(())
    };
    is_gone(life).await?;
    // Late, and each under the other id.
    let (phone, hidden, seconds) = (life.phone(), life.hidden.clone(), life.seconds() - 120);
    for (chat, id, text) in [(&hidden, "M1", "Mei Ling here"), (&phone, "M2", "Good morning, Mei Ling here")]
    {
        let late = green_api::incoming(chat, id, seconds, text);
        life.is_posted(&late).await;
    }
    life.rests(is_gone).await
}
