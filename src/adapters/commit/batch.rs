//! One transaction over many steps: find and lock their conversations, load, run the steps in the order in which they
//! came, save what changed, commit, tell.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    mem::take,
};

use uuid::Uuid;

use super::{
    Dialect, Op, Transaction,
    docket_cache::{Chat, DocketCache},
    in_doubt::InDoubt,
    load,
    load::{LoadRequest, LoadedRows},
    merged::{self, Elsewhere},
    steps::{self, ConversationBatch, StepsResult},
    text,
    tombstones::Removed,
    verdict::Verdict,
    writer_context::WriterContext,
};
use crate::{
    adapters::rows::{self, ConversationRow, Field as _},
    domain::{
        conversation::Conversation,
        docket::{ChannelStanding, Clocks, Loaded},
        time::Time,
    },
    flow::{ledger::Key, provider::boot_time},
};

/// Runs the steps in one transaction. Either all verdicts hold, or nothing has happened, or (a connection that was lost
/// at the very end) everything may have.
pub(super) async fn commit<D: Dialect>(
    context: &WriterContext<D>,
    ops: &[Op],
    in_doubt: &mut Option<InDoubt>,
) -> Result<Vec<Verdict>, sqlx::Error> {
    let mut transaction = context.dialect.begin().await?;
    match run::<D>(context, &mut transaction, ops).await {
        Ok((verdicts, None)) => {
            transaction.rollback().await?;
            Ok(verdicts)
        }
        Ok((verdicts, Some((result, channels, begun)))) => {
            if result.commits.is_empty() {
                transaction.rollback().await?;
            } else if let Err(error) = transaction.commit().await {
                let StepsResult { stamp, commits, .. } = result;
                *in_doubt = Some(InDoubt { stamp, commits, verdicts });
                return Err(error);
            }
            for (channel, chat, conversation) in begun {
                context.cache.keep_chat(&channel, &chat, conversation);
            }
            context.committed(&result.commits, result.known, &channels);
            Ok(verdicts)
        }
        Err(error) => {
            // Its own failure says nothing new, and the pool rolls back again whatever comes back to it.
            drop(transaction.rollback().await);
            Err(error)
        }
    }
}

/// What the steps have come to, how the channels stand, and the chats that began; None: one of the steps panicked.
type Outcome =
    (Vec<Verdict>, Option<(StepsResult, HashMap<String, ChannelStanding>, Vec<(String, String, Uuid)>)>);

async fn run<D: Dialect>(
    context: &WriterContext<D>,
    transaction: &mut D::Transaction,
    ops: &[Op],
) -> Result<Outcome, sqlx::Error> {
    let mut verdicts = vec![Verdict::Gone; ops.len()];
    let mut chats = chats::<D>(&context.cache, transaction, ops).await?;
    let (mut locked, now) = lock::<D>(context, transaction, ops, &chats).await?;
    let removed = Removed::find::<D>(transaction, ops).await?;
    let found =
        |op: &Op| chats.conversation(&op.key).and_then(|id| locked.get(&id)).map(Locked::conversation);
    let kept = merged::keeping::<D>(transaction, ops, found).await?;
    take_back::<D>(transaction, ops, &removed, &mut chats, &mut locked).await?;

    let mut wanted = LoadRequest::default();
    let mut names = BTreeSet::new();
    for (number, op) in ops.iter().enumerate() {
        if let Some(why) = removed.bars(op) {
            verdicts[number] = Verdict::Removed(why);
            continue;
        }
        let Some(it) = chats.conversation(&op.key).and_then(|id| locked.get_mut(&id)) else {
            verdicts[number] = match &op.key {
                // The chat was there a moment ago, and its conversation was erased before we had the lock.
                Key::Chat { channel, chat, .. } if chats.conversation(&op.key).is_some() => {
                    context.cache.forget_chat(channel, chat.as_str());
                    Verdict::Postponed
                }
                _ => Verdict::Gone,
            };
            continue;
        };
        if let Some(elsewhere) = merged::elsewhere(number, op, &it.batch.known.conversation, &kept) {
            verdicts[number] = Verdict::Elsewhere(elsewhere);
            if let (Elsewhere::GoesOn(_), Key::Chat { channel, chat, .. }) = (elsewhere, &op.key) {
                context.cache.forget_chat(channel, chat.as_str());
            }
            continue;
        }
        verdicts[number] = it.admit(number, op);
        if verdicts[number] == Verdict::Done {
            wanted.need(&it.batch.known, &op.need);
            if op.need.channel {
                names.insert(it.batch.known.conversation.channel.clone());
            }
        }
    }
    for it in locked.values().filter(|it| it.is_read) {
        wanted.conversation(&it.batch.known.conversation, it.has_follow_up);
    }
    let mut channels = load::channels::<D>(transaction, &names).await?;
    let mut found = LoadedRows::load(transaction, D::sql(), &wanted).await?;

    let with_steps = locked.into_values().filter(|it| !it.batch.ops.is_empty());
    let batches = with_steps.map(|it| {
        let known = found.complete(it.batch.known, &wanted, it.request.as_deref());
        ConversationBatch { known, ..it.batch }
    });
    let mut result = match steps::run_steps(batches.collect(), &mut channels, ops, now) {
        Ok(result) => result,
        Err(panicked) => {
            // Nothing half-done may remain: the others start again from what is in the database.
            verdicts.fill(Verdict::Postponed);
            verdicts[panicked] = Verdict::Panicked;
            return Ok((verdicts, None));
        }
    };
    transaction.save(take(&mut result.save).statements(D::sql())?).await?;
    Ok((verdicts, Some((result, channels, chats.begun()))))
}

