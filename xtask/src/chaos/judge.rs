//! Holds the fakes' records against what Baton says, and both against its promises. Nothing that Baton counts is believed.
//!
//! In: the records, and a conversation as the API shows it. Out: figures, and every broken promise with its contact.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    time::{Duration, Instant},
};

use super::{
    records::{Post, Records},
    told::{Conversation, Message},
};
use crate::fakes::names::{Marker, Part};

#[cfg(test)]
mod tests;

/// A freeze shorter than the lease of a send hides nothing: until then the send counts as under way.
const SEND_LEASE: Duration = Duration::from_millis(7_500);
/// What a process does first after it stood still, it does within this.
const AWAKE: Duration = Duration::from_millis(500);

/// Which promise was broken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Fault {
    /// Something of a contact or an agent, or a part of an answer, is nowhere, or without an end.
    Lost,
    /// Something went twice, or was answered twice.
    Doubled,
    /// Something went after what came later.
    Disorder,
    /// The assistant spoke after a takeover was settled.
    Late,
    /// Baton says of a message what is not so.
    Mistaken,
}

/// A broken promise.
pub(super) struct Violation {
    pub(super) fault: Fault,
    pub(super) contact: usize,
    pub(super) what: String,
}

/// What came out.
#[derive(Default)]
pub(super) struct Verdict {
    pub(super) answered: usize,
    /// Written while a person had the conversation, or waiting when one took it.
    pub(super) left_to_human: usize,
    /// Given to a person because model or gateway failed for good.
    pub(super) handed_over: usize,
    /// Answered by something of which nobody can know whether it went: a person was called.
    pub(super) held: usize,
    /// Messages in that state, none of which the gateway had taken.
    pub(super) unknown: usize,
    /// Later parts of the same answers, which wait with them.
    pub(super) behind_unknown: usize,
    pub(super) delivered: usize,
    /// Of those, the ones whose answer was lost, and which Baton found out about.
    pub(super) found: usize,
    /// Parts of answers that were called off, by reason.
    pub(super) called_off: BTreeMap<String, usize>,
    /// Sends after a takeover by an instance that had stood still between its last check and its first byte.
    pub(super) behind_freeze: usize,
    /// From writing to the first part of the answer, where one came, in order.
    pub(super) waits: Vec<Duration>,
    pub(super) violations: Vec<Violation>,
}

impl Verdict {
    /// How often that promise was broken.
    pub(super) fn count(&self, fault: Fault) -> usize {
        self.violations.iter().filter(|violation| violation.fault == fault).count()
    }
}

/// The records, laid out by contact.
pub(super) struct Case<'r> {
    records: &'r Records,
    written: BTreeMap<usize, Vec<Marker>>,
    posts: HashMap<usize, Vec<&'r Post>>,
}

impl<'r> Case<'r> {
    pub(super) fn new(records: &'r Records) -> Self {
        let mut written: BTreeMap<usize, Vec<Marker>> = BTreeMap::new();
        for marker in records.written.keys() {
            written.entry(marker.contact).or_default().push(*marker);
        }
        let mut posts: HashMap<usize, Vec<&Post>> = HashMap::new();
        for post in &records.posts {
            posts.entry(post.contact).or_default().push(post);
        }
        for posts in posts.values_mut() {
            posts.sort_by_key(|post| post.at);
        }
        Self { records, written, posts }
    }

    /// Judges one contact. None: Baton knows no conversation of theirs.
    pub(super) fn judge(&self, contact: usize, told: Option<&Conversation>, verdict: &mut Verdict) {
        let none = Vec::new();
        let posts = self.posts.get(&contact).unwrap_or(&none);
        let taken: Vec<&Post> = posts.iter().copied().filter(|post| post.taken).collect();
        let mut trial = Trial { records: self.records, contact, posts, taken: &taken, verdict };
        let Some(told) = told else {
            trial.breaks(Fault::Lost, "Baton knows nothing of this contact".to_owned());
            return;
        };
        trial.verdict.delivered += taken.len();
        trial.deliveries();
        trial.takeovers();
        trial.inbound(&self.written[&contact], told);
        trial.outbound(told);
    }
}

/// The case of one contact.
struct Trial<'t> {
    records: &'t Records,
    contact: usize,
    /// By time.
    posts: &'t [&'t Post],
    taken: &'t [&'t Post],
    verdict: &'t mut Verdict,
}

