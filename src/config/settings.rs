//! Every setting: one field each, with its default, its bounds and the sentence that `--help` shows.
//!
//! A field's name is its key in `baton.toml`; its flag and its variable (`BATON_…`) follow from it.

use std::{net::SocketAddr, path::PathBuf};

use clap::ArgAction;

use super::{
    secrets::{Location, Passphrase, Secret, SecretKeys, Secrets, api_token, database, redis, service},
    sources::Given,
    values::{
        AiProvider, HOUR, Language, LogFormat, MINUTE, Origins, Receive, Waits, Words, YEAR, base_url,
        instance, money, socket, switch, text, time_zone, whole,
    },
};
use crate::domain::{
    conversation::LEASED_AT_MOST_MS,
    hosts::Hosts,
    network::Networks,
    policy::{BurstPolicy, Groups, ReadReceipts, UnknownSend},
    price::Prices,
};

/// Where Green API keeps files: on its own hosts, and in the stores that it rents, one for each pool of accounts. There anybody
/// may rent, under names that begin otherwise.
const MEDIA_HOSTS: &str = "*.greenapi.com,*.green-api.com,sw-media.storage.yandexcloud.net,\
    sw-media-*.storage.yandexcloud.net,do-media-*.fra1.digitaloceanspaces.com";

/// Which heading of `--help` begins at which field.
pub(super) const HEADINGS: &[(&str, &str)] = &[
    ("listen", "Server"),
    ("database_url", "Storage and coordination"),
    ("green_api_url", "Green API"),
    ("webhook_hosts", "Outgoing webhooks"),
    ("ai_provider", "AI"),
    ("burst", "Several messages in a row"),
    ("typing_ms_per_char", "Rhythm of answers"),
    ("send_interval_ms", "Sending"),
    ("human_hold_ms", "People"),
    ("follow_up_after_ms", "Follow-ups"),
    ("fallback_text", "Texts"),
    ("log", "Logs and traces"),
];

/// Everything that can be set, read and checked. `…_ms` are milliseconds.
#[derive(Debug, Clone, clap::Args)]
pub struct Settings {
    /// Address and port to listen on
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8080", value_parser = socket)]
    pub listen: SocketAddr,

    /// How the provider reaches us from outside, such as `https://baton.example.com`
    #[arg(long, value_name = "URL", value_parser = base_url)]
    pub public_url: Option<String>,

    /// Proxies in front of us, whose X-Forwarded-For counts: addresses or blocks such as 10.0.0.0/8, comma-separated
    #[arg(long, value_name = "NETWORKS")]
    pub trusted_proxies: Option<Networks>,

    /// Origins of pages of one's own that use the API with a token, such as `https://crm.example`; comma-separated
    #[arg(long, value_name = "ORIGINS")]
    pub cors_origins: Option<Origins>,

    /// A bearer token with the admin role, at least 20 characters
    #[arg(long, value_name = "TOKEN", value_parser = api_token)]
    pub api_token: Option<Secret>,

    /// On SIGTERM: finish what is in hand for this long (ms), give the rest back
    #[arg(long, value_name = "MS", default_value = "10000", value_parser = whole::<i64>(0, 10 * MINUTE))]
    pub grace_ms: i64,

    /// How often (ms) to sweep the database for work whose wake-up was lost
    #[arg(long, value_name = "MS", default_value = "1000", value_parser = whole::<i64>(50, MINUTE))]
    pub sweep_ms: i64,

    /// Time zone of hours that name none, and of statistics by day
    #[arg(long, value_name = "ZONE", default_value = "UTC", value_parser = time_zone)]
    pub time_zone: String,

    /// Language of the dashboard for people who have not chosen one, of the built-in prompt where the customer's cannot be
    /// determined, and of the descriptions of pictures: en, es, pt or ru. Unset: the dashboard goes by the browser, and
    /// pictures are described in English
    #[arg(long, value_name = "LANGUAGE")]
    pub language: Option<Language>,

