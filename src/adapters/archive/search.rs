//! Searches: the conversations in whose contact's name, phone or messages some words are found.
//!
//! No index of words stands behind it. One costs each message that is written, which is what happens most; one of whole
//! words finds nothing inside of a word, nor in scripts that put no spaces between them. So a search goes through the
//! conversations in the order of the list, each with its newest messages, as far as it gets in the time it has. Where it
//! has not found enough by then, the next page continues from there: what is found last takes longest, and nothing is beyond
//! reach.

use std::{
    collections::HashMap,
    time::{Duration, Instant},
};

use uuid::Uuid;

use super::{
    conversations::{after, key, name, of_ids, order},
    cursor, filter,
    read_limit::ReadLimit,
    text_match::TextMatch,
};
use crate::{
    adapters::sql::{Statement, Store, cell},
    flow::{
        archive::{ConversationFilter, Counts, Overview, Page, PageOf, Said},
        ledger::Error,
    },
};

/// Newest messages of a conversation that are looked through.
const MESSAGES_MAX: i64 = 1_000;

/// A search looks no further after this.
pub(super) const PATIENCE: Duration = Duration::from_secs(3);

/// Conversations looked through by one statement, at first and at most. Few at first: common words are found at once.
const BATCH_MIN: i64 = 64;
const BATCH_MAX: i64 = 1_024;

/// A batch that took longer is not followed by a larger one: each must end long before the database ends it.
const QUICK: Duration = Duration::from_millis(200);

/// Of all searches.
static TURNS: ReadLimit = ReadLimit::new();

/// A page of those in which the words are found.
pub(super) async fn list<S: Store>(
    store: &S,
    words: &str,
    wanted: &ConversationFilter,
    page: &PageOf,
    patience: Duration,
) -> Result<Page<Overview>, Error> {
    let after = cursor::read::<Uuid>(name(wanted.sort), page)?;
    let words = TextMatch::new(S::ENGINE, words);
    let _turn = TURNS.turn().await?;
    let mut walk = Walk::begin(store, &words, wanted, after, patience);
    let mut found: Vec<Found> = Vec::new();
    while found.len() < cursor::rows(page)
        && let Some(rows) = walk.next(&|_| {}).await?
    {
        for row in &rows {
            found.extend(Found::read(row)?);
        }
    }
    let next = walk.goes_on_after.map(|(at, id)| cursor::write(name(wanted.sort), at, id));
    let page = cursor::cut(found, page, |found| cursor::write(name(wanted.sort), found.key, found.id));
    Ok(Page { items: complete(store, &words, page.items).await?, next: page.next.or(next) })
}

/// How many there are; a lower bound, if there are more than can be searched in the time.
pub(super) async fn counts<S: Store>(
    store: &S,
    words: &str,
    wanted: &ConversationFilter,
    patience: Duration,
) -> Result<Counts, Error> {
    let words = TextMatch::new(S::ENGINE, words);
    let _turn = TURNS.turn().await?;
    let mut walk = Walk::begin(store, &words, wanted, None, patience);
    let mut counts = Counts::default();
    while let Some(rows) = walk.next(&filter::groups).await? {
        for row in &rows {
            if Found::read(row)?.is_some() {
                counts.all += 1;
                counts.needs_you += i64::from(cell::<bool, _>(row, "needs_you")?);
                if let Some(holder) = cell(row, "holder")? {
                    *counts.held.entry(holder).or_default() += 1;
                }
                counts.ai += i64::from(cell::<bool, _>(row, "ai")?);
                counts.unread += i64::from(cell::<bool, _>(row, "is_unread")?);
            }
        }
    }
    Ok(counts)
}

/// A conversation in which the words were found, and the newest message that holds them.
struct Found {
    key: i64,
    id: Uuid,
    message: Option<Uuid>,
}

impl Found {
    fn read<R: crate::adapters::rows::Columns>(row: &R) -> Result<Option<Self>, Error> {
        let message = cell::<Option<Uuid>, _>(row, "message_id")?;
        if message.is_none() && !cell::<bool, _>(row, "is_named")? {
            return Ok(None);
        }
        Ok(Some(Self { key: cell(row, "sort_key")?, id: cell(row, "id")?, message }))
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Begins,
    GoesOn,
    HasEnded,
}

/// A way through the conversations of a list.
struct Walk<'a, S> {
    store: &'a S,
    words: &'a TextMatch,
    wanted: &'a ConversationFilter,
    /// The last one looked at, if there may be others after it.
    goes_on_after: Option<(i64, Uuid)>,
    batch: i64,
    until: Instant,
    state: State,
}

