//! Settings: a flag beats the environment, which beats `baton.toml`, which beats the default.
//!
//! In: the command line as clap has split it, variables, a file. Out: [`Settings`], or one line on what is wrong.

mod settings;

mod values;

mod secrets;

mod sources;

mod keys;

mod channel;

mod tools;

use std::{fmt::Display, path::Path};

use clap::{ArgMatches, Args as _, Command, FromArgMatches as _, error::ContextKind, parser::ValueSource};

pub use channel::CHANNEL_KEYS;
pub use keys::arguments;
pub use secrets::{Location, Passphrase, Secret, SecretKeys, Secrets};
pub use settings::Settings;
pub use sources::Source;
pub use values::{AiProvider, Language, LogFormat, Origins, Receive, Words};

use crate::domain::{cadence, policy::WEBHOOK_TOKEN_MIN, tool::Tool};
use sources::{Given, Said, variable};

/// A setting that cannot be. Its text is one line.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{setting}: {problem}")]
pub struct Wrong {
    /// Which one, and where it was said.
    pub setting: String,
    /// What is wrong, and what is allowed.
    pub problem: String,
}

impl Wrong {
    fn new(setting: &str, problem: impl Display) -> Self {
        Self { setting: setting.to_owned(), problem: problem.to_string() }
    }
}

/// One setting, as people may see it.
#[derive(Debug, Clone, PartialEq)]
pub struct Described {
    /// Its variable.
    pub name: String,
    /// What holds; nothing of a secret.
    pub value: Option<String>,
    /// Something holds.
    pub is_set: bool,
    /// Who said so.
    pub source: Source,
    /// By which key a channel may override it.
    pub channel_key: Option<&'static str>,
}

impl Settings {
    /// Reads everything: the flags that clap found, the environment, and the file that either of them names.
    pub fn load(
        flags: &ArgMatches,
        variables: impl IntoIterator<Item = (std::ffi::OsString, std::ffi::OsString)>,
    ) -> Result<Self, Wrong> {
        let (environment, config, unknown) = sources::environment(variables)?;
        let config = flags.get_one::<std::path::PathBuf>("config").or(config.as_ref());
        let mut given = sources::file(config.map(std::path::PathBuf::as_path))?;
        given.extend(environment);
        given.extend(from_flags(flags)?);
        let mut settings = Self::from_given(given)?;
        settings.unknown = unknown;
        settings.check()?;
        Ok(settings)
    }

    /// The same without what was said of some settings, and with other defaults for what nobody has set.
    pub fn adjusted(self, without: &[&str], defaults: &[(&str, &str)]) -> Result<Self, Wrong> {
        let mut given = self.given;
        given.retain(|key, _| !without.contains(&key.as_str()));
        for (key, value) in defaults {
            given
                .entry((*key).to_owned())
                .or_insert_with(|| Said { text: (*value).to_owned(), source: Source::Default });
        }
        let settings = Self { unknown: self.unknown, ..Self::from_given(given)? };
        settings.check()?;
        Ok(settings)
    }

    /// Turns texts into values. The one place where any is read, wherever it comes from.
    fn from_given(given: Given) -> Result<Self, Wrong> {
        let command = Self::augment_args(Command::new("settings").no_binary_name(true));
        let flags = given.iter().map(|(key, said)| format!("--{}={}", key.replace('_', "-"), said.text));
        let matches = command.try_get_matches_from(flags);
        let settings = matches.and_then(|matches| Self::from_arg_matches(&matches));
        match settings {
            Ok(settings) => Ok(Self { given, ..settings }),
            Err(error) => {
                let key = key_of(&error);
                let place = given.get(&key).map_or_else(|| key.clone(), |said| place(&key, said.source));
                Err(Wrong::new(&place, reason_of(&error)))
            }
        }
    }

