//! The registry for both databases: channels, API tokens, and the installation's id.
//!
//! In: what the API and the command line keep. Out: the same, read back. Few rows, changed rarely: plain statements.

#[cfg(test)]
mod tests;

use async_trait::async_trait;
use serde_json::{Map, Value};
use uuid::Uuid;

use super::{
    archive::cursor,
    failure,
    rows::{Columns, Json},
    sql::{Engine, Part, Statement, Store, cell, is_within, only_row, serialize_writes, texts},
};
use crate::{
    domain::{
        brake::{Brake, Latched},
        chat::ChatId,
        event::{EventType, actor},
        time::Time,
    },
    flow::{
        archive::{Page, PageOf},
        back_office::registry::{Channel, Linked, Registry, Token, Tokens},
        ledger::Error,
        poll, repair, restored,
    },
};

/// Most channels that are listed.
const ROWS_MAX: i64 = 10_000;

/// What is due further ahead than anybody sets it was set before the store's clock was set back, and is due now. Of two who
/// ask at once, one may have looked at the clock this much before the other.
const APART_MS: i64 = 60_000;

const CHANNELS: &str = "select c.name, c.title, c.provider, c.instance, c.api_url, c.sealed, c.settings, c.state, \
    c.braked_at, c.braked_sends, c.braked_best, c.brake_released_at, \
    c.managed_by_environment, c.created_at, c.updated_at from channels c";

const TOKENS_LIST: &str = "tokens";

const TOKENS: &str =
    "select t.id, t.name, t.role, t.channels, t.agent, t.expires_at, t.created_at from tokens t";

#[async_trait]
impl<S: Store> Registry for S {
    async fn installation(&self) -> Result<String, Error> {
        let row = self.row(Statement::new("select i.id from installation i")).await?;
        cell(&only_row(row)?, "id")
    }

    async fn restored_at(&self) -> Result<Option<Time>, Error> {
        let row = self.row(Statement::new("select i.generation from installation i")).await?;
        Ok(restored::restored_at(&cell::<String, _>(&only_row(row)?, "generation")?))
    }

    async fn channels(&self) -> Result<Vec<Channel>, Error> {
        let mut statement = Statement::new(CHANNELS);
        statement.push(" order by c.name limit ").bind(ROWS_MAX);
        self.rows(statement).await?.iter().map(channel).collect()
    }

    async fn add_channel(&self, channel: &Channel) -> Result<bool, Error> {
        let statement = Statement::new(
            "insert into channels (title, provider, instance, api_url, sealed, settings, managed_by_environment, \
             updated_at, name, state, created_at) select $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11 \
             where not exists (select 1 from channels t where t.instance = $3) on conflict (name) do nothing",
        );
        let statement = described(statement, channel).with(channel.state.as_str()).with(channel.created_at);
        self.write_together(vec![serialize_writes(), Part::Must(statement)]).await
    }

    async fn put_channel(&self, channel: &Channel, changed_at: Time) -> Result<bool, Error> {
        // Another account is recorded with it: nobody knows its state, nor can it say what the one before it has sent.
        let mut event = Statement::new("insert into events (at, channel, actor, kind, details) select ");
        event.now(self).push(", c.name, ").bind(actor::SYSTEM).push(", ");
        event.bind(EventType::ChannelStateChanged.as_str()).push(", cast(").push(json_object(S::ENGINE));
        event.push("('from', nullif(c.state, ''), 'to', null) as text) from channels c where c.name = ");
        event.bind(channel.name.as_str()).push(" and coalesce(c.instance, '') <> coalesce(cast(");
        event.bind(channel.instance.clone()).push(" as text), '')");
        // Two that share an account from before stay changeable: that is how they are parted.
        let statement = Statement::new(
            "update channels set state = case when coalesce(instance, '') = coalesce($3, '') then state else '' end, \
             title = $1, provider = $2, instance = $3, api_url = $4, sealed = $5, settings = $6, \
             managed_by_environment = $7, updated_at = $8 where name = $9 and updated_at = $10 \
             and (instance = $3 or not exists (select 1 from channels t where t.instance = $3 and t.name <> $9))",
        );
        let statement = described(statement, channel).with(changed_at);
        self.write_together(vec![serialize_writes(), Part::May(event), Part::Must(statement)]).await
    }

