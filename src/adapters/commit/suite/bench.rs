//! How many simple pushes a store takes. Prints; fails only if a push does.

use std::{sync::Arc, time::Instant};

use super::{Shared, over_both_stores};

over_both_stores!(pushes_a_second);

/// Enough to see a rate; more under `BATON_BENCH_PUSHES`.
fn pushes() -> usize {
    std::env::var("BATON_BENCH_PUSHES").ok().and_then(|text| text.parse().ok()).unwrap_or(200)
}

async fn pushes_a_second(store: Shared) {
    for callers in [1, 64, 256] {
        let each = pushes().div_ceil(callers);
        let begun = Instant::now();
        let mut tasks = tokio::task::JoinSet::new();
        for caller in 0..callers {
            let store = Arc::clone(&store);
            tasks.spawn(async move {
                for number in 0..each {
                    store.push(caller, format!("{callers} {caller} {number}")).await.expect("stored");
                }
            });
        }
        tasks.join_all().await;
        let seconds = begun.elapsed().as_secs_f64();
        println!("{callers} callers: {:.0} pushes a second", (callers * each) as f64 / seconds);
    }
}
