//! Messages: windows of a conversation, all of them by time, one by its id, and what the model reads.

use async_trait::async_trait;
use uuid::Uuid;

use super::{
    conversations, cursor,
    filter::{Conditions, IS_THERE},
};
use crate::{
    adapters::{
        rows::Columns,
        sql::{Engine, Statement, Store, cell, decode},
    },
    domain::{chat::ChatId, event::EventType, message::Message, time::Time},
    flow::{
        archive::{Exchanged, MessageFilter, Page, PageOf, Placed, UnknownSends, Window},
        ledger::Error,
    },
};

/// Most messages read at once.
const MESSAGES_MAX: usize = 1_000;

const LIST: &str = "messages";

/// What the model may read: words of the conversation that the contact has seen, is about to see, or wrote. Notes and
/// mere signs are not words; what was withdrawn or never arrived was not said; what is still owed will be,
/// and must neither be repeated nor contradicted.
const WORDS: &str = " and m.kind not in ('note', 'reaction', 'call', 'poll_vote') and trim(m.text) <> '' \
    and m.deleted_at is null \
    and (m.state is null or m.state in ('queued', 'sending', 'sent', 'delivered', 'read', 'unknown'))";

/// One side of a window.
enum Side {
    /// Up to a number, newest first.
    UpTo(i64),
    /// After a number, oldest first.
    After(i64),
}

/// A window of a conversation, newest first.
pub(super) async fn window<S: Store>(
    store: &S,
    conversation: Uuid,
    window: Window,
    limit: usize,
) -> Result<Vec<Message>, Error> {
    let limit = limit.min(MESSAGES_MAX);
    match window {
        Window::Newest => side(store, conversation, Side::UpTo(i64::MAX), "", limit).await,
        Window::Before(seq) => side(store, conversation, Side::UpTo(seq.saturating_sub(1)), "", limit).await,
        Window::After(seq) => {
            let mut after = side(store, conversation, Side::After(seq), "", limit).await?;
            after.reverse();
            Ok(after)
        }
        Window::Around(seq) => {
            let mut around = side(store, conversation, Side::After(seq), "", limit / 2).await?;
            around.reverse();
            around.extend(side(store, conversation, Side::UpTo(seq), "", limit - limit / 2).await?);
            Ok(around)
        }
    }
}

/// What the model reads, oldest first.
pub(super) async fn history<S: Store>(
    store: &S,
    conversation: Uuid,
    up_to: i64,
    limit: usize,
) -> Result<Vec<Message>, Error> {
    let mut history = side(store, conversation, Side::UpTo(up_to), WORDS, limit.min(MESSAGES_MAX)).await?;
    history.reverse();
    Ok(history)
}

async fn side<S: Store>(
    store: &S,
    conversation: Uuid,
    side: Side,
    narrowed: &'static str,
    limit: usize,
) -> Result<Vec<Message>, Error> {
    let mut statement = Statement::new("select ");
    statement.columns::<Message>("m").push(" from messages m where m.conversation_id = ").bind(conversation);
    let order = match side {
        Side::UpTo(seq) => {
            statement.push(" and m.seq <= ").bind(seq);
            " order by m.seq desc limit "
        }
        Side::After(seq) => {
            statement.push(" and m.seq > ").bind(seq);
            " order by m.seq limit "
        }
    };
    statement.push(narrowed).push(order).bind(limit);
    store.rows(statement).await?.iter().map(decode).collect()
}

/// A page of all messages, oldest first.
pub(super) async fn exchanged<S: Store>(
    store: &S,
    wanted: &MessageFilter,
    page: &PageOf,
) -> Result<Page<Exchanged>, Error> {
    let after = cursor::read::<Uuid>(LIST, page)?;
    let mut statement = Statement::new("select ");
    statement.columns::<Message>("m").push(", c.chat_id, c.contact_name from messages m");
    statement.push(" join conversations c on c.id = m.conversation_id and ").push(IS_THERE);
    let mut conditions = Conditions::default();
    conditions.channels(&mut statement, S::ENGINE, "m.channel", wanted.channels.as_deref());
    conditions.given(&mut statement, "m.conversation_id = ", wanted.conversation);
    conditions.given(&mut statement, "m.at >= ", wanted.since);
    conditions.given(&mut statement, "m.at < ", wanted.until);
    if let Some((at, id)) = after {
        conditions.next(&mut statement).push("(m.at, m.id) > (").bind(at);
        statement.push(", ").bind(id).push(")");
    }
    statement.push(" order by m.at, m.id limit ").bind(cursor::rows_asked(page));
    let rows = store.rows(statement).await?;
    let found: Result<Vec<Exchanged>, Error> = rows
        .iter()
        .map(|row| Ok(Exchanged { placed: placed(row)?, contact_name: cell(row, "contact_name")? }))
        .collect();
    Ok(cursor::cut(found?, page, |Exchanged { placed: Placed { message, .. }, .. }| {
        cursor::write(LIST, message.at.0, message.id)
    }))
}

/// One message, and where it is.
pub(super) async fn one<S: Store>(store: &S, id: Uuid) -> Result<Option<Placed>, Error> {
    let mut statement = select_placed();
    statement.push(" and m.id = ").bind(id);
    store.row(statement).await?.as_ref().map(placed).transpose()
}

