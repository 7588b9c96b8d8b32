//! The people for both databases: agents, their sessions, and the links with which they sign in.
//!
//! In: what the doors and the command line keep. Out: the same, read back. Only hashes of secrets come here.

#[cfg(test)]
mod tests;

use async_trait::async_trait;
use uuid::Uuid;

use super::{
    purge,
    rows::Columns,
    sql::{Engine, Part, Statement, Store, cell, is_within, serialize_writes, texts},
};
use crate::{
    domain::time::Time,
    flow::{
        back_office::people::{Agent, Change, Link, Outcome, People, Role, Session, folded},
        ledger::Error,
    },
};

/// Most agents that are listed.
const ROWS_MAX: i64 = 10_000;

const AGENTS: &str = "select a.id, a.name, a.email, a.role, a.channels, a.disabled, a.password, a.created_at, \
    a.updated_at from agents a";

const SESSION: &str = "select s.hash, s.created_at as begun_at, s.used_at, s.expires_at, \
    a.id, a.name, a.email, a.role, a.channels, a.disabled, a.created_at, a.updated_at \
    from sessions s join agents a on a.id = s.agent where s.hash = $1";

#[async_trait]
impl<S: Store> People for S {
    async fn agents(&self) -> Result<Vec<Agent>, Error> {
        let mut statement = Statement::new(AGENTS);
        statement.push(" order by a.name, a.id limit ").bind(ROWS_MAX);
        self.rows(statement).await?.iter().map(agent).collect()
    }

    async fn agent(&self, id: Uuid) -> Result<Option<Agent>, Error> {
        let mut statement = Statement::new(AGENTS);
        statement.push(" where a.id = ").bind(id);
        self.row(statement).await?.as_ref().map(agent).transpose()
    }

    async fn agent_of(&self, email: &str) -> Result<Option<(Agent, Option<String>)>, Error> {
        let mut statement = Statement::new(AGENTS);
        statement.push(" where a.email_folded = ").bind(folded(email));
        let Some(row) = self.row(statement).await? else { return Ok(None) };
        Ok(Some((agent(&row)?, cell(&row, "password")?)))
    }

    async fn preferences(&self, id: Uuid) -> Result<Option<String>, Error> {
        let statement = Statement::new("select a.preferences from agents a where a.id = $1").with(id);
        self.row(statement).await?.map(|row| cell(&row, "preferences")).transpose()
    }

    async fn add_agent(
        &self,
        agent: &Agent,
        password: Option<&str>,
        link: Option<&Link>,
    ) -> Result<bool, Error> {
        let mut add = insertion(agent, password);
        add.push(" where true on conflict (email_folded) do nothing");
        let mut parts = vec![serialize_writes(), Part::Must(add)];
        parts.extend(link.map(|link| Part::Must(insertion_of(link))));
        self.write_together(parts).await
    }

    async fn add_first_agent(&self, agent: &Agent, link: &Link) -> Result<bool, Error> {
        let mut add = insertion(agent, None);
        add.push(" where not exists (select 1 from agents)");
        self.write_together(vec![serialize_writes(), Part::Must(add), Part::Must(insertion_of(link))]).await
    }

    async fn change_agent(&self, id: Uuid, change: &Change, now: Time) -> Result<Outcome, Error> {
        let Some(before) = self.agent(id).await? else { return Ok(Outcome::Gone) };
        let mut parts = vec![serialize_writes(), Part::Must(overwriting(S::ENGINE, id, change, now))];
        if change.ends_sessions(&before) {
            let spared = change.spared.clone().unwrap_or_default();
            let sessions = Statement::new("delete from sessions where agent = $1 and hash <> $2");
            let links = Statement::new("delete from sign_in_links where agent = $1");
            parts.push(Part::May(sessions.with(id).with(spared)));
            parts.push(Part::May(links.with(id)));
        }
        if self.write_together(parts).await? {
            return Ok(Outcome::Changed);
        }
        let now = self.agent(id).await?;
        if !now.is_some_and(|now| change.within.as_ref().is_none_or(|names| now.is_within(names))) {
            return Ok(Outcome::Gone);
        }
        let holder = match &change.email {
            Some(email) => self.agent_of(email).await?,
            None => None,
        };
        Ok(if holder.is_some_and(|(holder, _)| holder.id != id) {
            Outcome::Taken
        } else {
            Outcome::LastAdmin
        })
    }

    async fn begin_session(&self, session: &Session, password: &str) -> Result<bool, Error> {
        let statement = Statement::new(
            "insert into sessions (hash, agent, created_at, used_at, expires_at) \
             select $1, a.id, $2, $3, $4 from agents a where a.id = $5 and not a.disabled and a.password = $6",
        )
        .with(session.hash.as_str())
        .with(session.created_at)
        .with(session.used_at)
        .with(session.expires_at)
        .with(session.agent)
        .with(password);
        Ok(self.write(statement).await? > 0)
    }

    async fn begin_session_by_link(
        &self,
        link: &str,
        session: &str,
        now: Time,
        until: Time,
    ) -> Result<Option<Uuid>, Error> {
        // Of two at once the second waits for the row, and finds it used. A link that is used up is known by the session
        // that began by it: nobody needs its own hash any more.
        let using = Statement::new(
            "update sign_in_links set used_at = $2, hash = $3 where hash = $1 and used_at is null and expires_at > $2 \
             and exists (select 1 from agents a where a.id = sign_in_links.agent and not a.disabled)",
        );
        let beginning = Statement::new(
            "insert into sessions (hash, agent, created_at, used_at, expires_at) \
             select l.hash, l.agent, $2, $2, $3 from sign_in_links l where l.hash = $1",
        );
        let parts = vec![
            Part::Must(using.with(link).with(now).with(session)),
            Part::Must(beginning.with(session).with(now).with(until)),
        ];
        if !self.write_together(parts).await? {
            return Ok(None);
        }
        let whose = Statement::new("select s.agent from sessions s where s.hash = $1").with(session);
        self.row(whose).await?.map(|row| cell(&row, "agent")).transpose()
    }

