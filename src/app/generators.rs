//! Which model speaks on which channel: the one of the settings, and on the sandbox the scripted one where there is none.

use std::sync::Arc;

use anyhow::Context as _;
use async_trait::async_trait;

use super::channel_loader::SANDBOX;
use crate::{
    adapters::{
        anthropic::{self, Anthropic},
        http_generator::HttpGenerator,
        look_ups::Services,
        model_server,
        openai::{self, OpenAi, Transcriptions},
        scripted::{self, Scripted},
    },
    config::{AiProvider, Language, Secret, Settings},
    domain::time::duration,
    flow::generator::{
        Failure, FailureKind, Generator, Progress, Request, Written,
        describer::{self, Describer},
        look_ups::LookUps,
        transcriber::Transcriber,
    },
};

const WRONG: &str = "the AI service cannot be used (BATON_AI_…)";

/// What the settings put to work on a contact's words.
pub(super) struct Models {
    pub(super) generators: Arc<Generators>,
    /// Whom the model asks what the business knows.
    pub(super) look_ups: Arc<dyn LookUps>,
    /// What makes words of voice notes, if anything does.
    pub(super) transcriber: Option<Arc<dyn Transcriber>>,
    /// What tells what is to be seen in pictures, if anything does.
    pub(super) describer: Option<Arc<dyn Describer>>,
}

impl Models {
    /// Those of the settings.
    pub(super) fn of(settings: &Settings, http: &reqwest::Client) -> anyhow::Result<Self> {
        Ok(Self {
            generators: Arc::new(Generators::new(settings, http.clone())?),
            look_ups: look_ups(settings, http)?,
            transcriber: transcriber(settings, http.clone())?,
            describer: describer(settings, http.clone())?,
        })
    }
}

/// Who writes answers.
pub(super) struct Generators {
    main: Option<Arc<dyn Generator>>,
    pub(super) scripted: Arc<Scripted>,
    is_scripted_everywhere: bool,
}

impl Generators {
    /// Those of the settings.
    pub(super) fn new(settings: &Settings, http: reqwest::Client) -> anyhow::Result<Self> {
        let provider = settings.provider();
        let server = server_of(settings);
        let main: Option<Arc<dyn Generator>> = match provider {
            AiProvider::OpenAi => Some(Arc::new(OpenAi::new(&server, http).context(WRONG)?)),
            AiProvider::Anthropic => Some(Arc::new(Anthropic::new(&server, http).context(WRONG)?)),
            AiProvider::Http => Some(Arc::new(HttpGenerator::new(&server, http).context(WRONG)?)),
            AiProvider::Scripted | AiProvider::None => None,
        };
        let idle = duration(settings.ai_idle_ms);
        let scripted = Arc::new(Scripted::new(scripted::Faults::default(), idle));
        Ok(Self { main, scripted, is_scripted_everywhere: provider == AiProvider::Scripted })
    }

    fn of(&self, channel: &str) -> Option<&dyn Generator> {
        match &self.main {
            Some(main) => Some(&**main),
            None if self.is_scripted_everywhere || channel == SANDBOX => Some(&*self.scripted),
            None => None,
        }
    }
}

fn look_ups(settings: &Settings, http: &reqwest::Client) -> anyhow::Result<Arc<dyn LookUps>> {
    let (tools, secret) = (settings.policy()?.tools, settings.ai_tools_secret.as_ref());
    let services = Services::new(&tools, secret.map(Secret::expose), http);
    Ok(Arc::new(services.context("the tools cannot be used (BATON_AI_TOOLS_FILE, BATON_AI_TOOLS_SECRET)")?))
}

fn transcriber(settings: &Settings, http: reqwest::Client) -> anyhow::Result<Option<Arc<dyn Transcriber>>> {
    let Some(model) = settings.transcribing_model() else { return Ok(None) };
    Ok(Some(Arc::new(Transcriptions::new(&server_of(settings), http, model).context(WRONG)?)))
}

