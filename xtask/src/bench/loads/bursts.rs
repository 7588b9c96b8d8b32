//! Contacts as they are: several messages in a row, and a gateway that delivers some of them again.

use std::sync::Arc;

use anyhow::{Context as _, Result};

use super::{
    super::{
        figures::{Figure, beside, float},
        generator::in_bursts,
        session::{Kind, Measured, Session},
        stand::Stand,
    },
    Findings,
};

/// So many of a hundred turns are bursts.
const BURSTS_PERCENT: u8 = 30;
/// So many of a hundred webhooks come again.
const REPEATED_PERCENT: u8 = 10;

pub(super) async fn run(stand: &Stand) -> Result<Findings> {
    let limit = once(stand, Kind::PassThrough).await?;
    let measured = once(stand, Kind::Baton).await?;
    let mut findings =
        Findings { figures: beside(figures(&measured), &figures(&limit)), ..Findings::default() };
    findings.add_wrongs("", measured.verdict().wrongs);
    Ok(findings)
}

async fn once(stand: &Stand, kind: Kind) -> Result<Measured> {
    // The limit is the same, shorter: it keeps nothing that could grow.
    let (contacts, turns, rate, latency_ms) = match (stand.options.is_quick, kind) {
        (true, _) => (100, 2, 100.0, (300, 400)),
        (false, Kind::PassThrough) => (500, 1, 50.0, (2_000, 3_000)),
        (false, Kind::Baton) => (500, 4, 50.0, (2_000, 3_000)),
    };
    let mut session = Session::open(stand, kind, latency_ms).await?;
    let generator = Arc::get_mut(&mut session.generator).context("somebody writes already")?;
    generator.repeated_percent = REPEATED_PERCENT;
    let turns = in_bursts(contacts, turns, BURSTS_PERCENT);
    let messages = turns.iter().map(Vec::len).sum();
    session.begin();
    let generator = session.generator.clone();
    session.drive(generator.keep_pace(turns, rate)).await?;
    session.answered(messages).await?;
    session.end()
}

fn figures(measured: &Measured) -> Vec<Figure> {
    let mut figures = measured.times(&measured.verdict());
    figures.push(Figure::new("messages", float(measured.records.written.len())));
    figures.push(Figure::new("delivered_again", float(measured.records.repeated)));
    figures.extend(measured.cost());
    figures
}