    /// What no single setting can know of the others.
    fn check(&self) -> Result<(), Wrong> {
        if self.green_api_instance.is_some() != self.green_api_token.is_some() {
            let (has, lacks) = match self.green_api_instance {
                Some(_) => ("BATON_GREEN_API_INSTANCE", "BATON_GREEN_API_TOKEN"),
                None => ("BATON_GREEN_API_TOKEN", "BATON_GREEN_API_INSTANCE"),
            };
            return Err(Wrong::new(lacks, format!("must be set too, since {has} is")));
        }
        if self.is_postgres() && self.secret_key.is_none() {
            return Err(Wrong::new(
                "BATON_SECRET_KEY",
                "is required with PostgreSQL, the same on all instances: 64 hexadecimal digits (openssl rand -hex 32); when \
                 moving from SQLite, what is in its .key file",
            ));
        }
        let lacks = match self.provider() {
            AiProvider::OpenAi | AiProvider::Anthropic if self.ai_model.is_none() => {
                Some(("BATON_AI_MODEL", "must name the model, since an AI service is set"))
            }
            AiProvider::Http if self.ai_base_url.is_none() => {
                Some(("BATON_AI_BASE_URL", "must say where your service is, since BATON_AI_PROVIDER is http"))
            }
            AiProvider::Http if self.ai_api_key.is_none() => Some((
                "BATON_AI_API_KEY",
                "must be set, since BATON_AI_PROVIDER is http: requests are signed with it (whsec_ and what openssl rand \
                 -base64 32 makes)",
            )),
            AiProvider::OpenAi
            | AiProvider::Anthropic
            | AiProvider::Http
            | AiProvider::Scripted
            | AiProvider::None => None,
        };
        if let Some((setting, problem)) = lacks {
            return Err(Wrong::new(setting, problem));
        }
        if self.ai_spend_per_day.is_some() && self.ai_prices.is_none() {
            return Err(Wrong::new("BATON_AI_PRICES", "must be set too, since BATON_AI_SPEND_PER_DAY is"));
        }
        if self.ai_spend_per_day == Some(0.0) {
            return Err(Wrong::new("BATON_AI_SPEND_PER_DAY", channel::NO_CEILING));
        }
        if self.otlp_endpoint.is_some() && !cfg!(feature = "otlp") {
            return Err(Wrong::new(
                "BATON_OTLP_ENDPOINT",
                "cannot be set: this program was built without traces (the feature otlp)",
            ));
        }
        let asks = self.policy()?.tools.iter().any(|tool| tool.look_up.is_some());
        if asks && self.ai_tools_secret.is_none() {
            return Err(Wrong::new(
                "BATON_AI_TOOLS_SECRET",
                "must be set, since a tool of BATON_AI_TOOLS_FILE has a url: requests are signed with it (whsec_ and what \
                 openssl rand -base64 32 makes)",
            ));
        }
        Ok(())
    }

    /// What is allowed, but deserves a word at the start.
    pub fn warnings(&self) -> Vec<String> {
        let mut warnings = Vec::new();
        warnings.extend(self.unknown());
        if self.is_postgres() && self.redis_url.is_none() {
            warnings.push("PostgreSQL without BATON_REDIS_URL: run one instance only".to_owned());
        }
        // A service of one's own need not name any.
        let nameless = (self.provider() == AiProvider::Http).then_some("");
        if let (Some(prices), Some(model)) = (&self.ai_prices, self.ai_model.as_deref().or(nameless))
            && prices.cost(model, 0, 0).is_none()
        {
            let model = if model.is_empty() { "a model without a name" } else { model };
            warnings.push(format!("BATON_AI_PRICES has no price for {model}: what it writes counts as free"));
        }
        if self.ai_transcribe.is_some() && self.transcribing_model().is_none() {
            warnings.push(
                "BATON_AI_TRANSCRIBE is for BATON_AI_PROVIDER=openai: nothing is transcribed".to_owned(),
            );
        }
        if self.ai_describe.is_some() && self.describing_model().is_none() {
            warnings.push(
                "BATON_AI_DESCRIBE is for BATON_AI_PROVIDER=openai or anthropic: no picture is described"
                    .to_owned(),
            );
        }
        let (texts, waits) = (
            self.follow_up_text.as_deref().map_or(0, |text| cadence::texts(text).len()),
            self.follow_up_after_ms.0.len(),
        );
        if texts > waits.max(1) {
            warnings.push(format!(
                "BATON_FOLLOW_UP_TEXT has {texts} texts, between lines of ---, and BATON_FOLLOW_UP_AFTER_MS names {waits} \
                 follow-ups: the others are never sent"
            ));
        }
        let is_short = |token: &Secret| token.expose().len() < WEBHOOK_TOKEN_MIN;
        if self.green_api_webhook_token.iter().flat_map(Secrets::iter).any(is_short) {
            warnings.push(
                "BATON_GREEN_API_WEBHOOK_TOKEN is short: anyone who guesses it speaks as your customers (openssl rand -hex 24)"
                    .to_owned(),
            );
        }
        // A send that is under way when the end comes needs its whole time limit, or its fate stays unknown. That of a file
        // may be two minutes longer (`outbox::send_limit_ms`): nobody is asked to wait so long at each stop, and one that is
        // cut off is looked for like any other of unknown fate.
        let is_default = |key, value: String| keys::default(key) == Some(value);
        let are_chosen = !is_default("grace_ms", self.grace_ms.to_string())
            || !is_default("green_api_timeout_ms", self.green_api_timeout_ms.to_string());
        if are_chosen && self.grace_ms < self.green_api_timeout_ms + 2_000 {
            warnings.push(format!(
                "BATON_GRACE_MS ({}) is less than BATON_GREEN_API_TIMEOUT_MS ({}) + 2000: a send in hand at the end may \
                 be left of unknown fate",
                self.grace_ms, self.green_api_timeout_ms
            ));
        }
        warnings
    }

