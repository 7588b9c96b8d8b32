//! One chat: what the contact does in it, and what people do about it.

use serde_json::{Value, json};
use uuid::Uuid;

use super::{CHANNEL, Reply, World, green_api, transcript};

#[derive(Clone, Copy)]
pub(crate) struct Chat<'a> {
    pub(crate) world: &'a World,
    pub(crate) id: &'a str,
}

impl Chat<'_> {
    /// The contact writes; answers with what became of the webhook.
    pub(crate) async fn writes(&self, id: &str, text: &str) -> &'static str {
        self.world.webhook(&green_api::incoming(self.id, id, self.seconds(), text)).await
    }

    /// The contact edits a message.
    pub(crate) async fn edits(&self, id: &str, text: &str) -> &'static str {
        self.world.webhook(&green_api::edited(self.id, id, self.seconds(), text)).await
    }

    /// A person writes on the phone of the business.
    pub(crate) async fn phone_writes(&self, id: &str, text: &str) -> &'static str {
        self.world.webhook(&green_api::by_phone(self.id, id, self.seconds(), text)).await
    }

    /// A message that left through the API comes back.
    pub(crate) async fn echoes(&self, id: &str, text: &str) -> &'static str {
        self.world.webhook(&green_api::echo(self.id, id, self.seconds(), text)).await
    }

    /// Green API reports how far a message of ours got.
    pub(crate) async fn reports(&self, id: &str, word: &str) -> &'static str {
        self.world.webhook(&green_api::status(self.id, id, self.seconds(), word)).await
    }

    fn seconds(&self) -> i64 {
        self.world.now().0 / 1_000
    }

    /// A person switches; the receipt.
    pub(crate) async fn switch(&self, body: Value) -> Value {
        let path = format!("/api/v1/channels/{CHANNEL}/chats/{}/mode", self.id);
        let reply = self.world.ask("PUT", &path, Some(body)).await;
        assert_eq!(reply.status, 200, "{reply:?}");
        reply.body
    }

    /// A person takes over; the receipt.
    pub(crate) async fn take_over(&self) -> Value {
        self.switch(json!({ "mode": "HUMAN" })).await
    }

    /// A person gives the conversation back to the assistant; the receipt.
    pub(crate) async fn release(&self) -> Value {
        self.switch(json!({ "mode": "AI" })).await
    }

    /// A person writes; the message.
    pub(crate) async fn agent_says(&self, text: &str) -> Value {
        let path = format!("/api/v1/channels/{CHANNEL}/chats/{}/messages", self.id);
        let reply = self.world.ask("POST", &path, Some(json!({ "text": text }))).await;
        assert_eq!(reply.status, 202, "{reply:?}");
        reply.body
    }

    /// The conversation as the API shows it.
    pub(crate) async fn conversation(&self) -> Value {
        let found = self.world.get(&format!("/api/v1/conversations?chat_id={}", self.id)).await;
        found["items"][0].clone()
    }

    /// Its id.
    pub(crate) async fn conversation_id(&self) -> Uuid {
        self.conversation().await["id"].as_str().expect("it has begun").parse().expect("an id")
    }

    /// Looks until the conversation is in that mode: while the switch itself still waits to be settled.
    pub(crate) async fn until_in(&self, mode: &str) {
        while self.conversation().await["mode"] != mode {}
    }

    /// A path below the conversation.
    pub(crate) async fn path(&self, rest: &str) -> String {
        let conversation = self.conversation().await;
        format!("/api/v1/conversations/{}/{rest}", conversation["id"].as_str().expect("it has begun"))
    }

    /// A person asks something of this conversation.
    pub(crate) async fn ask(&self, method: &str, rest: &str, body: Option<Value>) -> Reply {
        let path = self.path(rest).await;
        self.world.ask(method, &path, body).await
    }

    /// Its messages, oldest first.
    pub(crate) async fn messages(&self) -> Vec<Value> {
        let page = self.world.get(&self.path("messages?limit=200").await).await;
        page["items"].as_array().expect("a list").iter().rev().cloned().collect()
    }

    /// The message with this text.
    pub(crate) async fn message(&self, text: &str) -> Value {
        self.messages()
            .await
            .into_iter()
            .find(|message| message["text"] == text)
            .expect("there is such a message")
    }

    /// A person decides about the message with this text.
    pub(crate) async fn decide(&self, method: &str, text: &str, rest: &str) -> Reply {
        let message = self.message(text).await;
        let path = format!("/api/v1/messages/{}{rest}", message["id"].as_str().expect("an id"));
        self.world.ask(method, &path, None).await
    }

    /// Its drafts, newest first.
    pub(crate) async fn drafts(&self) -> Vec<Value> {
        let page = self.world.get(&self.path("drafts").await).await;
        page["items"].as_array().expect("a list").clone()
    }

    /// A person decides about the newest draft.
    pub(crate) async fn decide_draft(&self, method: &str, rest: &str, body: Option<Value>) -> Reply {
        let draft = self.drafts().await.swap_remove(0);
        self.ask(method, &format!("drafts/{}{rest}", draft["id"].as_str().expect("an id")), body).await
    }

    /// How often this happened here.
    pub(crate) async fn happened(&self, event: &str) -> usize {
        let page = self.world.get(&self.path(&format!("timeline?limit=200&type={event}")).await).await;
        page["items"].as_array().expect("a list").len()
    }

    /// The whole story, as the API and the contact's phone show it.
    pub(crate) async fn told(&self) -> String {
        transcript::of(self).await
    }

    /// The whole story, as the API and the contact's phone show it, must be this one.
    pub(crate) async fn reads(&self, story: &str) {
        let told = self.told().await;
        let expected = transcript::unindented(story);
        assert!(
            told == expected,
            "the story was told otherwise\n--- told:\n{told}\n--- expected:\n{expected}\n---"
        );
    }
}
