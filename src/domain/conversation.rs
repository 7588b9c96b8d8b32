//! The facts of one conversation: one chat on one channel.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use uuid::Uuid;

use super::{
    chat::ChatId,
    draft::DraftWish,
    mode::{Mode, ModeState, Reason},
    time::Time,
    tool::Errand,
    words::words,
};

words! {
    /// Where a conversation stands in the agents' work.
    Status {
        /// In work.
        Open = "open",
        /// Put aside until a time.
        Snoozed = "snoozed",
        /// Done; the next message of the contact opens it again.
        Closed = "closed",
    }
}

words! {
    /// Why a person is needed.
    AttentionReason {
        /// The model failed for good.
        AiFailure = "ai_failure",
        /// A message was too old when its turn came.
        Stale = "stale",
        /// The contact asked for a person.
        ContactAsked = "contact_asked",
        /// The assistant handed over.
        AssistantAsked = "assistant_asked",
        /// Too many answers in an hour without a person.
        ReplyCap = "reply_cap",
        /// A message may or may not have left.
        SendUnknown = "send_unknown",
        /// A message was not sent.
        SendFailed = "send_failed",
        /// Something that cannot be read.
        Unreadable = "unreadable",
        /// The contact waits for a person.
        HumanOverdue = "human_overdue",
        /// The contact waits for anyone.
        Unanswered = "unanswered",
        /// The day's ceiling of cost was reached.
        SpendLimit = "spend_limit",
    }
}

/// The call for a person.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Attention {
    /// Why a person is needed.
    pub reason: AttentionReason,
    /// Since when one is needed.
    pub since: Time,
}

/// Who works on the next reply, and until when unless renewed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lease {
    /// The instance.
    pub owner: String,
    /// The turn it works on.
    pub turn: Uuid,
    /// Void after this.
    pub until: Time,
}

/// No lease is longer: one that ends further ahead was taken before the clock was set back.
pub const LEASED_AT_MOST_MS: i64 = 600_000;

impl Lease {
    /// Whether it is held at that moment.
    pub const fn is_live(&self, now: Time) -> bool {
        let left_ms = self.until.since(now);
        0 < left_ms && left_ms <= LEASED_AT_MOST_MS
    }
}

/// One chat on one channel.
#[derive(Debug, Clone, PartialEq)]
pub struct Conversation {
    /// Ours.
    pub id: Uuid,
    /// The channel's name.
    pub channel: String,
    /// The chat at the provider, as first seen.
    pub chat: ChatId,
    /// The contact's name.
    pub contact_name: Option<String>,
    /// An agent set the name: the provider's no longer overwrites it.
    pub contact_named_by_agent: bool,
    /// Who answers.
    pub mode: ModeState,
    /// In HUMAN, the assistant suggests.
    pub drafting: bool,
    /// In work, put aside, done.
    pub status: Status,
    /// When a snoozed one comes back.
    pub snoozed_until: Option<Time>,
    /// Which agent holds it.
    pub assignee: Option<Uuid>,
    /// The contact wants no follow-ups.
    pub opted_out: bool,
    /// A person is needed.
    pub attention: Option<Attention>,
    /// The newest message's number.
    pub seq: i64,
    /// The newest event's number.
    pub event_seq: i64,
    /// Rises with every lease, and when work is withdrawn.
    pub fence: i64,
    /// Who works on it.
    pub lease: Option<Lease>,
    /// The newest message of the contact that may start a turn.
    pub contact_seq: i64,
    /// The newest message of our side.
    pub our_seq: i64,
    /// Since when the contact waits for our side.
    pub waiting_since: Option<Time>,
    /// Read by an agent up to here.
    pub read_seq: i64,
    /// Messages of the contact after that.
    pub unread: i64,
    /// When a message last came or went.
    pub last_message_at: Option<Time>,
    /// When it began.
    pub created_at: Time,
    /// When anything of it changed.
    pub updated_at: Time,
    /// When it was closed for good: its person is erased, and its rows go.
    pub erased_at: Option<Time>,
    /// What only the rules remember.
    pub memo: Memo,
}