    /// Variables that look like settings and are not: a misspelt one is found by this alone.
    pub fn unknown(&self) -> Option<String> {
        let in_words = |name: &String| {
            let key = name.trim_start_matches("BATON_").to_ascii_lowercase();
            let meant = keys::like(&key).map(|key| format!(" (did you mean {}?)", variable(&key)));
            format!("{name}{}", meant.unwrap_or_default())
        };
        let names = self.unknown.iter().map(in_words).collect::<Vec<_>>().join(", ");
        (!names.is_empty()).then(|| format!("not known in this version, and without effect: {names}"))
    }

    /// Which model there is.
    pub fn provider(&self) -> AiProvider {
        let is_named = self.ai_api_key.is_some() || self.ai_base_url.is_some();
        self.ai_provider.unwrap_or(if is_named { AiProvider::OpenAi } else { AiProvider::None })
    }

    /// Where the model is.
    pub fn model_base_url(&self) -> &str {
        let default = match self.provider() {
            AiProvider::Anthropic => "https://api.anthropic.com",
            // It has an address of its own, or the settings are wrong.
            AiProvider::Http => "",
            AiProvider::OpenAi | AiProvider::Scripted | AiProvider::None => "https://api.openai.com/v1",
        };
        self.ai_base_url.as_ref().map_or(default, Location::expose)
    }

    /// The model that listens to voice notes, if the provider has any.
    pub fn transcribing_model(&self) -> Option<&str> {
        self.ai_transcribe.as_deref().filter(|_| self.provider() == AiProvider::OpenAi)
    }

    /// The model that looks at pictures, if the provider can show it any.
    pub fn describing_model(&self) -> Option<&str> {
        match self.provider() {
            AiProvider::OpenAi | AiProvider::Anthropic => self.ai_describe.as_deref(),
            AiProvider::Http | AiProvider::Scripted | AiProvider::None => None,
        }
    }

    /// Whether the database is PostgreSQL; else it is SQLite.
    pub fn is_postgres(&self) -> bool {
        self.database_url.expose().starts_with("postgres")
    }

    /// Who said what this setting is.
    pub fn source(&self, key: &str) -> Source {
        self.given.get(key).map_or(Source::Default, |said| said.source)
    }

    /// Every setting as people may see it, in the order of the table.
    pub fn describe(&self) -> Vec<Described> {
        keys::all().map(|key| self.describe_one(key)).collect()
    }

