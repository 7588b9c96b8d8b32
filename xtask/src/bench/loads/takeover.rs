//! People take over while the model is at it, half of them around the very moment of its answer, and all the while
//! others are answered.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, bail};
use serde_json::json;
use tokio::{
    task::JoinSet,
    time::{sleep_until, timeout},
};

use super::{
    super::{
        book::Records,
        fakes::chat_of,
        figures::{Figure, float, spread},
        generator::{Generator, order, single},
        judge::judge,
        session::{Kind, Session},
        stand::{API_TOKEN, Stand},
    },
    Findings,
};
use crate::fakes::{names::Marker, wire::Ended};

/// Around the moment of the answer, to each side.
const EDGE_MS: u64 = 20;
const ANSWER_LIMIT: Duration = Duration::from_secs(30);
/// The model is asked by then, or never.
const CALL_LIMIT: Duration = Duration::from_secs(30);

struct Size {
    trials: usize,
    rate: f64,
    latency_ms: u64,
    /// Conversations that nobody takes over, and messages of each.
    others: (usize, usize),
}

/// When a person takes over.
#[derive(Debug, Clone, Copy)]
enum When {
    /// So long after the contact wrote.
    AfterMessage(Duration),
    /// So long after the model was asked.
    AfterCall(Duration),
}

/// A person took a contact over.
#[derive(Debug, Clone, Copy)]
struct Takeover {
    contact: usize,
    asked: Instant,
    told: Instant,
    is_settled: bool,
}

pub(super) async fn run(stand: &Stand) -> Result<Findings> {
    let size = if stand.options.is_quick {
        Size { trials: 120, rate: 40.0, latency_ms: 400, others: (60, 2) }
    } else {
        Size { trials: 1_500, rate: 30.0, latency_ms: 2_000, others: (300, 5) }
    };
    let (others, messages) = size.others;
    let latency = (size.latency_ms, size.latency_ms);
    let mut session = Session::open(stand, Kind::Baton, latency).await?;
    session.begin();
    let generator = session.generator.clone();
    let mut takeovers = Vec::new();
    let both = async {
        let pace = generator.keep_pace(single(order(others, messages)), size.rate);
        let (paced, taken) = tokio::join!(pace, take_over_all(&generator, &size));
        takeovers = taken?;
        paced
    };
    session.drive(both).await?;
    session.answered(others * messages).await?;
    let measured = session.end()?;
    let verdict = judge(&measured.records, |contact| contact >= others);
    let counted = Counted::of(&measured.records, &takeovers);

    let mut findings = Findings::default();
    findings.figures.extend(spread("aborted_after", &counted.aborted_after));
    let told: Vec<Duration> = takeovers.iter().map(|it| it.told - it.asked).collect();
    findings.figures.extend(spread("told_after", &told));
    findings.figures.push(Figure::new("takeovers", float(takeovers.len())));
    findings.figures.push(Figure::new("calls_aborted", float(counted.aborted_after.len())));
    findings.figures.push(Figure::new("calls_ended_before", float(counted.ended_before)));
    findings.figures.extend(measured.times(&verdict));
    findings.figures.extend(measured.cost());
    findings.add_wrongs("", verdict.wrongs);
    findings.wrongs.push(("late_ai_messages".to_owned(), counted.late));
    findings.wrongs.push(("unsettled".to_owned(), takeovers.iter().filter(|it| !it.is_settled).count()));
    Ok(findings)
}