/// A conversation that was begun for nothing but messages that were removed is not begun.
async fn take_back<D: Dialect>(
    transaction: &mut D::Transaction,
    ops: &[Op],
    removed: &Removed,
    chats: &mut Chats,
    locked: &mut HashMap<Uuid, Locked>,
) -> Result<(), sqlx::Error> {
    let is_wanted = |id: &Uuid| {
        ops.iter().any(|op| {
            let begins = matches!(op.key, Key::Chat { opening: Some(_), .. });
            begins && chats.conversation(&op.key) == Some(*id) && removed.bars(op).is_none()
        })
    };
    let unwanted: BTreeSet<Uuid> = chats.begun.keys().filter(|id| !is_wanted(id)).copied().collect();
    if unwanted.is_empty() {
        return Ok(());
    }
    let ids: BTreeSet<String> = unwanted.iter().map(Uuid::to_string).collect();
    transaction.fetch(&D::sql().take_back, &text(&ids)?).await?;
    locked.retain(|id, _| !unwanted.contains(id));
    chats.begun.retain(|id, _| !unwanted.contains(id));
    chats.known.retain(|_, id| !unwanted.contains(id));
    Ok(())
}

/// A conversation under lock.
struct Locked {
    batch: ConversationBatch,
    /// Its open business must be read.
    is_read: bool,
    has_follow_up: bool,
    request: Option<String>,
    is_full: bool,
}

impl Locked {
    const fn of(known: Loaded, stamp: i64) -> Self {
        let batch = ConversationBatch { known, stamp, needs_channel: false, ops: Vec::new() };
        Self { batch, is_read: false, has_follow_up: false, request: None, is_full: false }
    }

    const fn conversation(&self) -> &Conversation {
        &self.batch.known.conversation
    }

    /// Takes a step in, or postpones it: a docket has room for one remembered request, and order is kept.
    fn admit(&mut self, number: usize, op: &Op) -> Verdict {
        self.is_full |= self.request.is_some() && op.need.request.is_some();
        if self.is_full {
            return Verdict::Postponed;
        }
        self.request = self.request.take().or_else(|| op.need.request.clone());
        self.batch.needs_channel |= op.need.channel;
        self.batch.ops.push(number);
        Verdict::Done
    }
}

/// The chats that steps name, and their conversations.
#[derive(Default)]
struct Chats {
    known: HashMap<Chat<'static>, Uuid>,
    begun: HashMap<Uuid, usize>,
}

impl Chats {
    fn begun(&self) -> Vec<(String, String, Uuid)> {
        let begun = self.known.iter().filter(|(_, id)| self.begun.contains_key(id));
        begun.map(|((channel, chat), id)| (channel.to_string(), chat.to_string(), *id)).collect()
    }

    fn know(&mut self, channel: &str, chat: &str, conversation: Uuid) {
        self.known.insert((channel.to_owned().into(), chat.to_owned().into()), conversation);
    }

    fn conversation(&self, key: &Key) -> Option<Uuid> {
        match key {
            Key::Id(id) => Some(*id),
            Key::Chat { channel, chat, .. } => {
                self.known.get(&(channel.into(), chat.as_str().into())).copied()
            }
        }
    }
}