    async fn remove_channel(&self, name: &str) -> Result<bool, Error> {
        let removing = Statement::new("delete from channels where name = $1");
        // Only then: the removal waits for whoever begins a conversation there.
        let is_unused = Statement::new(
            "update installation set one = one where not exists (select 1 from conversations where channel = $1)",
        );
        let letters =
            Statement::new("delete from dead_letters where channel = $1 and conversation_id is null");
        let mut parts = vec![
            serialize_writes(),
            Part::Must(removing.with(name)),
            Part::Must(is_unused.with(name)),
            Part::May(letters.with(name)),
        ];
        parts.extend(NAMING_CHANNELS.map(|table| Part::May(naming_no_more(S::ENGINE, table, name))));
        self.write_together(parts).await
    }

    async fn now(&self) -> Result<Time, Error> {
        let mut statement = Statement::new("select ");
        statement.now(self).push(" as now");
        let row = self.row(statement).await?;
        cell(&row.ok_or_else(|| Error::Unavailable("the store does not say what time it is".into()))?, "now")
    }

    async fn set_channel_state(&self, name: &str, state: &str, now: Time) -> Result<bool, Error> {
        // Two reports at once: the second waits for the row, and compares itself with what the first has written.
        let lock = Statement::new("update channels set state = state where name = $1 and state <> $2");
        let lock = lock.with(name).with(state);
        let mut event = Statement::new("insert into events (at, channel, actor, kind, details) select ");
        event.bind(now).push(", c.name, ").bind(actor::SYSTEM).push(", ");
        event.bind(EventType::ChannelStateChanged.as_str()).push(", cast(").push(json_object(S::ENGINE));
        event
            .push("('from', nullif(c.state, ''), 'to', cast(")
            .bind(state)
            .push(" as text)) as text) from channels c");
        event.push(" where c.name = ").bind(name);
        let change = Statement::new("update channels set state = $2, updated_at = $3 where name = $1");
        let change = change.with(name).with(state).with(now);
        self.write_together(vec![Part::Must(lock), Part::Must(event), Part::Must(change)]).await
    }

    async fn hold_channel(&self, name: &str, until: Time) -> Result<(), Error> {
        // Only ever forwards: a shorter hold that comes later doesn't end a longer one.
        let statement =
            Statement::new("update channels set next_send_at = $2 where name = $1 and next_send_at < $2");
        self.write(statement.with(name).with(until)).await.map(drop)
    }

    async fn release_channel(&self, name: &str, held_until: Time, now: Time) -> Result<(), Error> {
        let statement =
            Statement::new("update channels set next_send_at = $3 where name = $1 and next_send_at = $2");
        self.write(statement.with(name).with(held_until).with(now)).await.map(drop)
    }

    async fn claim_look_up(&self, name: &str, now: Time, every_ms: i64) -> Result<bool, Error> {
        let statement = Statement::new(
            "update channels set look_up_at = $3 where name = $1 and not (look_up_at > $2 and look_up_at <= $4)",
        );
        let next_at = now.plus_ms(every_ms);
        Ok(self.write(statement.with(name).with(now).with(next_at).with(next_at.plus_ms(APART_MS))).await?
            > 0)
    }

    async fn latch_brake(
        &self,
        name: &str,
        latched: Latched,
        released_at: Option<Time>,
    ) -> Result<bool, Error> {
        let statement = Statement::new(
            "update channels set braked_at = $2, braked_sends = $3, braked_best = $4, updated_at = $2 \
             where name = $1 and braked_at is null and coalesce(brake_released_at, 0) = $5",
        );
        let statement = statement.with(name).with(latched.at).with(latched.sends).with(latched.best);
        Ok(self.write(statement.with(released_at.unwrap_or(Time(0)))).await? > 0)
    }

