//! Breadth first through everything that may happen, each state once: the first story of a broken promise is a shortest.

use std::collections::{HashSet, VecDeque};

use super::{
    canon, promises,
    world::{Act, Scene, World},
};

/// More means that something grows without end.
const STATES_MAX: usize = 100_000;

/// What came of it.
pub(super) enum Explored {
    /// Every state that can be reached keeps the promises.
    Whole { states: usize, transitions: usize, deepest: usize },
    /// One does not; what led to it.
    Broken { promise: String, story: Vec<String> },
}

struct Came {
    from: usize,
    by: Option<Act>,
    depth: usize,
}

/// Explores a scene to its end.
pub(super) fn explore(scene: &Scene) -> Explored {
    let first = World::begin(*scene);
    let mut seen = HashSet::from([canon::fingerprint(&first)]);
    let mut came = vec![Came { from: 0, by: None, depth: 0 }];
    let mut ahead = VecDeque::from([(0, first)]);
    let mut transitions = 0;
    while let Some((at, world)) = ahead.pop_front() {
        for act in world.acts() {
            transitions += 1;
            let next = world.after(act);
            if let Err(promise) = promises::check(&world, act, &next) {
                return Explored::Broken { promise, story: story(scene, &came, at, act) };
            }
            assert!(
                came.len() < STATES_MAX,
                "more states than a test should explore: {}",
                story(scene, &came, at, act).join("\n")
            );
            if seen.insert(canon::fingerprint(&next)) {
                came.push(Came { from: at, by: Some(act), depth: came[at].depth + 1 });
                ahead.push_back((came.len() - 1, next));
            }
        }
    }
    Explored::Whole {
        states: came.len(),
        transitions,
        deepest: came.iter().map(|came| came.depth).max().unwrap_or(0),
    }
}

/// The acts that lead there, and how things stood after each.
fn story(scene: &Scene, came: &[Came], mut at: usize, last: Act) -> Vec<String> {
    let mut acts = vec![last];
    while let Some(by) = came[at].by {
        acts.push(by);
        at = came[at].from;
    }
    acts.reverse();
    let mut told = Vec::new();
    let mut world = World::begin(*scene);
    for act in acts {
        world = world.after(act);
        told.push(format!("{:<24} {}", name_of(&world, act), canon::describe(&world)));
    }
    told
}

fn name_of(world: &World, act: Act) -> String {
    match act {
        Act::PersonRetries(seq) | Act::PersonConfirms(seq) | Act::PersonWithdraws(seq) => {
            let text =
                world.play.messages.iter().find(|message| message.seq == seq).map(|message| &message.text);
            format!("{act:?} {text:?}")
        }
        act => format!("{act:?}"),
    }
}
