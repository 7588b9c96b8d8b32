//! One load on one process, from its start to its end.
//!
//! In: what is to be loaded, how slow the model is. Out: what was measured and judged.

use std::{
    net::SocketAddr,
    sync::Arc,
    time::{Duration, Instant},
};

use anyhow::{Result, bail};
use rustix::process::Pid;
use tokio::time::timeout;

use super::{
    book::{Book, Records},
    fakes::{Fakes, Open},
    figures::{Figure, float, spread},
    generator::Generator,
    judge::{Verdict, judge},
    postgres::Counted,
    stand::{Database, Stand, WEBHOOK_TOKEN, last_words},
};
use crate::{
    fakes::{names::Marker, wire::Client},
    processes::{cpu_ms, own_cpu_ms, peak_rss_kib, pss_kib},
    servers::Server,
};

const WEBHOOKS: &str = "/webhooks/green-api/default";
/// No answer at all for so long beyond the model's time: none will come. Two minutes after a send whose answer it did not
/// hear, Baton looks into the journal.
const STALL: Duration = Duration::from_secs(200);
const LOOK_EVERY: Duration = Duration::from_millis(250);
/// So many contacts write once before anything is measured, so that connections are open and caches filled.
const WARM: usize = 64;
/// The first of them, far from all others.
const WARM_FROM: usize = 80_000_000;

/// What is loaded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// What all this is about.
    Baton,
    /// The same three ways with nothing kept, as the limit of what can be.
    PassThrough,
}

/// A load that goes on.
pub(super) struct Session<'a> {
    pub(super) stand: &'a Stand,
    pub(super) book: Arc<Book>,
    pub(super) generator: Arc<Generator>,
    pub(super) database: Option<Database>,
    kind: Kind,
    server: Server,
    latency_most: Duration,
    began: Option<Began>,
    pss_kib: u32,
    /// The fakes are the last to go.
    _fakes: Open,
}

/// Where the counters stood.
struct Began {
    cpu: Vec<(&'static str, Pid, Option<f64>)>,
    generator: Option<f64>,
    counted: Counted,
}

/// What was measured.
pub(super) struct Measured {
    pub(super) records: Records,
    /// Processor time of each, in milliseconds.
    pub(super) cpu_ms: Vec<(&'static str, f64)>,
    pub(super) peak_rss_kib: u32,
    pub(super) peak_pss_kib: u32,
    pub(super) counted: Counted,
    /// On which it ran.
    pub(super) database: Option<Database>,
}

impl<'a> Session<'a> {
    /// Starts everything and warms it. To be called on a thread that stays: what was started ends with it.
    pub(super) async fn open(stand: &'a Stand, kind: Kind, latency_ms: (u64, u64)) -> Result<Self> {
        let database = if kind == Kind::Baton { Some(stand.database()?) } else { None };
        Self::open_on(stand, kind, database, latency_ms).await
    }

    /// As `open`, on a database that is there.
    pub(super) async fn open_on(
        stand: &'a Stand,
        kind: Kind,
        database: Option<Database>,
        latency_ms: (u64, u64),
    ) -> Result<Self> {
        let book = Arc::new(Book::new());
        let fakes = Fakes::open(Arc::clone(&book), latency_ms).await?;
        let server = match &database {
            Some(database) => stand.start_baton(database, fakes.port)?,
            None => stand.start_pass_through(fakes.port)?,
        };
        let address = SocketAddr::from(([127, 0, 0, 1], server.port()));
        let generator = Generator::new(Arc::clone(&book), Client::new(address), WEBHOOKS, WEBHOOK_TOKEN);
        let session = Self {
            stand,
            book,
            generator: Arc::new(generator),
            database,
            kind,
            server,
            latency_most: Duration::from_millis(latency_ms.1),
            began: None,
            pss_kib: 0,
            _fakes: fakes,
        };
        session.warm().await?;
        Ok(session)
    }

    async fn warm(&self) -> Result<()> {
        // On a database that was used before, the same contacts must not write the same again.
        let number = self.stand.next_session();
        let order = (WARM_FROM..WARM_FROM + WARM).map(|contact| Marker { contact, number }).collect();
        self.generator.flood(order, WARM).await?;
        self.wait(WARM, None).await?;
        self.book.take();
        Ok(())
    }

    /// From now on it counts.
    pub(super) fn begin(&mut self) {
        let it = (self.name(), self.server.pid());
        let servers = if self.kind == Kind::Baton { self.stand.servers() } else { Vec::new() };
        let cpu = std::iter::once(it).chain(servers).map(|(name, pid)| (name, pid, cpu_ms(pid))).collect();
        let counted = self.counted();
        self.began = Some(Began { cpu, generator: own_cpu_ms(), counted });
    }

    const fn name(&self) -> &'static str {
        match self.kind {
            Kind::Baton => "baton",
            Kind::PassThrough => "pass-through",
        }
    }

    fn counted(&self) -> Counted {
        self.database.as_ref().map(|database| self.stand.counted(&database.name)).unwrap_or_default()
    }