    async fn session(&self, hash: &str) -> Result<Option<(Session, Agent)>, Error> {
        let Some(row) = self.row(Statement::new(SESSION).with(hash)).await? else { return Ok(None) };
        let session = Session {
            hash: cell(&row, "hash")?,
            agent: cell(&row, "id")?,
            created_at: cell(&row, "begun_at")?,
            used_at: cell(&row, "used_at")?,
            expires_at: cell(&row, "expires_at")?,
        };
        Ok(Some((session, agent(&row)?)))
    }

    async fn came_by_link(&self, session: &str, since: Time) -> Result<bool, Error> {
        let statement = Statement::new(
            "select s.agent from sessions s join sign_in_links l on l.hash = s.hash \
             where s.hash = $1 and s.created_at >= $2 limit 1",
        );
        Ok(self.row(statement.with(session).with(since)).await?.is_some())
    }

    async fn renew_session(&self, hash: &str, now: Time, until: Time) -> Result<(), Error> {
        // Several instances may find at once that it is time; the last of them is as right as the first.
        let statement = Statement::new("update sessions set used_at = $2, expires_at = $3 where hash = $1");
        self.write(statement.with(hash).with(now).with(until)).await.map(drop)
    }

    async fn end_session(&self, hash: &str) -> Result<bool, Error> {
        Ok(self.write(Statement::new("delete from sessions where hash = $1").with(hash)).await? > 0)
    }

    async fn add_link(&self, link: &Link, within: Option<&[String]>) -> Result<bool, Error> {
        let mut add = insertion_of(link);
        add.push(" from agents a where not a.disabled and a.id = ").bind(link.agent);
        if let Some(channels) = within {
            is_within(add.push(" and "), S::ENGINE, "a.channels", channels);
        }
        // One after another with what disables them or shows them more: that removes the links there are.
        self.write_together(vec![serialize_writes(), Part::Must(add)]).await
    }

    async fn forget_void(&self, before: Time) -> Result<u64, Error> {
        let sessions = purge::remove(self, "sessions", "r.expires_at < $1", before).await?;
        Ok(sessions + purge::remove(self, "sign_in_links", "r.expires_at < $1", before).await?)
    }
}

fn insertion(agent: &Agent, password: Option<&str>) -> Statement {
    // A `select`, so that each caller can say in a `where` when it holds.
    Statement::new(
        "insert into agents (id, name, email, email_folded, role, channels, disabled, password, created_at, updated_at) \
         select $1, $2, $3, $4, $5, $6, $7, $8, $9, $10",
    )
    .with(agent.id)
    .with(agent.name.as_str())
    .with(agent.email.as_str())
    .with(folded(&agent.email))
    .with(agent.role.as_str())
    .with(agent.channels.as_ref())
    .with(agent.is_disabled)
    .with(password.map(str::to_owned))
    .with(agent.created_at)
    .with(agent.updated_at)
}

fn insertion_of(link: &Link) -> Statement {
    // A `select`, as above.
    Statement::new("insert into sign_in_links (hash, agent, created_at, expires_at) select $1, $2, $3, $4")
        .with(link.hash.as_str())
        .with(link.agent)
        .with(link.created_at)
        .with(link.expires_at)
}

/// Only what is given is written, so that two who change different things at once both get their way.
fn overwriting(engine: Engine, id: Uuid, change: &Change, now: Time) -> Statement {
    let mut statement = Statement::new("update agents set updated_at = ");
    statement.bind(now);
    statement.given(", name = ", change.name.as_deref());
    if let Some(email) = &change.email {
        statement.push(", email = ").bind(email.as_str());
        statement.push(", email_folded = ").bind(folded(email));
    }
    statement.given(", role = ", change.role.map(|role| role.as_str()));
    if let Some(channels) = &change.channels {
        statement.push(", channels = ").bind(channels.as_ref());
    }
    statement.given(", disabled = ", change.is_disabled);
    statement.given(", password = ", change.password.as_deref());
    statement.given(", preferences = ", change.preferences.as_deref());
    statement.push(" where id = ").bind(id);
    if let Some(email) = &change.email {
        statement
            .push(" and not exists (select 1 from agents o where o.id <> agents.id and o.email_folded = ");
        statement.bind(folded(email)).push(")");
    }
    if let Some(channels) = &change.within {
        is_within(statement.push(" and "), engine, "agents.channels", channels);
    }
    let takes_rights = change.role == Some(Role::Agent)
        || change.is_disabled == Some(true)
        || matches!(change.channels, Some(Some(_)));
    if takes_rights {
        statement.push(
            " and (role <> 'admin' or disabled or channels is not null or exists (select 1 from agents o \
             where o.id <> agents.id and o.role = 'admin' and not o.disabled and o.channels is null))",
        );
    }
    statement
}

fn agent<R: Columns>(row: &R) -> Result<Agent, Error> {
    Ok(Agent {
        id: cell(row, "id")?,
        name: cell(row, "name")?,
        email: cell(row, "email")?,
        role: cell(row, "role")?,
        channels: texts(row, "channels")?,
        is_disabled: cell(row, "disabled")?,
        created_at: cell(row, "created_at")?,
        updated_at: cell(row, "updated_at")?,
    })
}
