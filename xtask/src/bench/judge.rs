//! What a load came to. Believes the records, and nothing that Baton counts.
//!
//! In: the records of one load. Out: what each answer cost beyond the model's own time, and everything that must not be.

use std::{
    collections::{HashMap, HashSet},
    time::{Duration, Instant},
};

use super::book::{Arrival, Records};
use crate::fakes::names::Marker;

/// The judgement.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Verdict {
    /// From the moment when an answer could begin to be made, to its arrival, less the model's time. It could when the
    /// last message that it answers was sent, or when the answer before it had arrived, whichever is later.
    pub(super) overheads: Vec<Duration>,
    /// From a webhook to its 200.
    pub(super) acks: Vec<Duration>,
    pub(super) wrongs: Wrongs,
}

/// Each of these must be zero.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct Wrongs {
    /// Answers to a message that came after the answer to a later one.
    pub(super) disorder: usize,
    /// Messages answered once more.
    pub(super) doubled: usize,
    /// Messages taken and not answered.
    pub(super) lost: usize,
    /// Answers in a chat that is not theirs, or to nothing.
    pub(super) strange: usize,
    /// Webhooks that were never answered 200.
    pub(super) untaken: usize,
}

impl Wrongs {
    pub(super) const fn named(self) -> [(&'static str, usize); 5] {
        [
            ("disorder", self.disorder),
            ("doubled", self.doubled),
            ("lost", self.lost),
            ("strange", self.strange),
            ("untaken", self.untaken),
        ]
    }
}

/// Judges. Of the contacts that are excused, no answer is owed: a person has come in between.
pub(super) fn judge(records: &Records, is_excused: impl Fn(usize) -> bool) -> Verdict {
    let acks = records.written.values().filter_map(|it| Some(it.taken?.duration_since(it.at)));
    let mut verdict = Verdict { acks: acks.collect(), ..Verdict::default() };
    verdict.wrongs.untaken = records.written.values().filter(|it| it.taken.is_none()).count();
    let mut answered = HashSet::new();
    let mut arrivals: Vec<&Arrival> = records.arrivals.iter().collect();
    arrivals.sort_by_key(|arrival| arrival.at);
    let mut before: HashMap<usize, (Instant, usize)> = HashMap::new();
    for arrival in arrivals {
        let Some(contact) = contact_of(arrival, records) else {
            verdict.wrongs.strange += 1;
            continue;
        };
        let last = before.get(&contact).copied();
        let numbers = || arrival.names.iter().map(|name| name.number);
        verdict.wrongs.doubled += arrival.names.iter().filter(|name| !answered.insert(**name)).count();
        let is_late = last.is_some_and(|(_, number)| numbers().any(|own| own < number));
        verdict.wrongs.disorder += usize::from(is_late);
        verdict.overheads.extend(overhead(arrival, last.map(|(at, _)| at), records));
        let highest = numbers().chain(last.map(|(_, number)| number)).max().unwrap_or_default();
        before.insert(contact, (arrival.at, highest));
    }
    let owed = records.written.iter().filter(|(name, it)| it.taken.is_some() && !is_excused(name.contact));
    verdict.wrongs.lost = owed.filter(|(name, _)| !answered.contains(name)).count();
    verdict
}

/// The contact whose messages it answers, in whose chat it came.
fn contact_of(arrival: &Arrival, records: &Records) -> Option<usize> {
    let contact = arrival.contact?;
    let is_known = |name: &Marker| name.contact == contact && records.written.contains_key(name);
    (!arrival.names.is_empty() && arrival.names.iter().all(is_known)).then_some(contact)
}

fn overhead(arrival: &Arrival, before: Option<Instant>, records: &Records) -> Option<Duration> {
    let sent = arrival.names.iter().filter_map(|name| Some(records.written.get(name)?.at)).max()?;
    let start = before.map_or(sent, |before| before.max(sent));
    let call = records.calls.get(arrival.call?)?;
    let generated = call.ended?.0.saturating_duration_since(call.at);
    Some(arrival.at.saturating_duration_since(start).saturating_sub(generated))
}

#[cfg(test)]
mod tests {
    use super::{
        super::book::{Call, Written},
        *,
    };
    use crate::fakes::wire::Ended;