    async fn release_brake(&self, name: &str, now: Time) -> Result<bool, Error> {
        let statement = Statement::new(
            "update channels set braked_at = null, braked_sends = null, braked_best = null, brake_released_at = $2, \
             updated_at = $2 where name = $1 and braked_at is not null",
        );
        Ok(self.write(statement.with(name).with(now)).await? > 0)
    }

    async fn ids_of(&self, channel: &str, chat: &ChatId) -> Result<Vec<ChatId>, Error> {
        let known = Statement::new(
            "select o.chat_id from chats h join chats o on o.conversation_id = h.conversation_id \
             where h.channel = $1 and h.chat_id = $2",
        );
        let rows = self.rows(known.with(channel).with(chat.as_str())).await?;
        rows.iter().map(|row| cell(row, "chat_id")).collect()
    }

    async fn sent_to(&self, channel: &str, id: &str, but_not: &ChatId) -> Result<Option<ChatId>, Error> {
        let sent = Statement::new(
            "select c.chat_id from messages m join conversations c on c.id = m.conversation_id \
             where m.provider_message_id = $2 and m.channel = $1 and m.author <> 'contact' \
             and not exists (select 1 from chats h \
                where h.channel = $1 and h.chat_id = $3 and h.conversation_id = m.conversation_id) \
             order by m.at desc limit 1",
        );
        let row = self.row(sent.with(channel).with(id).with(but_not.as_str())).await?;
        row.map(|row| cell(&row, "chat_id")).transpose()
    }

    async fn chat_of(&self, channel: &str, id: &str) -> Result<Option<ChatId>, Error> {
        let sent = Statement::new(
            "select c.chat_id from messages m join conversations c on c.id = m.conversation_id \
             where m.provider_message_id = $2 and m.channel = $1 and m.author <> 'contact' limit 2",
        );
        match &self.rows(sent.with(channel).with(id)).await?[..] {
            [row] => cell(row, "chat_id").map(Some),
            _ => Ok(None),
        }
    }

    async fn link_chats(&self, channel: &str, chat: &ChatId, alias: &ChatId) -> Result<Linked, Error> {
        let both = |statement: Statement| statement.with(channel).with(chat.as_str()).with(alias.as_str());
        let known = Statement::new(
            "select h.conversation_id from chats h join conversations c on c.id = h.conversation_id \
             where h.channel = $1 and h.chat_id in ($2, $3) order by c.created_at, c.id",
        );
        let known = self.rows(both(known)).await?;
        let known: Vec<Uuid> =
            known.iter().map(|row| cell(row, "conversation_id")).collect::<Result<_, _>>()?;
        match known[..] {
            [earlier, later] if earlier != later => Ok(Linked::Apart { earlier, later }),
            [_, _] => Ok(Linked::Together),
            [_] => {
                let share = Statement::new(
                    "insert into chats (channel, chat_id, conversation_id) \
                     select channel, $3, conversation_id from chats where channel = $1 and chat_id = $2 \
                     union all \
                     select channel, $2, conversation_id from chats where channel = $1 and chat_id = $3 \
                     on conflict do nothing",
                );
                // It may have begun one of its own meanwhile: then the next message shows them again.
                let is_shared = self.write(both(share)).await? > 0;
                Ok(if is_shared { Linked::Together } else { Linked::Not })
            }
            _ => Ok(Linked::Not),
        }
    }

    async fn claim_poll(&self, name: &str, owner: &str, ttl_ms: i64) -> Result<bool, Error> {
        let mut statement = Statement::new("update channels set poll_owner = ");
        statement.bind(owner).push(", poll_until = ").now(self).push(" + ").bind(ttl_ms);
        statement.push(" where name = ").bind(name).push(" and (poll_owner = ").bind(owner);
        statement.push(" or poll_until <= ").now(self);
        statement.push(" or poll_until > ").now(self).push(" + ").bind(poll::LEASE_MS + APART_MS).push(")");
        Ok(self.write(statement).await? > 0)
    }