/// Finds the conversations of chats, and begins those that are missing and have an opening.
async fn chats<D: Dialect>(
    cache: &DocketCache,
    transaction: &mut D::Transaction,
    ops: &[Op],
) -> Result<Chats, sqlx::Error> {
    let mut chats = Chats::default();
    let mut asked: BTreeSet<(&str, &str)> = BTreeSet::new();
    for op in ops {
        let Key::Chat { channel, chat, .. } = &op.key else { continue };
        match cache.conversation_of(channel, chat.as_str()) {
            Some(id) => chats.know(channel, chat.as_str(), id),
            None => drop(asked.insert((channel, chat.as_str()))),
        }
    }
    if asked.is_empty() {
        return Ok(chats);
    }
    let asked = text(&asked)?;
    resolve::<D>(cache, transaction, &asked, &mut chats).await?;

    let mut missing: BTreeMap<(&str, &str), (usize, ConversationRow)> = BTreeMap::new();
    for (number, op) in ops.iter().enumerate() {
        if let Key::Chat { channel, chat, opening: Some(opening) } = &op.key
            && chats.conversation(&op.key).is_none()
        {
            // The moment is set once the row is locked, when the store's clock is known.
            let begin = || Conversation::begin(channel, chat.clone(), opening, Time::default());
            missing
                .entry((channel, chat.as_str()))
                .or_insert_with(|| (number, ConversationRow::of(begin(), Clocks::default(), 0)));
        }
    }
    if missing.is_empty() {
        return Ok(chats);
    }
    let rows: Vec<&ConversationRow> = missing.values().map(|(_, row)| row).collect();
    let begun = transaction.fetch(&D::sql().open, &text(&rows)?).await?;
    let begun: BTreeSet<Uuid> = begun.iter().map(|row| Uuid::read(row, "id")).collect::<Result<_, _>>()?;
    if begun.len() < missing.len() {
        // Another instance was faster, and has committed by now. Or the channel was removed.
        resolve::<D>(cache, transaction, &asked, &mut chats).await?;
    }
    for ((channel, chat), (number, row)) in missing {
        if begun.contains(&row.id) {
            chats.know(channel, chat, row.id);
            chats.begun.insert(row.id, number);
        }
    }
    Ok(chats)
}

async fn resolve<D: Dialect>(
    cache: &DocketCache,
    transaction: &mut D::Transaction,
    asked: &str,
    chats: &mut Chats,
) -> Result<(), sqlx::Error> {
    for row in &transaction.fetch(&D::sql().resolve, asked).await? {
        let (channel, chat) = (String::read(row, "channel")?, String::read(row, "chat_id")?);
        let id = Uuid::read(row, "conversation_id")?;
        cache.keep_chat(&channel, &chat, id);
        chats.know(&channel, &chat, id);
    }
    Ok(())
}

/// Locks all conversations, in the order of their ids, and reads the clock after the last lock. What others have saved
/// since this instance saw it is read.
async fn lock<D: Dialect>(
    context: &WriterContext<D>,
    transaction: &mut D::Transaction,
    ops: &[Op],
    chats: &Chats,
) -> Result<(HashMap<Uuid, Locked>, Time), sqlx::Error> {
    let ids: BTreeSet<String> =
        ops.iter().filter_map(|op| chats.conversation(&op.key)).map(|id| id.to_string()).collect();
    if ids.is_empty() {
        return Ok((HashMap::new(), Time::default()));
    }
    let asked_at = boot_time();
    let rows = transaction.fetch(&D::sql().lock, &text(&ids)?).await?;
    let mut now = context.dialect.clock();
    if now.is_none() {
        for row in &rows {
            now = now.max(Option::read(row, "now")?);
        }
        context.clock.hear(asked_at, now.unwrap_or_default());
    }
    let now = now.unwrap_or_default();
    let mut locked = HashMap::new();
    let mut unknown = BTreeSet::new();
    for row in &rows {
        let (id, stamp) = (Uuid::read(row, "id")?, i64::read(row, "stamp")?);
        let begun = chats.begun.get(&id).map(|number| &ops[*number].key);
        if let Some(Key::Chat { channel, chat, opening: Some(opening) }) = begun {
            let conversation = Conversation::begin(channel, chat.clone(), opening, now);
            let known = Loaded { is_new: true, ..Loaded::of(Conversation { id, ..conversation }) };
            locked.insert(id, Locked::of(known, stamp));
        } else if let Some(known) = context.cache.take(id, stamp) {
            locked.insert(id, Locked::of(known, stamp));
        } else {
            unknown.insert(id.to_string());
        }
    }
    if unknown.is_empty() {
        return Ok((locked, now));
    }
    for row in &transaction.fetch(&D::sql().conversations, &text(&unknown)?).await? {
        let has_follow_up = Option::<Time>::read(row, "follow_up_at")?.is_some();
        let it = Locked::of(Loaded::of(rows::decode(row)?), i64::read(row, "stamp")?);
        locked.insert(it.batch.known.conversation.id, Locked { is_read: true, has_follow_up, ..it });
    }
    Ok((locked, now))
}
