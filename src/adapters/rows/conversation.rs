//! The row of a conversation: its facts, and when somebody must look again.

use uuid::Uuid;

use super::{Json, Stored, required, table};
use crate::domain::{
    chat::ChatId,
    conversation::{Attention, AttentionReason, Conversation, Lease, Memo, Status},
    docket::Clocks,
    mode::{Mode, ModeState, Reason},
    time::Time,
};

table! {
    /// One chat on one channel.
    ConversationRow in "conversations" fixed [channel, chat_id] {
        id: Uuid,
        channel: String,
        chat_id: ChatId,
        contact_name: Option<String>,
        contact_named_by_agent: bool,
        mode: Mode,
        mode_version: i64,
        mode_reason: Reason,
        mode_actor: String,
        mode_changed_at: Time,
        mode_until: Option<Time>,
        drafting: bool,
        status: Status,
        snoozed_until: Option<Time>,
        assignee: Option<Uuid>,
        opted_out: bool,
        attention: Option<AttentionReason>,
        attention_since: Option<Time>,
        seq: i64,
        event_seq: i64,
        fence: i64,
        lease_owner: Option<String>,
        lease_turn: Option<Uuid>,
        lease_until: Option<Time>,
        contact_seq: i64,
        our_seq: i64,
        waiting_since: Option<Time>,
        read_seq: i64,
        unread: i64,
        last_message_at: Option<Time>,
        turn_at: Option<Time>,
        send_at: Option<Time>,
        send_rank: i64,
        follow_up_at: Option<Time>,
        tend_at: Option<Time>,
        memo: Json<Memo>,
        created_at: Time,
        updated_at: Time,
        erased_at: Option<Time>,
        stamp: i64,
    }
}

impl ConversationRow {
    /// The row of these facts. The stamp is another one each time that it is saved.
    pub(crate) fn of(conversation: Conversation, clocks: Clocks, stamp: i64) -> Self {
        let (lease_owner, lease_turn, lease_until) = match conversation.lease {
            Some(lease) => (Some(lease.owner), Some(lease.turn), Some(lease.until)),
            None => (None, None, None),
        };
        Self {
            id: conversation.id,
            channel: conversation.channel,
            chat_id: conversation.chat,
            contact_name: conversation.contact_name,
            contact_named_by_agent: conversation.contact_named_by_agent,
            mode: conversation.mode.mode,
            mode_version: conversation.mode.version,
            mode_reason: conversation.mode.reason,
            mode_actor: conversation.mode.actor,
            mode_changed_at: conversation.mode.changed_at,
            mode_until: conversation.mode.until,
            drafting: conversation.drafting,
            status: conversation.status,
            snoozed_until: conversation.snoozed_until,
            assignee: conversation.assignee,
            opted_out: conversation.opted_out,
            attention: conversation.attention.map(|attention| attention.reason),
            attention_since: conversation.attention.map(|attention| attention.since),
            seq: conversation.seq,
            event_seq: conversation.event_seq,
            fence: conversation.fence,
            lease_owner,
            lease_turn,
            lease_until,
            contact_seq: conversation.contact_seq,
            our_seq: conversation.our_seq,
            waiting_since: conversation.waiting_since,
            read_seq: conversation.read_seq,
            unread: conversation.unread,
            last_message_at: conversation.last_message_at,
            turn_at: clocks.turn_at,
            send_at: clocks.send_at,
            send_rank: clocks.send_rank,
            follow_up_at: clocks.follow_up_at,
            tend_at: clocks.tend_at,
            memo: Json(conversation.memo),
            created_at: conversation.created_at,
            updated_at: conversation.updated_at,
            erased_at: conversation.erased_at,
            stamp,
        }
    }
}

impl Stored for Conversation {
    type Row = ConversationRow;

    fn of_row(row: ConversationRow) -> Result<Self, sqlx::Error> {
        let attention = match row.attention {
            Some(reason) => {
                Some(Attention { reason, since: required(row.attention_since, "attention_since")? })
            }
            None => None,
        };
        let lease = match row.lease_owner {
            Some(owner) => Some(Lease {
                owner,
                turn: required(row.lease_turn, "lease_turn")?,
                until: required(row.lease_until, "lease_until")?,
            }),
            None => None,
        };
        Ok(Self {
            id: row.id,
            channel: row.channel,
            chat: row.chat_id,
            contact_name: row.contact_name,
            contact_named_by_agent: row.contact_named_by_agent,
            mode: ModeState {
                mode: row.mode,
                version: row.mode_version,
                reason: row.mode_reason,
                actor: row.mode_actor,
                changed_at: row.mode_changed_at,
                until: row.mode_until,
            },
            drafting: row.drafting,
            status: row.status,
            snoozed_until: row.snoozed_until,
            assignee: row.assignee,
            opted_out: row.opted_out,
            attention,
            seq: row.seq,
            event_seq: row.event_seq,
            fence: row.fence,
            lease,
            contact_seq: row.contact_seq,
            our_seq: row.our_seq,
            waiting_since: row.waiting_since,
            read_seq: row.read_seq,
            unread: row.unread,
            last_message_at: row.last_message_at,
            created_at: row.created_at,
            updated_at: row.updated_at,
            erased_at: row.erased_at,
            memo: row.memo.0,
        })
    }
}
