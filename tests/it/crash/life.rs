//! One life of a Baton, told to its end whatever becomes of its processes: whoever is outside does what such people do.
//! The gateway posts what was not acknowledged again, a person repeats what was not answered under the same key, and
//! another process goes on.

use std::sync::Arc;

use baton::{domain::policy::Policy, flow::poll::Polled};
use serde_json::{Value, json};
use tokio::{sync::oneshot, task::JoinHandle};

use super::promises::{self, Promise, Record};
use crate::world::{
    CHANNEL, Chat, End, File, Hold, PNG, Point, Process, Reply, WEBHOOK_TOKEN, Weakness, World, answered,
    green_api,
};

pub(super) const SECOND_MS: i64 = 1_000;
pub(super) const MINUTE_MS: i64 = 60_000;
pub(super) const HOUR_MS: i64 = 3_600_000;

/// Longer than any lease.
const LEASES_MS: i64 = 46_000;

/// With that, long enough for the provider's journal to be looked at.
const JOURNAL_MS: i64 = 90_000;

/// A takeover that was answered as settled.
#[derive(Debug)]
pub(super) struct Settled {
    /// How many POSTs there were when it was answered.
    pub(super) from: usize,
    /// And when a person gave the conversation back, if one did.
    pub(super) to: Option<usize>,
}

pub(super) struct Life {
    pub(super) world: World,
    point: Option<Point>,
    /// The contact.
    mei: String,
    /// Their other id, where a story has one.
    pub(super) hidden: String,
    /// The conversation that began under that one, where one did.
    pub(super) later: Option<String>,
    /// What the process does that is asked now, beside requests.
    in_hand: Option<JoinHandle<()>>,
    /// Where it waits for the next request to be answered.
    hold: Option<Hold>,
    /// One that sleeps, and what it had in hand.
    asleep: Option<(Arc<Process>, Option<JoinHandle<()>>)>,
    /// Touches of the process that ended, to its end.
    pub(super) touches: Option<Vec<String>>,
    /// Ids of the contact's messages, in the order in which they were acknowledged.
    pub(super) taken: Vec<&'static str>,
    pub(super) takeovers: Vec<Settled>,
    /// Ids of what a person has sent again, perhaps when later words had left.
    pub(super) retried: Vec<String>,
}

impl Life {
    /// Another one in that world, with another contact.
    pub(super) async fn begin(mut world: World, number: usize, point: Option<Point>) -> Self {
        world.begin_anew().await;
        // What lies longer is no matter here, and would only be one more thing that happens.
        world.rules(|policy| policy.human_overdue_ms = 0);
        let process = world.process();
        process.begin_repair().await;
        Self {
            world,
            point,
            mei: format!("65800{number:05}@c.us"),
            // With the number in it: who looks for the one finds both.
            hidden: format!("65800{number:05}00001@lid"),
            later: None,
            in_hand: None,
            hold: None,
            asleep: None,
            touches: None,
            taken: Vec::new(),
            takeovers: Vec::new(),
            retried: Vec::new(),
        }
    }

    /// From here on each touch may be the last.
    pub(super) fn is_in_danger(&self) {
        self.world.process().fuse.light(self.point);
    }

    pub(super) fn rules(&self, change: impl FnOnce(&mut Policy)) {
        self.world.rules(change);
    }

    /// The contact writes, and it is posted.
    pub(super) async fn writes(&mut self, id: &'static str, text: &str) {
        let body = self.incoming(id, text);
        self.is_posted(&body).await;
        self.taken.push(id);
    }

    /// The gateway posts this, again and again until it is acknowledged.
    pub(super) async fn is_posted(&mut self, body: &Value) {
        let kind = body["typeWebhook"].as_str().expect("it has a type");
        let doing = format!("webhook {kind} {}", body["idMessage"].as_str().unwrap_or(""));
        let text = body.to_string();
        let reply = self
            .hears(&doing, async |world| world.knock(CHANNEL, Some(WEBHOOK_TOKEN), text.clone()).await)
            .await;
        assert_eq!(reply.status, 200, "{doing}: {reply:?}");
    }

    pub(super) fn seconds(&self) -> i64 {
        self.world.now().0 / 1_000
    }

