//! A model that takes its time, and thousands of conversations that wait for it at once.

use anyhow::Result;

use super::{
    super::{
        figures::{Figure, beside, float},
        generator::{order, single},
        session::{Kind, Measured, Session},
        stand::Stand,
    },
    Findings, under,
};

/// So many conversations, of so many messages each, so many messages a second.
#[derive(Debug, Clone, Copy)]
struct Stage {
    contacts: usize,
    messages: usize,
    rate: f64,
}

pub(super) async fn run(stand: &Stand) -> Result<Findings> {
    let is_quick = stand.options.is_quick;
    let latency_ms = if is_quick { (1_000, 1_200) } else { (8_000, 10_000) };
    let mut stages = if is_quick {
        vec![
            Stage { contacts: 100, messages: 2, rate: 80.0 },
            Stage { contacts: 300, messages: 3, rate: 240.0 },
        ]
    } else {
        vec![
            Stage { contacts: 2_000, messages: 5, rate: 200.0 },
            Stage { contacts: 8_000, messages: 3, rate: 800.0 },
        ]
    };
    let longer =
        stand.options.calls.map(|calls| Stage { contacts: calls, messages: 3, rate: float(calls) / 10.0 });
    stages.extend(longer);
    let mut findings = Findings::default();
    let mut before: Option<Measured> = None;
    for stage in stages {
        let part = format!("{}/", stage.contacts);
        // What the generator and the fakes take for themselves shows after one round as well as after many.
        let limit = once(stand, Kind::PassThrough, Stage { messages: 1, ..stage }, latency_ms).await?;
        let measured = once(stand, Kind::Baton, stage, latency_ms).await?;
        let mut figures = beside(figures(&measured), &figures(&limit));
        figures.extend(before.as_ref().and_then(|before| kib_more_a_call(before, &measured)));
        findings.figures.extend(under(&part, figures));
        findings.add_wrongs(&part, measured.verdict().wrongs);
        before = Some(measured);
    }
    Ok(findings)
}

async fn once(stand: &Stand, kind: Kind, stage: Stage, latency_ms: (u64, u64)) -> Result<Measured> {
    let Stage { contacts, messages, rate } = stage;
    let mut session = Session::open(stand, kind, latency_ms).await?;
    session.begin();
    let generator = session.generator.clone();
    session.drive(generator.keep_pace(single(order(contacts, messages)), rate)).await?;
    session.answered(contacts * messages).await?;
    session.end()
}

fn figures(measured: &Measured) -> Vec<Figure> {
    let mut figures = measured.times(&measured.verdict());
    figures.push(Figure::new("calls_at_once", float(measured.records.calls_most)));
    figures.push(Figure::new("peak_rss_mib", f64::from(measured.peak_rss_kib) / 1_024.0));
    figures.push(Figure::new("peak_pss_mib", f64::from(measured.peak_pss_kib) / 1_024.0));
    figures.extend(measured.cost());
    figures
}

/// What each further call of the model takes of memory.
fn kib_more_a_call(before: &Measured, now: &Measured) -> Option<Figure> {
    let kib = f64::from(now.peak_pss_kib) - f64::from(before.peak_pss_kib);
    let calls = float(now.records.calls_most) - float(before.records.calls_most);
    (calls > 0.0).then(|| Figure::new("pss_kib_more_a_call", kib / calls))
}
