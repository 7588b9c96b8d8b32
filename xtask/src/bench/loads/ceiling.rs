//! As many messages as go: the model takes no time, and 64 webhooks are always open.

use anyhow::Result;

use super::{
    super::{
        figures::{Figure, beside},
        generator::order,
        session::{Kind, Measured, Session},
        stand::Stand,
    },
    Findings, OPEN,
};

pub(super) async fn run(stand: &Stand) -> Result<Findings> {
    let size = if stand.options.is_quick { (400, 5) } else { (2_000, 5) };
    let limit = once(stand, Kind::PassThrough, size).await?;
    let measured = once(stand, Kind::Baton, size).await?;
    let mut findings =
        Findings { figures: beside(figures(&measured), &figures(&limit)), ..Findings::default() };
    findings.add_wrongs("", measured.verdict().wrongs);
    Ok(findings)
}

async fn once(stand: &Stand, kind: Kind, (contacts, messages): (usize, usize)) -> Result<Measured> {
    let mut session = Session::open(stand, kind, (0, 0)).await?;
    session.begin();
    let generator = session.generator.clone();
    session.drive(generator.flood(order(contacts, messages), OPEN)).await?;
    session.answered(contacts * messages).await?;
    session.end()
}

fn figures(measured: &Measured) -> Vec<Figure> {
    let mut figures = vec![Figure::new("answered_per_s", measured.answered_per_s())];
    figures.extend(measured.cost());
    figures.extend(measured.times(&measured.verdict()));
    figures
}
