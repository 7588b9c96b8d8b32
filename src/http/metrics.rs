//! `/metrics`: what was counted since the start, and how much waits at this moment.

use actix_web::web::Data;

use super::{answer::Answer, doors::Doors, problem::Problem};
use crate::{
    domain::{conversation::AttentionReason, endpoint::Health, lane::Lane, mode::Mode, turn::LetterKind},
    flow::archive::Depths,
};

/// Metrics for Prometheus. They count all channels: who is limited to some is 403.
#[utoipa::path(get, path = "/metrics", tag = "Health",
    responses((status = 200, body = String, content_type = "text/plain")))]
pub(super) async fn render(doors: Data<Doors>) -> Result<Answer, Problem> {
    match doors.archive.depths(None).await {
        Ok(depths) => gauge(&depths),
        // Whoever reads metrics wants them above all while the database is away.
        Err(error) => tracing::warn!(error = &error as &dyn std::error::Error, "metrics lack what waits"),
    }
    Ok(Answer::text("text/plain; version=0.0.4; charset=utf-8", (doors.render_metrics)()))
}

#[allow(clippy::cast_precision_loss, reason = "counts and ages stay far below 2^52")]
fn gauge(depths: &Depths) {
    let seconds = |ms: i64| ms as f64 / 1_000.0;
    metrics::gauge!("baton_inbox_depth").set(depths.inbox.0 as f64);
    metrics::gauge!("baton_inbox_oldest_seconds").set(seconds(depths.inbox.1));
    metrics::gauge!("baton_outbox_oldest_seconds").set(seconds(depths.outbox_oldest_ms));
    metrics::gauge!("baton_attention_oldest_seconds").set(seconds(depths.attention_oldest_ms));
    by_word("baton_outbox_depth", "lane", Lane::ALL.iter().map(|word| word.as_str()), &depths.outbox);
    by_word("baton_dead_letters", "kind", LetterKind::ALL.iter().map(|word| word.as_str()), &depths.letters);
    by_word("baton_conversations", "mode", Mode::ALL.iter().map(|word| word.as_str()), &depths.conversations);
    let reasons = AttentionReason::ALL.iter().map(|word| word.as_str());
    by_word("baton_attention", "reason", reasons, &depths.attention);
    let healths = Health::ALL.iter().map(|word| word.as_str());
    by_word("baton_webhook_endpoints", "state", healths, &depths.endpoints);
}

/// Every word of the vocabulary, so that one that is counted no more goes back to zero.
#[allow(clippy::cast_precision_loss, reason = "counts stay far below 2^52")]
fn by_word(
    name: &'static str,
    label: &'static str,
    words: impl Iterator<Item = &'static str>,
    counts: &[(String, i64)],
) {
    for word in words {
        let count = counts.iter().find(|(counted, _)| counted == word).map_or(0, |(_, n)| *n);
        metrics::gauge!(name, label => word).set(count as f64);
    }
}
