//! What is printed and written down.
//!
//! In: what each load came to. Out: a table, and the same as JSON, by which two commits can be compared.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::{loads::Findings, options::Options};

/// A whole run.
pub(super) struct Report {
    commit: String,
    /// One that was brought: the commit says nothing of it.
    binary: Option<String>,
    cores: usize,
    store: &'static str,
    is_quick: bool,
    pub(super) sections: Vec<Section>,
}

/// One load.
pub(super) struct Section {
    pub(super) name: &'static str,
    pub(super) findings: Findings,
}

impl Report {
    pub(super) fn new(options: &Options, commit: String) -> Self {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let (store, is_quick) = (options.store.name(), options.is_quick);
        let binary = options.binary.as_ref().map(|binary| binary.display().to_string());
        Self { commit, binary, cores, store, is_quick, sections: Vec::new() }
    }

    /// All that must be zero is.
    pub(super) fn is_well(&self) -> bool {
        self.sections.iter().all(|section| section.findings.wrongs.iter().all(|(_, count)| *count == 0))
    }

    pub(super) fn table(&self) -> String {
        let what = self.binary.as_ref().unwrap_or(&self.commit);
        let mut table = format!("{what} on {} cores, {}\n", self.cores, self.store);
        let _ = writeln!(table, "{}", row("load", "figure", "value", "limit", "ratio"));
        for Section { name, findings } in &self.sections {
            for figure in &findings.figures {
                let or_blank = |number: Option<f64>| number.map_or_else(String::new, short);
                let (value, limit) = (short(figure.value), or_blank(figure.limit));
                let _ =
                    writeln!(table, "{}", row(name, &figure.name, &value, &limit, &or_blank(figure.ratio())));
            }
            for (wrong, count) in &findings.wrongs {
                let verdict = if *count == 0 { "" } else { "MUST BE 0" };
                let _ = writeln!(table, "{}", row(name, wrong, &count.to_string(), "0", verdict));
            }
        }
        table
    }

    pub(super) fn json(&self) -> Value {
        let loads = self.sections.iter().map(|Section { name, findings }| {
            let figures = findings.figures.iter().map(|figure| {
                (
                    figure.name.clone(),
                    json!({ "value": figure.value, "limit": figure.limit, "ratio": figure.ratio() }),
                )
            });
            let wrongs = findings.wrongs.iter().map(|(name, count)| (name.clone(), json!(count)));
            let section = json!({
                "figures": figures.collect::<serde_json::Map<_, _>>(),
                "must_be_zero": wrongs.collect::<serde_json::Map<_, _>>(),
            });
            ((*name).to_owned(), section)
        });
        json!({ "commit": self.commit, "binary": self.binary, "cores": self.cores, "store": self.store, "quick": self.is_quick,
            "loads": loads.collect::<serde_json::Map<_, _>>() })
    }
}

/// One line, also of the comparison.
pub(super) fn row(load: &str, figure: &str, first: &str, second: &str, ratio: &str) -> String {
    format!("{load:<10} {figure:<34} {first:>12} {second:>12} {ratio:>10}").trim_end().to_owned()
}

/// Few digits, and the ones that matter.
pub(super) fn short(number: f64) -> String {
    let digits = match number.abs() {
        size if size >= 1_000.0 => 0,
        size if size >= 10.0 => 1,
        _ => 3,
    };
    format!("{number:.digits$}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::{figures::Figure, options::Asked};

    fn report(doubled: usize) -> Report {
        let Ok(Asked::Run(options)) = Asked::read(&[]) else { panic!("a run") };
        let mut report = Report::new(&options, "abc".to_owned());
        let figure = Figure { name: "answered_per_s".to_owned(), value: 1_500.4, limit: Some(6_000.0) };
        let findings = Findings { figures: vec![figure], wrongs: vec![("doubled".to_owned(), doubled)] };
        report.sections.push(Section { name: "ceiling", findings });
        report
    }

    #[test]
    fn what_must_be_zero_and_is_not_is_no_good_run() {
        assert!(report(0).is_well());
        assert!(!report(1).is_well());
        assert!(report(1).table().contains("MUST BE 0"));
    }

    #[test]
    fn the_same_is_printed_and_written_down() {
        let report = report(0);
        assert!(report.table().contains("1500         6000      0.250"), "{}", report.table());
        let figure = &report.json()["loads"]["ceiling"]["figures"]["answered_per_s"];
        assert_eq!(figure["ratio"], 1_500.4 / 6_000.0);
    }
}
