//! Does what the plan says: begins a fault, waits, heals it.
//!
//! In: one planned fault. Out: everything as before, and what did not come back as it should.

use std::{
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, bail};
use rustix::process::Signal;
use tokio::{io::AsyncWriteExt as _, net::TcpStream, time::sleep};

use super::{
    gateway::Gateway,
    instance::Instance,
    model::Model,
    plan::{self, Harm, Kind, Link, Planned},
    proxy::Gate,
    records::{Book, Freeze},
};
use crate::{
    fakes::lock,
    servers::{Postgres, Redis, Server},
};

/// A server that has not come back by then will not.
const BACK_LIMIT: Duration = Duration::from_secs(60);
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// Longer than this a request is not held back and then delivered: its sender gives it up after two seconds.
const HELD_BACK: Duration = Duration::from_millis(1_500);

/// Everything that can be harmed.
pub(super) struct Stage {
    pub(super) book: Arc<Book>,
    pub(super) instances: Arc<Vec<Instance>>,
    pub(super) postgres: Mutex<Postgres>,
    pub(super) redis: Mutex<Redis>,
    pub(super) gateway: Arc<Gateway>,
    pub(super) model: Arc<Model>,
}

impl Stage {
    /// One fault, from its beginning to its end.
    pub(super) async fn strike(&self, fault: &Planned) -> Result<()> {
        let (lasts, count) = (fault.lasts, fault.count);
        match fault.kind {
            Kind::Instance(harm) => self.harm(&self.instances[fault.instance], harm, lasts).await?,
            Kind::Redis(harm) => self.harm_redis(harm, lasts).await.context("Redis")?,
            Kind::Postgres(harm) => self.harm_postgres(harm, lasts).await.context("PostgreSQL")?,
            Kind::Gateway(plan::Gateway::Refuses) => self.gateway.refuse_for(lasts),
            Kind::Gateway(trouble) => self.gateway.trouble(trouble, count),
            Kind::Model(plan::Model::Fails) => self.model.fail_for(lasts),
            Kind::Model(plan::Model::IsSlow) => self.model.slow_for(lasts),
            Kind::Model(plan::Model::Hangs) => self.model.hang(count),
            Kind::Model(plan::Model::BreaksOff) => self.model.break_off(count),
        }
        Ok(())
    }

    async fn harm(&self, instance: &Instance, harm: Harm, lasts: Duration) -> Result<()> {
        match harm {
            Harm::Kill => {
                instance.kill();
                sleep(lasts).await;
                instance.start()?;
                instance.is_ready().await?;
            }
            Harm::Restart => {
                instance.end().await?;
                instance.start()?;
                instance.is_ready().await?;
            }
            Harm::FreezeShort | Harm::FreezeLong | Harm::FreezeVeryLong => {
                let from = Instant::now();
                instance.signal(Signal::STOP);
                sleep(lasts).await;
                self.book.open().freezes.push(Freeze { name: instance.name, from, to: Instant::now() });
                instance.signal(Signal::CONT);
            }
            Harm::Cut(link) => shut(instance, link, Gate::Cut, lasts).await,
            Harm::StallShort(link) | Harm::StallLong(link) => {
                shut(instance, link, Gate::Stalled, lasts).await
            }
        }
        Ok(())
    }

    async fn harm_redis(&self, harm: plan::Redis, lasts: Duration) -> Result<()> {
        match harm {
            plan::Redis::Flush => self.tell_redis("FLUSHALL").await?,
            plan::Redis::ReadOnly => {
                // Without replicas it then refuses every write.
                self.tell_redis("CONFIG SET min-replicas-to-write 1").await?;
                sleep(lasts).await;
                self.tell_redis("CONFIG SET min-replicas-to-write 0").await?;
            }
            plan::Redis::Kill => {
                lock(&self.redis).server.signal(Signal::KILL);
                sleep(lasts).await;
                comes_back(|with| with(&mut lock(&self.redis).server)).await?;
            }
            plan::Redis::Freeze => {
                lock(&self.redis).server.signal(Signal::STOP);
                sleep(lasts).await;
                lock(&self.redis).server.signal(Signal::CONT);
            }
        }
        Ok(())
    }

    async fn harm_postgres(&self, harm: plan::Postgres, lasts: Duration) -> Result<()> {
        match harm {
            plan::Postgres::Kill => {
                lock(&self.postgres).server.signal(Signal::KILL);
                sleep(lasts).await;
                comes_back(|with| with(&mut lock(&self.postgres).server)).await
            }
            plan::Postgres::Restart => {
                lock(&self.postgres).server.signal(Signal::INT);
                comes_back(|with| with(&mut lock(&self.postgres).server)).await
            }
            plan::Postgres::Freeze => {
                lock(&self.postgres).server.signal_all(Signal::STOP);
                sleep(lasts).await;
                lock(&self.postgres).server.signal_all(Signal::CONT);
                Ok(())
            }
        }
    }

    async fn tell_redis(&self, command: &str) -> Result<()> {
        let port = lock(&self.redis).server.port();
        let mut connection = TcpStream::connect(("127.0.0.1", port)).await.context("Redis")?;
        connection.write_all(format!("{command}\r\n").as_bytes()).await?;
        let mut answer = [0; 1];
        tokio::io::AsyncReadExt::read_exact(&mut connection, &mut answer).await?;
        if answer != *b"+" {
            bail!("Redis refused {command}");
        }
        Ok(())
    }

    /// Nothing goes wrong any more.
    pub(super) fn heal(&self) {
        self.gateway.behave();
        self.model.hang(0);
        self.model.break_off(0);
    }
}

/// What was held back longer than a send may take is broken instead of delivered: no network brings a request after its
/// sender has reset the connection.
async fn shut(instance: &Instance, link: Link, gate: Gate, lasts: Duration) {
    let way = instance.way(link);
    way.set(gate);
    sleep(lasts).await;
    if link == Link::Gateway && lasts > HELD_BACK {
        way.set(Gate::Cut);
    }
    way.set(Gate::Open);
}

/// Starts a server that ends or has ended, as often as it takes: PostgreSQL refuses while processes of the one before
/// still live.
async fn comes_back(server: impl Fn(&mut dyn FnMut(&mut Server))) -> Result<()> {
    let began = Instant::now();
    loop {
        let mut probe = None;
        let mut outcome = Ok(());
        server(&mut |server| {
            if server.is_running() {
                probe = Some(server.probe());
            } else {
                outcome = server.begin_again();
            }
        });
        outcome?;
        sleep(LOOK_EVERY).await;
        if let Some(probe) = probe
            && tokio::task::spawn_blocking(probe).await.unwrap_or(false)
        {
            return Ok(());
        }
        if began.elapsed() > BACK_LIMIT {
            bail!("did not come back");
        }
    }
}