    /// Waits until so many messages are answered. Too few after a long silence are for the judge.
    pub(super) async fn answered(&mut self, messages: usize) -> Result<()> {
        let mut most = self.pss_kib;
        let waited = self.wait(messages, Some(&mut most)).await;
        self.pss_kib = most;
        waited
    }

    /// Drives the load and meanwhile looks at memory.
    pub(super) async fn drive(&mut self, load: impl Future<Output = Result<()>>) -> Result<()> {
        tokio::pin!(load);
        loop {
            if let Ok(done) = timeout(LOOK_EVERY, &mut load).await {
                return done;
            }
            self.look()?;
            self.pss_kib = self.pss_kib.max(pss_kib(self.server.pid()).unwrap_or_default());
        }
    }

    async fn wait(&self, messages: usize, mut most: Option<&mut u32>) -> Result<()> {
        let mut answered = self.book.answered();
        let mut last = (*answered.borrow(), Instant::now());
        while *answered.borrow() < messages {
            // A closed channel cannot be: the book is ours.
            let _ = timeout(LOOK_EVERY, answered.wait_for(|answered| *answered >= messages)).await;
            let now = *answered.borrow();
            if now > last.0 {
                last = (now, Instant::now());
            } else if last.1.elapsed() > STALL + self.latency_most {
                eprintln!("no more answers: {now} of {messages}\n{}", self.last_words());
                if let Some(states) = self.database.as_ref().map(|database| self.stand.states(database)) {
                    eprintln!("{}", states.unwrap_or_else(|error| error.to_string()));
                }
                return Ok(());
            }
            self.look()?;
            if let Some(most) = most.as_deref_mut() {
                *most = (*most).max(pss_kib(self.server.pid()).unwrap_or_default());
            }
        }
        Ok(())
    }

    fn look(&self) -> Result<()> {
        if self.stand.stop.is_asked_for() {
            bail!("stopped");
        }
        Ok(())
    }

    fn last_words(&self) -> String {
        last_words(self.stand.folder.path(), self.name())
    }

    /// Ends it: what it has in hand it finishes, so that what comes too late or twice comes too.
    pub(super) fn end(mut self) -> Result<Measured> {
        let began = self.began.take();
        if !self.server.is_running() {
            bail!("{} has ended by itself:\n{}", self.name(), self.last_words());
        }
        let cpu = began.iter().flat_map(|began| &began.cpu);
        let cpu = cpu.filter_map(|(name, pid, before)| Some((*name, cpu_ms(*pid)? - (*before)?)));
        let generator =
            began.as_ref().and_then(|began| Some(("generator", own_cpu_ms()? - began.generator?)));
        let cpu_ms = cpu.chain(generator).collect();
        let before = began.as_ref().map(|began| began.counted).unwrap_or_default();
        let mut counted = self.counted();
        if let Some(database) = self.database.as_ref().filter(|_| self.stand.options.shows_statements) {
            println!("calls|rows|ms in all|ms of one|statement\n{}\n", self.stand.statements(database)?);
        }
        let peak_rss_kib = peak_rss_kib(self.server.pid()).unwrap_or_default();
        let Self { stand, book, database, server, pss_kib: peak_pss_kib, _fakes: fakes, .. } = self;
        drop(server);
        if let Some(database) = &database {
            counted.syncs = stand.syncs_without(database);
        }
        let records = book.take();
        drop(fakes);
        Ok(Measured { records, cpu_ms, peak_rss_kib, peak_pss_kib, counted: counted.since(before), database })
    }
}

impl Measured {
    /// The judgement.
    pub(super) fn verdict(&self) -> Verdict {
        judge(&self.records, |_| false)
    }

    /// Messages over the time from the first webhook to the last answer.
    pub(super) fn answered_per_s(&self) -> f64 {
        let first = self.records.written.values().map(|written| written.at).min();
        let last = self.records.arrivals.iter().map(|arrival| arrival.at).max();
        let seconds = first.zip(last).map_or(0.0, |(first, last)| last.duration_since(first).as_secs_f64());
        if seconds > 0.0 { float(self.records.arrivals.len()) / seconds } else { 0.0 }
    }

    /// What one message took of each processor.
    pub(super) fn cost(&self) -> Vec<Figure> {
        let messages = float(self.records.written.len().max(1));
        let cpu = self.cpu_ms.iter().map(|(name, ms)| {
            let name = if *name == "pass-through" { "baton" } else { name };
            Figure::new(format!("cpu_ms_a_message_{name}"), ms / messages)
        });
        let counted =
            [("statements_a_message", self.counted.statements), ("wal_syncs_a_message", self.counted.syncs)];
        let counted =
            counted.into_iter().filter_map(|(name, count)| Some(Figure::new(name, count? / messages)));
        cpu.chain(counted).collect()
    }

    /// How long everything took.
    pub(super) fn times(&self, verdict: &Verdict) -> Vec<Figure> {
        let mut figures = spread("overhead", &verdict.overheads);
        figures.extend(spread("ack", &verdict.acks));
        figures.push(Figure::new("webhooks_refused", float(self.records.refused)));
        figures
    }
}