/// Those of these ids, and where they are.
pub(super) async fn of_ids<S: Store>(store: &S, ids: &[Uuid]) -> Result<Vec<Placed>, Error> {
    let mut statement = select_placed();
    statement.push(" and m.id").one_of(S::ENGINE, ids.iter().map(Uuid::to_string).collect());
    store.rows(statement).await?.iter().map(placed).collect()
}

/// What those of these ids quote, and reactions to them. A reaction is found by its place: no index knows what it quotes, and
/// one that comes so much later is not worth reading all that was said since.
pub(super) async fn beside<S: Store>(store: &S, ids: &[Uuid]) -> Result<Vec<(Uuid, Message)>, Error> {
    // PostgreSQL does not see how few lie between two numbers, and would read the whole table: it is made to go by each
    // conversation. SQLite knows no `lateral`, and keeps the order of a `cross join`.
    let (quoted, later, and_no_more) = match S::ENGINE {
        Engine::Postgres => (
            "m.quoted::json ->> 'provider_message_id'",
            "lateral (select r.id, r.kind from messages r where",
            " order by r.seq limit 1000) r where",
        ),
        Engine::Sqlite => ("m.quoted ->> 'provider_message_id'", "messages r where", " and"),
    };
    let mut statement = Statement::new("with shown as (select m.conversation_id, m.seq, ");
    statement.push(quoted).push(" as quoted from messages m where m.id");
    statement.one_of(S::ENGINE, ids.iter().map(Uuid::to_string).collect()).push(") select ");
    statement.columns::<Message>("m").push(
        " from messages m where m.id in (select q.id from shown s join messages q \
         on q.conversation_id = s.conversation_id and q.provider_message_id = s.quoted \
         union all select r.id from (select s.conversation_id, min(s.seq) as oldest from shown s \
         group by s.conversation_id) o cross join ",
    );
    statement.push(later).push(" r.conversation_id = o.conversation_id and r.seq > o.oldest");
    statement.push(" and r.seq <= o.oldest + 1000").push(and_no_more);
    statement.push(" r.kind = 'reaction') order by m.seq desc limit ");
    statement.bind(MESSAGES_MAX * 2);
    let found = store.rows(statement).await?;
    found.iter().map(|row| Ok((cell(row, "conversation_id")?, decode(row)?))).collect()
}

#[async_trait]
impl<S: Store> UnknownSends for S {
    async fn unknown_sends(
        &self,
        since: Time,
        after: Option<(Time, Uuid)>,
        limit: usize,
    ) -> Result<Vec<Placed>, Error> {
        let mut statement = select_placed();
        statement.push(" and m.state = 'unknown' and m.attempt_at >= ").bind(since);
        if let Some((at, id)) = after {
            statement.push(" and (m.attempt_at, m.id) < (").bind(at).push(", ").bind(id).push(")");
        }
        statement.push(" order by m.attempt_at desc, m.id desc limit ").bind(limit.min(MESSAGES_MAX));
        self.rows(statement).await?.iter().map(placed).collect()
    }

    async fn abandoned_sends(&self, before: Time, limit: usize) -> Result<Vec<Placed>, Error> {
        let mut statement = select_placed();
        statement.push(" and m.state = 'unknown' and m.attempt_at < ").bind(before);
        statement.push(" and not exists (select 1 from events e where e.conversation_id = m.conversation_id");
        statement.push(" and e.kind = ").bind(EventType::SendReconciled.as_str());
        statement.push(" and e.action = 'gave_up' and e.message_id = m.id and e.at >= m.attempt_at)");
        statement.push(" order by m.attempt_at desc, m.id desc limit ").bind(limit.min(MESSAGES_MAX));
        self.rows(statement).await?.iter().map(placed).collect()
    }
}

fn select_placed() -> Statement {
    let mut statement = Statement::new("select ");
    statement.columns::<Message>("m").push(", c.chat_id from messages m");
    statement.push(" join conversations c on c.id = m.conversation_id where ").push(IS_THERE);
    statement
}

fn placed<R: Columns>(row: &R) -> Result<Placed, Error> {
    Ok(Placed {
        conversation: cell(row, "conversation_id")?,
        channel: cell(row, "channel")?,
        chat: cell(row, "chat_id")?,
        message: decode(row)?,
    })
}

/// Whether a message with that key was stored, in the conversation of that chat or in one that was merged into it.
pub(super) async fn has<S: Store>(store: &S, channel: &str, chat: &ChatId, key: &str) -> Result<bool, Error> {
    let statement = Statement::new(
        "select m.id from chats h join messages m on m.conversation_id = h.conversation_id \
         where h.channel = $1 and h.chat_id = $2 and m.key = $3 limit 1",
    );
    if store.row(statement.with(channel).with(chat.as_str()).with(key)).await?.is_some() {
        return Ok(true);
    }
    let stays = conversations::of_chat(store, channel, chat).await?;
    for merged in stays.map(|stays| stays.conversation.memo.merged).unwrap_or_default() {
        let statement = Statement::new("select id from messages where conversation_id = $1 and key = $2");
        if store.row(statement.with(merged).with(key)).await?.is_some() {
            return Ok(true);
        }
    }
    Ok(false)
}