    /// A person asks for something, again and again until there is an answer.
    pub(super) async fn asks(&mut self, doing: &str, method: &str, path: &str, body: Option<Value>) -> Reply {
        self.hears(doing, async |world| {
            answered(world.request(method, path, body.clone()).header("Idempotency-Key", doing)).await
        })
        .await
    }

    /// A person writes, which takes over.
    pub(super) async fn agent_says(&mut self, text: &str) {
        let path = format!("/api/v1/channels/{CHANNEL}/chats/{}/messages", self.mei);
        let reply = self.asks(&format!("says {text}"), "POST", &path, Some(json!({ "text": text }))).await;
        assert_eq!(reply.status, 202, "{reply:?}");
    }

    /// A person sends a picture with those words, which takes over.
    pub(super) async fn agent_sends_file(&mut self, caption: &str) {
        let path = format!("/api/v1/channels/{CHANNEL}/chats/{}/messages", self.mei);
        let file = File { name: "plan.png", mime_type: "image/png", bytes: PNG, caption: Some(caption) };
        let reply =
            self.hears("sends a file", async |world| world.send_file(&path, "file", &file).await).await;
        assert_eq!(reply.status, 202, "{reply:?}");
    }

    /// A person takes over, whatever the assistant is doing.
    pub(super) async fn takes_over(&mut self) -> Value {
        self.takes_over_of(&self.mei.clone()).await
    }

    /// The same, by that id of the contact.
    pub(super) async fn takes_over_of(&mut self, chat: &str) -> Value {
        let receipt = self.switches(chat, json!({ "mode": "HUMAN", "settle_ms": 0 })).await;
        if receipt["settled"] == true {
            self.takeovers.push(Settled { from: self.world.gateway.posts().len(), to: None });
        }
        receipt
    }

    /// A person gives the conversation back, and the assistant answers what was left.
    pub(super) async fn releases(&mut self) -> Value {
        let posts = self.world.gateway.posts().len();
        for takeover in &mut self.takeovers {
            takeover.to.get_or_insert(posts);
        }
        self.switches(&self.mei.clone(), json!({ "mode": "AI", "answer_now": true })).await
    }

    async fn switches(&mut self, chat: &str, body: Value) -> Value {
        let path = format!("/api/v1/channels/{CHANNEL}/chats/{chat}/mode");
        let reply = self.asks(&format!("switch {}", body["mode"]), "PUT", &path, Some(body)).await;
        assert_eq!(reply.status, 200, "{reply:?}");
        reply.body
    }

    /// Time passes, and nothing happens yet.
    pub(super) fn pass(&self, ms: i64) {
        self.world.pass(ms);
    }

    /// Time passes, and all that is due happens: here, and what the gateway has to report.
    pub(super) async fn after(&mut self, ms: i64) {
        self.pass(ms);
        loop {
            self.works().await;
            let Some(report) = self.world.gateway.report() else { return };
            self.is_posted(&report).await;
            self.world.gateway.reported();
        }
    }

    /// What is due happens, until something waits there: for the next request, and until that is answered. If the
    /// process ends on the way, nothing may come to wait.
    pub(super) async fn works_until(&mut self, hold: &Hold) {
        self.survives().await;
        self.hold = Some(hold.clone());
        let process = self.world.process();
        let mut working = tokio::spawn(process.clone().work());
        tokio::select! {
            biased;
            () = hold.reached() => {}
            () = process.fuse.ended() => {}
            ended = &mut working => return ended.expect("no step fails"),
        }
        self.in_hand = Some(working);
    }

    /// What was being erased is erased to its end, whoever began it.
    pub(super) async fn sweeps(&mut self) {
        self.does("sweep", |process| async move { process.sweep().await }).await;
    }

    /// The contact is erased by somebody who asks again until there is an answer: that it is done, or that it was.
    pub(super) async fn is_erased(&mut self) {
        self.is_erased_by(&self.mei.clone()).await;
    }

    /// The same, by the conversation of that id.
    pub(super) async fn is_erased_by(&mut self, chat: &str) {
        let conversation = self.world.chat(chat).conversation().await;
        let id = conversation["id"].as_str().expect("it has begun");
        let confirmed = conversation["chat_id"].as_str().expect("it has a chat");
        let path = format!("/api/v1/conversations/{id}?confirm={confirmed}");
        let status = self.asks("erase", "DELETE", &path, None).await.status;
        assert!(matches!(status, 204 | 404), "{status}");
        self.taken.clear();
        // Longer than whoever began it may be silent.
        self.pass(MINUTE_MS);
        self.sweeps().await;
    }

