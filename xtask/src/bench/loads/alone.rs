//! One conversation, and nobody else: how long the whole way takes when nothing is in it.

use anyhow::Result;

use super::{
    super::{
        figures::{Figure, beside},
        session::{Kind, Measured, Session},
        stand::Stand,
    },
    Findings,
};
use crate::fakes::names::Marker;

pub(super) async fn run(stand: &Stand) -> Result<Findings> {
    let messages = if stand.options.is_quick { 100 } else { 500 };
    let limit = once(stand, Kind::PassThrough, messages).await?;
    let measured = once(stand, Kind::Baton, messages).await?;
    let mut findings =
        Findings { figures: beside(figures(&measured), &figures(&limit)), ..Findings::default() };
    findings.add_wrongs("", measured.verdict().wrongs);
    Ok(findings)
}

async fn once(stand: &Stand, kind: Kind, messages: usize) -> Result<Measured> {
    let mut session = Session::open(stand, kind, (0, 0)).await?;
    session.begin();
    for number in 0..messages {
        session.generator.write(Marker { contact: 0, number }).await;
        session.answered(number + 1).await?;
    }
    session.end()
}

fn figures(measured: &Measured) -> Vec<Figure> {
    let mut figures = measured.times(&measured.verdict());
    figures.extend(measured.cost());
    figures
}
