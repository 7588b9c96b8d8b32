//! The arithmetic: percentiles, and figures that stand beside their limit.

use std::time::Duration;

/// One figure of one load, its unit in its name, and what the machine made of the same without Baton.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Figure {
    pub(super) name: String,
    pub(super) value: f64,
    pub(super) limit: Option<f64>,
}

impl Figure {
    pub(super) fn new(name: impl Into<String>, value: f64) -> Self {
        Self { name: name.into(), value, limit: None }
    }

    /// What part of the limit it is, or how many times the limit.
    pub(super) fn ratio(&self) -> Option<f64> {
        self.limit.and_then(|limit| ratio(self.value, limit))
    }
}

/// How many times `base` it is; none, if nothing is compared with nothing.
pub(super) fn ratio(value: f64, base: f64) -> Option<f64> {
    (base > 0.0).then(|| value / base)
}

/// Puts beside each figure the one of the same name.
pub(super) fn beside(figures: Vec<Figure>, limits: &[Figure]) -> Vec<Figure> {
    let limit_of = |name: &str| limits.iter().find(|limit| limit.name == name).map(|limit| limit.value);
    figures.into_iter().map(|figure| Figure { limit: limit_of(&figure.name), ..figure }).collect()
}

/// The smallest value that so many of a hundred do not exceed; zero of none.
pub(super) fn percentile(sorted: &[f64], percent: usize) -> f64 {
    let rank = (sorted.len() * percent).div_ceil(100).max(1);
    sorted.get(rank - 1).copied().unwrap_or(0.0)
}

/// Milliseconds, smallest first.
pub(super) fn sorted_ms(times: &[Duration]) -> Vec<f64> {
    let mut sorted: Vec<f64> = times.iter().copied().map(ms).collect();
    sorted.sort_unstable_by(f64::total_cmp);
    sorted
}

/// Its p50, its p99 and the largest.
pub(super) fn spread(name: &str, times: &[Duration]) -> Vec<Figure> {
    let sorted = sorted_ms(times);
    [("p50", 50), ("p99", 99), ("max", 100)]
        .map(|(word, percent)| Figure::new(format!("{name}_{word}_ms"), percentile(&sorted, percent)))
        .to_vec()
}

/// In milliseconds.
pub(super) fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1_000.0
}

/// As a number to reckon with. What is counted here stays far below the point where it would lose digits.
pub(super) const fn float(count: usize) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentile_is_a_value_that_was_measured() {
        let hundred: Vec<f64> = (1..=100).map(f64::from).collect();
        for (percent, value) in [(50, 50.0), (99, 99.0), (100, 100.0), (0, 1.0)] {
            assert_eq!(percentile(&hundred, percent), value, "p{percent}");
        }
        assert_eq!(percentile(&[7.0], 99), 7.0);
        assert_eq!(percentile(&[1.0, 2.0, 3.0], 50), 2.0);
        assert_eq!(percentile(&[], 50), 0.0);
    }

    #[test]
    fn times_are_sorted_before_they_are_judged() {
        let times = [3, 1, 2].map(Duration::from_millis);
        let named = |word: &str, ms| Figure::new(format!("ack_{word}_ms"), ms);
        assert_eq!(spread("ack", &times), [named("p50", 2.0), named("p99", 3.0), named("max", 3.0)]);
    }

    #[test]
    fn a_figure_stands_beside_the_limit_of_its_name() {
        let figures = vec![Figure::new("a", 3.0), Figure::new("b", 1.0)];
        let both = beside(figures, &[Figure::new("c", 9.0), Figure::new("a", 4.0)]);
        assert_eq!(both[0].ratio(), Some(0.75));
        assert_eq!(both[1].ratio(), None);
        assert_eq!(ratio(1.0, 0.0), None);
    }
}
