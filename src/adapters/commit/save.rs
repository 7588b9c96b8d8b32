//! What a transaction writes: the changes of all its dockets, table by table, each as one set.

use std::collections::BTreeMap;

use serde::Serialize;
use uuid::Uuid;

use super::{Sql, text};
use crate::{
    adapters::rows::{
        Changed, ConversationRow, DraftRow, ErasedChatRow, ErasureRow, EventRow, FollowUpRow, LabelledRow,
        LetterRow, MessageRow, ParkedRow, RequestRow, TombstoneRow, TurnRow,
    },
    domain::{
        docket::{Changes, ChannelStanding, Loaded},
        draft::DraftState,
        event::Event,
        turn::{DeadLetter, FollowUpState},
    },
};

/// Rows to write, by table.
#[derive(Default)]
pub(super) struct Save {
    /// What conversations are stamped with.
    stamp: i64,
    conversations: Vec<ConversationRow>,
    new_messages: Vec<MessageRow>,
    messages: Vec<MessageRow>,
    new_turns: Vec<TurnRow>,
    turns: Vec<TurnRow>,
    follow_ups: Vec<FollowUpRow>,
    letters: Vec<LetterRow>,
    drafts: Vec<DraftRow>,
    parked: Vec<ParkedRow>,
    unparked: Vec<String>,
    requests: Vec<RequestRow>,
    channels: BTreeMap<String, ChannelRow>,
    unlabelled: Vec<LabelledRow>,
    labelled: Vec<LabelledRow>,
    erased: Vec<String>,
    erased_chats: Vec<ErasedChatRow>,
    erasures: Vec<ErasureRow>,
    merged: Vec<(String, String)>,
    tombstones: Vec<TombstoneRow>,
    events: Vec<EventRow>,
}

#[derive(Serialize)]
struct ChannelRow {
    name: String,
    state: String,
    next_send_at: i64,
    sends: i64,
}

impl Save {
    /// Nothing yet.
    pub(super) fn stamping(stamp: i64) -> Self {
        Self { stamp, ..Self::default() }
    }

    /// Adds what one docket changed. Returns what stays open.
    pub(super) fn add(&mut self, changes: Changes) -> Loaded {
        let id = changes.conversation.id;
        let channel = changes.conversation.channel.clone();
        let message = |message| MessageRow::of(id, &channel, message);
        self.new_messages.extend(changes.new_messages.into_iter().map(message));
        self.messages.extend(changes.messages.into_iter().map(message));
        self.new_turns.extend(changes.new_turns.into_iter().map(|turn| TurnRow::of(id, turn)));
        self.turns.extend(changes.turns.into_iter().map(|turn| TurnRow::of(id, turn)));
        self.follow_ups
            .extend(changes.follow_ups.into_iter().map(|follow_up| FollowUpRow::of(id, follow_up)));
        self.letters.extend(changes.letters.into_iter().map(LetterRow::of));
        self.drafts.extend(changes.drafts.into_iter().map(|draft| DraftRow::of(id, draft)));
        self.parked.extend(changes.parked.into_iter().map(|parked| ParkedRow::of(id, parked)));
        self.unparked.extend(changes.unparked.iter().map(Uuid::to_string));
        let label = |label_id| LabelledRow { conversation_id: id, label_id };
        self.unlabelled.extend(changes.unlabelled.into_iter().map(label));
        self.labelled.extend(changes.labelled.into_iter().map(label));
        self.requests.extend(changes.remembered.map(|remembered| RequestRow::of(id, remembered)));
        if let Some(erasure) = changes.erasure {
            self.erased.push(id.to_string());
            let known_by = |chat_id| ErasedChatRow { chat_id, channel: channel.clone(), conversation_id: id };
            self.erased_chats.extend(erasure.chats.iter().cloned().map(known_by));
            self.tombstones.extend(TombstoneRow::of_echoes(&erasure));
            self.erasures.push(ErasureRow::begun(id, erasure.actor, changes.now));
        }
        self.merged.extend(changes.merged_into.map(|stays| (id.to_string(), stays.to_string())));
        self.events.extend(changes.events.into_iter().map(EventRow::of));
        self.conversations.push(ConversationRow::of(changes.conversation, changes.clocks, self.stamp));
        changes.open
    }

    /// Adds what a channel's sends now have in common.
    pub(super) fn add_channel(&mut self, name: &str, standing: &ChannelStanding) {
        let row = ChannelRow {
            name: name.to_owned(),
            state: standing.state.clone(),
            next_send_at: standing.next_send_at.0,
            sends: standing.sends,
        };
        self.channels.insert(name.to_owned(), row);
    }

