//! WhatsApp through Green API. In: webhooks of one account, texts to send. Out: what the webhooks say in our words, and
//! what became of each text. The gateway's own words, shapes and spellings end here.

use std::{fmt, sync::Mutex, time::Duration};

use async_trait::async_trait;
use reqwest::Method;
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::{
    domain::{chat::ChatId, time::duration},
    flow::provider::{
        Arrival, Incoming, LinkCode, LookUp, NoAnswer, Notification, Outgoing, Provider, Sent, Trace,
        Unanswered, Unreadable,
    },
};

mod begin;

mod choices;

mod content;

mod endpoint;

mod fetch;

mod fingerprint;

mod journal;

mod link;

mod look_up;

mod part;

mod spacing;

mod read;

mod send;

mod settings;

mod wording;

#[cfg(test)]
mod tests;

pub use endpoint::BadAddress;
pub use fingerprint::fingerprint_of;
pub use settings::{Difference, Door, SWITCHES, Settings};

use endpoint::{Answer, Endpoint};
use spacing::Spacing;

/// Shortest and longest time for which the gateway shows that someone is typing.
const TYPING_MS: (i64, i64) = (1_000, 20_000);

/// A webhook waits for it.
const OTHER_ID: Duration = Duration::from_secs(if cfg!(test) { 20 } else { 1 });
/// After it had none.
const OTHER_IDS_AGAIN: Duration = Duration::from_secs(30);

/// The state of an account that has none to tell.
const UNKNOWN: &str = "unknown";

/// How often the account is looked at before it is said that the gateway wants less of it.
const LOOKS: usize = 3;

/// Between two looks: a little more than the second in which the gateway answers one.
const LOOK_AGAIN: Duration = Duration::from_millis(if cfg!(test) { 1 } else { 1_100 });

/// Between two questions for the link of a file: the gateway answers five in a second.
const LINKS_APART: Duration = Duration::from_millis(if cfg!(test) { 20 } else { 200 });

/// What it takes to speak for an account.
#[derive(Clone)]
pub struct Account {
    /// The channel's name.
    pub channel: String,
    /// `idInstance`, in digits.
    pub instance: String,
    /// Where the gateway is.
    pub api_url: String,
    /// `apiTokenInstance`.
    pub token: String,
    /// No answer for this long: there is none. Sends bring their own.
    pub timeout: Duration,
}

impl fmt::Debug for Account {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Account")
            .field("channel", &self.channel)
            .field("instance", &self.instance)
            .finish_non_exhaustive()
    }
}

/// One account at Green API.
#[derive(Debug)]
pub struct GreenApi {
    channel: String,
    timeout: Duration,
    endpoint: Endpoint,
    /// Until when a chat of the account shows that someone is typing. A second request, for whatever chat, would queue up
    /// at the gateway behind the first, and real messages of all chats behind both: out of reach of a takeover.
    typing_until: Mutex<Option<Instant>>,
    /// Other ids are not asked for before then: who has just failed to answer would hold up one webhook after the other.
    other_ids_from: Mutex<Option<Instant>>,
    /// When a link of a file may be asked for: a page of old pictures asks for all of them at once.
    links: Spacing,
}

impl GreenApi {
    /// An account, reached by that client: one made by [`http_client`](super::http_client::http_client), which neither
    /// follows nor repeats anything.
    pub fn new(account: &Account, http: reqwest::Client) -> Result<Self, BadAddress> {
        let endpoint = Endpoint::new(http, &account.api_url, account.instance.trim(), &account.token)?;
        let (channel, timeout) = (account.channel.clone(), account.timeout);
        let (typing_until, other_ids_from) = (Mutex::default(), Mutex::default());
        let links = Spacing::apart(LINKS_APART);
        Ok(Self { channel, timeout, endpoint, typing_until, other_ids_from, links })
    }