    fn describe_one(&self, key: &str) -> Described {
        let said = self.given.get(key).map(|said| said.text.clone()).or_else(|| keys::default(key));
        let value = match &said {
            _ if key == "database_url" => Some(self.database_url.to_string()),
            _ if key == "ai_base_url" => self.ai_base_url.as_ref().map(ToString::to_string),
            _ if key == "redis_url" => self.redis_url.as_ref().map(ToString::to_string),
            Some(_) if keys::is_secret(key) => None,
            said => said.clone(),
        };
        Described {
            name: variable(key),
            value,
            is_set: said.is_some(),
            source: self.source(key),
            channel_key: CHANNEL_KEYS.iter().find(|channel_key| **channel_key == key).copied(),
        }
    }

    /// The system prompt.
    fn prompt(&self) -> Result<std::sync::Arc<str>, Wrong> {
        match &self.ai_prompt_file {
            None => Ok(self.built_in_prompt().into()),
            Some(path) => read_prompt(path).map_err(|problem| Wrong::new("BATON_AI_PROMPT_FILE", problem)),
        }
    }

    /// The tools of the business's own.
    fn tools(&self) -> Result<std::sync::Arc<[Tool]>, Wrong> {
        match &self.ai_tools_file {
            None => Ok(std::sync::Arc::default()),
            Some(path) => tools::read(path).map_err(|problem| Wrong::new("BATON_AI_TOOLS_FILE", problem)),
        }
    }

    /// A picture or "ok" is in no language: then it is that of the whole installation, if one was set.
    fn built_in_prompt(&self) -> String {
        let prompt = include_str!("prompt.txt").trim();
        match self.language {
            None => prompt.to_owned(),
            Some(language) => {
                format!("{prompt}\nWhere you cannot tell the customer's language, write {}.", language.name())
            }
        }
    }
}

/// The defaults, as in an empty environment.
impl Default for Settings {
    fn default() -> Self {
        Self::from_given(Given::new()).expect("the defaults are allowed: a test reads every one of them")
    }
}

const PROMPT_MAX_BYTES: usize = 256 * 1024;

fn read_prompt(path: &Path) -> Result<std::sync::Arc<str>, String> {
    let text = sources::read_text(path)?;
    match text.trim() {
        "" => Err(format!("{} is empty", path.display())),
        text if text.len() > PROMPT_MAX_BYTES => Err(format!("{} has more than 256 KiB", path.display())),
        text => Ok(text.into()),
    }
}

/// What was said on the command line, as text.
fn from_flags(flags: &ArgMatches) -> Result<Given, Wrong> {
    let mut given = Given::new();
    for key in keys::all() {
        if flags.value_source(key) != Some(ValueSource::CommandLine) {
            continue;
        }
        for value in flags.get_raw(key).into_iter().flatten() {
            let value =
                value.to_str().ok_or_else(|| Wrong::new(&place(key, Source::Flag), "is not UTF-8"))?;
            given.insert(key.to_owned(), Said { text: value.to_owned(), source: Source::Flag });
        }
    }
    Ok(given)
}

/// One line for a flag that clap refused for its value; None if the command line itself is wrong.
pub fn wrong_flag(error: &clap::Error) -> Option<Wrong> {
    let key = key_of(error);
    let is_value = std::error::Error::source(error).is_some() && keys::known(&key);
    is_value.then(|| Wrong::new(&place(&key, Source::Flag), reason_of(error)))
}

/// How a person finds where something was said.
fn place(key: &str, source: Source) -> String {
    match source {
        Source::Flag => format!("--{}", key.replace('_', "-")),
        Source::Environment | Source::Default => variable(key),
        Source::File => format!("{key} (settings file)"),
    }
}

fn key_of(error: &clap::Error) -> String {
    let argument = error.get(ContextKind::InvalidArg).map(ToString::to_string).unwrap_or_default();
    let flag = argument.trim_start_matches('-').split([' ', '=', '[']).next().unwrap_or_default();
    flag.replace('-', "_")
}

fn reason_of(error: &clap::Error) -> String {
    match std::error::Error::source(error) {
        Some(reason) => reason.to_string().replace('\n', " "),
        None => error.to_string().lines().next().unwrap_or_default().to_owned(),
    }
}

#[cfg(test)]
mod tests;
