//! The demo: a server with a sandbox number, a scripted assistant, and a few contacts whose chats are printed as they happen.

use std::{io::Write as _, sync::Arc, time::Duration};

use anyhow::Context as _;
use serde_json::json;
use tokio::time::sleep;
use uuid::Uuid;

use super::{browser, channel_loader::SANDBOX, instance::Instance, invitations, now, signals::Signals};
use crate::{
    adapters::scripted,
    config::Settings,
    domain::{
        chat::ChatId,
        event::{Event, EventType},
        message::{Author, Kind, Message, Origin},
        mode::Mode,
        time::Time,
    },
    flow::{
        archive::{Archive, Tail},
        back_office::people::{Agent, People, Role},
        desk::Who,
        ledger::Key,
        mode_switch::{ModeSwitch, Receipt, Request},
        places::Places,
    },
    http::ports::SandboxDoor,
    metrics,
};

/// How long the scripted assistant takes over a reply.
const THINKING_MS: u64 = 2_500;
/// How often the story is read on.
const READ_EVERY: Duration = Duration::from_millis(120);
/// How long the story waits for a scene at most.
const SCENE: Duration = Duration::from_secs(30);

/// Runs the demo until it is stopped. The link that signs in is printed, and opened in a browser if that is wanted.
pub async fn demo(settings: Settings, opens_browser: bool) -> anyhow::Result<()> {
    let settings = Arc::new(settings);
    let token = settings.api_token.as_ref().context("the demo needs a token")?.expose().to_owned();
    let instance = Instance::start(Arc::clone(&settings), true, metrics::start()?).await?;
    let signals = Signals::listen()?;
    instance.scripted.set_faults(scripted::Faults { delay_ms: THINKING_MS, ..instance.scripted.faults() });
    let base = invitations::base(&settings, instance.address);
    let people: Arc<dyn People> = instance.parts.store.places();
    let link = invitations::for_admin(&*people, &base, now()).await?;
    say(&opening(&instance.address.to_string(), &link, &instance.data()));
    if opens_browser {
        browser::open(&link);
    }
    let teller = tokio::spawn(tell(instance.parts.store.places()));
    let story = Story {
        phones: instance.sandbox.clone().context("the sandbox is off")?,
        switch: Arc::clone(&instance.switch),
        archive: Arc::clone(&instance.parts.archive),
        ana: ana(&*people).await?,
    };
    let address = instance.address.to_string();
    let play = tokio::spawn(async move {
        match story.play().await {
            Ok(()) => say(&your_turn(&address, &token)),
            Err(error) => tracing::error!(error = format!("{error:#}"), "the story was interrupted"),
        }
    });
    let told = instance.until_told_to_stop(signals).await;
    play.abort();
    teller.abort();
    instance.stop().await;
    told
}

/// The colleague who takes over in the story.
async fn ana(people: &dyn People) -> anyhow::Result<Uuid> {
    let email = "ana@example.com";
    if let Some((ana, _)) = people.agent_of(email).await? {
        return Ok(ana.id);
    }
    let ana = Agent {
        id: Uuid::now_v7(),
        name: "Ana".to_owned(),
        email: email.to_owned(),
        role: Role::Agent,
        channels: None,
        is_disabled: false,
        created_at: now(),
        updated_at: now(),
    };
    people.add_agent(&ana, None, None).await?;
    Ok(ana.id)
}

fn opening(address: &str, link: &str, data: &str) -> String {
    format!(
        "\nBaton demo at http://{address}  (nothing leaves this machine; data in {data}; Ctrl-C ends it)\n\n\
         Open this first, it signs you in (once, within 24 hours):\n\n  {link}\n\n\
         Three contacts write to a shop. The assistant answers; then Ana takes over in the middle of an answer.\n"
    )
}

fn your_turn(address: &str, token: &str) -> String {
    format!(
        "\nNow you. Play a contact:\n\n  \
         curl -s http://{address}/webhooks/sandbox -H 'Authorization: Bearer {token}' \\\n       \
         -H 'Content-Type: application/json' -d '{{\"chat_id\":\"6580000009@c.us\",\"name\":\"You\",\"text\":\"Do you deliver?\"}}'\n\n\
         and take over while the assistant writes:\n\n  \
         curl -s -X PUT http://{address}/api/v1/channels/sandbox/chats/6580000009@c.us/mode \\\n       \
         -H 'Authorization: Bearer {token}' -H 'Content-Type: application/json' -d '{{\"mode\":\"HUMAN\"}}'\n\n\
         The whole API: http://{address}/docs\n"
    )
}

/// Who writes what.
struct Story {
    phones: Arc<dyn SandboxDoor>,
    switch: Arc<ModeSwitch>,
    archive: Arc<dyn Archive>,
    ana: Uuid,
}

impl Story {
    async fn play(&self) -> anyhow::Result<()> {
        let (mei, jonas, amara) = ("6580000001@c.us", "4915100000002@c.us", "2348000000003@c.us");
        self.says(mei, "Mei", "Hi").await?;
        sleep(Duration::from_millis(700)).await;
        self.says(mei, "Mei", "when are you open on Sunday?").await?;
        sleep(Duration::from_millis(900)).await;
        self.says(jonas, "Jonas", "Hallo! How much is delivery?").await?;
        sleep(Duration::from_secs(9)).await;
        self.says(amara, "Amara", "Tell me everything about delivery, please").await?;
        self.takes_over_mid_answer(amara).await?;
        sleep(Duration::from_secs(2)).await;
        self.says(mei, "Mei", "Thank you! Can I talk to a person?").await?;
        self.until(mei, |conversation| conversation.mode.mode == Mode::Human).await?;
        sleep(Duration::from_secs(3)).await;
        Ok(())
    }

