use std::sync::{
    Mutex, MutexGuard,
    atomic::{AtomicBool, AtomicUsize, Ordering},
};

use async_trait::async_trait;
use uuid::Uuid;

use super::{super::NOW, away};
use crate::{
    domain::time::Time,
    flow::{
        back_office::people::{Agent, Change, Link, Outcome, People, Role, Session, folded},
        ledger::Error,
    },
};

/// The people, in memory.
#[derive(Default)]
pub(in super::super) struct Crew {
    kept: Mutex<Kept>,
    /// The list cannot be read.
    pub(in super::super) is_away: AtomicBool,
    /// How often it was.
    pub(in super::super) listed: AtomicUsize,
    /// The next agent who is looked at is on all channels just after that.
    pub(in super::super) is_widened: AtomicBool,
}

#[derive(Default)]
struct Kept {
    members: Vec<Member>,
    sessions: Vec<Session>,
    links: Vec<(Link, bool)>,
    /// Sessions that began by one.
    came: Vec<String>,
    renewals: usize,
}

#[derive(Clone)]
struct Member {
    agent: Agent,
    password: Option<String>,
    preferences: String,
}

impl Crew {
    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap()
    }

    /// How often a session was renewed.
    pub(in super::super) fn renewals(&self) -> usize {
        self.kept().renewals
    }

    /// Everything that is kept of secrets.
    pub(in super::super) fn hashes(&self) -> Vec<String> {
        let kept = self.kept();
        let sessions = kept.sessions.iter().map(|session| session.hash.clone());
        sessions.chain(kept.links.iter().map(|(link, _)| link.hash.clone())).collect()
    }

    /// Somebody works here.
    pub(in super::super) fn joins(&self, id: Uuid, name: &str) {
        let agent = Agent {
            id,
            name: name.to_owned(),
            email: format!("{name}@example.com"),
            role: Role::Agent,
            channels: None,
            is_disabled: false,
            created_at: NOW,
            updated_at: NOW,
        };
        self.add(&agent, None, None);
    }

    /// They are an admin from now on.
    pub(in super::super) fn promote(&self, id: Uuid) {
        for member in self.kept().members.iter_mut().filter(|member| member.agent.id == id) {
            member.agent.role = Role::Admin;
        }
    }

    fn add(&self, agent: &Agent, password: Option<&str>, link: Option<&Link>) {
        let mut kept = self.kept();
        kept.members.push(Member {
            agent: agent.clone(),
            password: password.map(str::to_owned),
            preferences: "{}".to_owned(),
        });
        kept.links.extend(link.map(|link| (link.clone(), false)));
    }
}

impl Kept {
    fn member(&self, id: Uuid) -> Option<&Member> {
        self.members.iter().find(|member| member.agent.id == id)
    }

    fn is_let_in(&self, id: Uuid) -> bool {
        self.member(id).is_some_and(|member| !member.agent.is_disabled)
    }
}

fn may_everything(agent: &Agent) -> bool {
    agent.role == Role::Admin && !agent.is_disabled && agent.channels.is_none()
}

#[async_trait]
impl People for Crew {
    async fn agents(&self) -> Result<Vec<Agent>, Error> {
        self.listed.fetch_add(1, Ordering::SeqCst);
        if self.is_away.load(Ordering::SeqCst) {
            return Err(away());
        }
        let mut all: Vec<Agent> = self.kept().members.iter().map(|member| member.agent.clone()).collect();
        all.sort_by(|one, other| one.name.cmp(&other.name));
        Ok(all)
    }

    async fn agent(&self, id: Uuid) -> Result<Option<Agent>, Error> {
        let mut kept = self.kept();
        let found = kept.member(id).map(|member| member.agent.clone());
        if self.is_widened.swap(false, Ordering::SeqCst) {
            kept.members.iter_mut().filter(|it| it.agent.id == id).for_each(|it| it.agent.channels = None);
        }
        Ok(found)
    }

    async fn agent_of(&self, email: &str) -> Result<Option<(Agent, Option<String>)>, Error> {
        let kept = self.kept();
        let found = kept.members.iter().find(|member| folded(&member.agent.email) == folded(email));
        Ok(found.map(|member| (member.agent.clone(), member.password.clone())))
    }

    async fn preferences(&self, id: Uuid) -> Result<Option<String>, Error> {
        Ok(self.kept().member(id).map(|member| member.preferences.clone()))
    }

    async fn add_agent(
        &self,
        agent: &Agent,
        password: Option<&str>,
        link: Option<&Link>,
    ) -> Result<bool, Error> {
        let is_free = self.agent_of(&agent.email).await?.is_none();
        if is_free {
            self.add(agent, password, link);
        }
        Ok(is_free)
    }