impl Trial<'_> {
    fn breaks(&mut self, fault: Fault, what: String) {
        self.verdict.violations.push(Violation { fault, contact: self.contact, what });
    }

    /// What reached the contact: nothing twice, everything in order, each question answered once.
    fn deliveries(&mut self) {
        let mut seen = BTreeSet::new();
        let mut last: Option<Part> = None;
        let mut answered: BTreeMap<Marker, usize> = BTreeMap::new();
        for post in self.taken {
            if !seen.insert(post.text.as_str()) {
                self.breaks(Fault::Doubled, format!("went twice: {}", short(&post.text)));
                continue;
            }
            let parts = Part::all_in(&post.text);
            for part in &parts {
                let follows = match last {
                    Some(last) if last.call == part.call => part.part == last.part + 1,
                    Some(last) => last.call < part.call && part.part == 1,
                    None => part.part == 1,
                };
                if !follows {
                    let before = last.map_or_else(String::new, |last| last.to_string());
                    self.breaks(Fault::Disorder, format!("{part} went after {before}"));
                }
                last = Some(*part);
            }
            let markers = Marker::all_in(&post.text);
            if !parts.is_empty() && markers.is_empty() {
                self.breaks(Fault::Doubled, format!("answers nothing: {}", short(&post.text)));
            }
            for (marker, part) in markers.iter().zip(parts.first().into_iter().cycle()) {
                let call = *answered.entry(*marker).or_insert(part.call);
                if call != part.call && part.part == 1 {
                    self.breaks(
                        Fault::Doubled,
                        format!("{marker} was answered by a{call} and by a{}", part.call),
                    );
                }
            }
        }
        for (marker, at) in first_answers(self.taken) {
            if let Some(written) = self.records.written.get(&marker) {
                self.verdict.waits.push(at.saturating_duration_since(written.at));
            }
        }
    }

    /// Between a settled takeover and the way back, no word of the assistant; and afterwards none from before.
    fn takeovers(&mut self) {
        let (records, contact) = (self.records, self.contact);
        for takeover in records.takeovers.iter().filter(|takeover| takeover.contact == contact) {
            let Some(settled) = takeover.settled else { continue };
            for post in self.posts {
                let Some(part) = Part::all_in(&post.text).first().copied() else { continue };
                let is_while =
                    post.at > settled && takeover.released.is_none_or(|released| post.at < released);
                let written = self.records.calls.get(part.call).map(|call| call.at);
                let is_from_before = post.at > settled && written.is_some_and(|written| written < settled);
                if !is_while && !is_from_before {
                    continue;
                }
                if self.is_behind_freeze(post, settled) {
                    self.verdict.behind_freeze += 1;
                } else {
                    let late_ms = post.at.duration_since(settled).as_millis();
                    self.breaks(
                        Fault::Late,
                        format!("{part} came {late_ms} ms after a takeover was settled"),
                    );
                }
            }
        }
    }

    /// The one window that no fence closes: the instance stood still between its last check and the first byte.
    fn is_behind_freeze(&self, post: &Post, settled: Instant) -> bool {
        self.records.freezes.iter().any(|freeze| {
            freeze.name == post.from
                && freeze.from < settled
                && freeze.to.duration_since(freeze.from) > SEND_LEASE
                && post.at >= freeze.to
                && post.at.duration_since(freeze.to) < AWAKE
        })
    }

    /// What the contact wrote: there once, in order, with an end that the records bear out.
    fn inbound(&mut self, written: &[Marker], told: &Conversation) {
        let theirs = told.messages.iter().filter(|message| message.author == "contact");
        let found: Vec<(Marker, &Message)> =
            theirs.filter_map(|message| Some((*Marker::all_in(&message.text).first()?, message))).collect();
        for pair in found.windows(2) {
            if pair[0].0 == pair[1].0 {
                self.breaks(Fault::Doubled, format!("{} was taken twice", pair[0].0));
            } else if pair[0].0 > pair[1].0 {
                self.breaks(Fault::Disorder, format!("{} was taken after {}", pair[1].0, pair[0].0));
            }
        }
        let found: BTreeMap<Marker, &Message> = found.into_iter().collect();
        let answered = first_answers(self.taken);
        let mut answers: BTreeMap<Marker, Vec<&Message>> = BTreeMap::new();
        for message in told.messages.iter().filter(|message| message.author == "assistant") {
            for marker in Marker::all_in(&message.text) {
                answers.entry(marker).or_default().push(message);
            }
        }
        for marker in written {
            let answers = answers.get(marker).map(Vec::as_slice).unwrap_or_default();
            match found.get(marker) {
                None => self.breaks(Fault::Lost, format!("{marker} is nowhere")),
                Some(_) if answered.contains_key(marker) => self.verdict.answered += 1,
                Some(message) => self.outcome(*marker, message, answers, !told.attention.is_empty()),
            }
        }
    }

    /// What became of a message that no answer has reached the contact for.
    fn outcome(&mut self, marker: Marker, message: &Message, answers: &[&Message], is_called: bool) {
        let is_overtaken = answers.iter().any(|answer| answer.reason == "overtaken");
        match message.outcome.as_str() {
            "answered" if answers.iter().any(|answer| answer.state == "unknown") => self.verdict.held += 1,
            "left_to_human" if self.was_taken_over(marker) => self.verdict.left_to_human += 1,
            "handed_over" if self.had_reason(marker, answers) => self.verdict.handed_over += 1,
            // Its answer was held for lost until later words had left. Only a person can still give it.
            "handed_over" if is_overtaken && (is_called || self.was_taken_over(marker)) => {
                self.verdict.handed_over += 1;
            }
            outcome => {
                let what = format!("{marker} has no answer, and is {outcome} {}", message.outcome_reason);
                self.breaks(Fault::Lost, what);
            }
        }
    }

    /// Whether a person took over when it could still have been waiting.
    fn was_taken_over(&self, marker: Marker) -> bool {
        let Some(written) = self.records.written.get(&marker) else { return false };
        self.records.takeovers.iter().any(|takeover| {
            takeover.contact == self.contact && takeover.returned.is_none_or(|returned| returned > written.at)
        })
    }

    /// Whether the model failed over it, or the gateway over its answer.
    fn had_reason(&self, marker: Marker, answers: &[&Message]) -> bool {
        let model = self.records.calls.iter().any(|call| call.failed && call.names.contains(&marker));
        model || answers.iter().any(|answer| matches!(answer.state.as_str(), "failed" | "dead"))
    }

    /// What our side wrote: what Baton says of it is so, and nothing of it is missing.
    fn outbound(&mut self, told: &Conversation) {
        let ours: Vec<&Message> = told
            .messages
            .iter()
            .filter(|message| matches!(message.author.as_str(), "assistant" | "agent"))
            .collect();
        for message in &ours {
            self.state(message, told);
        }
        for post in self.taken.iter().map(|post| post.text.clone()).collect::<Vec<_>>() {
            if !ours.iter().any(|message| message.text == post) {
                self.breaks(
                    Fault::Mistaken,
                    format!("went, and Baton knows nothing of it: {}", short(&post)),
                );
            }
        }
        self.whole_answers(&ours);
        let said = self.records.said.iter().filter(|said| said.contact == self.contact && said.accepted);
        for text in said.map(|said| said.text.clone()).collect::<Vec<_>>() {
            match ours.iter().filter(|message| message.text == text).count() {
                0 => self.breaks(Fault::Lost, format!("{text:?} was accepted and is nowhere")),
                1 => {}
                _ => self.breaks(Fault::Doubled, format!("{text:?} is there twice")),
            }
        }
    }

    fn state(&mut self, message: &Message, told: &Conversation) {
        let posts = self.taken.iter().filter(|post| post.text == message.text);
        let (was_taken, was_unclear) =
            posts.fold((false, false), |(_, unclear), post| (true, unclear || !post.answered));
        let name = short(&message.text);
        match (message.state.as_str(), was_taken) {
            ("sent" | "delivered" | "read", true) => self.verdict.found += usize::from(was_unclear),
            ("sent" | "delivered" | "read", false) => {
                self.breaks(Fault::Lost, format!("counts as {}, and never went: {name}", message.state));
            }
            ("unknown", false) => {
                self.verdict.unknown += 1;
                if told.attention.is_empty() {
                    self.breaks(Fault::Lost, format!("is unknown, and nobody was called: {name}"));
                }
            }
            ("queued", false) if told.is_held(message) => self.verdict.behind_unknown += 1,
            ("queued" | "sending", _) => {
                self.breaks(Fault::Lost, format!("is {} for ever: {name}", message.state))
            }
            (state, true) => self.breaks(Fault::Mistaken, format!("went, and counts as {state}: {name}")),
            ("cancelled", false) if message.author == "assistant" => {
                *self.verdict.called_off.entry(message.reason.clone()).or_default() += 1;
            }
            (state, false) => {
                self.breaks(
                    Fault::Lost,
                    format!("is {state} {}, which nothing asked for: {name}", message.reason),
                );
            }
        }
    }

    /// An answer that began to reach the contact is there to its last part, or each part that is not says why.
    fn whole_answers(&mut self, ours: &[&Message]) {
        let known: BTreeSet<Part> = ours.iter().flat_map(|message| Part::all_in(&message.text)).collect();
        let begun: BTreeSet<usize> = known.iter().map(|part| part.call).collect();
        for call in begun {
            let parts = self.records.calls.get(call).map_or(0, |call| call.parts);
            for part in (1..=parts).map(|part| Part { call, part, parts }) {
                if !known.contains(&part) {
                    self.breaks(Fault::Lost, format!("{part} is nowhere"));
                }
            }
        }
    }
}

/// When the first part of the first answer to each message was posted.
fn first_answers(taken: &[&Post]) -> BTreeMap<Marker, Instant> {
    let mut first = BTreeMap::new();
    for post in taken {
        for marker in Marker::all_in(&post.text) {
            first.entry(marker).or_insert(post.at);
        }
    }
    first
}

/// Enough of a text to know it by.
pub(super) fn short(text: &str) -> String {
    text.trim_end_matches('-').chars().take(100).collect()
}
