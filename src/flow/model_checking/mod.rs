//! Every order of events, tried out: one conversation, two instances, a provider that answers, loses answers or refuses.
//!
//! In: the rules, as a store runs them over what it would load. Out: the number of states seen, or the shortest story
//! that ends in a broken promise, line by line. Rules weakened on purpose show that the model can fail.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod world;

mod deeds;

mod promises;

mod canon;

mod explore;

use explore::{Explored, explore};
use world::{Limits, Scene, Weakness};

use crate::domain::{mode::Mode, policy::BurstPolicy};

/// Explores a scene and says what was seen; fails with the story of a broken promise.
fn holds(name: &str, scene: &Scene) {
    match explore(scene) {
        Explored::Whole { states, transitions, deepest } => {
            println!("{name}: {states} states, {transitions} transitions, deepest {deepest}");
        }
        Explored::Broken { promise, story } => {
            panic!("{name}: {promise}\n  {}", story.join("\n  "))
        }
    }
}

/// The assistant suggests, and nothing is followed up.
fn drafting(mode: Mode, limits: Limits) -> Scene {
    Scene { drafts: true, mode, follow_ups: false, ..Scene::of(limits) }
}

/// A weakened rule must break a promise; the story is printed.
fn breaks(weakness: Weakness, scene: Scene, promise: &'static str) {
    match explore(&Scene { weakness, promise, ..scene }) {
        Explored::Whole { states, .. } => panic!("{weakness:?} went unnoticed in {states} states"),
        Explored::Broken { promise: broken, story } => {
            println!("{weakness:?}: {broken}\n  {}", story.join("\n  "));
        }
    }
}

#[test]
fn two_texts_and_any_fault() {
    holds("two texts, one fault", &Scene::of(Limits { writes: 2, faults: 1, acts: 0 }));
}

#[test]
fn a_text_and_any_two_acts_of_people() {
    holds("one text, two acts", &Scene::of(Limits { writes: 1, faults: 0, acts: 2 }));
}

#[test]
fn a_text_an_act_and_two_faults() {
    holds("one text, an act, two faults", &Scene::of(Limits { writes: 1, faults: 2, acts: 1 }));
}

#[test]
fn two_texts_an_act_and_a_fault() {
    let scene = Scene { follow_ups: false, ..Scene::of(Limits { writes: 2, faults: 1, acts: 1 }) };
    holds("two texts, an act, a fault", &scene);
}

#[test]
fn equal_words_in_two_parts() {
    let scene = Scene {
        text: "OK, of course.\n\nOK, of course.",
        ..Scene::of(Limits { writes: 1, faults: 1, acts: 1 })
    };
    holds("one text, two equal parts, an act, a fault", &scene);
}

#[test]
fn a_reply_in_parts_and_a_text_after_it() {
    let scene = Scene {
        text: "OK, of course.\n\nUntil tomorrow.",
        follow_ups: false,
        ..Scene::of(Limits { writes: 2, faults: 1, acts: 0 })
    };
    holds("two texts, two parts, a fault", &scene);
}

#[test]
fn two_acts_and_a_fault() {
    let scene = Scene { follow_ups: false, ..Scene::of(Limits { writes: 1, faults: 1, acts: 2 }) };
    holds("one text, two acts, a fault", &scene);
}

#[test]
fn a_follow_up_that_the_assistant_writes() {
    let scene = Scene { follow_up_text: None, ..Scene::of(Limits { writes: 2, faults: 0, acts: 1 }) };
    holds("two texts, a written follow-up, an act", &scene);
}

#[test]
fn collected_and_queued_messages() {
    for burst in [BurstPolicy::Collect, BurstPolicy::Queue] {
        let limits = Limits { writes: 2, faults: 1, acts: 1 };
        holds(burst.as_str(), &Scene { burst, follow_ups: false, ..Scene::of(limits) });
    }
}

#[test]
fn what_is_edited_and_deleted_and_a_person_at_the_phone() {
    for burst in [BurstPolicy::Interrupt, BurstPolicy::Collect] {
        let limits = Limits { writes: 2, faults: 0, acts: 2 };
        let scene = Scene { burst, amendments: true, follow_ups: false, ..Scene::of(limits) };
        holds(&format!("two texts, two amendments, {}", burst.as_str()), &scene);
    }
}

#[test]
fn what_is_edited_and_deleted_while_the_reply_leaves_and_fails() {
    for burst in [BurstPolicy::Interrupt, BurstPolicy::Collect, BurstPolicy::Queue] {
        let limits = Limits { writes: 1, faults: 1, acts: 2 };
        let scene = Scene { burst, amendments: true, follow_ups: false, ..Scene::of(limits) };
        holds(&format!("one text, two amendments, a fault, {}", burst.as_str()), &scene);
    }
    let limits = Limits { writes: 2, faults: 1, acts: 1 };
    let scene = Scene { amendments: true, follow_ups: false, ..Scene::of(limits) };
    holds("two texts, an amendment, a fault", &scene);
}