    /// The digits of the contact's phone.
    pub(super) fn number(&self) -> &str {
        self.mei.split('@').next().expect("it begins so")
    }

    /// The gateway reports once more how far a message got.
    pub(super) async fn is_reported(&mut self, id: &str, word: &str) {
        self.is_posted(&green_api::status(&self.mei, id, self.seconds(), word)).await;
    }

    /// Sends of unknown fate are looked for.
    pub(super) async fn looks(&mut self) {
        self.does("look", |process| async move { process.look().await }).await;
    }

    /// What waits at the gateway is fetched, all of it.
    pub(super) async fn fetches(&mut self) {
        loop {
            match self.does("poll", |process| async move { process.poll().await }).await {
                Polled::Took(_) => {}
                Polled::Elsewhere => self.pass(LEASES_MS),
                _ => return,
            }
        }
    }

    /// The contacts' journal is looked through, if it is due.
    pub(super) async fn repairs(&mut self) {
        self.does("repair", |process| async move { process.repair().await }).await;
    }

    /// The contact edits what they wrote.
    pub(super) async fn edits(&mut self, id: &str, text: &str) {
        self.is_posted(&green_api::edited(&self.mei, id, self.seconds(), text)).await;
    }

    /// The contact deletes what they wrote.
    pub(super) async fn deletes(&mut self, id: &str) {
        self.is_posted(&green_api::deleted(&self.mei, id, self.seconds())).await;
    }

    /// A person sends again what nobody knows the fate of, having seen that it has not arrived.
    pub(super) async fn sees_to_the_unknown(&mut self) -> Promise {
        let records = Record::all(self).await;
        let messages = records.iter().flat_map(|record| &record.messages);
        let unknown: Vec<&Value> =
            messages.filter(|message| message["delivery"]["state"] == "unknown").collect();
        for message in &unknown {
            let id = message["id"].as_str().expect("an id");
            let path = format!("/api/v1/messages/{id}/retry");
            assert_eq!(self.asks("retry", "POST", &path, None).await.status, 202);
            self.retried.push(id.to_owned());
        }
        if unknown.is_empty() { Ok(()) } else { self.comes_to_rest().await }
    }

    /// Until nothing more can come: leases have run out, what is unknown was looked for, what slept has woken. Then,
    /// and while it still slept, the promises hold.
    pub(super) async fn comes_to_rest(&mut self) -> Promise {
        self.rests(promises::check).await
    }

    /// The same, and then and while it still slept, this holds.
    pub(super) async fn rests(&mut self, holds: impl AsyncFn(&Self) -> Promise) -> Promise {
        self.waits_for_everything().await;
        if let Some((process, in_hand)) = self.asleep.take() {
            holds(self).await?;
            // One that wakes must not find that the gateway was asked this very second: it would wait for the machine.
            self.pass(MINUTE_MS);
            process.fuse.begins("after its sleep");
            process.fuse.wake();
            if let Some(in_hand) = in_hand {
                in_hand.await.expect("no step fails");
            }
            process.fuse.quiet().await;
            self.waits_for_everything().await;
            process.stop().await;
        }
        let process = self.world.process();
        self.touches.get_or_insert_with(|| process.fuse.touches());
        holds(self).await
    }

    async fn waits_for_everything(&mut self) {
        for ms in [LEASES_MS, JOURNAL_MS] {
            // Who slept may have put down an old answer. Channels that cannot send are asked how they are every ten seconds.
            let state = self.world.get(&format!("/api/v1/channels/{CHANNEL}")).await["state"].clone();
            if state == "notAuthorized" {
                self.is_posted(&green_api::state(self.seconds(), "authorized")).await;
            }
            self.after(ms).await;
            self.looks().await;
        }
        self.after(SECOND_MS).await;
    }