    async fn schedule_repair(&self, name: &str, in_ms: i64) -> Result<(), Error> {
        let mut statement = Statement::new("update channels set repair_at = ");
        statement.now(self).push(" + ").bind(in_ms).push(" where name = ").bind(name);
        self.write(statement).await.map(drop)
    }

    async fn begin_repair(&self, name: &str, in_ms: i64) -> Result<(), Error> {
        let mut statement = Statement::new("update channels set repair_at = ");
        statement.now(self).push(" + ").bind(in_ms).push(" where name = ").bind(name);
        statement.push(" and not (repair_at > ").now(self);
        statement.push(" and repair_at <= ").now(self).push(" + ").bind(in_ms).push(")");
        self.write(statement).await.map(drop)
    }

    async fn claim_repair(&self, name: &str, now: Time, until: Time) -> Result<Option<Time>, Error> {
        let claim = Statement::new(
            "update channels set repair_at = $3 where name = $1 and not (repair_at > $2 and repair_at <= $4)",
        );
        let claim = claim.with(name).with(now).with(until).with(now.plus_ms(repair::EVERY_MS + APART_MS));
        if self.write(claim).await? == 0 {
            return Ok(None);
        }
        let since =
            Statement::new("select coalesce(repaired_to, created_at) as since from channels where name = $1");
        self.row(since.with(name)).await?.map(|row| cell(&row, "since")).transpose()
    }

    async fn end_repair(&self, name: &str, to: Time, until: Time, next_at: Time) -> Result<(), Error> {
        let statement = Statement::new(
            "update channels set repaired_to = $2, repair_at = case when repair_at = $3 then $4 else repair_at end \
             where name = $1",
        );
        self.write(statement.with(name).with(to).with(until).with(next_at)).await.map(drop)
    }
}

#[async_trait]
impl<S: Store> Tokens for S {
    async fn add_token(&self, token: &Token, hash: &str) -> Result<(), Error> {
        let statement = Statement::new(
            "insert into tokens (id, name, hash, role, channels, agent, expires_at, created_at) \
             values ($1, $2, $3, $4, $5, $6, $7, $8)",
        )
        .with(token.id)
        .with(token.name.as_str())
        .with(hash)
        .with(token.role.as_str())
        .with(token.channels.as_ref())
        .with(token.agent.map(|agent| agent.to_string()))
        .with(token.expires_at)
        .with(token.created_at);
        self.write(statement).await.map(drop)
    }

    async fn tokens(&self, within: Option<&[String]>, page: &PageOf) -> Result<Page<Token>, Error> {
        let after = cursor::read::<Uuid>(TOKENS_LIST, page)?;
        let mut statement = Statement::new(TOKENS);
        statement.push(" where true");
        if let Some(channels) = within {
            is_within(statement.push(" and "), S::ENGINE, "t.channels", channels);
        }
        if let Some((created_at, id)) = after {
            statement.push(" and (t.created_at < ").bind(created_at);
            statement.push(" or (t.created_at = ").bind(created_at).push(" and t.id < ").bind(id).push("))");
        }
        statement.push(" order by t.created_at desc, t.id desc limit ").bind(cursor::rows_asked(page));
        let tokens: Result<Vec<Token>, Error> = self.rows(statement).await?.iter().map(token).collect();
        Ok(cursor::cut(tokens?, page, |it| cursor::write(TOKENS_LIST, it.created_at.0, it.id)))
    }

    async fn token_of(&self, id: Uuid) -> Result<Option<Token>, Error> {
        let mut statement = Statement::new(TOKENS);
        statement.push(" where t.id = ").bind(id);
        self.row(statement).await?.as_ref().map(token).transpose()
    }

