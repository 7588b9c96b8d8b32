//! One transaction over many steps: find and lock their conversations, load, run the steps in the order in which they
//! came, save what changed, commit, tell.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    panic::AssertUnwindSafe,
};

use uuid::Uuid;

use super::{
    Dialect, Op, Transaction, load,
    load::{Found, Wanted},
    save::Save,
    text,
};
use crate::{
    adapters::rows::{self, ConversationRow, Field as _},
    domain::{
        conversation::Conversation,
        docket::{Changes, ChannelStanding, Clocks, Docket, Loaded},
        message::DeliveryState,
        time::Time,
    },
    flow::ledger::{Committed, Key, Observer, Standing},
};

/// What became of one step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Ran, and what it changed is committed.
    Done,
    /// There is no such conversation.
    Gone,
    /// Panicked; nothing of it was saved.
    Panicked,
    /// Must run in a later transaction.
    Postponed,
}

/// Runs the steps in one transaction. Either all verdicts hold, or nothing has happened, or (a connection that was lost
/// at the very end) everything may have.
pub(super) async fn commit<D: Dialect>(
    dialect: &D,
    ops: &[Op],
    observer: &dyn Observer,
) -> Result<Vec<Verdict>, sqlx::Error> {
    let mut transaction = dialect.begin().await?;
    match run::<D>(dialect, &mut transaction, ops).await {
        Ok((verdicts, commits)) if commits.is_empty() => {
            transaction.rollback().await?;
            Ok(verdicts)
        }
        Ok((verdicts, commits)) => {
            transaction.commit().await?;
            observer.committed(&commits);
            Ok(verdicts)
        }
        Err(error) => {
            // Its own failure says nothing new, and the pool rolls back again whatever comes back to it.
            drop(transaction.rollback().await);
            Err(error)
        }
    }
}

async fn run<D: Dialect>(
    dialect: &D,
    transaction: &mut D::Transaction,
    ops: &[Op],
) -> Result<(Vec<Verdict>, Vec<Committed>), sqlx::Error> {
    let mut verdicts = vec![Verdict::Gone; ops.len()];
    let chats = chats::<D>(transaction, ops).await?;
    let (mut locked, now) = lock::<D>(dialect, transaction, ops, &chats).await?;

    let mut wanted = Wanted::default();
    let mut names = BTreeSet::new();
    for (number, op) in ops.iter().enumerate() {
        let Some(case) = chats.conversation(&op.key).and_then(|id| locked.get_mut(&id)) else {
            // The chat was there a moment ago, and its conversation was erased before we had the lock.
            let is_erased = matches!(op.key, Key::Chat { .. }) && chats.conversation(&op.key).is_some();
            verdicts[number] = if is_erased { Verdict::Postponed } else { Verdict::Gone };
            continue;
        };
        verdicts[number] = case.admit(number, op);
        if verdicts[number] == Verdict::Done {
            wanted.need(&case.conversation, &op.need);
            if op.need.channel {
                names.insert(case.conversation.channel.clone());
            }
        }
    }
    for case in locked.values().filter(|case| !case.is_new) {
        wanted.conversation(&case.conversation, case.has_follow_up);
    }
    let mut channels = load::channels::<D>(transaction, &names).await?;
    let mut found = Found::load(transaction, D::sql(), &wanted).await?;

    // In the order in which their first steps came: they may share a channel.
    let mut cases: Vec<Case> = locked.into_values().filter(|case| !case.ops.is_empty()).collect();
    cases.sort_by_key(|case| case.ops[0]);
    let mut save = Save::default();
    let mut commits = Vec::new();
    for case in cases {
        let channel = case.conversation.channel.clone();
        let mut loaded = found.take(case.conversation, case.is_new, case.request.as_deref());
        loaded.channel = channels.get(&channel).filter(|_| case.needs_channel).cloned();
        let sending_before = sending(&loaded.messages);
        let docket = match play(loaded, &case.ops, ops, now) {
            Ok(docket) if docket.is_changed() => docket,
            Ok(_) => continue,
            Err(panicked) => {
                // Nothing half-done may remain: the others start again from what is in the database.
                verdicts.fill(Verdict::Postponed);
                verdicts[panicked] = Verdict::Panicked;
                return Ok((verdicts, Vec::new()));
            }
        };
        let sending = (sending_before, sending(docket.messages()));
        let changes = docket.close();
        if let Some(standing) = channels.get_mut(&channel) {
            if let Some(changed) = &changes.channel
                && (&changed.state, changed.next_send_at) != (&standing.state, standing.next_send_at)
            {
                save.add_channel(&channel, changed);
            }
            carry(standing, changes.channel.as_ref(), sending);
        }
        commits.push(committed(&changes));
        save.add(changes);
    }
    for (sql, json) in save.statements(D::sql())? {
        transaction.fetch(sql, &json).await?;
    }
    Ok((verdicts, commits))
}

