//! What is asked when a life has come to rest, from outside: of the API, and of what the gateway has seen.

use std::collections::BTreeSet;

use serde_json::Value;

use super::life::Life;
use crate::world::{Chat, Post, World};

pub(super) type Promise = Result<(), String>;

/// Everything that can be seen from outside.
pub(super) struct Record {
    pub(super) conversation: Value,
    pub(super) messages: Vec<Value>,
    pub(super) events: Vec<Value>,
    pub(super) turns: Vec<Value>,
    pub(super) letters: Vec<Value>,
    pub(super) pending_follow_ups: usize,
    pub(super) posts: Vec<Post>,
}

impl Record {
    pub(super) async fn of(chat: &Chat<'_>) -> Self {
        let conversation = chat.conversation().await;
        Self::of_conversation(chat.world, conversation["id"].as_str().expect("it has begun")).await
    }

    /// All with the contact of a life.
    pub(super) async fn all(life: &Life) -> Vec<Self> {
        let mut records = vec![Self::of(&life.mei()).await];
        if let Some(later) = &life.later {
            records.push(Self::of_conversation(&life.world, later).await);
        }
        records
    }

    async fn of_conversation(world: &World, id: &str) -> Self {
        let list = async |path: &str| -> Vec<Value> {
            let page = world.get(path).await;
            page["items"].as_array().expect("a list").clone()
        };
        let mut conversation = world.get(&format!("/api/v1/conversations/{id}")).await;
        if let Some(stays) = conversation["merged_into"].as_str() {
            // Whoever is called for it is called there.
            let stays = world.get(&format!("/api/v1/conversations/{stays}")).await;
            conversation["attention"] = stays["attention"].clone();
        }
        let below = |rest: &str| format!("/api/v1/conversations/{id}/{rest}");
        let mut messages = list(&below("messages?limit=200")).await;
        messages.reverse();
        Self {
            messages,
            events: list(&below("timeline?limit=200")).await,
            turns: list(&below("turns?limit=200")).await,
            letters: list(&format!("/api/v1/dead-letters?conversation_id={id}")).await,
            pending_follow_ups: list(&format!("/api/v1/follow-ups?state=pending&conversation_id={id}"))
                .await
                .len(),
            posts: world.gateway.posts(),
            conversation,
        }
    }

    pub(super) fn shown(&self) -> impl Iterator<Item = &Post> {
        self.posts.iter().filter(|post| post.id.is_some())
    }

    /// The message of ours that a POST carried.
    fn posted(&self, post: &Post) -> Option<&Value> {
        self.messages.iter().find(|message| message["delivery"]["idempotency_key"] == post.idempotency_key)
    }

    fn is_shown(&self, message: &Value) -> bool {
        self.shown().any(|post| message["delivery"]["idempotency_key"] == post.idempotency_key)
    }

    fn waits_for_another_part(&self, message: &Value) -> bool {
        self.ours().any(|other| {
            other["turn_id"] == message["turn_id"]
                && other["delivery"]["state"] == "unknown"
                && other["seq"].as_i64() < message["seq"].as_i64()
        })
    }

    fn of_contact(&self) -> impl Iterator<Item = &Value> {
        self.messages.iter().filter(|message| message["author"] == "contact")
    }

    fn ours(&self) -> impl Iterator<Item = &Value> {
        self.messages.iter().filter(|message| !message["delivery"].is_null())
    }

    pub(super) fn happened(&self, kind: &str) -> impl Iterator<Item = &Value> {
        self.events.iter().filter(move |event| event["type"] == kind)
    }

    pub(super) fn message(&self, text: &str) -> Option<&Value> {
        self.messages.iter().find(|message| posted_words(message) == text)
    }
}

/// Of a file, only what stands under it is posted as words.
fn posted_words(message: &Value) -> &Value {
    let caption = &message["media"]["caption"];
    if message["delivery"].is_null() || caption.is_null() { &message["text"] } else { caption }
}

pub(super) fn demand(holds: bool, promise: &str) -> Promise {
    if holds { Ok(()) } else { Err(promise.to_owned()) }
}

