//! Rules: what is seen of a conversation and not kept, as a value.
//!
//! In: news, in whatever order they come from this instance and from others. Out: the scene as it is.

use std::sync::Arc;

use tokio::time::Instant;
use uuid::Uuid;

use crate::{
    domain::{docket::Typing, turn::TurnState, words::words},
    flow::ledger::Committed,
};

/// How many turns that have ended are remembered: what comes late of one of them is not taken for the next.
const ENDED_MAX: usize = 4;

/// People of one conversation. Of more, those heard of longest ago are forgotten.
const PRESENT_MAX: usize = 50;

words! {
    /// What a person does in a conversation.
    Presence {
        /// Looks at it.
        Viewing = "viewing",
        /// Writes in it.
        Writing = "writing",
        /// Has left.
        Away = "away",
    }
}

/// A person, as other people know them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Person {
    /// The agent's id, or the actor where it is not an agent.
    pub id: String,
    /// For people.
    pub name: String,
}

/// A person in a conversation. Who has left is kept too, so that an older word of them does not bring them back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Present {
    /// The person.
    pub person: Person,
    /// What they do.
    pub presence: Presence,
    /// Forgotten then. Everybody is given the same time, so the later one is also the newer word.
    pub until: Instant,
}

/// Words that are being written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Generation {
    /// By which turn.
    pub turn: Uuid,
    /// All of them so far.
    pub text: Arc<str>,
}

/// What is new. What is left out is as it was.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct News {
    /// Turns that have ended, the oldest first.
    pub ended: Vec<(Uuid, TurnState)>,
    /// What the turn that runs has written.
    pub generation: Option<Generation>,
    /// Whether our side would be typing.
    pub typing: Option<Option<Typing>>,
    /// People who have come, gone, or do something else.
    pub present: Vec<Present>,
}

impl News {
    /// What a commit tells.
    pub fn of(commit: &Committed) -> Self {
        let mut news = Self { typing: Some(commit.typing), ..Self::default() };
        for turn in commit.turns.iter().map(|ran| &ran.turn) {
            match turn.state {
                TurnState::Generating => {
                    news.generation = Some(Generation { turn: turn.id, text: Arc::default() });
                }
                TurnState::Completed | TurnState::Cancelled | TurnState::Superseded | TurnState::Failed => {
                    news.ended.push((turn.id, turn.state));
                }
            }
        }
        news
    }

    /// Both, as one: nobody needs to hear what was so in between.
    pub fn add(&mut self, newer: Self) {
        for ended in newer.ended {
            keep_ended(&mut self.ended, ended);
        }
        self.generation = newer.generation.or(self.generation.take());
        self.typing = newer.typing.or(self.typing);
        for present in newer.present {
            keep_present(&mut self.present, &present);
        }
    }
}

/// What is seen of a conversation.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Scene {
    /// The turn that runs, with what it has written.
    pub generation: Option<Generation>,
    /// Turns that ended lately, the oldest first.
    pub ended: Vec<(Uuid, TurnState)>,
    /// Our side would be typing.
    pub typing: Option<Typing>,
    /// Who was heard of, by their ids.
    pub present: Vec<Present>,
}

impl Scene {
    /// Takes news in. True if they were any.
    pub fn take(&mut self, news: &News, now: Instant) -> bool {
        let mut is_changed = false;
        for ended in &news.ended {
            is_changed |= keep_ended(&mut self.ended, *ended);
        }
        let shown = self.generation.take_if(|shown| self.ended.iter().any(|(turn, _)| *turn == shown.turn));
        is_changed |= shown.is_some();
        if let Some(generation) = news.generation.as_ref().filter(|it| self.is_new(it)) {
            self.generation = Some(generation.clone());
            is_changed = true;
        }
        if let Some(typing) = news.typing {
            is_changed |= self.typing != typing;
            self.typing = typing;
        }
        self.present.retain(|present| present.until > now);
        for present in news.present.iter().filter(|present| present.until > now) {
            is_changed |= keep_present(&mut self.present, present);
        }
        is_changed
    }

    /// News that a turn has begun travel apart from its first words, and may come after them.
    fn is_new(&self, generation: &Generation) -> bool {
        let is_over = self.ended.iter().any(|(turn, _)| *turn == generation.turn);
        let is_told = self.generation.as_ref().is_some_and(|shown| {
            shown.turn == generation.turn && (generation.text.is_empty() || shown.text == generation.text)
        });
        !is_over && !is_told
    }

    /// Who is there.
    pub fn people(&self, now: Instant) -> impl Iterator<Item = &Present> {
        self.present.iter().filter(move |present| present.until > now && present.presence != Presence::Away)
    }
}

