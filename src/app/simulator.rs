//! The simulated gateway as a command runs it: at an address, until it is stopped.

use std::net::{SocketAddr, TcpListener};

use anyhow::Context as _;

use super::{CONNECT, signals::Signals};
use crate::{
    adapters::http_client::http_client,
    simulator::{Options, Simulator},
};

/// Runs it until it is stopped. `tell` receives the address at which it answers.
pub async fn simulator(
    address: SocketAddr,
    options: Options,
    tell: impl FnOnce(SocketAddr) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let mut signals = Signals::listen()?;
    let listener = TcpListener::bind(address)
        .with_context(|| format!("cannot listen on {address} (--listen names another place)"))?;
    let simulator = Simulator::start(listener, options, http_client(CONNECT)?)?;
    tell(simulator.address())?;
    signals.told().await;
    simulator.stop().await;
    Ok(())
}
