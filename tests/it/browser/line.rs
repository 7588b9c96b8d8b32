//! The line between a browser and its server, which a test can cut: whoever is connected then hears no more, and nobody
//! else gets through, until it is mended.

use std::sync::Arc;

use tokio::{
    io::copy_bidirectional,
    net::{TcpListener, TcpStream},
    sync::watch,
    task::JoinHandle,
};

pub(super) struct Line {
    /// `http://127.0.0.1:port`.
    pub(super) address: String,
    is_whole: Arc<watch::Sender<bool>>,
    carries: JoinHandle<()>,
}

impl Drop for Line {
    fn drop(&mut self) {
        self.carries.abort();
    }
}

impl Line {
    /// A line to that address.
    pub(super) async fn to(server: &str) -> Self {
        let far = server.trim_start_matches("http://").to_owned();
        let near = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = format!("http://{}", near.local_addr().expect("an address"));
        let is_whole = Arc::new(watch::Sender::new(true));
        let state = Arc::clone(&is_whole);
        let carries = tokio::spawn(async move {
            while let Ok((client, _)) = near.accept().await {
                tokio::spawn(carry(client, far.clone(), state.subscribe()));
            }
        });
        Self { address, is_whole, carries }
    }

    pub(super) fn cut(&self) {
        self.is_whole.send_replace(false);
    }

    pub(super) fn mend(&self) {
        self.is_whole.send_replace(true);
    }
}

async fn carry(mut client: TcpStream, far: String, mut is_whole: watch::Receiver<bool>) {
    if !*is_whole.borrow() {
        return;
    }
    let Ok(mut server) = TcpStream::connect(far).await else { return };
    tokio::select! {
        // Either side has hung up: that is how a connection ends.
        _ = copy_bidirectional(&mut client, &mut server) => {}
        _ = is_whole.wait_for(|is_whole| !is_whole) => {}
    }
}
