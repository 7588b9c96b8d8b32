//! `baton simulator`: Green API without a phone, for who develops a client of it.

use std::net::{Ipv4Addr, SocketAddr};

use anyhow::Context as _;

use super::print;
use crate::{
    app,
    config::{Settings, Source},
    simulator::{Options, Pace},
};

/// Where it answers, unless --listen says something else: BATON_LISTEN is where Baton does.
const ADDRESS: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 7107);

const INSTANCE: u64 = 7_103_000_001;
const TOKEN: &str = "simulator";

const PACE: Pace = Pace::AS_USUAL;

fn up_to_five_minutes(from: i64) -> clap::builder::RangedI64ValueParser {
    clap::value_parser!(i64).range(from..=300_000)
}

/// Green API without a phone, to try Baton or any other client with
///
/// Answers on 127.0.0.1:7107, or where --listen says. Keeps everything in memory and does not ask who calls, so let nobody
/// in from outside. Below /simulator a contact writes, the phone is played, things go wrong: docs/guides/simulator.md.
#[derive(Debug, clap::Args)]
pub(super) struct Simulator {
    /// idInstance [default: BATON_GREEN_API_INSTANCE, or 7103000001]
    #[arg(long, value_name = "ID")]
    instance: Option<u64>,
    /// apiTokenInstance [default: BATON_GREEN_API_TOKEN, or simulator]
    #[arg(long, value_name = "TOKEN")]
    token: Option<String>,
    /// Post webhooks there, all switched on; without it the account is new: it posts nowhere, and every switch is off
    #[arg(long, value_name = "URL")]
    webhook: Option<String>,
    /// What webhooks carry [default: BATON_GREEN_API_WEBHOOK_TOKEN]
    #[arg(long, value_name = "TOKEN", requires = "webhook")]
    webhook_token: Option<String>,
    /// How long a restart takes, after which new settings hold
    #[arg(long, value_name = "MS", default_value_t = PACE.restart_ms, value_parser = up_to_five_minutes(0))]
    restart_ms: i64,
    /// From a webhook that was not answered 200 to the next attempt
    #[arg(long, value_name = "MS", default_value_t = PACE.retry_ms, value_parser = up_to_five_minutes(1))]
    retry_ms: i64,
    /// How late journals show a message
    #[arg(long, value_name = "MS", default_value_t = PACE.journal_lag_ms, value_parser = up_to_five_minutes(0))]
    journal_lag_ms: i64,
    /// Limit the number of chats that may be written to, as on the free plan
    #[arg(long, value_name = "N")]
    chats_max: Option<usize>,
    /// Lift the limits on calls a second
    #[arg(long)]
    unlimited: bool,
}

impl Simulator {
    pub(super) async fn run(self, settings: &Settings) -> anyhow::Result<()> {
        let address = if settings.source("listen") == Source::Flag { settings.listen } else { ADDRESS };
        let options = self.options(settings)?;
        let told = options.clone();
        app::simulator(address, options, move |address| Ok(print::text(&opening(address, &told))?)).await
    }

    /// What is set of an account at Green API holds for this one too, so that a Baton started with it finds its own.
    fn options(self, settings: &Settings) -> anyhow::Result<Options> {
        let set = settings.green_api_instance.as_deref().map(str::trim).map(str::parse).transpose();
        let set = set.context("BATON_GREEN_API_INSTANCE is not a number")?;
        let token = settings.green_api_token.as_ref().map(|token| token.expose().to_owned());
        let webhook_token = settings.green_api_webhook_token.as_ref().and_then(|tokens| tokens.iter().next());
        let pace = Pace {
            restart_ms: self.restart_ms,
            retry_ms: self.retry_ms,
            journal_lag_ms: self.journal_lag_ms,
            is_limited: !self.unlimited,
            chats_max: self.chats_max,
            ..PACE
        };
        Ok(Options {
            instance: self.instance.or(set).unwrap_or(INSTANCE),
            token: self.token.or(token).unwrap_or_else(|| TOKEN.to_owned()),
            webhook_token: match (&self.webhook, self.webhook_token) {
                (None, _) => String::new(),
                (Some(_), Some(token)) => token,
                (Some(_), None) => webhook_token.map(|token| token.expose().to_owned()).unwrap_or_default(),
            },
            webhook_url: self.webhook.unwrap_or_default(),
            pace,
        })
    }
}

/// The token is shown if it is one that everybody knows.
fn opening(address: SocketAddr, options: &Options) -> String {
    let token = if options.token == TOKEN { TOKEN } else { "…" };
    format!(
        "\nSimulated Green API at http://{address}  (in memory; Ctrl-C ends it)\n\n\
         To run Baton with it, in two more shells; the second sets the account up:\n\n  \
         export BATON_GREEN_API_URL=http://{address} BATON_GREEN_API_INSTANCE={} BATON_GREEN_API_TOKEN={token}\n  \
         export BATON_GREEN_API_RECEIVE=poll BATON_AI_PROVIDER=scripted\n  \
         baton serve\n  \
         baton connect --yes\n\n\
         A contact writes, and what everybody wrote:\n\n  \
         curl -s http://{address}/simulator/contact -d '{{\"chatId\":\"6580000009@c.us\",\"name\":\"You\",\"text\":\"Do you deliver?\"}}'\n  \
         curl -s http://{address}/simulator/messages\n",
        options.instance
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(words: &[&str], set: &[(&str, &str)]) -> Options {
        let line = ["simulator"].iter().chain(words);
        let matches = <Simulator as clap::Args>::augment_args(clap::Command::new("simulator"))
            .try_get_matches_from(line)
            .expect("it can be typed");
        let command = <Simulator as clap::FromArgMatches>::from_arg_matches(&matches).expect("read");
        command.options(&Settings::default().adjusted(&[], set).expect("right")).expect("right")
    }

    #[test]
    fn the_account_of_the_settings_is_the_one_that_is_simulated() {
        let set = [
            ("green_api_instance", "1101000001"),
            ("green_api_token", "t0ken"),
            ("green_api_webhook_token", "new,old"),
        ];
        let found = options(&["--webhook", "http://127.0.0.1:8080/w"], &set);
        assert_eq!(
            (found.instance, found.token.as_str(), found.webhook_token.as_str()),
            (1_101_000_001, "t0ken", "new")
        );
        assert!(!opening(ADDRESS, &found).contains("t0ken"));
        // Without an assistant every conversation begins with people, and nothing would be answered.
        assert!(opening(ADDRESS, &found).contains("RECEIVE=poll BATON_AI_PROVIDER=scripted"));
        let found = options(&["--instance", "7", "--token", "mine"], &set);
        assert_eq!((found.instance, found.token.as_str(), found.webhook_token.as_str()), (7, "mine", ""));
        let found = options(&[], &[]);
        assert_eq!((found.instance, found.token.as_str()), (INSTANCE, TOKEN));
    }
}
