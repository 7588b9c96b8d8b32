//! The judge itself: a good end is none of its business, and each broken promise is found out.

use super::*;
use crate::chaos::records::{Call, Freeze, Said, Takeover, Written};

const MARKER: Marker = Marker { contact: 0, number: 0 };

/// One contact who wrote one message, a second ago answered: written at 0, the model asked at 1, posted at 2 seconds.
struct Scene {
    began: Instant,
    records: Records,
    told: Conversation,
}

impl Scene {
    fn new() -> Self {
        let mut scene = Self {
            began: Instant::now(),
            records: Records::default(),
            told: Conversation { id: String::new(), attention: String::new(), messages: Vec::new() },
        };
        let written = Written { at: scene.at(0), accepted: Some(scene.at(0)) };
        scene.records.written.insert(MARKER, written);
        scene.calls(1, 1);
        scene.posts(2, "a0.1/1 answers c0n0");
        scene.shows("contact", "c0n0 hello", "answered", "");
        scene.shows("assistant", "a0.1/1 answers c0n0", "", "sent");
        scene
    }

    fn at(&self, seconds: u64) -> Instant {
        self.began + Duration::from_secs(seconds)
    }

    fn calls(&mut self, seconds: u64, parts: usize) {
        let (at, names) = (self.at(seconds), vec![MARKER]);
        self.records.calls.push(Call { at, contact: Some(0), names, parts, failed: false });
    }

    fn posts(&mut self, seconds: u64, text: &str) {
        let (at, text, from) = (self.at(seconds), text.to_owned(), "a".to_owned());
        self.records.posts.push(Post { at, contact: 0, text, from, taken: true, answered: true });
    }

    fn shows(&mut self, author: &str, text: &str, outcome: &str, state: &str) {
        let [author, text, outcome, state] = [author, text, outcome, state].map(str::to_owned);
        let (seq, nothing) = (self.told.messages.len() as i64 + 1, String::new);
        let (outcome_reason, reason) = (nothing(), nothing());
        self.told.messages.push(Message { seq, author, text, outcome, outcome_reason, state, reason });
    }

    /// The answer has two parts, of which this one was posted.
    fn is_of_two(&mut self, text: &str) {
        self.records.calls[0].parts = 2;
        self.records.posts[0].text = text.to_owned();
        self.told.messages[1].text = text.to_owned();
    }

    fn takes_over(&mut self, settled: u64, released: Option<u64>) {
        let released = released.map(|released| self.at(released));
        let settled = Some(self.at(settled));
        let asked = self.began;
        self.records.takeovers.push(Takeover { contact: 0, asked, settled, released, returned: released });
    }

    fn verdict(&self) -> Verdict {
        let mut verdict = Verdict::default();
        Case::new(&self.records).judge(0, Some(&self.told), &mut verdict);
        verdict
    }

    fn faults(&self) -> Vec<Fault> {
        self.verdict().violations.iter().map(|violation| violation.fault).collect()
    }
}

#[test]
fn a_message_with_its_answer_breaks_no_promise() {
    let verdict = Scene::new().verdict();
    assert!(verdict.violations.is_empty());
    assert_eq!((verdict.answered, verdict.delivered, verdict.waits), (1, 1, vec![Duration::from_secs(2)]));
}