/// What only the rules remember between messages; no query looks at it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Memo {
    /// When the waiting burst may be answered; None while nothing waits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ripe_at: Option<i64>,
    /// When a contact who waits for a person has waited too long.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub overdue_at: Option<i64>,
    /// When it came back from being put aside, if it has stayed open since: nobody was to look at it before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub woken_at: Option<i64>,
    /// A person has stopped the clock back to the assistant: no message of theirs starts it again in this mode.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_clock_stopped: bool,
    /// When our side last changed the clock.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clock_at: Option<i64>,
    /// When the assistant's hours begin, for which the conversation was left to people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hours_at: Option<i64>,
    /// When the first message of the waiting burst came.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub burst_first_at: Option<i64>,
    /// When its newest came.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub burst_last_at: Option<i64>,
    /// How often a newer message has restarted its generation.
    #[serde(skip_serializing_if = "is_zero")]
    pub restarts: i32,
    /// Failed attempts of the waiting burst.
    #[serde(skip_serializing_if = "is_zero")]
    pub failures: i32,
    /// The next attempt not before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_at: Option<i64>,
    /// When the contact wrote, lately.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub wrote: Vec<i64>,
    /// The contact writes more than anybody reads: all of it is taken together, at most once a minute.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_flood: bool,
    /// When the last turn over what the contact wrote began.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub begun_at: Option<i64>,
    /// When turns were answered, in the last hour, since a person wrote.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub answered: Vec<i64>,
    /// The newest message when a person of our side last acted: no words of a hand-over from before it leave.
    #[serde(skip_serializing_if = "is_zero")]
    pub human_seq: i64,
    /// The newest message when the conversation was last closed: of the machine, nothing up to it leaves afterwards.
    #[serde(skip_serializing_if = "is_zero")]
    pub closed_seq: i64,
    /// When the fallback text was last sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fallback_at: Option<i64>,
    /// When the notice for unreadable messages was last sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unreadable_at: Option<i64>,
    /// A colleague's words for the next turn.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// The note that an answer has read which has not left yet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub noted: Option<Noted>,
    /// The reply to this burst that has not begun to leave: a newer message still withdraws it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reply: Option<Uuid>,
    /// The reply that was leaving when the contact changed what it answers: it comes back only to be rewritten.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub amended: Option<Uuid>,
    /// What the assistant asked of the business in replies that have not begun to leave.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub errands: Vec<Errand>,
    /// The last reply whose errands were sent to the business: it is not rewritten, otherwise they would be sent twice.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub told: Option<Uuid>,
    /// A person asked for an answer now: the next turn takes what was left to people.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub answer_now: bool,
    /// When that was last asked for: in the check for stale messages, none that waits counts as older than this.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wished_at: Option<i64>,
    /// A second reason for attention, shown once the first, which may clear by itself, is gone; as its word.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub called_for: Option<String>,
    /// The newest message when the contact last did anything, reactions and edits included: no follow-up up to it leaves.
    #[serde(skip_serializing_if = "is_zero")]
    pub alive_seq: i64,
    /// When that was, here or in another conversation with the same person.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub alive_at: Option<i64>,
    /// The next attempt at the words of the pending follow-up not before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub follow_up_retry_at: Option<i64>,
    /// Follow-ups sent since the contact last wrote.
    #[serde(skip_serializing_if = "is_zero")]
    pub follow_ups_sent: i32,
    /// The last of them was of our own accord: another may follow it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_sequence: bool,
    /// The id of the request that made the current mode: a repeat after a lost commit finds itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode_request: Option<String>,
    /// The fresh draft: a store has no other way of knowing that there is one to load.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub draft: Option<Uuid>,
    /// The draft that is to be written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub draft_wish: Option<DraftWish>,
    /// When drafts were begun that nobody asked for, in the last hour, since a person wrote.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub drafted: Vec<i64>,
    /// An earlier conversation with the same person: it continues there once nothing is owed here any more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub same_person: Option<Uuid>,
    /// It was closed, and continues in that one: whatever comes for it belongs there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub merged_into: Option<Uuid>,
    /// Those that continue here, or will. Their messages stay with them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub merged: Vec<Uuid>,
    /// Of these, those that may not have ended yet: no event tells here that they have.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub expected: Vec<Uuid>,
    /// A person has taken over, or the contact has written, and the other conversations with the same person that have not
    /// ended do not know yet. Of one that was merged: the one in which it continues does not say so yet.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_untold: bool,
    /// The message in which the contact has wished for no follow-ups: its words may be taken back.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub opted_out_by: Option<Uuid>,
    /// When the provider is asked, or asked again, under which other id it knows the person: it has not answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub other_id_at: Option<i64>,
    /// Since when that is asked, or was: once in a conversation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub other_id_since: Option<i64>,
    /// What a newer version running alongside this one remembers.
    #[serde(flatten)]
    pub beyond: Map<String, Value>,
}