    async fn token(&self, hash: &str) -> Result<Option<Token>, Error> {
        let mut statement = Statement::new(TOKENS);
        statement.push(" where t.hash = ").bind(hash);
        self.row(statement).await?.as_ref().map(token).transpose()
    }

    async fn revoke_token(&self, id: Uuid) -> Result<bool, Error> {
        Ok(self.write(Statement::new("delete from tokens where id = $1").with(id)).await? > 0)
    }
}

/// What makes an object of names and values.
const fn json_object(engine: Engine) -> &'static str {
    match engine {
        Engine::Postgres => "json_build_object",
        Engine::Sqlite => "json_object",
    }
}

/// The tables with a list of channels that somebody or something is limited to.
const NAMING_CHANNELS: [&str; 4] = ["tokens", "agents", "endpoints", "canned_replies"];

/// Takes a channel out of the lists of that table: the next one of its name is another. A list that ends up empty stays
/// one: it names no channel, where none at all would mean every.
fn naming_no_more(engine: Engine, table: &'static str, name: &str) -> Statement {
    let mut statement = Statement::new("update ");
    statement.push(table).push(" set channels = ");
    match engine {
        Engine::Postgres => {
            statement.push("(select coalesce(json_agg(c.name), '[]')::text from json_array_elements_text(");
            statement.push("channels::json) as c (name) where c.name <> ").bind(name);
            statement
                .push(") where exists (select 1 from json_array_elements_text(channels::json) as c (name)");
            statement.push(" where c.name = ").bind(name).push(")");
        }
        Engine::Sqlite => {
            statement.push("(select json_group_array(c.value) from json_each(channels) c where c.value <> ");
            statement.bind(name).push(") where exists (select 1 from json_each(channels) c where c.value = ");
            statement.bind(name).push(")");
        }
    }
    statement
}

/// The values that adding and overwriting have in common, in their order.
fn described(statement: Statement, channel: &Channel) -> Statement {
    statement
        .with(channel.title.clone())
        .with(channel.provider.as_str())
        .with(channel.instance.clone())
        .with(channel.api_url.clone())
        .with(channel.sealed.clone())
        .with(Value::Object(channel.settings.clone()).to_string())
        .with(channel.managed_by_environment)
        .with(channel.updated_at)
        .with(channel.name.as_str())
}

fn channel<R: Columns>(row: &R) -> Result<Channel, Error> {
    let Json(settings) = cell::<Json<Map<String, Value>>, _>(row, "settings")?;
    Ok(Channel {
        name: cell(row, "name")?,
        title: cell(row, "title")?,
        provider: cell(row, "provider")?,
        instance: cell(row, "instance")?,
        api_url: cell(row, "api_url")?,
        sealed: row.bytes("sealed").map_err(failure)?,
        settings,
        state: cell(row, "state")?,
        brake: brake(row)?,
        managed_by_environment: cell(row, "managed_by_environment")?,
        created_at: cell(row, "created_at")?,
        updated_at: cell(row, "updated_at")?,
    })
}

fn brake<R: Columns>(row: &R) -> Result<Brake, Error> {
    let (sends, best) =
        (cell::<Option<i64>, _>(row, "braked_sends")?, cell::<Option<i64>, _>(row, "braked_best")?);
    let latched = |at| Latched { at, sends: sends.unwrap_or_default(), best: best.unwrap_or_default() };
    Ok(Brake {
        latched: cell::<Option<Time>, _>(row, "braked_at")?.map(latched),
        released_at: cell(row, "brake_released_at")?,
    })
}

fn token<R: Columns>(row: &R) -> Result<Token, Error> {
    Ok(Token {
        id: cell(row, "id")?,
        name: cell(row, "name")?,
        role: cell(row, "role")?,
        channels: texts(row, "channels")?,
        agent: cell(row, "agent")?,
        expires_at: cell(row, "expires_at")?,
        created_at: cell(row, "created_at")?,
    })
}
