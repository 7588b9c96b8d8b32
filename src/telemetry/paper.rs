//! A log that a test can read.

use std::{
    io,
    sync::{Arc, Mutex, PoisonError},
};

use tracing::subscriber::DefaultGuard;
use tracing_subscriber::{fmt, layer::SubscriberExt as _};

use super::filtered;

/// A place to write to that can be read again.
#[derive(Clone, Default)]
pub(crate) struct Paper(Arc<Mutex<Vec<u8>>>);

impl Paper {
    /// What is written on it.
    pub(crate) fn text(&self) -> String {
        let written = self.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        String::from_utf8(written).expect("UTF-8")
    }

    /// The same, by line.
    pub(crate) fn lines(&self) -> Vec<String> {
        self.text().lines().map(ToOwned::to_owned).collect()
    }
}

impl io::Write for Paper {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// What this thread tells from now on is written there, at these levels, until the guard is dropped.
pub(crate) fn at(levels: &str) -> (Paper, DefaultGuard) {
    let paper = Paper::default();
    let writer = paper.clone();
    let lines = fmt::layer().with_writer(move || writer.clone()).with_ansi(false);
    let subscriber = filtered(levels.parse().expect("levels")).with(lines);
    (paper, tracing::subscriber::set_default(subscriber))
}