#[test]
fn what_the_provider_reports() {
    let limits = Limits { writes: 1, faults: 2, acts: 1 };
    let scene = Scene { statuses: true, follow_ups: false, ..Scene::of(limits) };
    holds("one text, an act, two faults, statuses", &scene);
}

#[test]
fn drafts_where_a_person_answers() {
    for burst in [BurstPolicy::Interrupt, BurstPolicy::Collect] {
        let limits = Limits { writes: 2, faults: 1, acts: 1 };
        holds(
            &format!("drafts in HUMAN, {}", burst.as_str()),
            &Scene { burst, ..drafting(Mode::Human, limits) },
        );
    }
    let limits = Limits { writes: 1, faults: 0, acts: 3 };
    holds("drafts in HUMAN, one text, three acts", &drafting(Mode::Human, limits));
}

#[test]
fn drafts_that_people_ask_for_while_the_assistant_answers() {
    let limits = Limits { writes: 1, faults: 0, acts: 3 };
    holds("drafts in AI, one text, three acts", &drafting(Mode::Ai, limits));
}

#[test]
fn drafts_in_ai_and_two_texts() {
    let limits = Limits { writes: 2, faults: 0, acts: 2 };
    holds("drafts in AI, two texts, two acts", &drafting(Mode::Ai, limits));
}

#[test]
fn drafts_in_ai_and_a_fault() {
    let limits = Limits { writes: 1, faults: 1, acts: 2 };
    holds("drafts in AI, one text, two acts, a fault", &drafting(Mode::Ai, limits));
}

#[test]
fn drafts_of_what_is_edited_and_deleted() {
    let limits = Limits { writes: 2, faults: 0, acts: 2 };
    holds("drafts, two amendments", &Scene { amendments: true, ..drafting(Mode::Human, limits) });
}

#[test]
fn a_claim_that_ignores_the_version_is_found_out() {
    breaks(Weakness::ClaimsAnyVersion, Scene::of(Limits { writes: 1, faults: 1, acts: 1 }), "P4");
}

#[test]
fn a_commit_that_ignores_the_fence_is_found_out() {
    breaks(Weakness::CommitsAnyFence, Scene::of(Limits { writes: 1, faults: 1, acts: 0 }), "P3");
}

#[test]
fn a_post_that_begins_when_it_likes_is_found_out() {
    breaks(Weakness::PostsAnyTime, Scene::of(Limits { writes: 1, faults: 1, acts: 1 }), "P4");
}

#[test]
fn settling_without_the_id_of_the_attempt_is_found_out() {
    breaks(Weakness::SettlesAnyAttempt, Scene::of(Limits { writes: 1, faults: 1, acts: 1 }), "P6");
}

#[test]
fn sending_again_what_nobody_knows_is_found_out() {
    breaks(Weakness::ResendsUnknown, Scene::of(Limits { writes: 1, faults: 1, acts: 0 }), "P6");
}

#[test]
fn a_draft_that_is_committed_as_a_reply_is_found_out() {
    breaks(Weakness::SendsDrafts, drafting(Mode::Ai, Limits { writes: 0, faults: 0, acts: 1 }), "P4");
}

#[test]
fn a_draft_that_stays_fresh_while_the_contact_writes_is_found_out() {
    breaks(Weakness::KeepsDraftsFresh, drafting(Mode::Human, Limits { writes: 2, faults: 0, acts: 0 }), "P3");
}

#[test]
fn a_draft_of_a_turn_that_was_stopped_is_found_out() {
    breaks(Weakness::CommitsAnyFence, drafting(Mode::Human, Limits { writes: 1, faults: 0, acts: 1 }), "P5");
}

/// Each reply speaks of something that the business is to do.
fn with_errands(limits: Limits) -> Scene {
    Scene { errands: true, follow_ups: false, ..Scene::of(limits) }
}

#[test]
fn errands_and_two_texts_an_act_and_a_fault() {
    let limits = Limits { writes: 2, faults: 1, acts: 1 };
    holds("errands, two texts, an act, a fault", &with_errands(limits));
}

#[test]
fn errands_of_what_is_edited_and_deleted() {
    let limits = Limits { writes: 2, faults: 0, acts: 2 };
    holds("errands, two texts, two amendments", &Scene { amendments: true, ..with_errands(limits) });
    let limits = Limits { writes: 1, faults: 1, acts: 2 };
    holds("errands, one text, two amendments, a fault", &Scene { amendments: true, ..with_errands(limits) });
}

#[test]
fn errands_in_two_parts() {
    let text = "Your table is booked.\n\nUntil tomorrow.";
    holds("errands, two parts", &Scene { text, ..with_errands(Limits { writes: 2, faults: 1, acts: 0 }) });
}

#[test]
fn errands_that_are_told_before_their_reply_leaves_are_found_out() {
    breaks(Weakness::TellsErrandsAtOnce, with_errands(Limits { writes: 1, faults: 0, acts: 0 }), "P4");
}

#[test]
fn a_reply_that_is_written_anew_though_its_errands_were_told_is_found_out() {
    breaks(Weakness::WritesAnewWhatWasTold, with_errands(Limits { writes: 2, faults: 1, acts: 0 }), "P6");
}
