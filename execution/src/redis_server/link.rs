//! A connection to one server or to a cluster, and what must be asked differently of the two.

use std::collections::HashMap;

use redis::{
    Cmd, ErrorKind, Pipeline, RedisError, RedisFuture, RedisResult, Value,
    aio::{ConnectionLike, ConnectionManager},
    cluster_async::ClusterConnection,
    cluster_routing::{MultipleNodeRoutingInfo, RoutingInfo, SingleNodeRoutingInfo},
    cmd, from_redis_value,
};

/// A connection, shared by its clones. Reconnects by itself.
#[derive(Clone)]
pub(crate) enum Link {
    /// To one server.
    Single(ConnectionManager),
    /// To all nodes of a cluster.
    Cluster(ClusterConnection),
}

/// A piece of a walk over all keys.
pub(crate) struct Page {
    /// Keys, some perhaps twice.
    pub(crate) keys: Vec<String>,
    /// Where the walk goes on, if it does.
    pub(crate) next: Option<Place>,
}

/// Where a walk over all keys stands: on which node of a cluster, and where there.
pub(crate) struct Place {
    node: Option<String>,
    cursor: u64,
}

/// Keys looked at in one step of a walk: few enough that nobody waits for it.
const SCAN_COUNT: usize = 1000;

impl Link {
    /// Asks for a sign of life. Of a cluster, any master: a dead replica harms nobody.
    pub(crate) async fn ping(&mut self) -> RedisResult<()> {
        match self {
            Self::Single(connection) => cmd("PING").query_async(connection).await,
            Self::Cluster(connection) => {
                let anyone = RoutingInfo::SingleNode(SingleNodeRoutingInfo::RandomPrimary);
                connection.route_command(cmd("PING"), anyone).await.map(drop)
            }
        }
    }

    /// Begins a walk over all keys of that pattern: a page of each master.
    pub(crate) async fn scan(self, pattern: &str) -> RedisResult<Vec<Page>> {
        let begin = scan(0, pattern);
        match self {
            Self::Single(mut connection) => {
                let answer = begin.query_async(&mut connection).await?;
                Ok(vec![page(None, answer)])
            }
            Self::Cluster(mut connection) => {
                let everyone = RoutingInfo::MultiNode((MultipleNodeRoutingInfo::AllMasters, None));
                let answer = connection.route_command(begin, everyone).await?;
                let answers: HashMap<String, (u64, Vec<String>)> = from_redis_value(answer)?;
                Ok(answers.into_iter().map(|(node, answer)| page(Some(node), answer)).collect())
            }
        }
    }

    /// Goes on with such a walk.
    pub(crate) async fn scan_on(self, pattern: &str, place: Place) -> RedisResult<Page> {
        let next = scan(place.cursor, pattern);
        let answer = match (self, &place.node) {
            (Self::Cluster(mut connection), Some(node)) => {
                let (host, port) = host_and_port(node)?;
                let there = RoutingInfo::SingleNode(SingleNodeRoutingInfo::ByAddress { host, port });
                from_redis_value(connection.route_command(next, there).await?)?
            }
            (mut link, _) => next.query_async(&mut link).await?,
        };
        Ok(page(place.node, answer))
    }
}

fn scan(cursor: u64, pattern: &str) -> Cmd {
    let mut command = cmd("SCAN");
    command.arg(cursor).arg("MATCH").arg(pattern).arg("COUNT").arg(SCAN_COUNT);
    command
}

fn page(node: Option<String>, (cursor, keys): (u64, Vec<String>)) -> Page {
    Page { keys, next: (cursor != 0).then_some(Place { node, cursor }) }
}

fn host_and_port(node: &str) -> RedisResult<(String, u16)> {
    node.rsplit_once(':')
        .and_then(|(host, port)| Some((host.to_owned(), port.parse().ok()?)))
        .ok_or_else(|| RedisError::from((ErrorKind::Client, "a node's address has no port")))
}

impl ConnectionLike for Link {
    fn req_packed_command<'a>(&'a mut self, cmd: &'a Cmd) -> RedisFuture<'a, Value> {
        match self {
            Self::Single(connection) => connection.req_packed_command(cmd),
            Self::Cluster(connection) => connection.req_packed_command(cmd),
        }
    }

    fn req_packed_commands<'a>(
        &'a mut self,
        pipeline: &'a Pipeline,
        offset: usize,
        count: usize,
    ) -> RedisFuture<'a, Vec<Value>> {
        match self {
            Self::Single(connection) => connection.req_packed_commands(pipeline, offset, count),
            Self::Cluster(connection) => connection.req_packed_commands(pipeline, offset, count),
        }
    }

    fn get_db(&self) -> i64 {
        match self {
            Self::Single(connection) => connection.get_db(),
            Self::Cluster(connection) => connection.get_db(),
        }
    }
}
