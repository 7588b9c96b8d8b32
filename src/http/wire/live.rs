//! What is seen of a conversation and not kept, as its stream shows it.

use serde::Serialize;

use super::{At, Id, PresenceWord, TurnStateWord, basic::Word};
use crate::{
    domain::{docket, turn::TurnState},
    flow::instance::onlookers,
};

/// Words that are being written.
#[derive(Debug, Serialize)]
pub(crate) struct Generation<'a> {
    turn_id: Id,
    /// All of them so far.
    text: &'a str,
}

impl<'a> From<&'a onlookers::Generation> for Generation<'a> {
    fn from(generation: &'a onlookers::Generation) -> Self {
        Self { turn_id: Id(generation.turn), text: &generation.text }
    }
}

/// The turn that wrote has ended.
#[derive(Debug, Serialize)]
pub(crate) struct GenerationEnded {
    turn_id: Id,
    result: TurnStateWord,
}

impl GenerationEnded {
    /// So.
    pub(crate) const fn of(turn: uuid::Uuid, result: TurnState) -> Self {
        Self { turn_id: Id(turn), result: Word(result) }
    }
}

/// The delay before a part leaves.
#[derive(Debug, Serialize)]
pub(crate) struct Typing {
    part: i32,
    until: At,
}

impl From<docket::Typing> for Typing {
    fn from(typing: docket::Typing) -> Self {
        Self { part: typing.part, until: At(typing.until) }
    }
}

/// Who is there.
#[derive(Debug, Serialize)]
pub(crate) struct Present {
    agents: Vec<Agent>,
}

#[derive(Debug, Serialize)]
struct Agent {
    id: String,
    name: String,
    state: PresenceWord,
}

impl<'a> FromIterator<&'a (onlookers::Person, onlookers::Presence)> for Present {
    fn from_iter<I: IntoIterator<Item = &'a (onlookers::Person, onlookers::Presence)>>(people: I) -> Self {
        let agents = people.into_iter().map(|(person, presence)| Agent {
            id: person.id.clone(),
            name: person.name.clone(),
            state: Word(*presence),
        });
        Self { agents: agents.collect() }
    }
}