/// Runs the steps of one conversation one after the other on one docket. Gives the number of one that panics.
fn play(loaded: Loaded, numbers: &[usize], ops: &[Op], now: Time) -> Result<Docket, usize> {
    let mut docket = Docket::open(loaded, now);
    for number in numbers {
        let step = AssertUnwindSafe(|| (ops[*number].step)(&mut docket));
        std::panic::catch_unwind(step).map_err(|_| *number)?;
    }
    Ok(docket)
}

/// A conversation under lock, and the steps about it.
struct Case {
    conversation: Conversation,
    is_new: bool,
    has_follow_up: bool,
    needs_channel: bool,
    request: Option<String>,
    is_full: bool,
    ops: Vec<usize>,
}

impl Case {
    /// Takes a step in, or postpones it: a docket has room for one remembered request, and order is kept.
    fn admit(&mut self, number: usize, op: &Op) -> Verdict {
        self.is_full |= self.request.is_some() && op.need.request.is_some();
        if self.is_full {
            return Verdict::Postponed;
        }
        self.request = self.request.take().or_else(|| op.need.request.clone());
        self.needs_channel |= op.need.channel;
        self.ops.push(number);
        Verdict::Done
    }
}

/// The chats that steps name, and their conversations.
#[derive(Default)]
struct Chats {
    known: HashMap<(String, String), Uuid>,
    begun: HashMap<Uuid, usize>,
}

impl Chats {
    fn conversation(&self, key: &Key) -> Option<Uuid> {
        match key {
            Key::Id(id) => Some(*id),
            Key::Chat { channel, chat, .. } => {
                self.known.get(&(channel.clone(), chat.as_str().to_owned())).copied()
            }
        }
    }
}

/// Finds the conversations of chats, and begins those that are missing and have an opening.
async fn chats<D: Dialect>(transaction: &mut D::Transaction, ops: &[Op]) -> Result<Chats, sqlx::Error> {
    let mut chats = Chats::default();
    let asked: BTreeSet<(&str, &str)> = ops
        .iter()
        .filter_map(|op| match &op.key {
            Key::Chat { channel, chat, .. } => Some((channel.as_str(), chat.as_str())),
            Key::Id(_) => None,
        })
        .collect();
    if asked.is_empty() {
        return Ok(chats);
    }
    let asked = text(&asked)?;
    resolve::<D>(transaction, &asked, &mut chats).await?;

    let mut missing: BTreeMap<(&str, &str), (usize, ConversationRow)> = BTreeMap::new();
    for (number, op) in ops.iter().enumerate() {
        if let Key::Chat { channel, chat, opening: Some(opening) } = &op.key
            && chats.conversation(&op.key).is_none()
        {
            // The moment is set once the row is locked, when the store's clock is known.
            let begin = || Conversation::begin(channel, chat.clone(), opening, Time::default());
            missing
                .entry((channel, chat.as_str()))
                .or_insert_with(|| (number, ConversationRow::of(begin(), Clocks::default())));
        }
    }
    if missing.is_empty() {
        return Ok(chats);
    }
    let rows: Vec<&ConversationRow> = missing.values().map(|(_, row)| row).collect();
    let begun = transaction.fetch(&D::sql().open, &text(&rows)?).await?;
    let begun: BTreeSet<Uuid> = begun.iter().map(|row| Uuid::read(row, "id")).collect::<Result<_, _>>()?;
    if begun.len() < missing.len() {
        // Another instance was faster, and has committed by now.
        resolve::<D>(transaction, &asked, &mut chats).await?;
    }
    for ((channel, chat), (number, row)) in missing {
        if begun.contains(&row.id) {
            chats.known.insert((channel.to_owned(), chat.to_owned()), row.id);
            chats.begun.insert(row.id, number);
        }
    }
    Ok(chats)
}

