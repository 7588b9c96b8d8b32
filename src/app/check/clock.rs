//! This machine's clock, beside that of the database and that of a provider: a file has no clock of its own, and a database on the
//! same machine has the same one.

use std::{sync::Arc, time::Duration};

use jiff::fmt::rfc2822;
use reqwest::{Url, header::DATE};

use super::{
    super::{CONNECT, now, stores::Store, with_causes},
    Finding,
};
use crate::{
    adapters::http_client::http_client,
    config::{AiProvider, Settings},
    domain::time::Time,
    flow::{
        back_office::registry::{Channel, Registry},
        instance::dispatch::Dispatch,
        provider::GREEN_API,
    },
};

const SUBJECT: &str = "clock";

/// Clocks that differ by more than this make leases hard to read.
const SKEW_MS: i64 = 2_000;

/// Of a provider's only whole seconds are told, and they came a long way: what differs by more than this is wrong.
const FAR_MS: i64 = 60_000;

/// Each is waited for this long, and so many are asked.
const ANSWERS: Duration = Duration::from_secs(3);
const ASKED_MAX: usize = 3;

/// Looks at the clock from both sides.
pub(super) async fn look(settings: &Settings, store: &Store) -> Vec<Finding> {
    let registry: Arc<dyn Registry> = store.places();
    // What keeps them from being read is told of the channels themselves.
    let channels = registry.channels().await.unwrap_or_default();
    let mut findings = Vec::new();
    if settings.is_postgres() {
        findings.push(look_at_database(store).await);
    }
    findings.extend(look_outside(settings, &channels).await);
    if findings.is_empty() {
        findings.push(Finding::right(SUBJECT, "this machine's own; nobody has told what time it is"));
    }
    findings
}

async fn look_at_database(store: &Store) -> Finding {
    match store.ledger(Arc::new(Dispatch::default())).now().await {
        Ok(theirs) => {
            let apart_ms = theirs.since(now()).abs();
            let detail = format!("{apart_ms} ms apart from the database's");
            match apart_ms {
                0..=SKEW_MS => Finding::right(SUBJECT, detail),
                _ => Finding::wrong(SUBJECT, detail, "set the clocks by NTP"),
            }
        }
        Err(error) => Finding::wrong(SUBJECT, with_causes(&error.into()), "see the database above"),
    }
}

/// What the first provider that answers makes of it; None if none of those set up does.
pub(super) async fn look_outside(settings: &Settings, channels: &[Channel]) -> Option<Finding> {
    let http = http_client(CONNECT).ok()?;
    for url in providers(settings, channels).into_iter().take(ASKED_MAX) {
        let host = url.host_str().unwrap_or_default().to_owned();
        if let Some(theirs) = told_by(&http, url).await {
            return Some(compared(&host, now().since(theirs)));
        }
    }
    None
}

fn compared(host: &str, ahead_ms: i64) -> Finding {
    if ahead_ms.abs() <= FAR_MS {
        return Finding::right(SUBJECT, format!("less than a minute apart from that of {host}"));
    }
    let (seconds, how) = (ahead_ms.abs() / 1_000, if ahead_ms > 0 { "ahead of" } else { "behind" });
    Finding::wrong(
        SUBJECT,
        format!("{seconds} s {how} that of {host}"),
        "set it by NTP (`timedatectl set-ntp true`): until then messages are handed over as stale, or things are due at the \
         wrong time",
    )
}

/// Those who are asked for something else anyway: the accounts, then the model.
fn providers(settings: &Settings, channels: &[Channel]) -> Vec<Url> {
    let accounts = channels.iter().filter(|channel| channel.provider == GREEN_API);
    let accounts = accounts.filter_map(|channel| channel.api_url.as_deref());
    let of_settings = settings.green_api_instance.is_some().then_some(settings.green_api_url.as_str());
    let model = match settings.provider() {
        AiProvider::OpenAi | AiProvider::Anthropic | AiProvider::Http => Some(settings.model_base_url()),
        AiProvider::Scripted | AiProvider::None => None,
    };
    let mut urls: Vec<Url> =
        accounts.chain(of_settings).chain(model).filter_map(|url| Url::parse(url).ok()).collect();
    // Of an address nothing but whose it is matters here.
    urls.iter_mut().for_each(|url| url.set_path("/"));
    urls.dedup();
    urls
}

/// Every answer of a server says when it was given, whatever else it says.
async fn told_by(http: &reqwest::Client, url: Url) -> Option<Time> {
    let answer = tokio::time::timeout(ANSWERS, http.head(url).send()).await.ok()?.ok()?;
    let date = rfc2822::parse(answer.headers().get(DATE)?.to_str().ok()?).ok()?;
    Some(Time(date.timestamp().as_millisecond()))
}

#[cfg(test)]
mod tests {
    use wiremock::{Mock, MockServer, ResponseTemplate, matchers::method};

    use super::{super::Severity, *};

    /// What is found where the model's server has that time, and Green API cannot be reached.
    async fn found(theirs: Time) -> Finding {
        let server = MockServer::start().await;
        let date = jiff::Timestamp::from_millisecond(theirs.0).expect("a moment");
        let date = date.strftime("%a, %d %b %Y %H:%M:%S GMT").to_string();
        let answer = ResponseTemplate::new(404).insert_header("date", date);
        Mock::given(method("HEAD")).respond_with(answer).expect(1).mount(&server).await;
        let set = [
            ("green_api_instance", "7105000001"),
            ("green_api_token", "t0ken"),
            ("green_api_url", "http://127.0.0.1:9"),
            ("ai_base_url", &server.uri()),
            ("ai_model", "m"),
        ];
        let settings = Settings::default().adjusted(&[], &set).expect("right");
        look_outside(&settings, &[]).await.expect("compared")
    }

    #[tokio::test]
    async fn a_clock_that_is_far_from_the_providers_is_wrong() {
        for (ahead_ms, wanted) in [
            (0, "less than a minute apart from that of 127.0.0.1"),
            (7 * 3_600_000, "s ahead of that of 127.0.0.1"),
            (-90_000, "s behind that of 127.0.0.1"),
        ] {
            let finding = found(now().plus_ms(-ahead_ms)).await;
            assert!(finding.detail.contains(wanted), "{}", finding.detail);
            let is_right = finding.standing == Severity::Right;
            assert_eq!((is_right, finding.remedy.is_none()), (ahead_ms == 0, ahead_ms == 0));
        }
    }

    #[tokio::test]
    async fn nobody_is_asked_who_is_not_set_up() {
        assert_eq!(providers(&Settings::default(), &[]), []);
        let mut shop = Channel::new("shop", GREEN_API, Time(0));
        shop.api_url = Some("https://7105.api.greenapi.com/gateway".to_owned());
        let sandbox = Channel::new("sandbox", "sandbox", Time(0));
        let urls = providers(&Settings::default(), &[sandbox, shop]);
        assert_eq!(urls.iter().map(Url::as_str).collect::<Vec<_>>(), ["https://7105.api.greenapi.com/"]);
    }
}
