//! Where the provider reaches us: whether the address is given, and leads here.

use std::time::Duration;

use serde_json::Value;

use super::{
    super::{CONNECT, with_causes},
    Finding,
};
use crate::{
    adapters::http_client::http_client,
    config::{Receive, Settings},
};

/// The door is waited for this long.
const ANSWERS: Duration = Duration::from_secs(3);

const SUBJECT: &str = "address";

/// Looks at the address, and tries it.
pub(super) async fn look(settings: &Settings) -> Vec<Finding> {
    if settings.green_api_receive == Receive::Poll {
        return vec![Finding::right(SUBJECT, "not needed: notifications are fetched")];
    }
    let Some(url) = settings.public_url.as_deref() else {
        return vec![Finding::odd(
            SUBJECT,
            "it is not set where Green API reaches Baton",
            "set BATON_PUBLIC_URL, or BATON_GREEN_API_RECEIVE=poll",
        )];
    };
    let in_the_open = (!url.starts_with("https://")).then(|| {
        Finding::odd(
            SUBJECT,
            format!("{url} is not https: what customers write, and the webhook token, are sent unencrypted"),
            "put a proxy with a certificate in front (docker compose --profile tls)",
        )
    });
    in_the_open.into_iter().chain([try_it(url).await]).collect()
}

/// Whether a server of ours answers there. From here: that it does not says nothing of those outside.
async fn try_it(url: &str) -> Finding {
    let door = format!("{}/healthz", url.trim_end_matches('/'));
    match answer_of(&door).await {
        Ok(()) => Finding::right(SUBJECT, format!("{url} leads to Baton")),
        Err(why) => Finding::odd(
            SUBJECT,
            format!("from here {url} does not lead to Baton ({why})"),
            &format!(
                "start `baton serve`; if it runs, try {door} from outside, since a router may not lead back in"
            ),
        ),
    }
}

async fn answer_of(door: &str) -> Result<(), String> {
    let client = http_client(CONNECT).map_err(|error| with_causes(&error.into()))?;
    let answer = async {
        let response = client.get(door).send().await?;
        let status = response.status();
        response.bytes().await.map(|body| (status, body))
    };
    let answer = tokio::time::timeout(ANSWERS, answer);
    let answer = answer.await.map_err(|_| format!("no answer within {} seconds", ANSWERS.as_secs()))?;
    // Without the address, which is told already.
    let (status, body) = answer.map_err(|error| with_causes(&error.without_url().into()))?;
    let is_ours = serde_json::from_slice::<Value>(&body).is_ok_and(|body| body["status"] == "ok");
    match (status.is_success(), is_ours) {
        (true, true) => Ok(()),
        (true, false) => Err("somebody else answers".to_owned()),
        (false, _) => Err(format!("status {}", status.as_u16())),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use wiremock::{Mock, MockServer, ResponseTemplate, matchers::path};

    use super::{super::Severity, *};

    /// What is found where that is answered.
    async fn found(answer: ResponseTemplate) -> Vec<Finding> {
        let server = MockServer::start().await;
        Mock::given(path("/healthz")).respond_with(answer).mount(&server).await;
        let mut settings = Settings::default();
        settings.public_url = Some(format!("{}/", server.uri()));
        look(&settings).await
    }

    #[tokio::test]
    async fn the_public_address_is_tried() {
        let ours = found(ResponseTemplate::new(200).set_body_json(json!({ "status": "ok" }))).await;
        assert_eq!(ours.last().map(|last| last.standing), Some(Severity::Right));
        assert!(ours[0].detail.contains("is not https"), "{}", ours[0].detail);
        let elsewhere = ResponseTemplate::new(301).insert_header("location", "https://baton.example/healthz");
        for (answer, why) in [
            (ResponseTemplate::new(502), "(status 502)"),
            (elsewhere, "(status 301)"),
            (ResponseTemplate::new(200).set_body_string("It works!"), "(somebody else answers)"),
        ] {
            let told = found(answer).await.pop().expect("told");
            assert_eq!(told.standing, Severity::Odd, "it may be reached from outside");
            assert!(told.detail.ends_with(why), "{}", told.detail);
            assert!(told.remedy.is_some_and(|it| it.contains("/healthz from outside")));
        }
    }

    #[tokio::test]
    async fn an_address_where_nobody_answers_is_told_and_one_that_nobody_needs_is_not_tried() {
        let mut settings = Settings::default();
        settings.public_url = Some("https://127.0.0.1:9".to_owned());
        let told = look(&settings).await;
        assert_eq!(told.iter().map(|it| it.standing).collect::<Vec<_>>(), [Severity::Odd]);
        assert_eq!(told[0].detail.matches("127.0.0.1:9").count(), 1, "{}", told[0].detail);
        settings.green_api_receive = Receive::Poll;
        assert_eq!(look(&settings).await[0].standing, Severity::Right);
    }
}
