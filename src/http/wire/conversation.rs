//! A conversation, and the receipt of a switch.

use serde::Serialize;
use utoipa::ToSchema;
use uuid::Uuid;

use super::{
    At, AttentionWord, Beside, FollowUp, Id, Message, ModeWord, ReasonWord, StatusWord, basic::Word,
};
use crate::{
    domain::{chat::ChatId, conversation::Lease, time::Time},
    flow::{
        archive::{Overview, Said},
        mode_switch,
    },
    http::names::Names,
};

/// One chat on one channel.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Conversation {
    id: Id,
    channel: String,
    /// The chat at the provider, as first seen.
    chat_id: String,
    contact: Contact,
    mode: ModeWord,
    /// Rises with every change of mode.
    mode_version: i64,
    mode_reason: ReasonWord,
    /// Who changed it.
    mode_actor: String,
    mode_changed_at: At,
    /// HUMAN goes back to AI then.
    mode_until: Option<At>,
    /// In HUMAN, the assistant suggests.
    drafting: bool,
    status: StatusWord,
    assignee: Option<Person>,
    labels: Vec<String>,
    /// Messages of the contact that no agent has read.
    unread: i64,
    /// Since when the contact waits for our side.
    waiting_since: Option<At>,
    /// A person is needed.
    attention: Option<Attention>,
    activity: Activity,
    activity_since: Option<At>,
    /// The instance that works on it.
    activity_owner: Option<String>,
    queue: Queue,
    /// Other ids of the same chat.
    aliases: Vec<String>,
    /// It was closed: its person was found to be that of this conversation, in which it continues.
    merged_into: Option<Id>,
    /// The pending follow-up.
    follow_up: Option<FollowUp>,
    snoozed_until: Option<At>,
    /// The contact wants no follow-ups.
    opted_out: bool,
    last_message: Option<Message>,
    created_at: At,
    updated_at: At,
    /// With `q`: the newest message in which the words were found; null: they are in the name or the phone.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Match>)]
    r#match: Option<Option<Match>>,
}

/// What a search found.
#[derive(Debug, Serialize, ToSchema)]
struct Match {
    message_id: Id,
    /// Its place in the conversation.
    seq: i64,
    /// A piece of its text, around the words.
    snippet: String,
}

/// The customer.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Contact {
    name: Option<String>,
    phone: Option<String>,
}

/// An agent.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Person {
    id: Id,
    name: String,
}

/// An agent by the name they have now.
pub(super) fn person(agent: Option<Uuid>, names: &Names) -> Option<Person> {
    agent.map(|id| Person { id: Id(id), name: names.of(id) })
}

#[derive(Debug, Serialize, ToSchema)]
struct Attention {
    reason: AttentionWord,
    since: At,
}

#[derive(Debug, Serialize, ToSchema)]
struct Queue {
    /// Messages of the contact that wait for an answer.
    inbox: i64,
    /// Messages owed to the contact.
    outbox: i64,
}

/// What is happening in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum Activity {
    Idle,
    Waiting,
    Generating,
    Sending,
}

impl Conversation {
    /// As it stands, with the names that agents have now.
    pub(crate) fn of(overview: Overview, names: &Names) -> Self {
        let owed = overview.queued + overview.sending;
        let it = overview.conversation;
        let lease = it.live_lease(overview.read_at).cloned();
        let (activity, since) = match &lease {
            Some(lease) => (Activity::Generating, began(lease)),
            None if owed > 0 => (Activity::Sending, None),
            None if overview.inbox > 0 => (Activity::Waiting, it.waiting_since),
            None => (Activity::Idle, None),
        };
        Self {
            id: Id(it.id),
            chat_id: it.chat.to_string(),
            contact: Contact {
                name: it.contact_name,
                phone: it.chat.phone().or_else(|| overview.aliases.iter().find_map(ChatId::phone)),
            },
            channel: it.channel,
            mode: Word(it.mode.mode),
            mode_version: it.mode.version,
            mode_reason: Word(it.mode.reason),
            mode_actor: it.mode.actor,
            mode_changed_at: At(it.mode.changed_at),
            mode_until: it.mode.until.map(At),
            drafting: it.drafting,
            status: Word(it.status),
            assignee: person(it.assignee, names),
            labels: overview.labels,
            unread: it.unread,
            waiting_since: it.waiting_since.map(At),
            attention: it
                .attention
                .map(|call| Attention { reason: Word(call.reason), since: At(call.since) }),
            activity,
            activity_since: since.map(At),
            activity_owner: lease.map(|lease| lease.owner),
            queue: Queue { inbox: overview.inbox, outbox: owed },
            aliases: overview.aliases.iter().map(ToString::to_string).collect(),
            merged_into: it.memo.merged_into.map(Id),
            follow_up: overview.follow_up.map(|follow_up| FollowUp::of(it.id, follow_up)),
            snoozed_until: it.snoozed_until.map(At),
            opted_out: it.opted_out,
            // What was reacted to it came after it, and would be the last message.
            last_message: overview
                .last_message
                .map(|message| Message::of(it.id, message, names, &Beside::default())),
            created_at: At(it.created_at),
            updated_at: At(it.updated_at),
            r#match: None,
        }
    }

    /// As a search shows it.
    pub(crate) fn found(self, said: Option<Said>) -> Self {
        let shown = |said: Said| Match { message_id: Id(said.message), seq: said.seq, snippet: said.snippet };
        Self { r#match: Some(said.map(shown)), ..self }
    }
}

/// When a turn began: its id is a UUID of version 7, made at that moment.
fn began(lease: &Lease) -> Option<Time> {
    let (seconds, nanos) = lease.turn.get_timestamp()?.to_unix();
    Some(Time::from_seconds(i64::try_from(seconds).ok()?).plus_ms(i64::from(nanos / 1_000_000)))
}

/// What a switch did.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Receipt {
    conversation_id: Id,
    mode: ModeWord,
    mode_version: i64,
    /// The mode was another before.
    changed: bool,
    generation_cancelled: bool,
    /// Parts of the current reply that had left.
    parts_already_sent: usize,
    /// Messages of the machine that were withdrawn.
    parts_discarded: usize,
    follow_up_cancelled: bool,
    /// Nothing that the assistant wrote before can leave any more.
    settled: bool,
    /// Ids of messages that may have reached the provider, or still may.
    in_flight: Vec<Id>,
    /// Ids of messages that the provider has and has not sent yet.
    at_provider: Vec<Id>,
    /// For how long the cancelled generation had been running.
    generation_ms: Option<i64>,
    /// A turn answers now.
    answering: bool,
    mode_until: Option<At>,
    /// Who holds the conversation now.
    assignee: Option<Person>,
}

impl Receipt {
    /// Of a switch, with the names that agents have now.
    pub(crate) fn of(receipt: mode_switch::Receipt, names: &Names) -> Self {
        let it = receipt.conversation;
        Self {
            conversation_id: Id(it.id),
            mode: Word(it.mode.mode),
            mode_version: it.mode.version,
            changed: receipt.changed,
            generation_cancelled: receipt.generation_cancelled,
            parts_already_sent: receipt.parts_already_sent,
            parts_discarded: receipt.parts_discarded,
            follow_up_cancelled: receipt.follow_up_cancelled,
            settled: receipt.settled,
            in_flight: receipt.in_flight.into_iter().map(Id).collect(),
            at_provider: receipt.at_provider.into_iter().map(Id).collect(),
            generation_ms: receipt.generation_ms,
            answering: receipt.answering,
            mode_until: it.mode.until.map(At),
            assignee: person(it.assignee, names),
        }
    }
}
