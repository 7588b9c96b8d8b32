//! What a channel's settings say, as the rules read them. Defaults are those of the contract.

use std::sync::Arc;

use jiff::tz::TimeZone;

use super::{brake::Brake, hours::Hours, retry, tool::Tool, words::words};

/// A webhook token of fewer characters can be guessed.
pub const WEBHOOK_TOKEN_MIN: usize = 12;

words! {
    /// What to do with several messages in a row.
    BurstPolicy {
        /// As `collect`, but a newer message restarts the generation.
        Interrupt = "interrupt",
        /// Wait for quiet, answer all together.
        Collect = "collect",
        /// An answer for each.
        Queue = "queue",
    }
}

words! {
    /// What to do with groups.
    Groups {
        /// Store them, answer nothing.
        Ignore = "ignore",
        /// Answer as anyone.
        Answer = "answer",
    }
}

words! {
    /// When the contact's messages get their blue ticks.
    ReadReceipts {
        /// When the assistant begins a turn, or an agent reads.
        Answer = "answer",
        /// When an agent reads.
        Agent = "agent",
        /// Never.
        Never = "never",
    }
}

words! {
    /// What becomes of a send whose fate stays unknown.
    UnknownSend {
        /// It is held for a person.
        Hold = "hold",
        /// It is sent again, once, after the provider's queue and journal were read, cover the time, and do not have it.
        Resend = "resend",
    }
}

/// The rules of one channel. A step is given the policy in force when it begins.
#[derive(Debug, Clone, PartialEq)]
pub struct Policy {
    /// Whether there is a model at all.
    pub has_model: bool,
    /// Several messages in a row.
    pub burst: BurstPolicy,
    /// Quiet for this long, and the burst is over.
    pub burst_quiet_ms: i64,
    /// Longest wait after its first message.
    pub burst_max_ms: i64,
    /// A burst of this many messages is over at once.
    pub burst_max_messages: usize,
    /// More messages of one contact in a minute are a flood; 0 = no limit.
    pub flood_per_minute: usize,
    /// Typing time of one character.
    pub typing_ms_per_char: i64,
    /// Up to this much more, at random.
    pub typing_jitter_ms: i64,
    /// At most this.
    pub typing_max_ms: i64,
    /// Replies longer than this are split at paragraphs; 0 = never.
    pub split_chars: usize,
    /// Into at most this many parts.
    pub split_parts: usize,
    /// Longest single text, in UTF-16 units.
    pub message_max_chars: usize,
    /// Least time between two sends of the channel.
    pub send_interval_ms: i64,
    /// Longest pause between two questions to a gateway that is silent.
    pub breaker_open_ms: i64,
    /// Sends at the provider at once.
    pub send_in_flight: usize,
    /// Attempts of a send that certainly failed.
    pub send_attempts: i32,
    /// A send whose fate stays unknown.
    pub unknown_send: UnknownSend,
    /// One request to the provider.
    pub provider_timeout_ms: i64,
    /// Attempts of a generation.
    pub ai_attempts: i32,
    /// First wait between attempts; doubles.
    pub retry_base_ms: i64,
    /// Messages of context.
    pub ai_history: usize,
    /// Answers in an hour without a person; then a person is called. 0 = no limit.
    pub reply_cap: usize,
    /// Lease of a conversation.
    pub lock_ttl_ms: i64,
    /// HUMAN returns to AI this long after the last human message; 0 = only when somebody gives it back.
    pub human_hold_ms: i64,
    /// A contact who waits this long in HUMAN raises attention; 0 = never.
    pub human_overdue_ms: i64,
    /// Follow up after this long a silence; 0 = only when scheduled.
    pub follow_up_after_ms: Vec<i64>,
    /// The text of automatic follow-ups.
    pub follow_up_text: Option<String>,
    /// Later than this, a follow-up is withheld.
    pub follow_up_late_ms: i64,
    /// The same text within this time: withheld; 0 = never.
    pub repeat_ms: i64,
    /// No follow-up is claimed inside.
    pub quiet_hours: Option<Arc<Hours>>,
    /// A ceiling of cost a day, in the unit of the prices; None: there is none.
    pub ai_spend_per_day: Option<f64>,
    /// It is reached today. No setting: what is spent is counted as it goes.
    pub is_spent: bool,
    /// What holds follow-ups back. No setting either: it is latched and released as it goes.
    pub brake: Brake,
    /// Outside, people answer; None: the assistant always does.
    pub ai_hours: Option<Arc<Hours>>,
    /// Outside, nobody is there to take over; None: somebody always is.
    pub handover_hours: Option<Arc<Hours>>,
    /// A message older than this goes to a person; 0 = never.
    pub stale_ms: i64,
    /// Sent when the model fails for good.
    pub fallback_text: Option<String>,
    /// Sent when the assistant hands over without words.
    pub handover_text: Option<String>,
    /// With these the contact asks for a person.
    pub handover_words: Vec<String>,
    /// With these the contact opts out of follow-ups.
    pub opt_out_words: Vec<String>,
    /// Sent to who opts out.
    pub opt_out_text: Option<String>,
    /// Sent for what cannot be read.
    pub unreadable_text: Option<String>,
    /// Voice notes are listened to before the model reads them.
    pub transcribes: bool,
    /// Pictures are looked at before the model reads them.
    pub describes: bool,
    /// Groups.
    pub groups: Groups,
    /// Blue ticks.
    pub read_receipts: ReadReceipts,
    /// While the model is unavailable, an identical question gets the answer it had.
    pub cached_answers: bool,
    /// Share of new conversations that start in AI.
    pub rollout_percent: u8,
    /// New conversations begin in HUMAN with suggestions.
    pub drafting: bool,
    /// The model's name.
    pub ai_model: String,
    /// What it may ask of the business.
    pub tools: Arc<[Tool]>,
    /// The system prompt, in which `{today}` and `{now}` stand for the moment.
    pub prompt: Arc<str>,
    /// The zone in which that moment is shown.
    pub zone: TimeZone,
}