/// A colleague's note, and the turn whose answer has read it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Noted {
    /// The turn.
    pub turn: Uuid,
    /// The colleague's words.
    pub note: String,
}

impl Memo {
    /// The other conversations with the same person, as far as this one knows of them.
    pub fn others(&self) -> impl Iterator<Item = Uuid> + '_ {
        self.merged.iter().copied().chain(self.same_person).chain(self.merged_into)
    }

    /// What waits is to be answered now.
    pub fn wish(&mut self, now: Time) {
        self.answer_now = true;
        self.ripe_at = Some(now.0);
        self.wished_at = Some(now.0);
    }

    /// Nothing waits any more: the next message begins a new burst.
    pub fn end_burst(&mut self) {
        self.ripe_at = None;
        self.burst_first_at = None;
        self.burst_last_at = None;
        self.restarts = 0;
        self.failures = 0;
        self.retry_at = None;
        self.answer_now = false;
        self.reply = None;
    }
}

pub(super) fn is_zero<N: Default + PartialEq>(n: &N) -> bool {
    *n == N::default()
}

/// How a conversation begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Opening {
    /// The mode in which it begins.
    pub mode: Mode,
    /// Why it begins in that mode.
    pub reason: Reason,
    /// Who began it.
    pub actor: String,
    /// With suggestions.
    pub drafting: bool,
}

impl Conversation {
    /// A new one, before its first message.
    pub fn begin(channel: &str, chat: ChatId, opening: &Opening, now: Time) -> Self {
        Self {
            id: Uuid::now_v7(),
            channel: channel.to_owned(),
            chat,
            contact_name: None,
            contact_named_by_agent: false,
            mode: ModeState::initial(opening.mode, opening.reason, &opening.actor, now),
            drafting: opening.drafting,
            status: Status::Open,
            snoozed_until: None,
            assignee: None,
            opted_out: false,
            attention: None,
            seq: 0,
            event_seq: 0,
            fence: 0,
            lease: None,
            contact_seq: 0,
            our_seq: 0,
            waiting_since: None,
            read_seq: 0,
            unread: 0,
            last_message_at: None,
            created_at: now,
            updated_at: now,
            erased_at: None,
            memo: Memo::default(),
        }
    }

    /// Whether the lease is held at that moment.
    pub fn live_lease(&self, now: Time) -> Option<&Lease> {
        self.lease.as_ref().filter(|lease| lease.is_live(now))
    }

    /// Whether the contact spoke last.
    pub const fn contact_spoke_last(&self) -> bool {
        self.contact_seq > self.our_seq
    }

