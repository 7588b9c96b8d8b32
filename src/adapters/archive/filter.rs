//! What a list is narrowed by, as conditions of its statement. Every value is bound.

use crate::{
    adapters::sql::{Engine, Statement},
    domain::mode::Mode,
    flow::archive::{ConversationFilter, Group, Sort},
};

/// Words of a search beyond this are cut off.
const WORDS_MAX: usize = 256;

/// Fewer digits than this are no part of a phone number that anyone would look for.
const DIGITS_MIN: usize = 3;

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

/// Conditions on `conversations c`.
pub(super) fn conversations(
    statement: &mut Statement,
    engine: Engine,
    wanted: &ConversationFilter,
) -> Conditions {
    let mut conditions = Conditions::default();
    conditions.channels(statement, engine, "c.channel", wanted.channels.as_deref());
    if let Some(chat) = &wanted.chat {
        conditions.next(statement).push("c.id in (select h.conversation_id from chats h where h.chat_id = ");
        statement.bind(chat.as_str()).push(")");
    }
    if let Some(mode) = wanted.mode {
        conditions.next(statement).push("c.mode = ").bind(mode.as_str());
    }
    if let Some(status) = wanted.status {
        conditions.next(statement).push("c.status = ").bind(status.as_str());
    }
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
    if let Some(since) = wanted.updated_since {
        conditions.next(statement).push("c.updated_at >= ").bind(since);
    }
    if let Some(text) = &wanted.words {
        words(conditions.next(statement), text);
    }
    if wanted.sort == Sort::WaitingSince {
        conditions.next(statement).push("c.waiting_since is not null");
    }
    conditions
}

fn group(statement: &mut Statement, group: Group) {
    match group {
        Group::NeedsYou => statement.push(
            "(c.attention is not null or (c.mode = 'HUMAN' and c.contact_seq > c.our_seq and c.status <> 'closed'))",
        ),
        Group::Mine(agent) => statement.push("c.assignee = ").bind(agent),
        Group::Ai => statement.push("c.mode = ").bind(Mode::Ai.as_str()),
    };
}

/// The contact's name or a message holds the words, or the phone number the digits. Letters match in either case, on
/// SQLite only those of ASCII.
fn words(statement: &mut Statement, words: &str) {
    let pattern = holding(words.trim());
    statement.push("(lower(c.contact_name) like lower(").bind(pattern.as_str()).push(r") escape '\'");
    statement
        .push(" or exists (select 1 from messages m where m.conversation_id = c.id and m.deleted_at is null");
    statement.push(" and lower(m.text) like lower(").bind(pattern).push(r") escape '\')");
    if let Some(digits) = digits(words) {
        statement
            .push(" or exists (select 1 from chats h where h.conversation_id = c.id and h.chat_id like ");
        statement.bind(holding(&digits)).push(r" escape '\')");
    }
    statement.push(")");
}

/// The pattern of texts that hold these words.
fn holding(words: &str) -> String {
    let mut pattern = String::from("%");
    for letter in words.chars().take(WORDS_MAX) {
        if matches!(letter, '%' | '_' | '\\') {
            pattern.push('\\');
        }
        pattern.push(letter);
    }
    pattern.push('%');
    pattern
}

/// The digits, if the words look like a phone number or a piece of one.
fn digits(words: &str) -> Option<String> {
    let is_punctuation = |c: char| c.is_whitespace() || matches!(c, '+' | '-' | '(' | ')' | '.' | '/');
    if !words.chars().all(|c| c.is_ascii_digit() || is_punctuation(c)) {
        return None;
    }
    let digits: String = words.chars().filter(char::is_ascii_digit).collect();
    (digits.len() >= DIGITS_MIN).then_some(digits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signs_of_a_pattern_are_only_letters_in_a_search() {
        assert_eq!(holding(r"50%_off\"), r"%50\%\_off\\%");
    }

    #[test]
    fn only_what_looks_like_a_phone_number_is_looked_for_as_one() {
        for (words, wanted) in [
            ("+65 8000-0001", Some("6580000001")),
            ("0001", Some("0001")),
            ("42", None),
            ("42 shoes", None),
            ("Mei", None),
            ("", None),
        ] {
            assert_eq!(digits(words).as_deref(), wanted, "{words:?}");
        }
    }
}
