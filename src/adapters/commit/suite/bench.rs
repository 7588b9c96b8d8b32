//! How many simple pushes a store takes. Prints; fails only if a push does.

use std::{sync::Arc, time::Instant};

use super::{Shared, by_key, from_contact, opened, over_both_stores};
use crate::domain::{docket::Docket, message::Outcome};

over_both_stores!(pushes_a_second);

/// Enough to see a rate; more under `BATON_BENCH_PUSHES`.
fn pushes() -> usize {
    std::env::var("BATON_BENCH_PUSHES").ok().and_then(|text| text.parse().ok()).unwrap_or(200)
}

/// A message that nobody has to answer: the open business of a conversation stays as small as it is in life.
fn settled(text: String) -> impl Fn(&mut Docket) + Send + Sync + 'static {
    move |docket| {
        if docket.messages().is_empty() {
            let mut message = from_contact(&text);
            if let Some(inbound) = message.inbound.as_mut() {
                inbound.outcome = Outcome::Ignored;
            }
            docket.push(message);
        }
    }
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
                    let text = format!("{callers} {caller} {number}");
                    store.change(opened(caller), by_key(text.clone()), settled(text)).await.expect("stored");
                }
            });
        }
        tasks.join_all().await;
        let seconds = begun.elapsed().as_secs_f64();
        println!("{callers} callers: {:.0} pushes a second", (callers * each) as f64 / seconds);
    }
}
