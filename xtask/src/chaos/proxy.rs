//! What stands between one instance and one server, so that this instance alone can be cut off, or heard late.
//!
//! In: a port to lead to, and a gate that is set by hand. Out: a port that leads there while the gate is open.

use std::{io, net::SocketAddr};

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{
        TcpListener, TcpStream,
        tcp::{OwnedReadHalf, OwnedWriteHalf},
    },
    sync::watch,
};

/// What passes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Gate {
    /// Everything.
    Open,
    /// Nothing, for now.
    Stalled,
    /// Nothing: connections break, and new ones break at once.
    Cut,
}

/// The gate, and how often connections were broken: none outlives a cut, however short.
#[derive(Debug, Clone, Copy)]
struct State {
    gate: Gate,
    cuts: u64,
}

/// One way.
pub(super) struct Proxy {
    port: u16,
    state: watch::Sender<State>,
}

impl Proxy {
    /// Opens a way to that port.
    pub(super) async fn open(to: u16) -> io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let port = listener.local_addr()?.port();
        let (state, watch) = watch::channel(State { gate: Gate::Open, cuts: 0 });
        tokio::spawn(lead(listener, SocketAddr::from(([127, 0, 0, 1], to)), watch));
        Ok(Self { port, state })
    }

    /// Where the way begins.
    pub(super) const fn port(&self) -> u16 {
        self.port
    }

    /// Lets pass what the gate says, from now on.
    pub(super) fn set(&self, gate: Gate) {
        self.state.send_modify(|state| {
            state.gate = gate;
            state.cuts += u64::from(gate == Gate::Cut);
        });
    }
}

async fn lead(listener: TcpListener, to: SocketAddr, state: watch::Receiver<State>) {
    loop {
        let Ok((near, _)) = listener.accept().await else { continue };
        let born = *state.borrow();
        if born.gate == Gate::Cut {
            // It fails only for a connection that has broken already.
            let _ = near.set_zero_linger();
            continue;
        }
        let state = state.clone();
        tokio::spawn(async move {
            let _ = connect(near, to, born.cuts, state).await;
        });
    }
}

async fn connect(
    near: TcpStream,
    to: SocketAddr,
    cuts: u64,
    mut state: watch::Receiver<State>,
) -> io::Result<()> {
    let far = TcpStream::connect(to).await?;
    for stream in [&near, &far] {
        stream.set_nodelay(true)?;
        // Broken rather than closed, whoever breaks it: no byte may arrive after that.
        stream.set_zero_linger()?;
    }
    let (mut near_out, mut near_in) = near.into_split();
    let (mut far_out, mut far_in) = far.into_split();
    let (there, back) = (state.clone(), state.clone());
    tokio::select! {
        biased;
        _ = state.wait_for(|state| state.cuts != cuts) => {}
        _ = pump(&mut near_out, &mut far_in, cuts, there) => {}
        _ = pump(&mut far_out, &mut near_in, cuts, back) => {}
    }
    Ok(())
}

/// Until one side has said all. Then both connections end: what Baton speaks has no use for half of one.
async fn pump(
    from: &mut OwnedReadHalf,
    to: &mut OwnedWriteHalf,
    cuts: u64,
    mut state: watch::Receiver<State>,
) -> io::Result<()> {
    let mut bytes = vec![0; 16 * 1024];
    loop {
        let read = from.read(&mut bytes).await?;
        let is_decided = |state: &State| state.gate == Gate::Open || state.cuts != cuts;
        // A gate that nobody holds any more belongs to a run that has ended.
        let was_cut = state.wait_for(is_decided).await.map_or(true, |state| state.cuts != cuts);
        if read == 0 || was_cut {
            return Ok(());
        }
        to.write_all(&bytes[..read]).await?;
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use serde_json::json;

    use super::*;
    use crate::fakes::wire::{Client, Reply, serve};

    const LIMIT: Duration = Duration::from_millis(300);

    async fn asks(client: &Client) -> Option<u16> {
        client.ask("GET", "/", &[], "", LIMIT).await.ok().map(|answer| answer.status)
    }

    #[tokio::test]
    async fn a_way_leads_there_holds_back_and_breaks() {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let port = listener.local_addr().expect("an address").port();
        tokio::spawn(serve(listener, async |_| Reply::json(&json!({}))));
        let proxy = Proxy::open(port).await.expect("a way");
        let client = Client::new(SocketAddr::from(([127, 0, 0, 1], proxy.port())));
        assert_eq!(asks(&client).await, Some(200));
        proxy.set(Gate::Stalled);
        assert_eq!(asks(&client).await, None, "held back");
        proxy.set(Gate::Open);
        assert_eq!(asks(&client).await, Some(200));
        proxy.set(Gate::Cut);
        assert_eq!(asks(&client).await, None, "broken");
        proxy.set(Gate::Open);
        assert_eq!(asks(&client).await, Some(200), "on a new connection");
    }
}