    /// What the account is set to, held against the token that its webhooks should carry.
    pub async fn settings(&self, expected_token: Option<&str>) -> Result<Settings, Unanswered> {
        let answer = self.look("getSettings").await?;
        Ok(Settings::of(&answer, expected_token))
    }

    /// Makes settings of the account what they should be, which restarts it and takes up to five minutes to hold.
    pub async fn change_settings(&self, differences: &[Difference], door: &Door) -> Result<(), Unanswered> {
        let body = Value::from(settings::changes(differences, door));
        let answer = self.endpoint.ask(Method::POST, "setSettings", Some(&body), self.timeout).await;
        self.answered(answer).map(|_| ())
    }

    /// Asks again when somebody else has asked in the same second: the gateway answers each of these once in one.
    async fn look(&self, method: &str) -> Result<Value, Unanswered> {
        let mut left = LOOKS;
        loop {
            let answer = self.endpoint.ask(Method::GET, method, None, self.timeout).await;
            left -= 1;
            if left == 0 || !answer.as_ref().is_ok_and(|answer| answer.status == 429) {
                return self.answered(answer);
            }
            tokio::time::sleep(LOOK_AGAIN).await;
        }
    }

    fn answered(&self, answer: Result<Answer, String>) -> Result<Value, Unanswered> {
        let answer = fetch::answered(answer)?;
        answer.json().ok_or_else(|| fetch::unanswered("status 200, but not JSON"))
    }

    async fn ask_for_link(&self, body: &Value) -> Result<Answer, String> {
        if !self.links.wait().await {
            return Err("too many links of files are asked for".to_owned());
        }
        self.endpoint.ask(Method::POST, "downloadFile", Some(body), self.timeout).await
    }

    /// Asks for something that may as well not happen.
    async fn wish(&self, method: &'static str, body: &Value) {
        let failure = match self.endpoint.ask(Method::POST, method, Some(body), self.timeout).await {
            Ok(answer) if answer.status == 200 => return,
            Ok(answer) => format!("status {}", answer.status),
            Err(detail) => detail,
        };
        tracing::debug!(channel = %self.channel, method, failure, "the gateway did not do what would have been nice");
    }

    /// Whether typing may be shown now; if so, it counts as shown for so long.
    fn may_show_typing(&self, shown_for: Duration) -> bool {
        let now = Instant::now();
        // A panic elsewhere cannot leave it half changed.
        let mut typing_until = self.typing_until.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let is_free = typing_until.is_none_or(|until| until <= now);
        if is_free {
            *typing_until = Some(now + shown_for);
        }
        is_free
    }
}

#[async_trait]
impl Provider for GreenApi {
    fn read(&self, body: &[u8]) -> Result<Incoming, Unreadable> {
        read::read(&self.channel, self.endpoint.instance(), body)
    }

    async fn send(&self, message: &Outgoing) -> Sent {
        send::send(&self.endpoint, message).await
    }

    async fn show_typing(&self, chat: &ChatId, ms: i64) {
        let ms = ms.clamp(TYPING_MS.0, TYPING_MS.1);
        if self.may_show_typing(duration(ms)) {
            self.wish("sendTyping", &json!({"chatId": chat.as_str(), "typingTime": ms})).await;
        }
    }

    async fn mark_read(&self, chat: &ChatId) {
        self.wish("readChat", &json!({"chatId": chat.as_str()})).await;
    }

    async fn state(&self) -> Result<String, Unanswered> {
        let answer = self.look("getStateInstance").await?;
        Ok(match part::Part::of(&answer).text("stateInstance").trim() {
            // `null` while the account is being created. An empty state is that of an account that nobody has asked yet, and
            // would count as able to send.
            "" => UNKNOWN.to_owned(),
            state => state.to_owned(),
        })
    }

    async fn link_code(&self) -> Result<LinkCode, Unanswered> {
        let answer = self.look("qr").await?;
        Ok(link::code(&self.endpoint, &answer))
    }