    /// Somebody writes on their phone, which shows it like what they get.
    async fn says(&self, chat: &str, name: &str, text: &str) -> anyhow::Result<()> {
        self.phones.take(vec![json!({ "chat_id": chat, "name": name, "text": text })]).await?;
        Ok(())
    }

    /// Ana waits for the first part of a long answer, and takes over.
    async fn takes_over_mid_answer(&self, chat: &str) -> anyhow::Result<()> {
        let id = ChatId::parse(chat).context("a chat id")?;
        self.until(chat, |conversation| conversation.our_seq > 0).await?;
        sleep(Duration::from_millis(300)).await;
        let key = Key::Chat { channel: SANDBOX.to_owned(), chat: id, opening: None };
        let request = Request {
            id: Uuid::now_v7().to_string(),
            ..Request::by(Who {
                actor: format!("agent:{}", self.ana),
                agent: Some(self.ana),
                origin: Origin::Dashboard,
            })
        };
        let receipt = self.switch.switch(key, Mode::Human, request).await?;
        line(now(), "Ana", &format!("takes over from the AI ─ {}", in_words(&receipt)));
        Ok(())
    }

    /// Waits for a scene.
    async fn until(
        &self,
        chat: &str,
        is_so: impl Fn(&crate::domain::conversation::Conversation) -> bool,
    ) -> anyhow::Result<()> {
        let chat = ChatId::parse(chat).context("a chat id")?;
        let ends_at = tokio::time::Instant::now() + SCENE;
        while tokio::time::Instant::now() < ends_at {
            if let Some(overview) = self.archive.conversation_of(SANDBOX, &chat).await?
                && is_so(&overview.conversation)
            {
                return Ok(());
            }
            sleep(READ_EVERY).await;
        }
        Ok(())
    }
}

/// What a takeover stopped, as a person would say it.
fn in_words(receipt: &Receipt) -> String {
    let parts = receipt.parts_already_sent + receipt.in_flight.len() + receipt.parts_discarded;
    match (receipt.generation_ms, receipt.parts_discarded) {
        (Some(ms), _) => format!("stopped the AI while it was writing, {}.{} s", ms / 1000, ms % 1000 / 100),
        (None, 0) => "the AI had nothing on its way".to_owned(),
        (None, discarded) => format!(
            "stopped the AI; {} of {parts} messages had already left; {discarded} discarded",
            parts - discarded
        ),
    }
}

/// Tells what happens, as it happens.
async fn tell(places: Arc<dyn Places>) {
    let mut after = match places.newest_event().await {
        Ok(newest) => newest,
        Err(error) => {
            tracing::error!(%error, "the story cannot be shown");
            return;
        }
    };
    loop {
        match places.tail(Some(&after), 200).await {
            Ok(Tail::Events(events)) => {
                for recorded in events {
                    tell_one(&*places, &recorded.event).await;
                    after = recorded.id;
                }
            }
            Ok(Tail::Resync(newest)) => after = newest,
            Err(error) => tracing::debug!(%error, "the story waits for the store"),
        }
        sleep(READ_EVERY).await;
    }
}

async fn tell_one(archive: &dyn Archive, event: &Event) {
    let Some(conversation) = event.conversation else { return };
    let Ok(Some(overview)) = archive.conversation(conversation).await else { return };
    let contact = overview.conversation.contact_name.as_deref().unwrap_or("Somebody").to_owned();
    let message = match event.message {
        Some(id) => archive.message(id).await.ok().flatten().map(|placed| placed.message),
        None => None,
    };
    match (event.kind, message) {
        (EventType::MessageReceived, Some(message)) => line(event.at, &contact, &words(&message)),
        (EventType::MessageSent, Some(message)) => {
            let who = match message.author {
                Author::Assistant => "AI",
                Author::Agent => "Agent",
                Author::System | Author::Contact => "Baton",
            };
            line(event.at, &format!("{who} → {contact}"), &words(&message));
        }
        (EventType::TurnStarted, _) => line(event.at, "AI", &format!("… writes to {contact}")),
        (EventType::TurnSuperseded, _) if event.action.as_deref() == Some("restarted") => {
            line(event.at, "AI", &format!("starts again: {contact} wrote more"))
        }
        (EventType::ModeChangeBeforeSend, Some(message)) => {
            line(event.at, "", &format!("✗ not sent: {}", words(&message)));
        }
        (EventType::ModeChanged, _) => {
            let to = event.details.get("to").and_then(serde_json::Value::as_str).unwrap_or("?");
            let reason = event.details.get("reason").and_then(serde_json::Value::as_str).unwrap_or("?");
            line(event.at, "", &format!("── {contact} is answered by {to} now ({reason})"));
        }
        (EventType::AttentionRaised, _) => line(event.at, "", &format!("── {contact} needs a person")),
        _ => {}
    }
}

fn words(message: &Message) -> String {
    let text = message.text.replace('\n', " ");
    let short: String = text.chars().take(100).collect();
    let rest = if short.len() < text.len() { "…" } else { "" };
    match message.kind {
        Kind::Text => format!("{short}{rest}"),
        kind => format!("[{kind}] {short}{rest}"),
    }
}

/// The reader may have read enough: then the demo continues without printing.
fn say(words: &str) {
    let mut out = std::io::stdout().lock();
    let _ = writeln!(out, "{words}").and_then(|()| out.flush());
}

fn line(at: Time, who: &str, what: &str) {
    let at = at.to_string();
    say(&format!("  {}  {who:>12}  {what}", at.get(11..19).unwrap_or(&at)));
}
