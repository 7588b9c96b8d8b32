//! Two hundred people look at the live feed while messages come at a steady pace. The limit is the same without them.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use anyhow::{Result, bail};
use tokio::task::JoinSet;

use super::{
    super::{
        figures::{Figure, beside, float},
        generator::{order, single},
        session::{Kind, Measured, Session},
        stand::{API_TOKEN, Stand},
    },
    Findings,
};

const READERS: usize = 200;

pub(super) async fn run(stand: &Stand) -> Result<Findings> {
    let (limit, _) = once(stand, 0).await?;
    let (measured, heard) = once(stand, READERS).await?;
    let mut figures = beside(figures(&measured), &figures(&limit));
    figures.push(Figure::new("events_a_reader", float(heard.iter().sum::<usize>()) / float(READERS)));
    let mut findings = Findings { figures, ..Findings::default() };
    findings.add_wrongs("", measured.verdict().wrongs);
    findings
        .wrongs
        .push(("readers_without_events".to_owned(), heard.iter().filter(|heard| **heard == 0).count()));
    Ok(findings)
}

/// Returns what was measured, and how many events each reader heard of.
async fn once(stand: &Stand, readers: usize) -> Result<(Measured, Vec<usize>)> {
    let (contacts, messages, rate) = if stand.options.is_quick { (100, 2, 80.0) } else { (500, 4, 100.0) };
    let mut session = Session::open(stand, Kind::Baton, (50, 100)).await?;
    let heard: Vec<Arc<AtomicUsize>> = (0..readers).map(|_| Arc::default()).collect();
    let mut reading = JoinSet::new();
    for heard in &heard {
        read(&session, &mut reading, Arc::clone(heard)).await?;
    }
    session.begin();
    let generator = session.generator.clone();
    session.drive(generator.keep_pace(single(order(contacts, messages)), rate)).await?;
    session.answered(contacts * messages).await?;
    let measured = session.end()?;
    drop(reading);
    Ok((measured, heard.iter().map(|heard| heard.load(Ordering::Relaxed)).collect()))
}

async fn read(session: &Session<'_>, reading: &mut JoinSet<()>, heard: Arc<AtomicUsize>) -> Result<()> {
    let token = format!("Bearer {API_TOKEN}");
    let headers = [("Authorization", token.as_str()), ("Accept", "text/event-stream")];
    let mut feed = session.generator.client.ask_for_stream("GET", "/api/v1/events", &headers, "").await?;
    let status = feed.status().await?;
    if status != 200 {
        bail!("the live feed was answered {status}");
    }
    reading.spawn(async move {
        while let Ok(Some(_)) = feed.data().await {
            heard.fetch_add(1, Ordering::Relaxed);
        }
    });
    Ok(())
}

fn figures(measured: &Measured) -> Vec<Figure> {
    let mut figures = measured.times(&measured.verdict());
    figures.push(Figure::new("peak_rss_mib", f64::from(measured.peak_rss_kib) / 1_024.0));
    figures.extend(measured.cost());
    figures
}
