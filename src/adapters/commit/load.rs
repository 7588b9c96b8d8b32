//! What a transaction reads once its conversations are locked: their open business, and what the steps asked for.

use std::collections::{BTreeSet, HashMap};

use serde::Serialize;
use uuid::Uuid;

use super::{Dialect, Sql, Transaction, text};
use crate::{
    adapters::rows::{self, Columns, Field as _, Stored},
    domain::{
        conversation::Conversation,
        docket::{ChannelStanding, Loaded, Parked, Remembered},
        message::Message,
        time::Time,
        turn::{DeadLetter, FollowUp, Turn},
    },
    flow::ledger::Need,
};

/// What is wanted of all conversations of a batch. One JSON text, the same for every statement that loads.
#[derive(Debug, Default, Serialize)]
pub(super) struct Wanted {
    /// Conversations, for their open business.
    open: BTreeSet<String>,
    /// Those with a pending follow-up.
    follow_ups: BTreeSet<String>,
    /// Conversations with keys or provider ids of messages.
    keys: BTreeSet<(String, String)>,
    /// Conversations with our ids of messages.
    messages: BTreeSet<(String, String)>,
    /// Conversations with a number: messages after it.
    newest: BTreeSet<(String, i64)>,
    /// Conversations with ids of turns.
    turns: BTreeSet<(String, String)>,
    /// Conversations with ids of dead letters.
    letters: BTreeSet<(String, String)>,
    /// Idempotency keys.
    requests: BTreeSet<String>,
}

impl Wanted {
    /// The open business of that conversation.
    pub(super) fn conversation(&mut self, conversation: &Conversation, has_follow_up: bool) {
        let id = conversation.id.to_string();
        if let Some(lease) = &conversation.lease {
            self.turns.insert((id.clone(), lease.turn.to_string()));
        }
        if has_follow_up {
            self.follow_ups.insert(id.clone());
        }
        self.open.insert(id);
    }

    /// What a step needs beyond it.
    pub(super) fn need(&mut self, conversation: &Conversation, need: &Need) {
        let id = || conversation.id.to_string();
        self.keys.extend(need.keys.iter().map(|key| (id(), key.clone())));
        self.messages.extend(need.messages.iter().map(|message| (id(), message.to_string())));
        self.turns.extend(need.turn.map(|turn| (id(), turn.to_string())));
        self.letters.extend(need.letter.map(|letter| (id(), letter.to_string())));
        self.requests.extend(need.request.clone());
        if need.newest > 0 {
            // Numbers have no holes: each message takes the next under the lock of its conversation.
            let newest = i64::try_from(need.newest).unwrap_or(i64::MAX);
            self.newest.insert((id(), conversation.seq.saturating_sub(newest)));
        }
    }
}

/// What was found, by conversation.
#[derive(Debug, Default)]
pub(super) struct Found {
    messages: HashMap<Uuid, Vec<Message>>,
    follow_ups: HashMap<Uuid, Vec<FollowUp>>,
    turns: HashMap<Uuid, Vec<Turn>>,
    letters: HashMap<Uuid, Vec<DeadLetter>>,
    parked: HashMap<Uuid, Vec<Parked>>,
    requests: HashMap<String, Remembered>,
}

impl Found {
    /// Reads what is wanted. A statement that cannot find anything is left out.
    pub(super) async fn load<T: Transaction>(
        transaction: &mut T,
        sql: &'static Sql,
        wanted: &Wanted,
    ) -> Result<Self, sqlx::Error> {
        let mut found = Self::default();
        if !wanted.open.is_empty() {
            let json = text(wanted)?;
            found.messages = by_conversation(transaction.fetch(&sql.messages, &json).await?)?;
            found.letters = by_conversation(transaction.fetch(&sql.letters, &json).await?)?;
            found.parked = by_conversation(transaction.fetch(&sql.parked, &json).await?)?;
            if !wanted.turns.is_empty() {
                found.turns = by_conversation(transaction.fetch(&sql.turns, &json).await?)?;
            }
            if !wanted.follow_ups.is_empty() {
                found.follow_ups = by_conversation(transaction.fetch(&sql.follow_ups, &json).await?)?;
            }
        }
        if !wanted.requests.is_empty() {
            let rows = transaction.fetch(&sql.requests, &text(wanted)?).await?;
            for row in &rows {
                let remembered: Remembered = rows::decode(row)?;
                found.requests.insert(remembered.key.clone(), remembered);
            }
        }
        Ok(found)
    }

    /// The part of one conversation.
    pub(super) fn take(&mut self, conversation: Conversation, is_new: bool, request: Option<&str>) -> Loaded {
        let id = conversation.id;
        Loaded {
            conversation,
            is_new,
            messages: self.messages.remove(&id).unwrap_or_default(),
            follow_up: self.follow_ups.remove(&id).unwrap_or_default().pop(),
            turns: self.turns.remove(&id).unwrap_or_default(),
            letters: self.letters.remove(&id).unwrap_or_default(),
            parked: self.parked.remove(&id).unwrap_or_default(),
            channel: None,
            remembered: request.and_then(|key| self.requests.get(key).cloned()),
        }
    }
}

fn by_conversation<T: Stored, R: Columns>(rows: Vec<R>) -> Result<HashMap<Uuid, Vec<T>>, sqlx::Error> {
    let mut found: HashMap<Uuid, Vec<T>> = HashMap::new();
    for row in &rows {
        found.entry(Uuid::read(row, "conversation_id")?).or_default().push(rows::decode(row)?);
    }
    Ok(found)
}

/// Locks the channels, then counts what is being sent: in this order, and in two statements, or the count would be of
/// the moment before the lock.
pub(super) async fn channels<D: Dialect>(
    transaction: &mut D::Transaction,
    names: &BTreeSet<String>,
) -> Result<HashMap<String, ChannelStanding>, sqlx::Error> {
    if names.is_empty() {
        return Ok(HashMap::new());
    }
    let json = text(names)?;
    let mut standings = HashMap::new();
    for row in &transaction.fetch(&D::sql().channels, &json).await? {
        let standing = ChannelStanding {
            state: String::read(row, "state")?,
            next_send_at: Time::read(row, "next_send_at")?,
            in_flight: 0,
        };
        standings.insert(String::read(row, "name")?, standing);
    }
    for row in &transaction.fetch(&D::sql().in_flight, &json).await? {
        if let Some(standing) = standings.get_mut(&String::read(row, "channel")?) {
            standing.in_flight = usize::try_from(i64::read(row, "in_flight")?).unwrap_or_default();
        }
    }
    Ok(standings)
}
