//! What a transaction reads once its conversations are locked: their open business, and what the steps asked for.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use serde::{Serialize, Serializer};
use uuid::Uuid;

use super::{Dialect, Sql, Transaction, text};
use crate::{
    adapters::rows::{self, Columns, Field as _, Stored},
    domain::{
        conversation::Conversation,
        docket::{ChannelStanding, Loaded, Parked, Remembered},
        draft::Draft,
        label::Label,
        message::Message,
        time::Time,
        turn::{DeadLetter, FollowUp, Turn},
    },
    flow::ledger::Need,
};

/// What is wanted of all conversations of a batch. One JSON text, the same for every statement that loads.
#[derive(Debug, Default, Serialize)]
pub(super) struct LoadRequest {
    /// Conversations, for their open business.
    open: BTreeSet<String>,
    /// Those with a pending follow-up.
    follow_ups: BTreeSet<String>,
    /// Conversations with keys or provider ids of messages.
    keys: BTreeSet<(String, String)>,
    /// Conversations with our ids of messages.
    messages: BTreeSet<(String, String)>,
    /// Conversations with a number: messages after it.
    #[serde(serialize_with = "as_pairs")]
    newest: BTreeMap<Uuid, i64>,
    /// Conversations with ids of turns.
    turns: BTreeSet<(String, String)>,
    /// Conversations with ids of dead letters.
    letters: BTreeSet<(String, String)>,
    /// Conversations with ids of drafts. Most batches have none, and need no word for it.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    drafts: BTreeSet<(String, String)>,
    /// Idempotency keys.
    requests: BTreeSet<String>,
    /// Conversations, for their labels.
    labels: BTreeSet<String>,
}

fn as_pairs<S: Serializer>(map: &BTreeMap<Uuid, i64>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(map.iter().map(|(id, after)| (id.to_string(), after)))
}

impl LoadRequest {
    /// The open business of that conversation.
    pub(super) fn conversation(&mut self, conversation: &Conversation, has_follow_up: bool) {
        let id = conversation.id.to_string();
        if let Some(lease) = &conversation.lease {
            self.turns.insert((id.clone(), lease.turn.to_string()));
        }
        if has_follow_up {
            self.follow_ups.insert(id.clone());
        }
        if let Some(draft) = conversation.memo.draft {
            self.drafts.insert((id.clone(), draft.to_string()));
        }
        self.open.insert(id);
    }

    /// What a step needs beyond it, and beyond what is known already.
    pub(super) fn need(&mut self, known: &Loaded, need: &Need) {
        let conversation = &known.conversation;
        let id = || conversation.id.to_string();
        let is_new = |message: &&Uuid| !known.messages.iter().any(|other| other.id == **message);
        self.keys.extend(need.keys.iter().map(|key| (id(), key.clone())));
        self.messages.extend(need.messages.iter().filter(is_new).map(|message| (id(), message.to_string())));
        let turn = need.turn.filter(|turn| !known.turns.iter().any(|other| other.id == *turn));
        self.turns.extend(turn.map(|turn| (id(), turn.to_string())));
        self.letters.extend(need.letter.map(|letter| (id(), letter.to_string())));
        let draft = need.draft.filter(|draft| !known.drafts.iter().any(|other| other.id == *draft));
        self.drafts.extend(draft.map(|draft| (id(), draft.to_string())));
        self.requests.extend(need.request.clone());
        self.labels.extend(need.labels.then(id));
        let after = need.oldest_of(conversation.seq);
        if after < known.complete_after {
            self.newest.entry(conversation.id).and_modify(|it| *it = after.min(*it)).or_insert(after);
        }
    }

    fn has_messages(&self) -> bool {
        !(self.open.is_empty() && self.keys.is_empty() && self.messages.is_empty() && self.newest.is_empty())
    }
}