/// Each trial has a contact of its own, after the others.
async fn take_over_all(generator: &Arc<Generator>, size: &Size) -> Result<Vec<Takeover>> {
    let mut dice = fastrand::Rng::with_seed(13);
    let mut trials = JoinSet::new();
    let began = Instant::now();
    for (n, trial) in (0_u32..).zip(0..size.trials) {
        let contact = size.others.0 + trial;
        let when = if trial % 2 == 0 {
            When::AfterMessage(Duration::from_millis(dice.u64(0..size.latency_ms)))
        } else {
            let edge_ms = size.latency_ms - EDGE_MS + dice.u64(0..=2 * EDGE_MS);
            When::AfterCall(Duration::from_millis(edge_ms))
        };
        let generator = Arc::clone(generator);
        sleep_until((began + Duration::from_secs_f64(f64::from(n) / size.rate)).into()).await;
        trials.spawn(async move { take_over(&generator, contact, when).await });
    }
    let mut takeovers = Vec::new();
    while let Some(done) = trials.join_next().await {
        takeovers.push(done??);
    }
    Ok(takeovers)
}

/// The contact writes, and then a person takes over.
async fn take_over(generator: &Arc<Generator>, contact: usize, when: When) -> Result<Takeover> {
    let written = Instant::now();
    generator.write(Marker { contact, number: 0 }).await;
    let moment = match when {
        When::AfterMessage(pause) => written + pause,
        When::AfterCall(pause) => {
            let called = timeout(CALL_LIMIT, generator.book.first_call(contact)).await;
            called.context("the model was never asked")? + pause
        }
    };
    sleep_until(moment.into()).await;
    let path = format!("/api/v1/channels/default/chats/{}/mode", chat_of(contact).id);
    let token = format!("Bearer {API_TOKEN}");
    let body = json!({ "mode": "HUMAN" }).to_string();
    let asked = Instant::now();
    let answer =
        generator.client.ask("PUT", &path, &[("Authorization", &token)], &body, ANSWER_LIMIT).await?;
    let told = Instant::now();
    if answer.status != 200 {
        bail!("a takeover was answered {}: {}", answer.status, answer.body);
    }
    Ok(Takeover { contact, asked, told, is_settled: answer.body["settled"] == true })
}

/// What became of those who were taken over.
#[derive(Debug, Default, PartialEq, Eq)]
struct Counted {
    /// From the request until the model saw its caller go.
    aborted_after: Vec<Duration>,
    /// The model had answered by then.
    ended_before: usize,
    /// Messages of the assistant after the person had been told that it is silent.
    late: usize,
}

impl Counted {
    fn of(records: &Records, takeovers: &[Takeover]) -> Self {
        let mut counted = Self::default();
        for takeover in takeovers {
            let calls = records.calls.iter().filter(|call| call.contact == Some(takeover.contact));
            for call in calls {
                match call.ended {
                    Some((at, Ended::Left)) => {
                        counted.aborted_after.push(at.saturating_duration_since(takeover.asked));
                    }
                    Some((_, Ended::Sent)) | None => counted.ended_before += 1,
                }
            }
            let arrivals = records.arrivals.iter().filter(|it| it.contact == Some(takeover.contact));
            counted.late += arrivals.filter(|arrival| arrival.at > takeover.told).count();
        }
        counted
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::super::book::{Arrival, Call},
        *,
    };

    #[test]
    fn an_answer_is_late_when_the_person_had_been_told() {
        let zero = Instant::now();
        let at = |ms| zero + Duration::from_millis(ms);
        let mut records = Records::default();
        let call = |contact, ended| Call { at: at(0), contact: Some(contact), ended: Some(ended) };
        records.calls = vec![
            call(1, (at(107), Ended::Left)),
            call(2, (at(90), Ended::Sent)),
            call(9, (at(1), Ended::Left)),
        ];
        let arrival =
            |contact, ms| Arrival { at: at(ms), contact: Some(contact), names: Vec::new(), call: None };
        records.arrivals = vec![arrival(2, 95), arrival(1, 120), arrival(9, 500)];
        let takeover = |contact| Takeover { contact, asked: at(100), told: at(110), is_settled: true };
        let counted = Counted::of(&records, &[takeover(1), takeover(2)]);
        let aborted_after = vec![Duration::from_millis(7)];
        assert_eq!(counted, Counted { aborted_after, ended_before: 1, late: 1 });
    }
}
