//! What is done to Baton, a file each.

mod ceiling;

mod flight;

mod alone;

mod bursts;

mod takeover;

mod growth;

mod dashboards;

use anyhow::Result;

use super::{figures::Figure, judge::Wrongs, stand::Stand};

/// Webhooks open at once where as many as possible are wanted.
pub(super) const OPEN: usize = 64;

/// A load by its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Load {
    Ceiling,
    Flight,
    Alone,
    Bursts,
    Takeover,
    Growth,
    Dashboards,
}

/// What a load came to.
#[derive(Debug, Default)]
pub(super) struct Findings {
    pub(super) figures: Vec<Figure>,
    /// Each of these must be zero.
    pub(super) wrongs: Vec<(String, usize)>,
}

impl Load {
    pub(super) const ALL: [Self; 7] = [
        Self::Ceiling,
        Self::Flight,
        Self::Alone,
        Self::Bursts,
        Self::Takeover,
        Self::Growth,
        Self::Dashboards,
    ];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Ceiling => "ceiling",
            Self::Flight => "flight",
            Self::Alone => "alone",
            Self::Bursts => "bursts",
            Self::Takeover => "takeover",
            Self::Growth => "growth",
            Self::Dashboards => "dashboards",
        }
    }

    /// Does it.
    pub(super) async fn run(self, stand: &Stand) -> Result<Findings> {
        match self {
            Self::Ceiling => ceiling::run(stand).await,
            Self::Flight => flight::run(stand).await,
            Self::Alone => alone::run(stand).await,
            Self::Bursts => bursts::run(stand).await,
            Self::Takeover => takeover::run(stand).await,
            Self::Growth => growth::run(stand).await,
            Self::Dashboards => dashboards::run(stand).await,
        }
    }
}

impl Findings {
    fn add_wrongs(&mut self, under: &str, wrongs: Wrongs) {
        self.wrongs.extend(wrongs.named().map(|(name, count)| (format!("{under}{name}"), count)));
    }
}

/// Names a figure of a part of a load.
fn under(part: &str, figures: Vec<Figure>) -> impl Iterator<Item = Figure> {
    figures.into_iter().map(move |figure| Figure { name: format!("{part}{}", figure.name), ..figure })
}