    /// The channel `sandbox`, a contact played by hand: on or off (`demo`: on)
    #[arg(long, value_name = "ON|OFF", action = ArgAction::Set, num_args = 0..=1, require_equals = true,
          default_value = "off", default_missing_value = "on", value_parser = switch)]
    pub sandbox: bool,

    /// sqlite://FILE, or postgres://USER:PASSWORD@HOST/DATABASE
    #[arg(long, value_name = "URL", default_value = "sqlite://baton.db", value_parser = database)]
    pub database_url: Location,

    /// Connections to the database
    #[arg(long, value_name = "N", default_value = "16", value_parser = whole::<u32>(2, 1_000))]
    pub database_pool: u32,

    /// Messages, turns, drafts, events and dead letters older than this many days are removed, and conversations that are
    /// empty after that; 0 = everything is kept
    #[arg(long, value_name = "DAYS", default_value = "0", value_parser = whole::<i64>(0, 36_500))]
    pub retention_days: i64,

    /// Encrypts channel credentials at rest: 64 hexadecimal digits, or two such, comma-separated (the first encrypts,
    /// both decrypt). SQLite makes one next to its file; PostgreSQL requires it
    #[arg(long, value_name = "HEX")]
    pub secret_key: Option<SecretKeys>,

    /// Locks the secret key in a backup that takes it along, at least 12 characters. Unset: asked for on the terminal
    #[arg(long, value_name = "WORDS")]
    pub backup_passphrase: Option<Passphrase>,

    /// Coordinates several instances: redis:// or rediss://, comma-separated for a cluster. Unset: one instance only
    #[arg(long, value_name = "URL", value_parser = redis)]
    pub redis_url: Option<Location>,

    /// Before every key in Redis. Unset: baton:{installation id}:
    #[arg(long, value_name = "TEXT")]
    pub redis_prefix: Option<String>,

    /// How long (ms) a conversation is leased to the instance that works on it; renewed at a third of it
    #[arg(long, value_name = "MS", default_value = "30000", value_parser = whole::<i64>(500, LEASED_AT_MOST_MS))]
    pub lock_ttl_ms: i64,

    /// How long (ms) Redis remembers a webhook; the database remembers for good
    #[arg(long, value_name = "MS", default_value = "300000", value_parser = whole::<i64>(1_000, 24 * HOUR))]
    pub dedup_ttl_ms: i64,

    /// Green API's address, the `apiUrl` of its console
    #[arg(long, value_name = "URL", default_value = "https://api.green-api.com", value_parser = base_url)]
    pub green_api_url: String,

    /// The instance of the channel named `default`
    #[arg(long, value_name = "ID", value_parser = instance)]
    pub green_api_instance: Option<String>,

    /// Its token
    #[arg(long, value_name = "TOKEN")]
    pub green_api_token: Option<Secret>,

    /// What its webhooks must carry; two, comma-separated, while it is being changed
    #[arg(long, value_name = "TOKEN")]
    pub green_api_webhook_token: Option<Secrets>,

    /// webhook (Green API posts to us) or poll (we fetch; no public address needed, and no webhookUrl may be set)
    #[arg(long, value_name = "HOW", default_value = "webhook")]
    pub green_api_receive: Receive,

    /// Time limit (ms) of one request
    #[arg(long, value_name = "MS", default_value = "10000", value_parser = whole::<i64>(100, 2 * MINUTE))]
    pub green_api_timeout_ms: i64,

    /// Hosts from which files of messages may be fetched, comma-separated; `*.` before a name: everything below it. none:
    /// nothing is fetched. No other host is ever asked, redirects included; an address inside the network only if it is named
    #[arg(long, value_name = "HOSTS", default_value = MEDIA_HOSTS)]
    pub media_hosts: Hosts,

    /// Hosts that webhook endpoints may name wherever they are, by http too, comma-separated: addresses, names, or `*.` and a
    /// name, each with a port or with any. All others only by https, and only at addresses that anyone may reach
    #[arg(long, value_name = "HOSTS", default_value = "none")]
    pub webhook_hosts: Hosts,

    /// openai (any server that speaks its chat completions), anthropic (its Messages API), http (a service of your own),
    /// scripted, or none (every conversation begins with people).
    /// Unset: openai if a key or base address is set, else none (`demo`: scripted)
    #[arg(long, value_name = "NAME")]
    pub ai_provider: Option<AiProvider>,

    /// Where the model is: requests go to {base}/chat/completions; for anthropic to {base}/v1/messages; for http to this
    /// very address. Unset, but with a key: `https://api.openai.com/v1`; for anthropic: `https://api.anthropic.com`
    #[arg(long, value_name = "URL", value_parser = service)]
    pub ai_base_url: Option<Location>,

    /// The model service's key; for http the secret that signs requests, whsec_ and the base64 of at least 24 bytes
    #[arg(long, value_name = "KEY")]
    pub ai_api_key: Option<Secret>,

    /// The model's name; http needs none
    #[arg(long, value_name = "NAME", value_parser = text)]
    pub ai_model: Option<String>,

    /// The model that transcribes voice notes, such as whisper-1, at {base}/audio/transcriptions (openai only). Unset:
    /// they are not transcribed
    #[arg(long, value_name = "NAME", value_parser = text)]
    pub ai_transcribe: Option<String>,

    /// The model that describes pictures, at the same address (openai and anthropic only): it must be one that reads images.
    /// Unset: the assistant only knows that there is a picture, and its caption
    #[arg(long, value_name = "NAME", value_parser = text)]
    pub ai_describe: Option<String>,

    /// A file with the system prompt. Unset: a short built-in one
    #[arg(long, value_name = "FILE")]
    pub ai_prompt_file: Option<PathBuf>,

    /// A file with tools of your own that the model may call, as JSON: a list of name, description, parameters and perhaps a
    /// url to ask. Unset: Baton's three
    #[arg(long, value_name = "FILE")]
    pub ai_tools_file: Option<PathBuf>,

    /// The secret that signs what is asked of those with a url, whsec_ and the base64 of at least 24 bytes
    #[arg(long, value_name = "KEY")]
    pub ai_tools_secret: Option<Secret>,

    /// Messages of context
    #[arg(long, value_name = "N", default_value = "30", value_parser = whole::<usize>(1, 200))]
    pub ai_history: usize,

    /// An attempt fails when the model sends nothing for this long (ms)
    #[arg(long, value_name = "MS", default_value = "20000", value_parser = whole::<i64>(100, HOUR))]
    pub ai_idle_ms: i64,

    /// An attempt fails when it takes longer than this (ms)
    #[arg(long, value_name = "MS", default_value = "90000", value_parser = whole::<i64>(100, HOUR))]
    pub ai_total_ms: i64,

    /// Attempts of a generation before a person is called
    #[arg(long, value_name = "N", default_value = "3", value_parser = whole::<i32>(1, 20))]
    pub ai_attempts: i32,

    /// First wait (ms) before a failed generation or send is tried again; doubles, with jitter
    #[arg(long, value_name = "MS", default_value = "1000", value_parser = whole::<i64>(1, MINUTE))]
    pub retry_base_ms: i64,

    /// Rounds of tool calls in one turn; 0 = no tools are offered
    #[arg(long, value_name = "N", default_value = "4", value_parser = whole::<usize>(0, 20))]
    pub ai_tool_rounds: usize,

    /// Generations at once on this instance
    #[arg(long, value_name = "N", default_value = "1000", value_parser = whole::<usize>(1, 100_000))]
    pub ai_concurrency: usize,

    /// Generations begun in a minute, over all instances; 0 = no limit. What waits keeps its lane
    #[arg(long, value_name = "N", default_value = "0", value_parser = whole::<i64>(0, 100_000))]
    pub ai_per_minute: i64,

    /// What models cost for a million tokens, read and written, such as gpt-4o-mini=0.15/0.60; without a name, every other model
    #[arg(long, value_name = "PRICES")]
    pub ai_prices: Option<Prices>,

    /// Ceiling of cost a channel and day, in the unit of the prices; then people are called until the next day
    #[arg(long, value_name = "MONEY", value_parser = money)]
    pub ai_spend_per_day: Option<f64>,

    /// Answers in one conversation in an hour without a person; then a person is called. Also the number of drafts that nobody
    /// asked for; then there are no more. 0 = no limit
    #[arg(long, value_name = "N", default_value = "40", value_parser = whole::<usize>(0, 1_000_000))]
    pub reply_cap: usize,

    /// Conversations in a row whose generations fail before the breaker opens and the model is left alone
    #[arg(long, value_name = "N", default_value = "5", value_parser = whole::<u32>(1, 1_000))]
    pub breaker_failures: u32,

    /// How long (ms) the breaker stays open before one trial
    #[arg(long, value_name = "MS", default_value = "30000", value_parser = whole::<i64>(100, HOUR))]
    pub breaker_open_ms: i64,

    /// While the model is left alone, a known question gets the answer that it had within 24 hours: on or off. Only one
    /// that concerns nobody in particular, or of the same conversation
    #[arg(long, value_name = "ON|OFF", action = ArgAction::Set, num_args = 0..=1, require_equals = true,
          default_value = "off", default_missing_value = "on", value_parser = switch)]
    pub cached_answers: bool,

    /// interrupt (a newer message restarts the answer), collect (wait for quiet, answer all) or queue (answer each)
    #[arg(long, value_name = "POLICY", default_value = "interrupt")]
    pub burst: BurstPolicy,

    /// A burst is over when the contact has been quiet for this long (ms)
    #[arg(long, value_name = "MS", default_value = "3000", value_parser = whole::<i64>(0, HOUR))]
    pub burst_quiet_ms: i64,

    /// Longest wait (ms) after its first message
    #[arg(long, value_name = "MS", default_value = "20000", value_parser = whole::<i64>(0, HOUR))]
    pub burst_max_ms: i64,

    /// A burst of this many messages is over at once
    #[arg(long, value_name = "N", default_value = "20", value_parser = whole::<usize>(1, 1_000))]
    pub burst_max_messages: usize,

    /// More messages of one contact in a minute are stored, and answered together at most once a minute; 0 = no limit
    #[arg(long, value_name = "N", default_value = "120", value_parser = whole::<usize>(0, 1_000))]
    pub flood_per_minute: usize,

    /// A message older than this (ms) when its turn comes goes to a person; 0 = never
    #[arg(long, value_name = "MS", default_value = "21600000", value_parser = whole::<i64>(0, YEAR))]
    pub stale_ms: i64,

    /// Messages in groups: ignore (store only) or answer
    #[arg(long, value_name = "WHAT", default_value = "ignore")]
    pub groups: Groups,

    /// Delay before each part (ms a character), less the time that the AI took; all three 0 = none
    #[arg(long, value_name = "MS", default_value = "30", value_parser = whole::<i64>(0, 10_000))]
    pub typing_ms_per_char: i64,

    /// Up to this much more (ms), at random
    #[arg(long, value_name = "MS", default_value = "500", value_parser = whole::<i64>(0, MINUTE))]
    pub typing_jitter_ms: i64,

    /// Longest delay (ms)
    #[arg(long, value_name = "MS", default_value = "8000", value_parser = whole::<i64>(0, 10 * MINUTE))]
    pub typing_max_ms: i64,

    /// Longer replies are split at paragraphs; 0 = never
    #[arg(long, value_name = "N", default_value = "600", value_parser = whole::<usize>(0, 20_000))]
    pub split_chars: usize,

    /// Into at most this many parts; 0 = never split
    #[arg(long, value_name = "N", default_value = "4", value_parser = whole::<usize>(0, 50))]
    pub split_parts: usize,

    /// Longest single text sent, in UTF-16 units
    #[arg(long, value_name = "N", default_value = "4096", value_parser = whole::<usize>(16, 20_000))]
    pub message_max_chars: usize,

    /// Blue ticks: answer (when the assistant begins, or an agent reads), agent (only then), never
    #[arg(long, value_name = "WHEN", default_value = "answer")]
    pub read_receipts: ReadReceipts,

    /// Least time (ms) between two sends of a channel; 0 = none
    #[arg(long, value_name = "MS", default_value = "500", value_parser = whole::<i64>(0, HOUR))]
    pub send_interval_ms: i64,

    /// Sends of a channel at the provider at once
    #[arg(long, value_name = "N", default_value = "1", value_parser = whole::<usize>(1, 100_000))]
    pub send_in_flight: usize,

    /// Attempts of a send that certainly failed; the wait between them grows to a minute
    #[arg(long, value_name = "N", default_value = "8", value_parser = whole::<i32>(1, 100))]
    pub send_attempts: i32,

    /// A send whose fate stays unknown: hold (for a person), or resend (once, after the provider's queue and journal do
    /// not have it)
    #[arg(long, value_name = "WHAT", default_value = "hold")]
    pub unknown_send: UnknownSend,

    /// Back to AI this long (ms) after the last human message; 0 = only when somebody gives it back
    #[arg(long, value_name = "MS", default_value = "0", value_parser = whole::<i64>(0, YEAR))]
    pub human_hold_ms: i64,

    /// A contact who waits this long (ms) for a person raises attention; 0 = never
    #[arg(long, value_name = "MS", default_value = "300000", value_parser = whole::<i64>(0, YEAR))]
    pub human_overdue_ms: i64,

    /// Longest (ms) that a switch waits for a send in flight
    #[arg(long, value_name = "MS", default_value = "10000", value_parser = whole::<i64>(0, 2 * MINUTE))]
    pub settle_ms: i64,

    /// Share of new conversations that start in AI; the rest start with people and suggestions
    #[arg(long, value_name = "PERCENT", default_value = "100", value_parser = whole::<u8>(0, 100))]
    pub rollout_percent: u8,

    /// With these a contact asks for a person: whole message, any case, comma-separated
    #[arg(long, value_name = "WORDS")]
    pub handover_words: Option<Words>,

    /// When the assistant answers, such as "Mon-Fri 09:00-18:00 Asia/Singapore"; outside, people do. Unset: always
    #[arg(long, value_name = "HOURS", value_parser = text)]
    pub ai_hours: Option<String>,

    /// When people are there to take over; outside, the assistant says when they are back. Unset: always
    #[arg(long, value_name = "HOURS", value_parser = text)]
    pub handover_hours: Option<String>,

    /// Follow up when the contact leaves our last message unanswered this long (ms); several, comma-separated: again, that
    /// long after the previous one; 0 = only when scheduled
    #[arg(long, value_name = "MS", default_value = "0")]
    pub follow_up_after_ms: Waits,

    /// The text of automatic follow-ups; of several, between lines of ---. What has none is written by the assistant
    #[arg(long, value_name = "TEXT", value_parser = text)]
    pub follow_up_text: Option<String>,

    /// A follow-up later than this (ms) is withheld; 0 = never
    #[arg(long, value_name = "MS", default_value = "3600000", value_parser = whole::<i64>(0, YEAR))]
    pub follow_up_late_ms: i64,

    /// A follow-up that repeats something sent within this time (ms) is withheld; 0 = never
    #[arg(long, value_name = "MS", default_value = "300000", value_parser = whole::<i64>(0, YEAR))]
    pub repeat_ms: i64,

    /// No follow-up leaves inside, such as "21:00-08:00 Asia/Singapore"
    #[arg(long, value_name = "HOURS", value_parser = text)]
    pub quiet_hours: Option<String>,

    /// More follow-ups of a channel in a day than this many times the best of the thirty days before (and at least 50): the
    /// others wait until an admin lets them leave; 0 = never
    #[arg(long, value_name = "N", default_value = "3", value_parser = whole::<i64>(0, 1_000))]
    pub proactive_brake: i64,

    /// With these a contact wants no follow-ups any more: whole message, any case, comma-separated
    #[arg(long, value_name = "WORDS", default_value = "stop,unsubscribe")]
    pub opt_out_words: Words,

    /// Sent when the AI fails for good, at most once an hour and conversation
    #[arg(long, value_name = "TEXT", value_parser = text)]
    pub fallback_text: Option<String>,

    /// Sent when the assistant hands over without words of its own
    #[arg(long, value_name = "TEXT", value_parser = text)]
    pub handover_text: Option<String>,

    /// Sent for what cannot be read, at most once an hour and conversation. Unset: a person is called
    #[arg(long, value_name = "TEXT", value_parser = text)]
    pub unreadable_text: Option<String>,

    /// Sent to a contact who opts out
    #[arg(long, value_name = "TEXT", value_parser = text)]
    pub opt_out_text: Option<String>,

    /// error, warn, info, debug or trace; also by place, such as info,baton::flow=debug
    #[arg(long, value_name = "LEVEL", default_value = "info", value_parser = crate::telemetry::levels)]
    pub log: String,

    /// pretty or json. Unset: pretty on a terminal, else json
    #[arg(long, value_name = "FORMAT")]
    pub log_format: Option<LogFormat>,

    /// Where traces go by OTLP over HTTP, such as `http://127.0.0.1:4318`: one for each message of a contact. /v1/traces is
    /// added; headers are those of OTEL_EXPORTER_OTLP_HEADERS. Unset: none are made
    #[arg(long, value_name = "URL", value_parser = service)]
    pub otlp_endpoint: Option<Location>,

    /// What was said, and where: for telling it, and for reading everything again with something changed.
    #[arg(skip)]
    pub(super) given: Given,

    /// Variables that look like settings but are not.
    #[arg(skip)]
    pub(super) unknown: Vec<String>,
}