    /// The statements that write it, each with its rows, in the order in which they must run.
    pub(super) fn statements(
        mut self,
        sql: &'static Sql,
    ) -> Result<Vec<(&'static str, String)>, sqlx::Error> {
        // What ends before what begins: at most one follow-up is pending, one draft fresh, and the index looks at each row
        // as it comes.
        self.follow_ups.sort_by_key(|row| row.state == FollowUpState::Pending);
        self.drafts.sort_by_key(|row| row.state == DraftState::Fresh);
        // In one order everywhere: two transactions that keep the same keys wait for each other, never in a circle.
        self.requests.sort_by(|one, other| one.key.cmp(&other.key));
        // Conversations with the same person keep the same, and no statement writes a row twice.
        self.tombstones.sort_by(|one, other| one.hash.cmp(&other.hash));
        self.tombstones.dedup_by(|one, other| one.hash == other.hash);
        let channels: Vec<ChannelRow> = self.channels.into_values().collect();
        let mut statements = Vec::new();
        add(&mut statements, &sql.save_conversations, &changed(&self.conversations))?;
        add(&mut statements, &sql.save_messages, &changed(&self.messages))?;
        add(&mut statements, &sql.insert_messages, &self.new_messages)?;
        add(&mut statements, &sql.save_turns, &changed(&self.turns))?;
        add(&mut statements, &sql.insert_turns, &self.new_turns)?;
        add(&mut statements, &sql.put_follow_ups, &self.follow_ups)?;
        add(&mut statements, &sql.put_letters, &self.letters)?;
        add(&mut statements, &sql.put_drafts, &self.drafts)?;
        add(&mut statements, &sql.delete_parked, &self.unparked)?;
        add(&mut statements, &sql.insert_parked, &self.parked)?;
        add(&mut statements, &sql.delete_requests, &self.requests)?;
        add(&mut statements, &sql.insert_requests, &self.requests)?;
        add(&mut statements, &sql.save_channels, &channels)?;
        add(&mut statements, &sql.delete_labelled, &self.unlabelled)?;
        add(&mut statements, &sql.insert_labelled, &self.labelled)?;
        add(&mut statements, &sql.keep_erased_chats, &self.erased)?;
        add(&mut statements, &sql.insert_erased_chats, &self.erased_chats)?;
        add(&mut statements, &sql.delete_chats, &self.erased)?;
        add(&mut statements, &sql.insert_erasures, &self.erasures)?;
        add(&mut statements, &sql.move_chats, &self.merged)?;
        add(&mut statements, &sql.put_tombstones, &self.tombstones)?;
        add(&mut statements, &sql.insert_events, &self.events)?;
        Ok(statements)
    }
}

/// The statements that keep what belongs to no conversation.
pub(super) fn outside(
    sql: &'static Sql,
    events: Vec<Event>,
    letters: Vec<DeadLetter>,
) -> Result<Vec<(&'static str, String)>, sqlx::Error> {
    Save {
        events: events.into_iter().map(EventRow::of).collect(),
        letters: letters.into_iter().map(LetterRow::of).collect(),
        ..Save::default()
    }
    .statements(sql)
}

/// Of rows that overwrite: what can have changed.
fn changed<T>(rows: &[T]) -> Vec<Changed<'_, T>> {
    rows.iter().map(Changed).collect()
}

/// Adds a statement, unless it has nothing to write.
fn add<T: Serialize>(
    statements: &mut Vec<(&'static str, String)>,
    sql: &'static str,
    rows: &[T],
) -> Result<(), sqlx::Error> {
    if !rows.is_empty() {
        statements.push((sql, text(&rows)?));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        adapters::{commit::Dialect as _, sqlite::Sqlite},
        domain::{docket::Docket, draft::Draft, time::Time},
        flow::play::Play,
    };

    #[test]
    fn a_statement_is_made_for_what_has_rows_alone() {
        let tables = |change: fn(&mut Docket)| {
            let mut docket = Docket::open(Loaded::of(Play::new().conversation), Time(5));
            change(&mut docket);
            let mut save = Save::stamping(1);
            save.add(docket.close());
            save.statements(Sqlite::sql()).expect("JSON").into_iter().map(|(sql, _)| sql).collect::<Vec<_>>()
        };
        let facts = tables(|docket| docket.conversation.unread = 1);
        assert_eq!(facts, [Sqlite::sql().save_conversations.as_str()]);
        let drafted = tables(|docket| {
            docket.keep_draft(Draft {
                id: Uuid::now_v7(),
                text: "Yes.".to_owned(),
                state: DraftState::Fresh,
                based_on_seq: 1,
                turn: Uuid::now_v7(),
                decision: None,
                created_at: docket.now,
            });
        });
        assert_eq!(drafted, [Sqlite::sql().save_conversations.as_str(), Sqlite::sql().put_drafts.as_str()]);
    }
}
