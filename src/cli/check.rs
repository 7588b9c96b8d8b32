//! `baton check`: a line on each thing that Baton needs, and how to fix what is wrong.

use std::process::ExitCode;

use serde_json::json;

use super::print::{self, Format};
use crate::{
    app::{self, Finding, Severity},
    config::Settings,
};

/// Look at configuration, database, Redis, Green API, AI, clock and disk: a line each, what is wrong, how to fix it
#[derive(Debug, clap::Args)]
pub(super) struct Check {
    /// Ask only whether a server answers where BATON_LISTEN says: a health check that needs no other program
    #[arg(long)]
    live: bool,
    #[command(flatten)]
    format: Format,
}

impl Check {
    pub(super) async fn run(self, settings: &Settings) -> anyhow::Result<ExitCode> {
        let findings = if self.live { vec![app::is_alive(settings).await] } else { all(settings).await };
        if self.format.json {
            print::json(&findings.iter().map(as_json).collect::<Vec<_>>())?;
        } else {
            print::text(&lines(&findings))?;
        }
        let is_wrong = findings.iter().any(|finding| finding.standing == Severity::Wrong);
        Ok(if is_wrong { ExitCode::FAILURE } else { ExitCode::SUCCESS })
    }
}

async fn all(settings: &Settings) -> Vec<Finding> {
    let mut findings: Vec<Finding> = settings
        .warnings()
        .into_iter()
        .map(|warning| Finding {
            subject: "settings",
            standing: Severity::Odd,
            detail: warning,
            remedy: None,
        })
        .collect();
    findings.extend(app::check(settings).await);
    findings
}

fn lines(findings: &[Finding]) -> String {
    let row = |finding: &Finding| {
        let detail = match &finding.remedy {
            Some(remedy) => format!("{}: {remedy}", finding.detail),
            None => finding.detail.clone(),
        };
        [mark(finding.standing).to_owned(), finding.subject.to_owned(), detail]
    };
    let rows: Vec<_> = findings.iter().map(row).collect();
    print::table(["", "WHAT", "HOW IT IS"], &rows)
}

const fn mark(standing: Severity) -> &'static str {
    match standing {
        Severity::Right => "ok",
        Severity::Odd => "note",
        Severity::Wrong => "wrong",
    }
}

fn as_json(finding: &Finding) -> serde_json::Value {
    json!({
        "subject": finding.subject,
        "standing": mark(finding.standing),
        "detail": finding.detail,
        "remedy": finding.remedy,
    })
}