impl<'a, S: Store> Walk<'a, S> {
    fn begin(
        store: &'a S,
        words: &'a TextMatch,
        wanted: &'a ConversationFilter,
        after: Option<(i64, Uuid)>,
        patience: Duration,
    ) -> Self {
        let until = Instant::now() + patience;
        Self { store, words, wanted, goes_on_after: after, batch: BATCH_MIN, until, state: State::Begins }
    }

    /// Looks through the next few: a row for each. None: there are no more, or the time is over.
    async fn next(&mut self, more: &(dyn Fn(&mut Statement) + Sync)) -> Result<Option<Vec<S::Row>>, Error> {
        let begun = Instant::now();
        match self.state {
            State::Begins => {}
            State::GoesOn if begun < self.until => {}
            State::GoesOn | State::HasEnded => return Ok(None),
        }
        let rows = self.store.rows(self.statement(more)).await?;
        self.goes_on_after = match rows.last() {
            Some(last) if i64::try_from(rows.len()) == Ok(self.batch) => {
                Some((cell(last, "sort_key")?, cell(last, "id")?))
            }
            _ => None,
        };
        self.state = if self.goes_on_after.is_some() { State::GoesOn } else { State::HasEnded };
        if begun.elapsed() < QUICK {
            self.batch = (self.batch * 2).min(BATCH_MAX);
        }
        Ok(Some(rows))
    }

    fn statement(&self, more: &dyn Fn(&mut Statement)) -> Statement {
        let sort = self.wanted.sort;
        let mut statement = Statement::new("select c.id, ");
        statement.push(key(sort)).push(" as sort_key, ((c.contact_name is not null and ");
        self.words.held_by(&mut statement, "c.contact_name");
        statement.push(")");
        if let Some(phone) = self.words.phone() {
            statement
                .push(" or exists (select 1 from chats h where h.conversation_id = c.id and h.chat_id like ");
            statement.bind(phone).push(")");
        }
        // Numbers of messages have no holes.
        statement.push(
            ") as is_named, (select m.id from messages m \
             where m.conversation_id = c.id and m.deleted_at is null and m.seq > c.seq - ",
        );
        statement.bind(MESSAGES_MAX).push(" and ");
        self.words.held_by(&mut statement, "m.text");
        statement.push(" order by m.seq desc limit 1) as message_id");
        more(&mut statement);
        statement.push(" from (select c.* from conversations c");
        let mut conditions = filter::conversations(&mut statement, S::ENGINE, self.wanted);
        if let Some(place) = self.goes_on_after {
            after(&mut statement, &mut conditions, sort, place);
        }
        statement.push(" order by ").push(key(sort)).push(order(sort)).push(" limit ").bind(self.batch);
        statement.push(") c order by ").push(key(sort)).push(order(sort));
        statement
    }
}

/// With all that a list shows, and a piece of what was said.
async fn complete<S: Store>(store: &S, words: &TextMatch, found: Vec<Found>) -> Result<Vec<Overview>, Error> {
    if found.is_empty() {
        return Ok(Vec::new());
    }
    let ids: Vec<Uuid> = found.iter().map(|found| found.id).collect();
    let messages: Vec<String> =
        found.iter().filter_map(|found| found.message).map(|id| id.to_string()).collect();
    let mut overviews: HashMap<Uuid, Overview> =
        of_ids(store, &ids).await?.into_iter().map(|overview| (overview.conversation.id, overview)).collect();
    let mut statement =
        Statement::new("select m.conversation_id, m.id, m.seq, m.text from messages m where m.id");
    statement.one_of(S::ENGINE, messages);
    for row in store.rows(statement).await? {
        let said = Said {
            message: cell(&row, "id")?,
            seq: cell(&row, "seq")?,
            snippet: words.snippet(&cell::<String, _>(&row, "text")?),
        };
        if let Some(overview) = overviews.get_mut(&cell(&row, "conversation_id")?) {
            overview.said = Some(said);
        }
    }
    // One that is gone meanwhile is left out.
    Ok(found.iter().filter_map(|found| overviews.remove(&found.id)).collect())
}
