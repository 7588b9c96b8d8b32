//! The state of a channel, and the event of its change.

use super::Postgres;
use crate::{
    adapters::{
        registry::ChannelStates,
        sql::{Statement, Store, cell},
    },
    domain::{
        event::{EventType, actor},
        time::Time,
    },
    flow::ledger::Error,
};

/// One statement, and so one transaction that no dropped future can leave open. Two reports at once: the second waits
/// for the row, and compares itself with what the first has written.
const CHANGE: &str = "with before as ( \
    select b.name, b.state from channels b where b.name = $1 and b.state <> $2 for update \
    ), changed as ( \
    update channels c set state = $2, updated_at = $3 from before b where c.name = b.name returning b.state as was \
    ), recorded as ( \
    insert into events (at, channel, actor, kind, details) \
    select $3, $1, $4, $5, json_build_object('from', was, 'to', $2)::text from changed \
    ) select was from changed";

impl ChannelStates for Postgres {
    async fn change_state(&self, name: &str, state: &str, now: Time) -> Result<Option<String>, Error> {
        let statement = Statement::new(CHANGE)
            .with(name)
            .with(state)
            .with(now)
            .with(actor::SYSTEM)
            .with(EventType::ChannelStateChanged.as_str());
        self.row(statement).await?.map(|row| cell(&row, "was")).transpose()
    }
}