    /// Everything is over, and nothing of it comes up again in the next life.
    pub(super) async fn end(self) -> World {
        let conversation = self.mei().conversation().await;
        // Who was erased has none.
        let Some(id) = conversation["id"].as_str() else { return self.world };
        let path = format!("/api/v1/conversations/{id}");
        let closed = self.world.ask("PATCH", &path, Some(json!({ "status": "closed" }))).await;
        assert_eq!(closed.status, 200, "{closed:?}");
        self.world
    }

    /// Whether the contact's phone shows these words.
    pub(super) fn is_shown(&self, text: &str) -> bool {
        self.world.gateway.posts().iter().any(|post| post.text == text && post.id.is_some())
    }

    pub(super) fn mei(&self) -> Chat<'_> {
        self.world.chat(&self.mei)
    }

    /// Everything, as it is shown.
    pub(super) async fn told(&self) -> String {
        let told = self.mei().told().await;
        let other = self.world.chat(&self.hidden);
        let (here, there) = (self.mei().conversation().await, other.conversation().await);
        if there.is_null() || there["id"] == here["id"] {
            return told;
        }
        format!("{told}\n{}:\n{}", self.hidden, other.told().await)
    }

    /// The contact writes this: as a body that the gateway may keep.
    pub(super) fn incoming(&self, id: &str, text: &str) -> Value {
        green_api::incoming(&self.mei, id, self.seconds(), text)
    }

    /// Everything that is due happens, to its end.
    async fn works(&mut self) {
        self.lets_go();
        self.ends_what_is_in_hand().await;
        self.does("work", |process| process.work()).await;
    }

    fn lets_go(&mut self) {
        if let Some(hold) = self.hold.take() {
            hold.release();
        }
    }

    /// What was begun before goes on, unless the process ends.
    async fn ends_what_is_in_hand(&mut self) {
        let Some(mut in_hand) = self.in_hand.take() else { return };
        let process = self.world.process();
        tokio::select! {
            biased;
            ended = &mut in_hand => ended.expect("no step fails"),
            () = process.fuse.ended() => self.in_hand = Some(in_hand),
        }
    }

    /// What a process does by itself; another does it again, if that one ends on the way.
    async fn does<T, F>(&mut self, doing: &str, act: impl Fn(Arc<Process>) -> F) -> T
    where
        T: Send + 'static,
        F: Future<Output = T> + Send + 'static,
    {
        loop {
            self.survives().await;
            let process = self.world.process();
            process.fuse.begins(doing);
            let (told, mut outcome) = oneshot::channel();
            let act = act(process.clone());
            self.in_hand = Some(tokio::spawn(async move {
                // Whoever waited may have turned to another process.
                drop(told.send(act.await));
            }));
            tokio::select! {
                biased;
                outcome = &mut outcome => {
                    self.in_hand = None;
                    return outcome.expect("no step fails");
                }
                () = process.fuse.ended() => {}
            }
        }
    }

    /// What a process is asked; another is asked again, if that one ends before it has answered.
    async fn hears(&mut self, doing: &str, ask: impl AsyncFn(&World) -> Reply) -> Reply {
        loop {
            self.survives().await;
            let process = self.world.process();
            process.fuse.begins(doing);
            let reply = tokio::select! {
                biased;
                () = process.fuse.ended() => None,
                reply = ask(&self.world) => Some(reply),
            };
            if let Some(reply) = reply {
                // What it has stopped says so in the store: before the answer is counted, so that the order of touches
                // is always the same.
                self.lets_go();
                self.ends_what_is_in_hand().await;
                process.fuse.answered();
                return reply;
            }
        }
    }

    /// If the process has ended, another takes its place.
    async fn survives(&mut self) {
        let process = self.world.process();
        let Some(point) = self.point.filter(|_| process.fuse.has_ended()) else { return };
        self.touches = Some(process.fuse.touches());
        let in_hand = self.in_hand.take();
        let store = process.store.clone();
        match point.end {
            End::Dies => {
                if let Some(in_hand) = in_hand {
                    in_hand.abort();
                    drop(in_hand.await);
                }
                process.stop().await;
                if self.world.weakness() == Some(Weakness::SendsAgain) {
                    self.world.queue_again().await;
                }
            }
            End::Sleeps => self.asleep = Some((process, in_hand)),
        }
        let another = self.world.start_another(store).await;
        another.begin_repair().await;
        self.world.turn_to(another);
    }
}