async fn resolve<D: Dialect>(
    transaction: &mut D::Transaction,
    asked: &str,
    chats: &mut Chats,
) -> Result<(), sqlx::Error> {
    for row in &transaction.fetch(&D::sql().resolve, asked).await? {
        let chat = (String::read(row, "channel")?, String::read(row, "chat_id")?);
        chats.known.insert(chat, Uuid::read(row, "conversation_id")?);
    }
    Ok(())
}

/// Locks all conversations, in the order of their ids, and reads the clock after the last lock.
async fn lock<D: Dialect>(
    dialect: &D,
    transaction: &mut D::Transaction,
    ops: &[Op],
    chats: &Chats,
) -> Result<(HashMap<Uuid, Case>, Time), sqlx::Error> {
    let ids: BTreeSet<String> =
        ops.iter().filter_map(|op| chats.conversation(&op.key)).map(|id| id.to_string()).collect();
    if ids.is_empty() {
        return Ok((HashMap::new(), Time::default()));
    }
    let rows = transaction.fetch(&D::sql().lock, &text(&ids)?).await?;
    let mut now = dialect.clock();
    if now.is_none() {
        for row in &rows {
            now = now.max(Option::read(row, "now")?);
        }
    }
    let now = now.unwrap_or_default();
    let mut cases = HashMap::new();
    for row in &rows {
        let mut conversation: Conversation = rows::decode(row)?;
        let begun = chats.begun.get(&conversation.id).map(|number| &ops[*number].key);
        if let Some(Key::Chat { channel, chat, opening: Some(opening) }) = begun {
            let id = conversation.id;
            conversation = Conversation { id, ..Conversation::begin(channel, chat.clone(), opening, now) };
        }
        let case = Case {
            is_new: begun.is_some(),
            has_follow_up: Option::<Time>::read(row, "follow_up_at")?.is_some(),
            needs_channel: false,
            request: None,
            is_full: false,
            ops: Vec::new(),
            conversation,
        };
        cases.insert(case.conversation.id, case);
    }
    Ok((cases, now))
}

fn sending(messages: &[crate::domain::message::Message]) -> usize {
    messages.iter().filter(|message| message.is(DeliveryState::Sending)).count()
}

/// What the next conversation of the channel in this transaction must see: the same locked row, and what is in flight
/// now, counted from the messages themselves.
fn carry(standing: &mut ChannelStanding, changed: Option<&ChannelStanding>, (before, after): (usize, usize)) {
    let in_flight = (standing.in_flight + after).saturating_sub(before);
    if let Some(changed) = changed {
        *standing = changed.clone();
    }
    standing.in_flight = in_flight;
}

fn committed(changes: &Changes) -> Committed {
    let conversation = &changes.conversation;
    Committed {
        at: changes.now,
        channel: conversation.channel.clone(),
        chat: conversation.chat.clone(),
        standing: Standing {
            conversation: conversation.id,
            mode: conversation.mode.mode,
            version: conversation.mode.version,
            fence: conversation.fence,
            contact_seq: conversation.contact_seq,
        },
        clocks: changes.clocks,
        events: changes.events.clone(),
    }
}
