//! The model writes: as many rounds with it as tools ask for, the business asked between them. In: a turn that has begun.
//! Out: its answer, or why there is none. Dropped, it closes the connection to the model or service.

use std::sync::{
    Arc,
    atomic::{AtomicI64, Ordering},
};

use futures_util::{StreamExt as _, stream};
use metrics::{counter, histogram};

use super::Turns;
use crate::{
    domain::{lane::Lane, time::Time, turn::Purpose},
    flow::{
        generator::{
            About, Failure, FailureKind, Line, Offer, Progress, Request, ToolCall, Written, context,
            look_ups::Question,
            tools::{Asked, Asking, Gave, Understood, ends_a_turn, understand},
        },
        inbox::Begun,
        instance::{
            channels::Channel,
            gate::Slot,
            measure::{Gauge, seconds},
            onlookers::Writing,
            running::Guard,
        },
        office_hours,
        reply::{Answer, Cost},
    },
};

/// Questions of one answer of the model, at the business at once.
const AT_ONCE: usize = 4;

/// Nobody writes more to a customer: a model that does repeats itself, and would fill the phone with it.
const ANSWER_CHARS: usize = 20_000;

/// Said in the last round, for models whose servers don't know how to forbid a call.
const NO_MORE: &str = "No tool can be called any more. Answer the contact now, in words.";

/// Why there is no answer.
pub(super) enum Unwritten {
    /// It is no longer wanted, or the lease is over.
    Stopped,
    /// The model failed.
    Failed(Failure),
}

impl From<Failure> for Unwritten {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}

impl Turns {
    /// A place at the gate, and as many rounds with the model as tools ask for. What it costs is added up as it goes, so
    /// that it is known too of what is stopped.
    pub(super) async fn write(
        &self,
        channel: &Channel,
        mut request: Request,
        begun: &Begun,
        progress: &Words<'_>,
        guard: &Guard<'_>,
        cost: &mut Cost,
    ) -> Result<Answer, Unwritten> {
        let queued_at = (self.clock)();
        let away_until = office_hours::away_until(&channel.policy, queued_at);
        let slot = self.enter(begun.lane, queued_at).await;
        let running = Gauge::new("baton_generations_in_flight");
        let may_follow_up = !begun.opted_out;
        let (mut asked, mut used_tools) = (Asked { may_follow_up, ..Asked::default() }, false);
        for round in 0..=self.tool_rounds {
            let mut written = match self.ask_within_its_reach(&mut request, begun, progress, cost).await {
                // Some models fall silent once they have read a result. What was looked up is not asked again for that.
                Err(failure)
                    if failure.kind == FailureKind::Empty && request.tools.is_open() && round > 0 =>
                {
                    end_tools(&mut request, channel);
                    continue;
                }
                written => written?,
            };
            if written.text.chars().nth(ANSWER_CHARS).is_some() {
                let detail = format!("more than {ANSWER_CHARS} characters");
                return Err(Failure::new(FailureKind::Malformed, detail).into());
            }
            let is_over = matches!(request.tools, Offer::Over(_));
            if !request.tools.is_open() {
                // What was not offered is not done, whatever a model makes up. What ends the turn needs no other round, and
                // would be promised to the contact and not kept.
                written.calls.retain(|call| is_over && ends_a_turn(&call.name));
            }
            if must_speak(begun.turn.purpose, &request.tools, &written) && written.text.trim().is_empty() {
                return Err(empty("no words").into());
            }
            used_tools |= !written.calls.is_empty();
            let away_until = away_until.as_deref().filter(|_| !is_over);
            match understand(written, &mut asked, away_until, &channel.policy.tools) {
                Understood::Done(mut answer) => {
                    drop((slot, running));
                    answer.used_tools = used_tools;
                    return Ok(*answer);
                }
                Understood::Again(..) if round == self.tool_rounds => {}
                Understood::Again(text, calls) => {
                    if !guard.holds(channel.policy.lock_ttl_ms) {
                        return Err(Unwritten::Stopped);
                    }
                    // In a box that is gone with the round: this waits for the model most of the time.
                    let gave = Box::pin(self.results(&calls, &request, &mut asked)).await;
                    let calls = calls.into_iter().map(|(call, _)| call).collect();
                    request.lines.push(Line::Calls(text, calls));
                    request.lines.extend(gave);
                    if round + 1 == self.tool_rounds {
                        end_tools(&mut request, channel);
                    }
                }
            }
        }
        Err(empty(format!("no words after {} rounds of tools", self.tool_rounds)).into())
    }

    /// Waits for a place at the gate, and for the pace where the model would be asked at all.
    async fn enter(&self, lane: Lane, queued_at: Time) -> Slot {
        let slot = match &self.pace {
            Some(pace) if !self.breaker.is_open() => pace.enter(&self.gate, lane, queued_at).await,
            _ => self.gate.enter(lane, queued_at).await,
        };
        histogram!("baton_generation_queue_seconds", "lane" => lane.as_str())
            .record(seconds((self.clock)().since(queued_at)));
        slot
    }