/// Holds a life that has come to rest against all of them.
pub(super) async fn check(life: &Life) -> Promise {
    let records = Record::all(life).await;
    what_was_acknowledged_is_there_once(life, &records)?;
    nothing_is_sent_that_nobody_knows_of(life, &records)?;
    nobody_is_called_in_vain(&records)?;
    for record in &records {
        nothing_is_sent_twice(record)?;
        demand(!life.retried.is_empty() || leaves_in_order(record), "P3: messages left out of order")?;
        every_message_of_the_contact_ends_named(record)?;
        every_message_of_ours_ends_named(record)?;
        what_is_answered_was_answered_once(record)?;
        after_a_takeover_the_assistant_is_silent(life, record)?;
        one_follow_up_at_most(record)?;
        nobody_else_wrote(record)?;
        the_journal_tells_it(life, record)?;
    }
    Ok(())
}

fn what_was_acknowledged_is_there_once(life: &Life, records: &[Record]) -> Promise {
    let ids = |record| -> Vec<&str> {
        Record::of_contact(record).filter_map(|message| message["provider_message_id"].as_str()).collect()
    };
    let there: Vec<&str> = records.iter().flat_map(ids).collect();
    demand(there.iter().collect::<BTreeSet<_>>().len() == there.len(), "P2: a webhook is two messages")?;
    demand(life.taken.iter().all(|id| there.contains(id)), "P1: what was acknowledged is not there")?;
    for record in records {
        let there = ids(record);
        let in_order: Vec<&str> = life.taken.iter().filter(|id| there.contains(id)).copied().collect();
        demand(there == in_order, "P3: messages are not in the order in which they were acknowledged")?;
    }
    Ok(())
}

fn nothing_is_sent_twice(record: &Record) -> Promise {
    for message in record.ours() {
        let key = &message["delivery"]["idempotency_key"];
        let posts: Vec<&Post> = record.posts.iter().filter(|post| *key == post.idempotency_key).collect();
        let went = posts.iter().position(|post| post.id.is_some());
        demand(went.is_none_or(|at| at + 1 == posts.len()), "P6: what has gone is posted again")?;
    }
    let texts: Vec<&str> = record.shown().map(|post| post.text.as_str()).collect();
    demand(texts.iter().collect::<BTreeSet<_>>().len() == texts.len(), "P6: the same words are shown twice")
}

fn nothing_is_sent_that_nobody_knows_of(life: &Life, records: &[Record]) -> Promise {
    let is_ours = |post: &Post| {
        let message = records.iter().find_map(|record| record.posted(post));
        message.is_some_and(|message| posted_words(message) == post.text.as_str())
    };
    demand(life.world.gateway.posts().iter().all(is_ours), "P8: something was sent that nobody knows of")
}

fn leaves_in_order(record: &Record) -> bool {
    let left: Vec<i64> =
        record.shown().filter_map(|post| record.posted(post)).filter_map(|it| it["seq"].as_i64()).collect();
    left.is_sorted()
}

fn every_message_of_the_contact_ends_named(record: &Record) -> Promise {
    for message in record.of_contact() {
        let outcome = message["outcome"].as_str().unwrap_or_default();
        demand(!matches!(outcome, "" | "pending"), "P8: a message still waits")?;
        let is_seen = outcome != "handed_over" || record.conversation["attention"].is_object();
        demand(is_seen, "P8: a message is handed over, and nobody is called")?;
    }
    demand(record.conversation["queue"]["inbox"] == 0, "P8: something still waits")?;
    let runs = record.turns.iter().any(|turn| turn["state"] == "generating");
    demand(!runs, "P8: a turn still runs")
}

fn every_message_of_ours_ends_named(record: &Record) -> Promise {
    for message in record.ours() {
        let delivery = &message["delivery"];
        let state = delivery["state"].as_str().unwrap_or_default();
        let is_called = |reason: &str| record.conversation["attention"]["reason"] == reason;
        if record.is_shown(message) {
            demand(
                matches!(state, "sent" | "delivered" | "read"),
                "P8: what has arrived is not known as sent",
            )?;
            continue;
        }
        match state {
            "cancelled" => {}
            // Until it is known what became of the part before it.
            "queued" if record.waits_for_another_part(message) => continue,
            "unknown" => demand(is_called("send_unknown"), "P8: nobody is called for an unknown fate")?,
            "failed" | "dead" => demand(!record.letters.is_empty(), "P8: no letter for what was given up")?,
            _ => return Err(format!("P8: what has not arrived is {state}")),
        }
        demand(delivery["reason"].is_string(), "P8: a message ends without a reason")?;
    }
    Ok(())
}