#[test]
fn each_broken_promise_is_found_out() {
    type Spoil = fn(&mut Scene);
    let table: [(&str, Fault, Spoil); 14] = [
        ("a text twice", Fault::Doubled, |it| it.posts(3, "a0.1/1 answers c0n0")),
        ("two answers", Fault::Doubled, |it| {
            it.calls(3, 1);
            it.posts(4, "a1.1/1 answers c0n0");
            it.shows("assistant", "a1.1/1 answers c0n0", "", "sent");
        }),
        ("an answer to nothing", Fault::Doubled, |it| {
            it.calls(3, 1);
            it.posts(4, "a1.1/1 answers");
            it.shows("assistant", "a1.1/1 answers", "", "sent");
        }),
        ("a message taken twice", Fault::Doubled, |it| it.shows("contact", "c0n0 hello", "answered", "")),
        ("a part without the one before it", Fault::Disorder, |it| {
            it.is_of_two("a0.2/2 answers c0n0");
            it.shows("assistant", "a0.1/2 answers c0n0", "", "cancelled");
        }),
        ("an earlier answer after a later one", Fault::Disorder, |it| {
            let other = Marker { contact: 0, number: 1 };
            it.records.written.insert(other, it.records.written[&MARKER]);
            it.calls(1, 1);
            it.posts(1, "a1.1/1 answers c0n1");
            it.shows("contact", "c0n1 and", "answered", "");
            it.shows("assistant", "a1.1/1 answers c0n1", "", "sent");
        }),
        ("a message that is nowhere", Fault::Lost, |it| drop(it.told.messages.remove(0))),
        ("a message without an end", Fault::Lost, |it| {
            it.records.posts.clear();
            it.told.messages.truncate(1);
            it.told.messages[0].outcome = "pending".to_owned();
        }),
        ("a message left to a person whom nobody asked", Fault::Lost, |it| {
            it.records.posts.clear();
            it.told.messages.truncate(1);
            it.told.messages[0].outcome = "left_to_human".to_owned();
        }),
        ("a part that is nowhere", Fault::Lost, |it| it.is_of_two("a0.1/2 answers c0n0")),
        ("a send of unknown fate without a call for a person", Fault::Lost, |it| {
            it.records.posts.clear();
            it.told.messages[1].state = "unknown".to_owned();
        }),
        ("an agent's words that are nowhere", Fault::Lost, |it| {
            it.records.said.push(Said { contact: 0, text: "h0".to_owned(), accepted: true });
        }),
        ("a send that counts as cancelled", Fault::Mistaken, |it| {
            it.told.messages[1].state = "cancelled".to_owned();
        }),
        ("words after a takeover", Fault::Late, |it| it.takes_over(1, None)),
    ];
    for (what, fault, spoil) in table {
        let mut scene = Scene::new();
        spoil(&mut scene);
        assert_eq!(scene.faults(), [fault], "{what}");
    }
}

#[test]
fn words_from_before_a_takeover_are_late_also_after_the_way_back() {
    let mut scene = Scene::new();
    scene.records.calls[0].at = scene.at(0);
    scene.takes_over(1, Some(1));
    assert_eq!(scene.faults(), [Fault::Late]);
    scene.records.calls[0].at = scene.at(1) + Duration::from_millis(1);
    assert_eq!(scene.faults(), [], "written after it");
}

#[test]
fn a_freeze_at_the_last_check_is_counted_by_itself_and_a_shorter_one_excuses_nothing() {
    for (seconds, behind) in [(9, 1), (7, 0)] {
        let mut scene = Scene::new();
        let (from, to) = (scene.at(2), scene.at(2 + seconds));
        scene.records.freezes.push(Freeze { name: "a", from, to });
        scene.records.posts[0].at = to + Duration::from_millis(10);
        scene.takes_over(4, None);
        let verdict = scene.verdict();
        assert_eq!((verdict.behind_freeze, verdict.count(Fault::Late)), (behind, 1 - behind));
    }
}

#[test]
fn what_waits_behind_a_send_of_unknown_fate_is_a_persons() {
    let mut scene = Scene::new();
    scene.records.calls[0].parts = 2;
    scene.records.posts.clear();
    scene.told.messages.truncate(1);
    scene.told.attention = "send_unknown".to_owned();
    scene.shows("assistant", "a0.1/2 answers c0n0", "", "unknown");
    scene.shows("assistant", "a0.2/2 answers c0n0", "", "queued");
    let verdict = scene.verdict();
    assert!(verdict.violations.is_empty());
    assert_eq!((verdict.held, verdict.unknown, verdict.behind_unknown), (1, 1, 1));
}

#[test]
fn an_answer_that_was_overtaken_is_a_persons_who_must_have_been_called() {
    for (attention, faults) in [("send_unknown", vec![]), ("", vec![Fault::Lost])] {
        let mut scene = Scene::new();
        scene.records.posts.clear();
        scene.told.attention = attention.to_owned();
        scene.told.messages[0].outcome = "handed_over".to_owned();
        scene.told.messages[1].state = "cancelled".to_owned();
        scene.told.messages[1].reason = "overtaken".to_owned();
        assert_eq!(scene.faults(), faults, "{attention}");
    }
}