    async fn add_first_agent(&self, agent: &Agent, link: &Link) -> Result<bool, Error> {
        let is_first = self.kept().members.is_empty();
        if is_first {
            self.add(agent, None, Some(link));
        }
        Ok(is_first)
    }

    async fn change_agent(&self, id: Uuid, change: &Change, now: Time) -> Result<Outcome, Error> {
        let mut kept = self.kept();
        let Some(mut member) = kept.member(id).cloned() else { return Ok(Outcome::Gone) };
        if change.within.as_ref().is_some_and(|names| !member.agent.is_within(names)) {
            return Ok(Outcome::Gone);
        }
        let others = || kept.members.iter().filter(|member| member.agent.id != id);
        if let Some(email) = &change.email
            && others().any(|other| folded(&other.agent.email) == folded(email))
        {
            return Ok(Outcome::Taken);
        }
        let could = may_everything(&member.agent);
        let ends_sessions = change.ends_sessions(&member.agent);
        let agent = &mut member.agent;
        agent.name = change.name.clone().unwrap_or_else(|| agent.name.clone());
        agent.email = change.email.clone().unwrap_or_else(|| agent.email.clone());
        agent.role = change.role.unwrap_or(agent.role);
        agent.channels = change.channels.clone().unwrap_or_else(|| agent.channels.clone());
        agent.is_disabled = change.is_disabled.unwrap_or(agent.is_disabled);
        agent.updated_at = now;
        if could && !may_everything(agent) && !others().any(|other| may_everything(&other.agent)) {
            return Ok(Outcome::LastAdmin);
        }
        member.password = change.password.clone().or(member.password);
        member.preferences = change.preferences.clone().unwrap_or(member.preferences);
        if ends_sessions {
            kept.sessions
                .retain(|session| session.agent != id || Some(&session.hash) == change.spared.as_ref());
            kept.links.retain(|(link, _)| link.agent != id);
            // Which sessions came by those that are gone is forgotten with them.
            kept.came.clear();
        }
        *kept.members.iter_mut().find(|other| other.agent.id == id).unwrap() = member;
        Ok(Outcome::Changed)
    }

    async fn begin_session(&self, session: &Session, password: &str) -> Result<bool, Error> {
        let mut kept = self.kept();
        let is_right = kept.member(session.agent).is_some_and(|it| it.password.as_deref() == Some(password))
            && kept.is_let_in(session.agent);
        if is_right {
            kept.sessions.push(session.clone());
        }
        Ok(is_right)
    }

    async fn begin_session_by_link(
        &self,
        link: &str,
        session: &str,
        now: Time,
        until: Time,
    ) -> Result<Option<Uuid>, Error> {
        let mut kept = self.kept();
        let found = kept.links.iter().position(|(it, used)| it.hash == link && !used && it.expires_at > now);
        let Some(at) = found.filter(|at| kept.is_let_in(kept.links[*at].0.agent)) else { return Ok(None) };
        kept.links[at].1 = true;
        let agent = kept.links[at].0.agent;
        kept.came.push(session.to_owned());
        kept.sessions.push(Session {
            hash: session.to_owned(),
            agent,
            created_at: now,
            used_at: now,
            expires_at: until,
        });
        Ok(Some(agent))
    }

    async fn session(&self, hash: &str) -> Result<Option<(Session, Agent)>, Error> {
        let kept = self.kept();
        let found = kept.sessions.iter().find(|session| session.hash == hash);
        Ok(found.and_then(|it| Some((it.clone(), kept.member(it.agent)?.agent.clone()))))
    }

    async fn came_by_link(&self, session: &str, since: Time) -> Result<bool, Error> {
        let kept = self.kept();
        let came = kept.came.iter().any(|came| came == session);
        Ok(came && kept.sessions.iter().any(|it| it.hash == session && it.created_at >= since))
    }

    async fn renew_session(&self, hash: &str, now: Time, until: Time) -> Result<(), Error> {
        let mut kept = self.kept();
        kept.renewals += 1;
        if let Some(session) = kept.sessions.iter_mut().find(|session| session.hash == hash) {
            (session.used_at, session.expires_at) = (now, until);
        }
        Ok(())
    }

    async fn end_session(&self, hash: &str) -> Result<bool, Error> {
        let mut kept = self.kept();
        let before = kept.sessions.len();
        kept.sessions.retain(|session| session.hash != hash);
        Ok(kept.sessions.len() < before)
    }

    async fn add_link(&self, link: &Link, within: Option<&[String]>) -> Result<bool, Error> {
        let mut kept = self.kept();
        let is_right = kept.member(link.agent).is_some_and(|member| {
            !member.agent.is_disabled && within.is_none_or(|names| member.agent.is_within(names))
        });
        if is_right {
            kept.links.push((link.clone(), false));
        }
        Ok(is_right)
    }

    async fn forget_void(&self, _: Time) -> Result<u64, Error> {
        Ok(0)
    }
}
