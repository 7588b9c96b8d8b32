//! Webhooks on their way: one after the other, each until it was answered 200, as long as the account keeps it. What is behind
//! it waits.

use std::{sync::Arc, time::Duration};

use reqwest::header::AUTHORIZATION;

use super::{Shared, account::Delivery, now, until};

/// No answer for this long is none.
const TIMEOUT: Duration = Duration::from_secs(180);

pub(super) async fn deliver(shared: Arc<Shared>, http: reqwest::Client) {
    let mut changes = shared.changes.subscribe();
    loop {
        changes.mark_unchanged();
        let Some(delivery) = shared.account().delivery() else {
            // The bell belongs to what we hold ourselves.
            let _ = changes.changed().await;
            continue;
        };
        if is_taken(&http, &delivery).await {
            shared.change(|account, now| account.settle(delivery.receipt, now));
            continue;
        }
        let again_at = now().saturating_add(shared.account().retry_ms());
        tracing::warn!(receipt = delivery.receipt, "a webhook was not answered 200 and comes again");
        tokio::select! {
            () = until(Some(again_at)) => {}
            () = is_gone(&shared, &delivery) => {}
        }
    }
}

async fn is_taken(http: &reqwest::Client, delivery: &Delivery) -> bool {
    let request = http.post(&delivery.url).timeout(TIMEOUT).json(&delivery.body);
    let request = match &delivery.authorization {
        Some(authorization) => request.header(AUTHORIZATION, authorization),
        None => request,
    };
    match request.send().await {
        Ok(response) => response.status().as_u16() == 200,
        Err(_) => false,
    }
}

/// Until that one is no longer to be delivered there: the address changed, or the queue was emptied.
async fn is_gone(shared: &Shared, delivery: &Delivery) {
    let mut changes = shared.changes.subscribe();
    while shared.account().delivery().as_ref() == Some(delivery) {
        let _ = changes.changed().await;
    }
}
