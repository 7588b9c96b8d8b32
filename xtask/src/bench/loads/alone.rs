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

/// One after another. More of one contact in a minute would be a flood, which Baton slows down.
const MESSAGES_A_CONTACT: usize = 100;

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
    for at in 0..messages {
        let marker = Marker { contact: at / MESSAGES_A_CONTACT, number: at % MESSAGES_A_CONTACT };
        session.generator.write(marker).await;
        session.answered(at + 1).await?;
    }
    session.end()
}

fn figures(measured: &Measured) -> Vec<Figure> {
    let mut figures = measured.times(&measured.verdict());
    figures.extend(measured.cost());
    figures
}