    /// One round with the model. If all of it is more than the model can read, less and less of what was said before.
    async fn ask_within_its_reach(
        &self,
        request: &mut Request,
        begun: &Begun,
        progress: &Words<'_>,
        cost: &mut Cost,
    ) -> Result<Written, Failure> {
        loop {
            match self.ask(request, begun, progress, cost).await {
                Err(failure)
                    if failure.kind == FailureKind::TooLong
                        && context::forget_half(&mut request.lines, begun.burst.len()) => {}
                written => return written,
            }
        }
    }

    /// One round with the model, if its breaker lets it. What it costs is added up, whatever comes of it.
    async fn ask(
        &self,
        request: &mut Request,
        begun: &Begun,
        progress: &Words<'_>,
        cost: &mut Cost,
    ) -> Result<Written, Failure> {
        let permit = self.breaker.permit(&request.channel)?;
        let began = (self.clock)();
        let written = self.generator.reply(request, progress).await;
        request.asked_before += 1;
        histogram!("baton_generation_seconds").record(seconds((self.clock)().since(began)));
        self.breaker.hear(&request.channel, begun.conversation, permit, &written);
        let (input_tokens, output_tokens) = match &written {
            Ok(written) => (written.input_tokens, written.output_tokens),
            Err(failure) => (failure.input_tokens, failure.output_tokens),
        };
        cost.input_tokens += input_tokens;
        cost.output_tokens += output_tokens;
        written
    }

    /// What the calls gave, in their order; the business is asked what it is to be asked.
    async fn results(&self, calls: &[(ToolCall, Gave)], request: &Request, asked: &mut Asked) -> Vec<Line> {
        let mut number = asked.looked_up.len();
        let mut numbered = Vec::with_capacity(calls.len());
        for (call, gave) in calls {
            if let Gave::Question(asking) = gave {
                number += 1;
                asked.looked_up.push(asking.tool.clone());
            }
            numbered.push((call, gave, number));
        }
        let line = |(call, gave, number): (&ToolCall, &Gave, usize)| {
            let (call, gave) = (call.id.clone(), gave.clone());
            async move {
                let text = match gave {
                    Gave::Words(text) => text,
                    Gave::Question(asking) => {
                        self.look_up(&asking, &request.channel, &request.about, number).await
                    }
                };
                Line::Result { call, text }
            }
        };
        stream::iter(numbered).map(line).buffered(AT_ONCE).collect().await
    }

    /// What the business answers; or, for the model alone, that it does not.
    async fn look_up(&self, asking: &Asking, channel: &str, about: &About, number: usize) -> String {
        let began = (self.clock)();
        let answer = self.look_ups.ask(Question { asking, channel, about, number }).await;
        histogram!("baton_look_up_seconds", "tool" => asking.tool.clone())
            .record(seconds((self.clock)().since(began)));
        let result = if answer.is_ok() { "answered" } else { "failed" };
        counter!("baton_tool_calls_total", "tool" => asking.tool.clone(), "result" => result).increment(1);
        answer.unwrap_or_else(|failure| {
            tracing::warn!(
                tool = asking.tool,
                conversation = %about.conversation,
                turn = %about.turn,
                %failure,
                "a look-up gave nothing"
            );
            format!("There is no answer: {}.", failure.detail)
        })
    }
}

/// Whether what was written must hold words: nothing else would come of it.
fn must_speak(purpose: Purpose, offer: &Offer, written: &Written) -> bool {
    match purpose {
        Purpose::Draft => true,
        Purpose::Reply => !offer.is_open() && written.calls.is_empty(),
        Purpose::FollowUp => false,
    }
}

fn empty(detail: impl Into<String>) -> Failure {
    Failure::new(FailureKind::Empty, detail)
}

/// The next round is for words.
fn end_tools(request: &mut Request, channel: &Channel) {
    request.lines.push(Line::Instruction(NO_MORE.to_owned()));
    request.tools = Offer::Over(Arc::clone(&channel.policy.tools));
}

/// Hears the words of one turn.
pub(super) struct Words<'a> {
    clock: fn() -> Time,
    /// When the first one came; 0: none has.
    first_at: AtomicI64,
    writing: Writing<'a>,
}

impl<'a> Words<'a> {
    /// None yet.
    pub(super) const fn new(clock: fn() -> Time, writing: Writing<'a>) -> Self {
        Self { clock, first_at: AtomicI64::new(0), writing }
    }

    /// When the first one came.
    pub(super) fn first_at(&self) -> Option<Time> {
        Some(self.first_at.load(Ordering::Relaxed)).filter(|at| *at > 0).map(Time)
    }
}

impl Progress for Words<'_> {
    fn wrote(&self, so_far: &str) {
        if self.first_at.load(Ordering::Relaxed) == 0 {
            self.first_at.store((self.clock)().0, Ordering::Relaxed);
        }
        self.writing.wrote(so_far);
    }
}
