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
    gateway::{Gateway, Trouble},
    instance::Instance,
    model::{Model, lock},
    plan::{Kind, Link, Planned},
    proxy::Gate,
    records::{Book, Freeze},
};
use crate::servers::{Postgres, Redis, Server};

/// A server that has not come back by then will not.
const BACK_LIMIT: Duration = Duration::from_secs(60);
const LOOK_EVERY: Duration = Duration::from_millis(50);

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
        let instance = &self.instances[fault.instance];
        match fault.kind {
            Kind::Kill => {
                instance.kill();
                sleep(lasts).await;
                instance.start()?;
                instance.is_ready().await?;
            }
            Kind::Restart => {
                instance.end().await?;
                instance.start()?;
                instance.is_ready().await?;
            }
            Kind::FreezeShort | Kind::FreezeLong | Kind::FreezeVeryLong => {
                let from = Instant::now();
                instance.signal(Signal::STOP);
                sleep(lasts).await;
                self.book.open().freezes.push(Freeze { name: instance.name, from, to: Instant::now() });
                instance.signal(Signal::CONT);
            }
            Kind::Cut(link) => self.shut(instance, link, Gate::Cut, lasts).await,
            Kind::StallShort(link) => self.shut(instance, link, Gate::Stalled, lasts).await,
            Kind::StallLong(link) => {
                self.shut(instance, link, Gate::Stalled, lasts).await;
            }
            Kind::RedisFlush => self.tell_redis("FLUSHALL").await?,
            Kind::RedisReadOnly => {
                // Without replicas it then refuses every write.
                self.tell_redis("CONFIG SET min-replicas-to-write 1").await?;
                sleep(lasts).await;
                self.tell_redis("CONFIG SET min-replicas-to-write 0").await?;
            }
            Kind::RedisKill => {
                lock(&self.redis).server.signal(Signal::KILL);
                sleep(lasts).await;
                comes_back(|with| with(&mut lock(&self.redis).server)).await.context("Redis")?;
            }
            Kind::RedisFreeze => {
                lock(&self.redis).server.signal(Signal::STOP);
                sleep(lasts).await;
                lock(&self.redis).server.signal(Signal::CONT);
            }
            Kind::PostgresKill => {
                lock(&self.postgres).server.signal(Signal::KILL);
                sleep(lasts).await;
                comes_back(|with| with(&mut lock(&self.postgres).server)).await.context("PostgreSQL")?;
            }
            Kind::PostgresRestart => {
                lock(&self.postgres).server.signal(Signal::INT);
                comes_back(|with| with(&mut lock(&self.postgres).server)).await.context("PostgreSQL")?;
            }
            Kind::PostgresFreeze => {
                lock(&self.postgres).server.signal_all(Signal::STOP);
                sleep(lasts).await;
                lock(&self.postgres).server.signal_all(Signal::CONT);
            }
            Kind::Gateway429 => {
                self.gateway.refuse_for(lasts);
                sleep(lasts).await;
            }
            Kind::Gateway500 => self.gateway.trouble(Trouble::Fails, count),
            Kind::GatewayHang => self.gateway.trouble(Trouble::Hangs, count),
            Kind::GatewayLosesAnswer => self.gateway.trouble(Trouble::LosesAnswer, count),
            Kind::GatewayLosesMessage => self.gateway.trouble(Trouble::LosesMessage, count),
            Kind::GatewayNonsense => self.gateway.trouble(Trouble::Nonsense, count),
            Kind::Model500 => self.model.fail_for(lasts),
            Kind::ModelHang => self.model.hang(count),
            Kind::ModelBreaks => self.model.break_off(count),
            Kind::ModelSlow => self.model.slow_for(lasts),
        }
        Ok(())
    }

    /// What was held back longer than a send may take is broken instead of delivered: no network brings a request after
    /// its sender has reset the connection.
    async fn shut(&self, instance: &Instance, link: Link, gate: Gate, lasts: Duration) {
        let way = instance.way(link);
        way.set(gate);
        sleep(lasts).await;
        if link == Link::Gateway && lasts > Duration::from_millis(1_500) {
            way.set(Gate::Cut);
        }
        way.set(Gate::Open);
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
