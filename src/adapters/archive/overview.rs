//! What a list shows besides the facts of a conversation: four queries for a page, however many rows it has.

use std::collections::HashMap;

use uuid::Uuid;

use super::follow_ups::owed;
use crate::{
    adapters::sql::{Statement, Store, cell, decode},
    domain::{
        chat::ChatId,
        conversation::Conversation,
        label::fold,
        message::Message,
        time::Time,
        turn::{FollowUp, FollowUpState},
    },
    flow::{archive::Overview, ledger::Error},
};

/// Messages that wait and that are owed. The words of the first condition are those of the partial index.
const COUNTS: &str = "select m.conversation_id, \
    count(*) filter (where m.outcome = 'pending') as inbox, \
    count(*) filter (where m.state = 'queued') as queued, \
    count(*) filter (where m.state = 'sending') as sending \
    from messages m where m.open and m.conversation_id";

/// Runs a query over conversations and completes what it finds, each with the key that the query sorts by.
pub(super) async fn overviews<S: Store>(
    store: &S,
    statement: Statement,
) -> Result<Vec<(i64, Overview)>, Error> {
    let mut found: Vec<(i64, Time, Conversation)> = Vec::new();
    for row in store.rows(statement).await? {
        // Null for one that does not wait; only the list by waiting time looks at it, and it leaves those out.
        let key = cell::<Option<i64>, _>(&row, "sort_key")?.unwrap_or_default();
        let read_at = cell(&row, "read_at")?;
        found.push((key, read_at, decode(&row)?));
    }
    if found.is_empty() {
        return Ok(Vec::new());
    }
    let ids: Vec<String> = found.iter().map(|(_, _, conversation)| conversation.id.to_string()).collect();
    let mut beside = Beside::read(store, ids).await?;
    Ok(found.into_iter().map(|(key, at, conversation)| (key, beside.complete(conversation, at))).collect())
}

/// What hangs on the conversations of a page.
struct Beside {
    words: HashMap<Uuid, Words>,
    follow_ups: HashMap<Uuid, FollowUp>,
    messages: HashMap<Uuid, Message>,
    counts: HashMap<Uuid, [i64; 3]>,
}

impl Beside {
    async fn read<S: Store>(store: &S, ids: Vec<String>) -> Result<Self, Error> {
        Ok(Self {
            words: words(store, ids.clone()).await?,
            follow_ups: follow_ups(store, ids.clone()).await?,
            messages: newest(store, ids.clone()).await?,
            counts: counts(store, ids).await?,
        })
    }

    fn complete(&mut self, conversation: Conversation, read_at: Time) -> Overview {
        let id = conversation.id;
        let Words { mut chats, mut labels } = self.words.remove(&id).unwrap_or_default();
        chats.retain(|chat| *chat != conversation.chat);
        labels.sort_by_cached_key(|label| fold(label));
        let [inbox, queued, sending] = self.counts.remove(&id).unwrap_or_default();
        Overview {
            aliases: chats,
            labels,
            follow_up: self.follow_ups.remove(&id),
            last_message: self.messages.remove(&id),
            inbox,
            queued,
            sending,
            said: None,
            read_at,
            conversation,
        }
    }
}

/// The ids of a conversation's chat, and the names of its labels.
#[derive(Default)]
struct Words {
    chats: Vec<ChatId>,
    labels: Vec<String>,
}

async fn words<S: Store>(store: &S, ids: Vec<String>) -> Result<HashMap<Uuid, Words>, Error> {
    let mut statement = Statement::new(
        "select h.conversation_id, h.chat_id, null as label from chats h where h.conversation_id",
    );
    statement.one_of(S::ENGINE, ids.clone()).push(
        " union all select t.conversation_id, null, l.name from conversation_labels t \
         join labels l on l.id = t.label_id where t.conversation_id",
    );
    statement.one_of(S::ENGINE, ids).push(" order by 2");
    let mut words: HashMap<Uuid, Words> = HashMap::new();
    for row in store.rows(statement).await? {
        let of_one = words.entry(cell(&row, "conversation_id")?).or_default();
        of_one.chats.extend(cell::<Option<ChatId>, _>(&row, "chat_id")?);
        of_one.labels.extend(cell::<Option<String>, _>(&row, "label")?);
    }
    Ok(words)
}

/// What is pending in each, as the list of follow-ups has it. Of two, as in a sequence, the first that can still be called off.
async fn follow_ups<S: Store>(store: &S, ids: Vec<String>) -> Result<HashMap<Uuid, FollowUp>, Error> {
    let mut statement = Statement::new("select ");
    statement.columns::<FollowUp>("f").push(", 0 as is_leaving from follow_ups f");
    statement.push(" where f.state = 'pending' and f.conversation_id").one_of(S::ENGINE, ids.clone());
    statement.push(" union all select ").columns::<FollowUp>("f");
    statement
        .push(", case when m.state = 'queued' then 0 else 1 end from messages m cross join follow_ups f");
    statement.push(concat!(" where ", owed!(), " and m.conversation_id")).one_of(S::ENGINE, ids);
    statement.push(" order by is_leaving, due_at, id");
    let mut pending = HashMap::new();
    for row in store.rows(statement).await? {
        let mut follow_up: FollowUp = decode(&row)?;
        follow_up.state = FollowUpState::Pending;
        pending.entry(cell(&row, "conversation_id")?).or_insert(follow_up);
    }
    Ok(pending)
}

/// The newest message of each that is not a note.
async fn newest<S: Store>(store: &S, ids: Vec<String>) -> Result<HashMap<Uuid, Message>, Error> {
    let mut statement = Statement::new("select ");
    statement.columns::<Message>("m").push(
        " from conversations c join messages m on m.id = (select n.id from messages n \
         where n.conversation_id = c.id and n.kind <> 'note' order by n.seq desc limit 1) where c.id",
    );
    statement.one_of(S::ENGINE, ids);
    let newest = store.rows(statement).await?;
    newest.iter().map(|row| Ok((cell(row, "conversation_id")?, decode(row)?))).collect()
}

async fn counts<S: Store>(store: &S, ids: Vec<String>) -> Result<HashMap<Uuid, [i64; 3]>, Error> {
    let mut statement = Statement::new(COUNTS);
    statement.one_of(S::ENGINE, ids).push(" group by m.conversation_id");
    let mut counts = HashMap::new();
    for row in store.rows(statement).await? {
        let count = |column| cell(&row, column);
        counts.insert(cell(&row, "conversation_id")?, [count("inbox")?, count("queued")?, count("sending")?]);
    }
    Ok(counts)
}
