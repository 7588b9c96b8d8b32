//! `/metrics`: what was counted since the start, and how much waits at this moment.

use actix_web::web::Data;

use super::{answer::Answer, doors::Doors, problem::Problem};
use crate::{
    domain::{conversation::AttentionReason, endpoint::Health, lane::Lane, turn::LetterKind},
    flow::archive::Depths,
};

/// Metrics for Prometheus. They count all channels: who is limited to some is 403.
#[utoipa::path(get, path = "/metrics", tag = "Health",
    responses((status = 200, body = String, content_type = "text/plain")))]
pub(super) async fn render(doors: Data<Doors>) -> Result<Answer, Problem> {
    match doors.statistics.depths(None).await {
        Ok(depths) => set(Some(&depths)),
        // Metrics are wanted above all while the database is down.
        Err(error) => {
            tracing::warn!(error = error.cause(), "the metrics lack queue depths");
            set(None);
        }
    }
    Ok(Answer::text("text/plain; version=0.0.4; charset=utf-8", (doors.render_metrics)()))
}

/// None: nobody knows. A number of before would say that it is so now, and end or raise an alert by it.
#[allow(clippy::cast_precision_loss, reason = "counts and ages stay far below 2^52")]
fn set(depths: Option<&Depths>) {
    let number = |of: fn(&Depths) -> i64| depths.map_or(f64::NAN, |depths| of(depths) as f64);
    metrics::gauge!("baton_inbox_depth").set(number(|depths| depths.inbox.0));
    metrics::gauge!("baton_inbox_oldest_seconds").set(number(|depths| depths.inbox.1) / 1_000.0);
    metrics::gauge!("baton_outbox_oldest_seconds").set(number(|depths| depths.outbox_oldest_ms) / 1_000.0);
    metrics::gauge!("baton_attention_oldest_seconds")
        .set(number(|depths| depths.attention_oldest_ms) / 1_000.0);
    let lanes = Lane::ALL.iter().map(|word| word.as_str());
    by_word("baton_outbox_depth", "lane", lanes, depths.map(|it| &*it.outbox));
    let kinds = LetterKind::ALL.iter().map(|word| word.as_str());
    by_word("baton_dead_letters", "kind", kinds, depths.map(|it| &*it.letters));
    let reasons = AttentionReason::ALL.iter().map(|word| word.as_str());
    by_word("baton_attention", "reason", reasons, depths.map(|it| &*it.attention));
    let healths = Health::ALL.iter().map(|word| word.as_str());
    by_word("baton_webhook_endpoints", "state", healths, depths.map(|it| &*it.endpoints));
}

/// Every word of the vocabulary, so that one that is counted no more goes back to zero.
#[allow(clippy::cast_precision_loss, reason = "counts stay far below 2^52")]
fn by_word(
    name: &'static str,
    label: &'static str,
    words: impl Iterator<Item = &'static str>,
    counts: Option<&[(String, i64)]>,
) {
    for word in words {
        let count = |counts: &[(String, i64)]| {
            counts.iter().find(|(counted, _)| counted == word).map_or(0, |(_, n)| *n) as f64
        };
        metrics::gauge!(name, label => word).set(counts.map_or(f64::NAN, count));
    }
}

#[cfg(test)]
mod tests {
    use metrics_exporter_prometheus::PrometheusBuilder;

    use super::*;

    #[test]
    fn what_nobody_knows_is_no_number() {
        let recorder = PrometheusBuilder::new().build_recorder();
        let depths = Depths {
            inbox: (3, 2_000),
            letters: vec![(LetterKind::Turn.as_str().to_owned(), 1)],
            ..Depths::default()
        };
        let shows = |depths: Option<&Depths>, wanted: [&str; 4]| {
            metrics::with_local_recorder(&recorder, || set(depths));
            let text = recorder.handle().render();
            for line in wanted {
                assert!(text.lines().any(|had| had == line), "{line}\nnot in\n{text}");
            }
        };
        for _ in 0..2 {
            shows(
                Some(&depths),
                [
                    "baton_inbox_depth 3",
                    "baton_inbox_oldest_seconds 2",
                    r#"baton_dead_letters{kind="turn"} 1"#,
                    r#"baton_dead_letters{kind="send"} 0"#,
                ],
            );
            shows(
                None,
                [
                    "baton_inbox_depth NaN",
                    "baton_inbox_oldest_seconds NaN",
                    r#"baton_dead_letters{kind="turn"} NaN"#,
                    r#"baton_dead_letters{kind="send"} NaN"#,
                ],
            );
        }
    }
}