    async fn receive(&self, wait: Duration) -> Result<Option<Notification>, Unanswered> {
        fetch::receive(&self.endpoint, wait, self.timeout).await
    }

    async fn acknowledge(&self, receipt: i64) -> Result<(), Unanswered> {
        fetch::acknowledge(&self.endpoint, receipt, self.timeout).await
    }

    async fn journal(&self, minutes: i64) -> Result<Vec<Arrival>, Unanswered> {
        fetch::journal(&self.endpoint, &self.channel, minutes, self.timeout).await
    }

    async fn typed(&self, minutes: i64) -> Result<Vec<Arrival>, Unanswered> {
        let answer = self.endpoint.list("lastOutgoingMessages", Some(minutes), self.timeout).await;
        Ok(look_up::typed(&self.channel, self.endpoint.instance(), &self.answered(answer)?))
    }

    async fn look_up(&self, place: LookUp) -> Result<Vec<Trace>, Unanswered> {
        let (method, minutes) = match place {
            LookUp::Queue => ("showMessagesQueue", None),
            LookUp::Journal { minutes } => ("lastOutgoingMessages", Some(minutes)),
        };
        let answer = self.endpoint.list(method, minutes, self.timeout).await;
        let answer = self.answered(answer)?;
        Ok(match place {
            LookUp::Queue => look_up::queue(&answer),
            LookUp::Journal { .. } => look_up::journal(&answer),
        })
    }

    async fn file_link(&self, chat: &ChatId, message: &str) -> Result<Option<String>, Unanswered> {
        let body = json!({"chatId": chat.as_str(), "idMessage": message});
        let answer = match self.ask_for_link(&body).await {
            // Others ask for this account, too.
            Ok(answer) if answer.status == 429 => {
                tokio::time::sleep(LOOK_AGAIN).await;
                self.ask_for_link(&body).await
            }
            answer => answer,
        };
        if let Ok(answer) = &answer
            && answer.status == 400
        {
            return match send::state_named_in(&answer.words()) {
                Some(state) => Err(fetch::unanswered(&format!("status 400: the account is {state}"))),
                // No message of that chat, or none with a file.
                None => Ok(None),
            };
        }
        let answer = self.answered(answer)?;
        let link = part::Part::of(&answer).text("downloadUrl");
        Ok((!link.is_empty() && !wording::is_mark(link)).then(|| link.to_owned()))
    }

    async fn other_id(&self, chat: &ChatId) -> Result<Option<ChatId>, Unanswered> {
        let from = *self.other_ids_from.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        if from.is_some_and(|from| from > Instant::now()) {
            return Err(fetch::unanswered("not asked so soon after it has not answered"));
        }
        // Of a number it tells the hidden id; of a hidden id, the number at best.
        let number = chat.phone().and_then(|phone| phone.strip_prefix('+')?.parse::<i64>().ok());
        let (method, body) = match number {
            Some(number) => ("checkWhatsapp", json!({ "phoneNumber": number })),
            None => ("getContactInfo", json!({ "chatId": chat.as_str() })),
        };
        let answer = self.endpoint.ask(Method::POST, method, Some(&body), self.timeout.min(OTHER_ID)).await;
        let answer = self.answered(answer).inspect_err(|_| {
            let mut from = self.other_ids_from.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
            *from = Some(Instant::now() + OTHER_IDS_AGAIN);
        })?;
        let other = ChatId::parse(part::Part::of(&answer).text("chatId"));
        Ok(other.filter(|other| chat.may_be_same_person_as(other)))
    }

    async fn queue_length(&self) -> Result<i64, Unanswered> {
        let answer = self.look("getMessagesCount").await?;
        look_up::count(&answer).ok_or_else(|| Unanswered {
            detail: "status 200, but no count".to_owned(),
            no_answer: NoAnswer::Silence,
        })
    }
}