impl Policy {
    /// Wait before the next attempt of a send or of a generation; see [`retry::wait_ms`].
    pub fn retry_ms(&self, attempt: i32, jitter: f64, at_least_ms: Option<i64>) -> i64 {
        retry::wait_ms(self.retry_base_ms, attempt, retry::CAP_MS, jitter, at_least_ms)
    }
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            has_model: true,
            burst: BurstPolicy::Interrupt,
            burst_quiet_ms: 3_000,
            burst_max_ms: 20_000,
            burst_max_messages: 20,
            flood_per_minute: 120,
            typing_ms_per_char: 30,
            typing_jitter_ms: 500,
            typing_max_ms: 8_000,
            split_chars: 600,
            split_parts: 4,
            message_max_chars: 4_096,
            send_interval_ms: 500,
            breaker_open_ms: 30_000,
            send_in_flight: 1,
            send_attempts: 8,
            unknown_send: UnknownSend::Hold,
            provider_timeout_ms: 10_000,
            ai_attempts: 3,
            retry_base_ms: 1_000,
            ai_history: 30,
            reply_cap: 40,
            lock_ttl_ms: 30_000,
            human_hold_ms: 0,
            human_overdue_ms: 300_000,
            follow_up_after_ms: Vec::new(),
            follow_up_text: None,
            follow_up_late_ms: 3_600_000,
            repeat_ms: 300_000,
            quiet_hours: None,
            ai_spend_per_day: None,
            is_spent: false,
            brake: Brake::default(),
            ai_hours: None,
            handover_hours: None,
            stale_ms: 21_600_000,
            fallback_text: None,
            handover_text: None,
            handover_words: Vec::new(),
            opt_out_words: vec!["stop".to_owned(), "unsubscribe".to_owned()],
            opt_out_text: None,
            unreadable_text: None,
            transcribes: false,
            describes: false,
            groups: Groups::Ignore,
            read_receipts: ReadReceipts::Answer,
            cached_answers: false,
            rollout_percent: 100,
            drafting: false,
            ai_model: String::new(),
            tools: Arc::default(),
            prompt: Arc::from(""),
            zone: TimeZone::UTC,
        }
    }
}