/// A person who is called for a send of unknown fate finds one, or at least what it left unanswered.
fn nobody_is_called_in_vain(records: &[Record]) -> Promise {
    let is_called = |record: &Record| record.conversation["attention"]["reason"] == "send_unknown";
    let is_unknown = |record: &Record| record.ours().any(|it| it["delivery"]["state"] == "unknown");
    let is_left = |record: &Record| record.of_contact().any(|it| it["outcome"] == "handed_over");
    let has_reason = records.iter().any(|record| is_unknown(record) || is_left(record));
    demand(has_reason || !records.iter().any(is_called), "P8: a person is called for a fate that is known")
}

fn what_is_answered_was_answered_once(record: &Record) -> Promise {
    let has_left = |turn: &Value, states: &[&str]| {
        record.ours().any(|message| {
            message["turn_id"] == turn["id"]
                && states.iter().any(|state| message["delivery"]["state"] == *state)
        })
    };
    const GONE: [&str; 4] = ["sent", "delivered", "read", "unknown"];
    for message in record.of_contact() {
        let answers = |turn: &&Value| {
            turn["message_ids"].as_array().is_some_and(|ids| ids.contains(&message["id"]))
                && has_left(turn, &GONE)
        };
        let answers = record.turns.iter().filter(answers).count();
        demand(answers <= 1, "P3: a message was answered twice")?;
        let is_answered = message["outcome"] == "answered";
        demand(!is_answered || answers == 1, "P8: a message counts as answered, and no answer has left")?;
    }
    Ok(())
}

fn after_a_takeover_the_assistant_is_silent(life: &Life, record: &Record) -> Promise {
    for takeover in &life.takeovers {
        let to = takeover.to.unwrap_or(record.posts.len());
        let mut later = record.posts[takeover.from..to].iter();
        let is_machine_made = |post: &Post| {
            record.posted(post).is_some_and(|message| {
                let is_retried = life.retried.iter().any(|id| message["id"] == id.as_str());
                message["author"] != "agent" && !is_retried
            })
        };
        demand(!later.any(is_machine_made), "P4: posted after the receipt of the takeover")?;
    }
    Ok(())
}

fn one_follow_up_at_most(record: &Record) -> Promise {
    demand(record.pending_follow_ups <= 1, "P7: two follow-ups are pending")?;
    let is_allowed = record.conversation["mode"] == "AI";
    demand(is_allowed || record.pending_follow_ups == 0, "P7: a follow-up outlives a takeover")
}

fn nobody_else_wrote(record: &Record) -> Promise {
    let is_stranger = |message: &Value| matches!(message["origin"].as_str(), Some("other_system" | "phone"));
    demand(!record.messages.iter().any(is_stranger), "P5: an echo of our own was taken for somebody else's")
}

/// Each decision that a crash leads to is an event, once.
fn the_journal_tells_it(life: &Life, record: &Record) -> Promise {
    let about = |kind: &'static str, message: &Value| {
        let id = message["id"].clone();
        record.happened(kind).filter(move |event| event["message_id"] == id).count()
    };
    for message in record.ours() {
        let state = &message["delivery"]["state"];
        let (uncertain, reconciled) = (about("send_uncertain", message), about("send_reconciled", message));
        let posts =
            record.posts.iter().filter(|post| message["delivery"]["idempotency_key"] == post.idempotency_key);
        // And one that was claimed and never posted.
        let tries = 1 + posts.count();
        demand(uncertain <= tries, "P9: one unknown fate is told twice")?;
        let was_told = state != "unknown" || uncertain > 0;
        demand(was_told, "P9: the journal lacks send_uncertain")?;
        let by_people = life.retried.iter().filter(|id| message["id"] == id.as_str()).count();
        demand(reconciled <= uncertain + by_people, "P9: what was certain is reconciled")?;
        let sent = about("message_sent", message);
        demand(sent == usize::from(record.is_shown(message)), "P9: the journal has message_sent not once")?;
    }
    for turn in record.turns.iter().filter(|turn| turn["reason"] == "lease_expired") {
        let taken_over = record.happened("lease_taken_over").any(|event| event["turn_id"] == turn["id"]);
        demand(taken_over, "P9: the journal lacks lease_taken_over")?;
    }
    let numbers: Vec<i64> = record.events.iter().filter_map(|event| event["conv_seq"].as_i64()).collect();
    let is_gapless = numbers.windows(2).all(|pair| pair[0] + 1 == pair[1]);
    demand(is_gapless, "P9: the journal has a gap")
}
