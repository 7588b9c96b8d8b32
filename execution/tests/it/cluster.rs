//! The same over a cluster: keys on three nodes, lists over all of them.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use execution::{
    broadcast::{self, Broadcast, Heard},
    deduplicate_webhook::{Claim, Deduplicator},
    key_store::{self, KeyStore},
    redis_lock::{Lock, Release, Renewal},
    redis_server::Server,
};
use redis::{Client, RedisResult, cmd};

use crate::{
    broadcast::hears,
    private_redis::{PrivateRedis, free_port},
    rig::PATIENCE,
};

const TTL: Duration = Duration::from_secs(30);
const SLOTS: u16 = 16384;

/// Three nodes that know each other, each with a third of the slots.
async fn cluster() -> RedisResult<Vec<PrivateRedis>> {
    let third = SLOTS / 3;
    let ranges = [(0, third), (third + 1, 2 * third), (2 * third + 1, SLOTS - 1)];
    let mut nodes = Vec::new();
    let mut connections = Vec::new();
    for (first, last) in ranges {
        let bus = free_port().to_string();
        let node = PrivateRedis::start_with(&["--cluster-enabled", "yes", "--cluster-port", &bus]);
        let mut connection = Client::open(node.url())?.get_multiplexed_async_connection().await?;
        cmd("CLUSTER").arg("ADDSLOTSRANGE").arg(first).arg(last).exec_async(&mut connection).await?;
        // Each its own, so that the three have nothing to settle when they meet.
        cmd("CLUSTER").arg("SET-CONFIG-EPOCH").arg(first + 1).exec_async(&mut connection).await?;
        connections.push(connection);
        let meet = ["MEET", "127.0.0.1", &node.port().to_string(), &bus];
        cmd("CLUSTER").arg(&meet[..]).exec_async(&mut connections[0]).await?;
        nodes.push(node);
    }
    let begun = Instant::now();
    for connection in &mut connections {
        loop {
            let info: String = cmd("CLUSTER").arg("INFO").query_async(connection).await?;
            if info.contains("cluster_state:ok") && info.contains("cluster_known_nodes:3") {
                break;
            }
            assert!(begun.elapsed() < PATIENCE, "the cluster does not come together: {info}");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
    Ok(nodes)
}

#[tokio::test(flavor = "multi_thread")]
async fn lock_list_deduplication_and_broadcast_work_over_a_cluster() {
    let nodes = cluster().await.expect("three nodes make a cluster");
    let address = nodes.iter().map(PrivateRedis::url).collect::<Vec<_>>().join(", ");
    let server = Server::open_with_limit(&address, PATIENCE).expect("the address is valid");
    let store: Arc<dyn KeyStore> = Arc::new(key_store::Redis::new(server.clone(), "baton:"));
    assert!(store.is_up().await);

    // So many names lie on all three nodes, and so many keys take more than one step of a walk.
    let lock = Lock::new(store.clone(), TTL);
    let chats: Vec<_> = (1000..1100).map(|number| format!("chat {number}")).collect();
    let mut leases = Vec::new();
    for chat in &chats {
        leases.push(lock.try_lock(chat, "one").await.expect("the cluster is there").expect("it is free"));
    }
    for number in 0..4000 {
        store.put_if_absent(&format!("seen:{number}"), "x", TTL).await.expect("the cluster is there");
    }
    assert!(lock.try_lock(&chats[0], "two").await.expect("the cluster is there").is_none());
    let held = lock.list().await.expect("the cluster is there");
    assert_eq!(held.into_iter().map(|holder| holder.key).collect::<Vec<_>>(), chats);
    for lease in leases {
        assert_eq!(lease.renew().await.expect("the cluster is there"), Renewal::Renewed);
        assert_eq!(lease.release().await.expect("the cluster is there"), Release::Released);
    }

    let deduplicator = Deduplicator::new(store, TTL, TTL);
    let Claim::First(token) = deduplicator.claim("fp").await.expect("the cluster is there") else {
        panic!("nobody claimed it before");
    };
    deduplicator.confirm(token).await.expect("the cluster is there");
    assert!(matches!(deduplicator.claim("fp").await.expect("the cluster is there"), Claim::Confirmed));

    let broadcast = broadcast::Redis::new(server, "baton:");
    let mut listener = broadcast.subscribe("modes");
    assert_eq!(hears(&mut listener).await, Heard::Connected);
    broadcast.publish("modes", "chat 1 is HUMAN").await.expect("the cluster is there");
    assert_eq!(hears(&mut listener).await, Heard::Message("chat 1 is HUMAN".to_owned()));
}