fn describer(settings: &Settings, http: reqwest::Client) -> anyhow::Result<Option<Arc<dyn Describer>>> {
    let Some(model) = settings.describing_model() else { return Ok(None) };
    let server = server_of(settings);
    let question = describer::question(settings.language.unwrap_or(Language::English).name());
    Ok(match settings.provider() {
        AiProvider::OpenAi => {
            Some(Arc::new(openai::Descriptions::new(&server, http, model, question).context(WRONG)?))
        }
        AiProvider::Anthropic => {
            Some(Arc::new(anthropic::Descriptions::new(&server, http, model, question).context(WRONG)?))
        }
        AiProvider::Http | AiProvider::Scripted | AiProvider::None => None,
    })
}

fn server_of(settings: &Settings) -> model_server::Settings {
    model_server::Settings {
        base_url: settings.model_base_url().to_owned(),
        api_key: settings.ai_api_key.as_ref().map(|key| key.expose().to_owned()),
        idle: duration(settings.ai_idle_ms),
        total: duration(settings.ai_total_ms),
    }
}

#[async_trait]
impl Generator for Generators {
    async fn reply(&self, request: &Request, progress: &dyn Progress) -> Result<Written, Failure> {
        match self.of(&request.channel) {
            Some(generator) => generator.reply(request, progress).await,
            None => Err(no_model()),
        }
    }

    fn knows_who_asks(&self, channel: &str) -> bool {
        self.of(channel).is_some_and(|generator| generator.knows_who_asks(channel))
    }

    async fn check(&self) -> Result<String, Failure> {
        match self.of("") {
            Some(generator) => generator.check().await,
            None => Err(no_model()),
        }
    }
}

fn no_model() -> Failure {
    Failure::new(FailureKind::Refused, "there is no model (BATON_AI_…)")
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use bytes::Bytes;
    use serde_json::json;
    use wiremock::{Mock, MockServer, ResponseTemplate, matchers::body_string_contains};

    use super::*;
    use crate::{adapters::http_client::http_client, flow::generator::describer::Picture};

    #[test]
    fn voice_notes_are_listened_to_where_the_provider_can() {
        let ears = |provider: &str, named: &[(&str, &str)]| {
            let set = [&[("ai_provider", provider), ("ai_model", "m")], named].concat();
            let settings = Settings::default().adjusted(&[], &set).expect("right");
            let http = http_client(Duration::from_secs(1)).expect("a client");
            transcriber(&settings, http).expect("an address").is_some()
        };
        let whisper = [("ai_transcribe", "whisper-1")];
        assert!(ears("openai", &whisper));
        assert!(!ears("openai", &[]) && !ears("anthropic", &whisper) && !ears("scripted", &whisper));
    }

    #[test]
    fn pictures_are_looked_at_where_the_provider_can() {
        let eyes = |provider: &str, named: &[(&str, &str)]| {
            let set = [&[("ai_provider", provider), ("ai_model", "m")], named].concat();
            let settings = Settings::default().adjusted(&[], &set).expect("right");
            let http = http_client(Duration::from_secs(1)).expect("a client");
            describer(&settings, http).expect("an address").is_some()
        };
        let named = [("ai_describe", "small-eyes")];
        assert!(eyes("openai", &named) && eyes("anthropic", &named));
        assert!(!eyes("openai", &[]) && !eyes("anthropic", &[]) && !eyes("scripted", &named));
    }

    #[tokio::test]
    async fn what_is_seen_is_told_in_the_language_of_the_installation() {
        for (set, sentence) in
            [(&[][..], "Write in English."), (&[("language", "pt")], "Write in Portuguese.")]
        {
            let server = MockServer::start().await;
            let answer =
                json!({ "choices": [{ "message": { "content": "A bowl." }, "finish_reason": "stop" }] });
            Mock::given(body_string_contains(sentence))
                .and(body_string_contains("small-eyes"))
                .respond_with(ResponseTemplate::new(200).set_body_json(answer))
                .mount(&server)
                .await;
            let address = server.uri();
            let all = [("ai_base_url", address.as_str()), ("ai_model", "m"), ("ai_describe", "small-eyes")];
            let settings = Settings::default().adjusted(&[], &[&all, set].concat()).expect("right");
            let http = http_client(Duration::from_secs(1)).expect("a client");
            let eyes = describer(&settings, http).expect("an address").expect("one that looks");
            let picture = Picture { mime_type: "image/png", bytes: Bytes::new() };
            assert_eq!(eyes.describe(picture).await.as_deref(), Ok("A bowl."), "{sentence}");
        }
    }
}