fn keep_ended(all: &mut Vec<(Uuid, TurnState)>, ended: (Uuid, TurnState)) -> bool {
    if all.iter().any(|(turn, _)| *turn == ended.0) {
        return false;
    }
    if all.len() == ENDED_MAX {
        all.remove(0);
    }
    all.push(ended);
    true
}

fn keep_present(all: &mut Vec<Present>, present: &Present) -> bool {
    match all.binary_search_by(|other| other.person.id.cmp(&present.person.id)) {
        Ok(at) if all[at].until > present.until || all[at] == *present => false,
        Ok(at) => {
            all[at] = present.clone();
            true
        }
        Err(at) => {
            all.insert(at, present.clone());
            let oldest = (0..all.len()).min_by_key(|at| all[*at].until);
            if let Some(oldest) = oldest.filter(|_| all.len() > PRESENT_MAX) {
                all.remove(oldest);
            }
            true
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn writes(turn: Uuid, text: &str) -> News {
        News { generation: Some(Generation { turn, text: Arc::from(text) }), ..News::default() }
    }

    fn ends(turn: Uuid, state: TurnState) -> News {
        News { ended: vec![(turn, state)], ..News::default() }
    }

    fn is(id: &str, presence: Presence, until: Instant) -> News {
        let person = Person { id: id.to_owned(), name: id.to_uppercase() };
        News { present: vec![Present { person, presence, until }], ..News::default() }
    }

    fn text(scene: &Scene) -> Option<&str> {
        scene.generation.as_ref().map(|generation| &*generation.text)
    }

    #[test]
    fn what_comes_late_of_a_turn_that_has_ended_is_not_seen() {
        let (mut scene, now) = (Scene::default(), Instant::now());
        let (first, second) = (Uuid::now_v7(), Uuid::now_v7());
        assert!(scene.take(&writes(first, ""), now) && scene.take(&writes(first, "Here"), now));
        assert!(!scene.take(&writes(first, ""), now), "its beginning says nothing more");
        assert_eq!(text(&scene), Some("Here"));
        assert!(scene.take(&ends(first, TurnState::Superseded), now));
        assert_eq!(scene.generation, None);
        assert!(scene.take(&writes(second, "Two"), now));
        assert!(!scene.take(&writes(first, "Here are"), now), "late");
        assert!(!scene.take(&ends(first, TurnState::Cancelled), now), "its cost was written down");
        assert_eq!((text(&scene), scene.ended.len()), (Some("Two"), 1));
    }

    #[test]
    fn news_that_were_not_told_in_time_are_told_as_one() {
        let now = Instant::now();
        let turns: Vec<Uuid> = (0..3).map(|_| Uuid::now_v7()).collect();
        let mut one_by_one = Scene::default();
        let mut together = News::default();
        let all = [
            writes(turns[0], "Here"),
            ends(turns[0], TurnState::Superseded),
            writes(turns[1], "Here are"),
            ends(turns[1], TurnState::Cancelled),
            writes(turns[2], ""),
            is("ana", Presence::Viewing, now + Duration::from_secs(30)),
            is("ana", Presence::Writing, now + Duration::from_secs(31)),
        ];
        for news in all {
            one_by_one.take(&news, now);
            together.add(news);
        }
        let mut at_once = Scene::default();
        assert!(at_once.take(&together, now));
        assert_eq!(at_once, one_by_one);
        assert_eq!(text(&at_once), Some(""));
    }

    #[test]
    fn an_older_word_of_a_person_brings_nobody_back() {
        let (mut scene, now) = (Scene::default(), Instant::now());
        let at = |seconds| now + Duration::from_secs(seconds);
        scene.take(&is("ana", Presence::Writing, at(30)), now);
        scene.take(&is("ben", Presence::Viewing, at(25)), now);
        scene.take(&is("ana", Presence::Away, at(32)), now);
        assert!(!scene.take(&is("ana", Presence::Writing, at(31)), now), "on its way since before");
        let people = |scene: &Scene, now| {
            scene.people(now).map(|present| present.person.id.clone()).collect::<Vec<_>>()
        };
        assert_eq!(people(&scene, now), ["ben"]);
        assert!(people(&scene, at(25)).is_empty(), "forgotten");
        for number in 0..2 * PRESENT_MAX {
            let until = at(40 + u64::try_from(number).expect("a small number"));
            scene.take(&is(&format!("p{number}"), Presence::Viewing, until), now);
        }
        assert_eq!(scene.present.len(), PRESENT_MAX);
        assert!(people(&scene, now).contains(&"p99".to_owned()), "the newest stay");
    }
}