    /// Whether the contact spoke last, and waits for our side: not where the assistant has chosen to say nothing.
    pub const fn is_waited_for(&self) -> bool {
        self.contact_spoke_last() && self.waiting_since.is_some()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn conversation() -> Conversation {
        let chat = ChatId::parse("6580000001@c.us").expect("a chat id");
        let actor = "system".to_owned();
        let opening = Opening { mode: Mode::Ai, reason: Reason::Rollout, actor, drafting: false };
        Conversation::begin("default", chat, &opening, Time(0))
    }

    #[test]
    fn a_memo_keeps_what_it_has_and_leaves_out_what_it_has_not() {
        let id = Uuid::from_u128(7);
        let some = Memo { restarts: 2, is_flood: true, wrote: vec![5], reply: Some(id), ..Memo::default() };
        let wish =
            DraftWish { id, by: None, ripe_at: 9, first_at: 8, restarts: 0, failures: 0, retry_at: None };
        let drafted = Memo { draft: Some(id), draft_wish: Some(wish), drafted: vec![7], ..Memo::default() };
        let kept_of_drafts = json!({
            "draft": id.to_string(), "draft_wish": {"id": id.to_string(), "ripe_at": 9, "first_at": 8}, "drafted": [7],
        });
        let arguments = json!({ "day": "Friday" }).as_object().cloned().expect("an object");
        let errand = Errand { turn: id, tool: "book".to_owned(), arguments };
        let noted = Some(Noted { turn: id, note: "be brief".to_owned() });
        let read = Memo { noted, ..Memo::default() };
        let asked = Memo { errands: vec![errand], told: Some(id), ..Memo::default() };
        let kept_of_errands = json!({
            "errands": [{"turn": id.to_string(), "tool": "book", "arguments": {"day": "Friday"}}], "told": id.to_string(),
        });
        let newer = json!({ "restarts": 2, "of_a_newer_version": { "a": [1] } });
        let beyond = json!({ "of_a_newer_version": { "a": [1] } }).as_object().cloned().expect("an object");
        #[rustfmt::skip]
        let table = [
            (Memo::default(), json!({})),
            (Memo { restarts: 2, beyond, ..Memo::default() }, newer),
            (asked,           kept_of_errands),
            (read,            json!({"noted": {"turn": id.to_string(), "note": "be brief"}})),
            (drafted,         kept_of_drafts),
            (some,            json!({"restarts": 2, "is_flood": true, "wrote": [5], "reply": id.to_string()})),
        ];
        for (memo, kept) in table {
            assert_eq!(serde_json::to_value(&memo).expect("it can be written"), kept);
            assert_eq!(serde_json::from_value::<Memo>(kept).expect("it can be read"), memo);
        }
        assert!(serde_json::from_value::<Memo>(json!({"reply": "no id"})).is_err());
    }

    #[test]
    fn the_end_of_a_burst_forgets_the_burst_and_nothing_else() {
        let lasting = Memo { wrote: vec![5], human_seq: 6, follow_ups_sent: 1, ..Memo::default() };
        let mut memo = Memo {
            ripe_at: Some(1),
            burst_first_at: Some(2),
            burst_last_at: Some(3),
            restarts: 1,
            failures: 1,
            retry_at: Some(4),
            answer_now: true,
            reply: Some(Uuid::from_u128(7)),
            ..lasting.clone()
        };
        memo.end_burst();
        assert_eq!(memo, lasting);
    }

    #[test]
    fn a_lease_is_void_from_its_last_moment_on_and_where_it_ends_further_ahead_than_any() {
        let lease = Lease { owner: "one".to_owned(), turn: Uuid::from_u128(1), until: Time(100) };
        let held = Conversation { lease: Some(lease.clone()), ..conversation() };
        assert_eq!(held.live_lease(Time(99)), Some(&lease));
        assert_eq!(held.live_lease(Time(100)), None);
        assert_eq!(held.live_lease(Time(100 - LEASED_AT_MOST_MS)), Some(&lease));
        assert_eq!(held.live_lease(Time(99 - LEASED_AT_MOST_MS)), None, "the clock was set back");
        assert_eq!(conversation().live_lease(Time(0)), None);
    }

    #[test]
    fn whoever_has_the_newest_message_spoke_last() {
        for (contact_seq, our_seq, contact_spoke_last) in
            [(0, 0, false), (1, 0, true), (1, 2, false), (3, 2, true)]
        {
            let conversation = Conversation { contact_seq, our_seq, ..conversation() };
            assert_eq!(conversation.contact_spoke_last(), contact_spoke_last, "{contact_seq} {our_seq}");
        }
    }
}
