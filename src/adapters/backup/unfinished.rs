//! Conversations in which something is under way: what a backup was made in the middle of.

use uuid::Uuid;

use super::{Error, Movable, all};

const UNFINISHED: &str = "select c.id from conversations c where c.erased_at is null and (c.lease_until is not null \
    or exists (select 1 from messages m where m.conversation_id = c.id and m.open \
        and (m.state in ('queued', 'sending') or m.outcome = 'pending')) \
    or exists (select 1 from follow_ups f where f.conversation_id = c.id and f.state = 'pending') \
    or (c.mode = 'HUMAN' and c.mode_reason = 'hours' and c.mode_until is not null)) order by c.id";

/// Those with words owed or on their way, with messages that wait (for the assistant's hours, too), with a turn that runs or a
/// follow-up to come. Not one that
/// is being erased: no step finds it, and nothing of it leaves.
pub(crate) async fn unfinished<D: Movable>(store: &D) -> Result<Vec<Uuid>, Error> {
    let mut session = store.writing().await?;
    let told = all(&mut session, UNFINISHED.to_owned()).await?;
    let ids = told.iter().map(|id| id.parse()).collect::<Result<_, uuid::Error>>();
    ids.map_err(|error| Error::Database(sqlx::Error::Decode(error.into())))
}