    /// A story in milliseconds, of contact 1 unless said otherwise.
    struct Story {
        zero: Instant,
        records: Records,
    }

    impl Story {
        fn new() -> Self {
            Self { zero: Instant::now(), records: Records::default() }
        }

        fn at(&self, ms: u64) -> Instant {
            self.zero + Duration::from_millis(ms)
        }

        fn write(&mut self, number: usize, at: u64, taken: u64) {
            let written = Written { at: self.at(at), taken: Some(self.at(taken)), is_answered: false };
            self.records.written.insert(Marker { contact: 1, number }, written);
        }

        fn answer(&mut self, numbers: &[usize], call: (u64, u64), arrives: u64) {
            let ended = Some((self.at(call.1), Ended::Sent));
            self.records.calls.push(Call { at: self.at(call.0), contact: Some(1), ended });
            let names = numbers.iter().map(|number| Marker { contact: 1, number: *number }).collect();
            let call = Some(self.records.calls.len() - 1);
            self.records.arrivals.push(Arrival { at: self.at(arrives), contact: Some(1), names, call });
        }

        fn verdict(&self) -> Verdict {
            judge(&self.records, |_| false)
        }
    }

    fn ms(times: &[u64]) -> Vec<Duration> {
        times.iter().copied().map(Duration::from_millis).collect()
    }

    #[test]
    fn overhead_begins_with_the_webhook_or_with_the_answer_before_it() {
        let mut story = Story::new();
        story.write(1, 0, 4);
        story.write(2, 50, 52);
        story.write(3, 2_000, 2_003);
        story.answer(&[1], (10, 1_010), 1_015);
        story.answer(&[2], (1_020, 1_520), 1_530);
        story.answer(&[3], (2_005, 2_505), 2_506);
        let mut verdict = story.verdict();
        verdict.acks.sort_unstable();
        assert_eq!(verdict.overheads, ms(&[15, 15, 6]));
        assert_eq!(verdict.acks, ms(&[2, 3, 4]));
        assert_eq!(verdict.wrongs, Wrongs::default());
    }

    #[test]
    fn an_answer_to_several_begins_with_the_last_of_them() {
        let mut story = Story::new();
        story.write(1, 0, 1);
        story.write(2, 30, 31);
        story.answer(&[1, 2], (32, 42), 45);
        assert_eq!(story.verdict().overheads, ms(&[5]));
    }

    #[test]
    fn what_must_not_be_is_counted() {
        let mut story = Story::new();
        for number in 1..=4 {
            story.write(number, number as u64, 10);
        }
        story.answer(&[2], (10, 20), 30);
        story.answer(&[1], (30, 40), 50);
        story.answer(&[2], (50, 60), 70);
        story.answer(&[9], (70, 80), 90);
        story.answer(&[], (70, 80), 90);
        let wrongs = Wrongs { disorder: 1, doubled: 1, lost: 2, strange: 2, untaken: 0 };
        assert_eq!(story.verdict().wrongs, wrongs);
        assert_eq!(judge(&story.records, |contact| contact == 1).wrongs.lost, 0);
    }

    #[test]
    fn an_answer_in_another_chat_is_strange() {
        let mut story = Story::new();
        story.write(1, 0, 1);
        story.answer(&[1], (2, 3), 4);
        story.records.arrivals[0].contact = Some(2);
        let wrongs = Wrongs { lost: 1, strange: 1, ..Wrongs::default() };
        assert_eq!(story.verdict().wrongs, wrongs);
    }

    #[test]
    fn what_was_not_taken_is_not_lost() {
        let mut story = Story::new();
        story.write(1, 0, 1);
        if let Some(written) = story.records.written.get_mut(&Marker { contact: 1, number: 1 }) {
            written.taken = None;
        }
        assert_eq!(story.verdict().wrongs, Wrongs { untaken: 1, ..Wrongs::default() });
    }
}