/// What was found, by conversation.
#[derive(Debug, Default)]
pub(super) struct LoadedRows {
    messages: HashMap<Uuid, Vec<Message>>,
    follow_ups: HashMap<Uuid, Vec<FollowUp>>,
    turns: HashMap<Uuid, Vec<Turn>>,
    letters: HashMap<Uuid, Vec<DeadLetter>>,
    drafts: HashMap<Uuid, Vec<Draft>>,
    parked: HashMap<Uuid, Vec<Parked>>,
    requests: HashMap<String, Remembered>,
    labels: HashMap<Uuid, Vec<Label>>,
}

impl LoadedRows {
    /// Reads what is wanted. A statement that cannot find anything is left out.
    pub(super) async fn load<T: Transaction>(
        transaction: &mut T,
        sql: &'static Sql,
        wanted: &LoadRequest,
    ) -> Result<Self, sqlx::Error> {
        let mut found = Self::default();
        let json = text(wanted)?;
        if wanted.has_messages() {
            found.messages = by_conversation(transaction.fetch(&sql.messages, &json).await?)?;
        }
        if !(wanted.open.is_empty() && wanted.letters.is_empty()) {
            found.letters = by_conversation(transaction.fetch(&sql.letters, &json).await?)?;
        }
        if !wanted.open.is_empty() {
            found.parked = by_conversation(transaction.fetch(&sql.parked, &json).await?)?;
        }
        if !wanted.turns.is_empty() {
            found.turns = by_conversation(transaction.fetch(&sql.turns, &json).await?)?;
        }
        if !wanted.follow_ups.is_empty() {
            found.follow_ups = by_conversation(transaction.fetch(&sql.follow_ups, &json).await?)?;
        }
        if !wanted.drafts.is_empty() {
            found.drafts = by_conversation(transaction.fetch(&sql.drafts, &json).await?)?;
        }
        if !wanted.requests.is_empty() {
            let rows = transaction.fetch(&sql.requests, &json).await?;
            for row in &rows {
                let remembered: Remembered = rows::decode(row)?;
                found.requests.insert(remembered.key.clone(), remembered);
            }
        }
        if !wanted.labels.is_empty() {
            found.labels = by_conversation(transaction.fetch(&sql.labels, &json).await?)?;
        }
        Ok(found)
    }

    /// Completes what is known of one conversation.
    pub(super) fn complete(
        &mut self,
        mut known: Loaded,
        wanted: &LoadRequest,
        request: Option<&str>,
    ) -> Loaded {
        let id = known.conversation.id;
        known.complete_after = wanted.newest.get(&id).copied().unwrap_or(known.complete_after);
        join(&mut known.messages, self.messages.remove(&id), |message| message.id);
        known.messages.sort_by_key(|message| message.seq);
        join(&mut known.turns, self.turns.remove(&id), |turn| turn.id);
        join(&mut known.letters, self.letters.remove(&id), |letter| letter.id);
        join(&mut known.drafts, self.drafts.remove(&id), |draft| draft.id);
        known.parked.extend(self.parked.remove(&id).unwrap_or_default());
        known.follow_up = known.follow_up.or_else(|| self.follow_ups.remove(&id).unwrap_or_default().pop());
        known.labels = self.labels.remove(&id).unwrap_or_default();
        known.remembered = request.and_then(|key| self.requests.get(key).cloned());
        known
    }
}

/// Adds what was not known.
fn join<T>(known: &mut Vec<T>, found: Option<Vec<T>>, id: impl Fn(&T) -> Uuid) {
    for one in found.unwrap_or_default() {
        if !known.iter().any(|other| id(other) == id(&one)) {
            known.push(one);
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
            sends: i64::read(row, "sends")?,
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flow::play::Play;

    #[test]
    fn a_conversation_without_a_draft_costs_no_word_and_no_statement_for_one() {
        let mut conversation = Play::new().conversation;
        let asked = |conversation: &Conversation| {
            let mut wanted = LoadRequest::default();
            wanted.conversation(conversation, false);
            wanted.need(&Loaded::of(conversation.clone()), &Need::default());
            (wanted.drafts.len(), serde_json::to_value(&wanted).expect("JSON").get("drafts").is_some())
        };
        assert_eq!(asked(&conversation), (0, false));
        conversation.memo.draft = Some(Uuid::now_v7());
        assert_eq!(asked(&conversation), (1, true));
    }
}
