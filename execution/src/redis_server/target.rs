//! Where Redis is, and how to get there.

use std::time::Duration;

use redis::{
    Client, ConnectionInfo, IntoConnectionInfo, RedisResult,
    aio::ConnectionManagerConfig,
    cluster::{ClusterClient, ClusterConfig},
    io::tcp::{TcpSettings, socket2::TcpKeepalive},
};
use tokio::time;

use super::Link;

/// To one node, handshake and all.
const CONNECT_LIMIT: Duration = Duration::from_secs(2);

/// A peer that is silent for this long while we wait for it, or that doesn't answer a probe, is gone. Without it, a
/// subscription to a machine that lost its power would listen for ever.
const PEER_LIMIT: Duration = Duration::from_secs(5);

/// One server, or a cluster by some of its nodes.
#[derive(Clone)]
pub(crate) enum Target {
    /// One server.
    Single(Box<Client>),
    /// A cluster.
    Cluster {
        /// Finds the other nodes.
        cluster: Box<ClusterClient>,
        /// Those that were named, one by one.
        nodes: Vec<Client>,
    },
}

impl Target {
    /// Reads an address; with a comma in it, it is that of a cluster.
    pub(crate) fn read(address: &str) -> RedisResult<Self> {
        if !address.contains(',') {
            let client = Client::open(connection_info(address)?)?;
            return Ok(Self::Single(Box::new(client)));
        }
        let infos = address
            .split(',')
            .map(str::trim)
            .filter(|node| !node.is_empty())
            .map(connection_info)
            .collect::<RedisResult<Vec<_>>>()?;
        let nodes = infos.iter().cloned().map(Client::open).collect::<RedisResult<_>>()?;
        let cluster = ClusterClient::builder(infos)
            .connection_timeout(CONNECT_LIMIT)
            .tcp_settings(tcp_settings())
            // The caller has a limit of its own, over all redirections and repetitions.
            .overall_response_timeout(None)
            .build()?;
        Ok(Self::Cluster { cluster: Box::new(cluster), nodes })
    }

    /// A link that connects when it is first used.
    pub(crate) fn link(&self) -> RedisResult<Link> {
        Ok(match self {
            Self::Single(client) => {
                let config = ConnectionManagerConfig::new()
                    .set_connection_timeout(Some(CONNECT_LIMIT))
                    // The caller has a limit of its own.
                    .set_response_timeout(None)
                    // The breaker repeats, with a pause that everybody shares.
                    .set_number_of_retries(0);
                Link::Single(client.get_connection_manager_lazy(config)?)
            }
            Self::Cluster { cluster, .. } => {
                Link::Cluster(cluster.get_pending_async_connection_with_config(ClusterConfig::new()))
            }
        })
    }

    /// A link over which the server has just answered; None if it did not.
    pub(crate) async fn open(&self, limit: Duration) -> Option<Link> {
        let opened = time::timeout(limit, async {
            let mut link = self.link()?;
            link.ping().await?;
            RedisResult::Ok(link)
        });
        match opened.await {
            Ok(Ok(link)) => Some(link),
            Ok(Err(error)) => {
                tracing::debug!(%error, "redis is still down");
                None
            }
            Err(_) => {
                tracing::debug!("redis is still silent");
                None
            }
        }
    }

    /// A node to subscribe at, another one at each attempt: in a cluster each hears what any is told.
    pub(crate) fn node(&self, attempt: usize) -> &Client {
        match self {
            Self::Single(client) => client,
            Self::Cluster { nodes, .. } => &nodes[attempt % nodes.len()],
        }
    }
}

fn connection_info(address: &str) -> RedisResult<ConnectionInfo> {
    Ok(address.into_connection_info()?.set_tcp_settings(tcp_settings()))
}

fn tcp_settings() -> TcpSettings {
    let keepalive = TcpKeepalive::new().with_time(PEER_LIMIT).with_interval(PEER_LIMIT);
    let settings = TcpSettings::default().set_nodelay(true).set_keepalive(keepalive);
    #[cfg(any(target_os = "linux", target_os = "android", target_os = "fuchsia"))]
    let settings = settings.set_user_timeout(PEER_LIMIT * 2);
    settings
}
