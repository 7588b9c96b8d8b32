//! What a list is narrowed by, as conditions of its statement. Every value is bound.

use crate::{
    adapters::sql::{Bound, Engine, Statement},
    domain::mode::Mode,
    flow::archive::{ConversationFilter, Group, Sort},
};

/// Puts `where` before the first condition and `and` before the others.
#[derive(Debug, Default)]
pub(super) struct Conditions {
    begun: bool,
}

impl Conditions {
    /// Room for the next condition.
    pub(super) fn next<'s>(&mut self, statement: &'s mut Statement) -> &'s mut Statement {
        let word = if self.begun { " and " } else { " where " };
        self.begun = true;
        statement.push(word)
    }

    /// What a column is to be, if it matters: the beginning of the condition, and the value.
    pub(super) fn given(
        &mut self,
        statement: &mut Statement,
        text: &'static str,
        value: Option<impl Into<Bound>>,
    ) {
        if let Some(value) = value {
            self.next(statement).push(text).bind(value);
        }
    }

    /// Only rows on these channels, if it matters.
    pub(super) fn channels(
        &mut self,
        statement: &mut Statement,
        engine: Engine,
        column: &'static str,
        channels: Option<&[String]>,
    ) {
        if let Some(channels) = channels {
            self.next(statement).push(column).one_of(engine, channels.to_vec());
        }
    }
}

/// "Is not closed for good", of `conversations c`: what is being erased is nobody's to see.
pub(super) const IS_THERE: &str = "c.erased_at is null";

/// Conditions on `conversations c`. Words are looked for by [`super::search`].
pub(super) fn conversations(
    statement: &mut Statement,
    engine: Engine,
    wanted: &ConversationFilter,
) -> Conditions {
    let mut conditions = Conditions::default();
    conditions.next(statement).push(IS_THERE);
    conditions.channels(statement, engine, "c.channel", wanted.channels.as_deref());
    if let Some(chat) = &wanted.chat {
        conditions.next(statement).push("c.id in (select h.conversation_id from chats h where h.chat_id = ");
        statement.bind(chat.as_str()).push(")");
    }
    conditions.given(statement, "c.mode = ", wanted.mode.map(|mode| mode.as_str()));
    conditions.given(statement, "c.status = ", wanted.status.map(|status| status.as_str()));
    if let Some(assignee) = wanted.assignee {
        let statement = conditions.next(statement).push("c.assignee");
        match assignee {
            Some(agent) => statement.push(" = ").bind(agent),
            None => statement.push(" is null"),
        };
    }
    if let Some(label) = wanted.label {
        // By its id: what a database knows of how often each occurs decides where it begins to look.
        conditions
            .next(statement)
            .push("c.id in (select t.conversation_id from conversation_labels t where t.label_id = ")
            .bind(label)
            .push(")");
    }
    if let Some(is_needed) = wanted.attention {
        conditions.next(statement).push(if is_needed {
            "c.attention is not null"
        } else {
            "c.attention is null"
        });
    }
    if let Some(of) = wanted.group {
        group(conditions.next(statement), of);
    }
    if let Some(is_unread) = wanted.unread {
        conditions.next(statement).push(if is_unread { "c.unread > 0" } else { "c.unread = 0" });
    }
    conditions.given(statement, "c.updated_at >= ", wanted.updated_since);
    if wanted.sort == Sort::WaitingSince {
        conditions.next(statement).push("c.waiting_since is not null");
    }
    conditions
}

/// What is needed of people, as the inbox knows it.
const NEEDS_YOU: &str = "(c.attention is not null or (c.mode = 'HUMAN' and c.waiting_since is not null and c.status <> 'closed'))";

fn group(statement: &mut Statement, group: Group) {
    match group {
        Group::NeedsYou => statement.push(NEEDS_YOU),
        Group::Mine(agent) => statement.push("c.assignee = ").bind(agent),
        Group::Ai => statement.push("c.mode = ").bind(Mode::Ai.as_str()),
    };
}

/// Columns that say of which groups a conversation is: `needs_you`, `ai`, who is its `holder`, and whether it `is_unread`.
pub(super) fn groups(statement: &mut Statement) {
    statement.push(", ").push(NEEDS_YOU).push(" as needs_you, c.assignee as holder, c.mode = ");
    statement.bind(Mode::Ai.as_str()).push(" as ai, c.unread > 0 as is_unread");
}
