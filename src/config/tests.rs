//! Where settings come from and what is refused, whole: from a command line, variables and a file to values.

use std::ffi::OsString;

use clap::CommandFactory as _;
use serde_json::{Map, Value, json};

use super::*;
use crate::{
    cli::Cli,
    domain::policy::{BurstPolicy, Policy},
};

/// What `baton serve` with these flags, variables and file would read.
fn load(flags: &[&str], variables: &[(&str, &str)], file: &str) -> Result<Settings, Wrong> {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("baton.toml");
    std::fs::write(&path, file).expect("written");
    let path = path.to_str().expect("UTF-8");
    let line = ["baton", "serve", "--config", path].into_iter().chain(flags.iter().copied());
    let matches = Cli::command_with_settings().try_get_matches_from(line);
    let matches = matches.map_err(|error| wrong_flag(&error).expect("a wrong value"))?;
    Settings::load(
        &matches,
        variables.iter().map(|(name, value)| (OsString::from(name), OsString::from(value))),
    )
}

fn wrong(flags: &[&str], variables: &[(&str, &str)], file: &str) -> String {
    let line = load(flags, variables, file).expect_err("refused").to_string();
    assert!(!line.contains('\n'), "{line}");
    line
}

#[test]
fn a_flag_beats_the_environment_which_beats_the_file_which_beats_the_default() {
    let file = "burst_quiet_ms = 1\nburst_max_ms = 1\nstale_ms = 1\n";
    let variables = [("BATON_BURST_QUIET_MS", "2"), ("BATON_BURST_MAX_MS", "2")];
    let settings = load(&["--burst-quiet-ms", "3"], &variables, file).expect("right");
    let numbers = (settings.burst_quiet_ms, settings.burst_max_ms, settings.stale_ms, settings.repeat_ms);
    assert_eq!(numbers, (3, 2, 1, 300_000));
    let sources = ["burst_quiet_ms", "burst_max_ms", "stale_ms", "repeat_ms"].map(|key| settings.source(key));
    assert_eq!(sources, [Source::Flag, Source::Environment, Source::File, Source::Default]);
}

#[test]
fn a_flag_may_stand_before_the_command_or_after_it() {
    let read = |line: &[&str]| {
        let matches = Cli::command_with_settings().try_get_matches_from(line).expect("right");
        Settings::load(&matches, []).expect("right").burst
    };
    assert_eq!(read(&["baton", "--burst", "queue", "serve"]), BurstPolicy::Queue);
    assert_eq!(read(&["baton", "serve", "--burst", "queue"]), BurstPolicy::Queue);
}

#[test]
fn files_are_fetched_from_wherever_the_gateway_keeps_them_unless_told_otherwise() {
    let hosts = Settings::default().media_hosts;
    for host in [
        "7103.media.greenapi.com",
        "media.green-api.com",
        "sw-media.storage.yandexcloud.net",
        "sw-media-out.storage.yandexcloud.net",
        "sw-media-1101.storage.yandexcloud.net",
        "do-media-7103.fra1.digitaloceanspaces.com",
    ] {
        assert!(hosts.names(host, 443), "{host}");
    }
    for host in ["somebody.storage.yandexcloud.net", "sw-media-1101.storage.yandexcloud.net.evil.test"] {
        assert!(!hosts.names(host, 443), "{host}");
    }
}

#[test]
fn the_defaults_are_those_of_the_domain() {
    let settings = Settings::default();
    let policy = settings.policy().expect("right");
    assert!(!policy.prompt.is_empty());
    assert!(policy.prompt.contains("{today}") && !policy.prompt.contains("{now}"), "the same all day");
    assert_eq!(policy, Policy { has_model: false, prompt: policy.prompt.clone(), ..Policy::default() });
}

#[test]
fn a_wrong_value_is_one_line_that_says_where_and_what_is_allowed() {
    for (flags, variables, file, line) in [
        (
            &["--burst", "often"][..],
            &[][..],
            "",
            r#"--burst: "often" is not one of interrupt, collect, queue"#,
        ),
        (
            &[],
            &[("BATON_AI_ATTEMPTS", "0")],
            "",
            r#"BATON_AI_ATTEMPTS: "0" is not a whole number from 1 to 20"#,
        ),
        (
            &[],
            &[],
            "rollout_percent = 101",
            r#"rollout_percent (settings file): "101" is not a whole number from 0 to 100"#,
        ),
        (
            &[],
            &[("BATON_LISTEN", "8080")],
            "",
            r#"BATON_LISTEN: "8080" is not an IP address and port, such as 127.0.0.1:8080"#,
        ),
        (&[], &[("BATON_QUIET_HOURS", "at night")], "", "BATON_QUIET_HOURS: "),
        (&[], &[("BATON_GREEN_API_INSTANCE", "7103000001")], "", "BATON_GREEN_API_TOKEN: must be set too"),
        (&[], &[("BATON_AI_API_KEY", "key")], "", "BATON_AI_MODEL: must name the model"),
        (&[], &[("BATON_AI_PROVIDER", "anthropic")], "", "BATON_AI_MODEL: must name the model"),
        (&[], &[("BATON_AI_PROVIDER", "http")], "", "BATON_AI_BASE_URL: must say where your service is"),
        (
            &[],
            &[("BATON_AI_PROVIDER", "http"), ("BATON_AI_BASE_URL", "http://127.0.0.1:1/answer")],
            "",
            "BATON_AI_API_KEY: must be set, since BATON_AI_PROVIDER is http: requests are signed with it (whsec_ and what \
             openssl rand -base64 32 makes)",
        ),
        (
            &[],
            &[("BATON_DATABASE_URL", "postgres://db/baton")],
            "",
            "BATON_SECRET_KEY: is required with PostgreSQL, the same on all instances: 64 hexadecimal digits (openssl rand -hex \
             32); when moving from SQLite, what is in its .key file",
        ),
        (&[], &[("BATON_AI_PROMPT_FILE", "/nowhere")], "", "BATON_AI_PROMPT_FILE: /nowhere: No such file"),
        (&[], &[("BATON_AI_TOOLS_FILE", "/nowhere")], "", "BATON_AI_TOOLS_FILE: /nowhere: No such file"),
        (&[], &[("BATON_OTLP_ENDPOINT", "127.0.0.1:4318")], "", "BATON_OTLP_ENDPOINT: "),
        #[cfg(not(feature = "otlp"))]
        (
            &[],
            &[("BATON_OTLP_ENDPOINT", "http://127.0.0.1:4318")],
            "",
            "BATON_OTLP_ENDPOINT: cannot be set: this program was built without traces (the feature otlp)",
        ),
    ] {
        let had = wrong(flags, variables, file);
        assert!(had.starts_with(line), "{had}");
    }
}

#[test]
fn a_file_that_is_not_there_is_told_with_its_whole_path() {
    let folder = std::env::current_dir().expect("a folder");
    for name in ["BATON_AI_PROMPT_FILE", "BATON_AI_TOOLS_FILE", "BATON_API_TOKEN_FILE"] {
        let had = wrong(&[], &[(name, "nowhere.txt")], "");
        assert!(had.starts_with(&format!("{name}: {}", folder.join("nowhere.txt").display())), "{had}");
    }
}

#[test]
fn tools_are_read_from_their_file_and_one_that_is_asked_needs_a_secret() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("tools.json");
    let path = path.to_str().expect("UTF-8");
    let mut tool =
        json!({ "name": "book", "description": "Books a table.", "parameters": { "type": "object" } });
    let written = |tool: &Value| std::fs::write(path, json!([tool]).to_string()).expect("written");
    let file = ("BATON_AI_TOOLS_FILE", path);
    written(&tool);
    let tools = load(&[], &[file], "").expect("an errand needs none").policy().expect("right").tools;
    assert_eq!(tools.iter().map(|tool| tool.name.as_str()).collect::<Vec<_>>(), ["book"]);

    tool["url"] = json!("http://127.0.0.1:9000/");
    written(&tool);
    let line = wrong(&[], &[file], "");
    assert!(
        line.starts_with("BATON_AI_TOOLS_SECRET: must be set, since a tool of BATON_AI_TOOLS_FILE has a url"),
        "{line}"
    );
    load(&[], &[file, ("BATON_AI_TOOLS_SECRET", "whsec_x")], "").expect("what it is worth, its user tells");

    tool["name"] = json!("stay_silent");
    written(&tool);
    let line = wrong(&[], &[file], "");
    assert_eq!(line, format!("BATON_AI_TOOLS_FILE: {path}: \"stay_silent\": Baton has a tool of that name"));
}

#[test]
fn a_wrong_secret_is_refused_without_being_shown() {
    for name in [
        "BATON_API_TOKEN",
        "BATON_SECRET_KEY",
        "BATON_DATABASE_URL",
        "BATON_REDIS_URL",
        "BATON_GREEN_API_TOKEN",
        "BATON_AI_TOOLS_SECRET",
        "BATON_AI_BASE_URL",
        "BATON_OTLP_ENDPOINT",
    ] {
        let line = wrong(&[], &[(name, "c4nary 1")], "");
        assert!(line.starts_with(name) && !line.contains("c4nary"), "{line}");
    }
    assert!(!wrong(&["--api-token", "c4nary"], &[], "").contains("c4nary"));
    for address in
        ["me:c4nary@gateway/v1", "https://me:c4nary@gateway:99999", "https://me:c4nary@gateway/v1?x=1"]
    {
        let line = wrong(&[], &[("BATON_PUBLIC_URL", address)], "");
        assert!(!line.contains("c4nary"), "{line}");
    }
}

#[test]
fn no_secret_shows_in_debug_or_where_settings_are_told() {
    let key = "c4".repeat(32);
    let variables = [
        ("BATON_API_TOKEN", "c4nary-c4nary-c4nary-c4nary"),
        ("BATON_SECRET_KEY", &key),
        ("BATON_DATABASE_URL", "postgres://baton:c4nary@db/baton"),
        ("BATON_REDIS_URL", "redis://:c4nary@cache"),
        ("BATON_GREEN_API_INSTANCE", "7103000001"),
        ("BATON_GREEN_API_TOKEN", "c4nary"),
        ("BATON_GREEN_API_WEBHOOK_TOKEN", "c4nary,c4nary2"),
        ("BATON_AI_API_KEY", "c4nary"),
        ("BATON_AI_TOOLS_SECRET", "c4nary"),
        ("BATON_AI_BASE_URL", "https://me:c4nary@model/v1"),
        ("BATON_AI_MODEL", "m"),
    ];
    let settings = load(&[], &variables, "").expect("right");
    assert_eq!(settings.green_api_webhook_token.iter().flat_map(Secrets::iter).count(), 2);
    let told = format!("{:?} {:?}", settings.describe(), settings);
    assert!(!told.contains("c4"), "{told}");
}

#[test]
fn settings_are_told_with_their_source_and_channel_key() {
    let variables = [("BATON_DATABASE_POOL", "4"), ("BATON_API_TOKEN", "a-token-of-twenty-letters")];
    let told = load(&["--burst", "queue"], &variables, "").expect("right").describe();
    let of = |name: &str| told.iter().find(|one| one.name == name).cloned().expect("told");
    let pool = of("BATON_DATABASE_POOL");
    assert_eq!(
        (pool.value.as_deref(), pool.source, pool.channel_key),
        (Some("4"), Source::Environment, None)
    );
    let token = of("BATON_API_TOKEN");
    assert_eq!((token.value, token.is_set), (None, true));
    let burst = of("BATON_BURST");
    assert_eq!(
        (burst.value.as_deref(), burst.source, burst.channel_key),
        (Some("queue"), Source::Flag, Some("burst"))
    );
    assert_eq!(
        (of("BATON_STALE_MS").value.as_deref(), of("BATON_STALE_MS").is_set),
        (Some("21600000"), true)
    );
    assert_eq!((of("BATON_REDIS_URL").value, of("BATON_REDIS_URL").is_set), (None, false));
}

#[test]
fn there_is_a_model_if_one_is_named_or_could_be_reached() {
    let read = |variables: &[(&str, &str)]| load(&[], variables, "").expect("right").provider();
    assert_eq!(read(&[]), AiProvider::None);
    assert_eq!(read(&[("BATON_AI_API_KEY", "k"), ("BATON_AI_MODEL", "m")]), AiProvider::OpenAi);
    assert_eq!(
        read(&[("BATON_AI_BASE_URL", "http://127.0.0.1:1/v1/"), ("BATON_AI_MODEL", "m")]),
        AiProvider::OpenAi
    );
    assert_eq!(read(&[("BATON_AI_API_KEY", "k"), ("BATON_AI_PROVIDER", "none")]), AiProvider::None);
    let named = [("BATON_AI_API_KEY", "k"), ("BATON_AI_MODEL", "m"), ("BATON_AI_PROVIDER", "anthropic")];
    assert_eq!(read(&named), AiProvider::Anthropic);
}

#[test]
fn each_provider_has_its_own_address() {
    let read = |variables: &[(&str, &str)]| {
        let settings = load(&[], variables, "").expect("right");
        settings.model_base_url().to_owned()
    };
    let model = ("BATON_AI_MODEL", "m");
    assert_eq!(read(&[("BATON_AI_API_KEY", "k"), model]), "https://api.openai.com/v1");
    let anthropic = ("BATON_AI_PROVIDER", "anthropic");
    assert_eq!(read(&[anthropic, model]), "https://api.anthropic.com");
    assert_eq!(read(&[anthropic, model, ("BATON_AI_BASE_URL", "http://127.0.0.1:1")]), "http://127.0.0.1:1");
    let own = [("BATON_AI_PROVIDER", "http"), ("BATON_AI_BASE_URL", "http://127.0.0.1:1/answer?to=baton")];
    let own = [own[0], own[1], ("BATON_AI_API_KEY", "k")];
    assert_eq!(read(&own), "http://127.0.0.1:1/answer?to=baton", "and no model need be named");
}

#[test]
fn what_is_allowed_but_odd_is_a_warning() {
    let key = "00".repeat(32);
    let variables = [
        ("BATON_GRACE_MS", "11999"),
        ("BATON_RETENTION", "3"),
        ("BATON_DATABASE_URL", "postgres://db/baton"),
        ("BATON_SECRET_KEY", &key),
    ];
    let warnings = load(&[], &variables, "").expect("right").warnings();
    assert_eq!(warnings.len(), 3, "{warnings:?}");
    assert!(
        warnings[0].ends_with("without effect: BATON_RETENTION (did you mean BATON_RETENTION_DAYS?)"),
        "{warnings:?}"
    );
    let ears = ("BATON_AI_TRANSCRIBE", "whisper-1");
    let of = |variables: &[(&str, &str)]| load(&[], variables, "").expect("right");
    let listens = of(&[ears, ("BATON_AI_API_KEY", "k"), ("BATON_AI_MODEL", "m")]);
    assert_eq!((listens.warnings(), listens.transcribing_model()), (Vec::new(), Some("whisper-1")));
    assert!(listens.policy().expect("right").transcribes);
    let deaf = of(&[ears, ("BATON_AI_PROVIDER", "anthropic"), ("BATON_AI_MODEL", "m")]);
    assert!(deaf.warnings()[0].contains("nothing is transcribed"), "{:?}", deaf.warnings());
    assert!(!deaf.policy().expect("right").transcribes);
    let eyes = ("BATON_AI_DESCRIBE", "small-eyes");
    for provider in ["openai", "anthropic"] {
        let looks = of(&[eyes, ("BATON_AI_PROVIDER", provider), ("BATON_AI_MODEL", "m")]);
        assert_eq!(
            (looks.warnings(), looks.describing_model()),
            (Vec::new(), Some("small-eyes")),
            "{provider}"
        );
        assert!(looks.policy().expect("right").describes);
    }
    let blind = of(&[eyes, ("BATON_AI_PROVIDER", "scripted")]);
    assert!(blind.warnings()[0].contains("no picture is described"), "{:?}", blind.warnings());
    assert!(!blind.policy().expect("right").describes);
    let two = ("BATON_FOLLOW_UP_TEXT", "One\n---\nTwo");
    assert!(of(&[two]).warnings()[0].contains("has 2 texts"));
    assert_eq!(of(&[two, ("BATON_FOLLOW_UP_AFTER_MS", "1,2")]).warnings(), Vec::<String>::new());
    let own = |prices: &'static str| {
        let address = ("BATON_AI_BASE_URL", "http://127.0.0.1:1");
        let key = ("BATON_AI_API_KEY", "k");
        of(&[("BATON_AI_PROVIDER", "http"), address, key, ("BATON_AI_PRICES", prices)]).warnings()
    };
    assert!(own("m=1/2")[0].contains("no price for a model without a name"), "{:?}", own("m=1/2"));
    assert_eq!(own("1/2"), Vec::<String>::new());
    assert!(load(&["--grace-ms", "12000"], &[], "").expect("right").warnings().is_empty());
}

#[test]
fn other_defaults_yield_to_whatever_was_said_and_some_of_it_can_be_forgotten() {
    let settings = load(&["--burst", "queue", "--stale-ms", "1"], &[], "").expect("right");
    let settings =
        settings.adjusted(&["stale_ms"], &[("burst", "collect"), ("sandbox", "on")]).expect("right");
    assert_eq!((settings.burst, settings.sandbox, settings.stale_ms), (BurstPolicy::Queue, true, 21_600_000));
    assert_eq!(settings.source("sandbox"), Source::Default);
}

fn overlay(settings: Value) -> Result<Policy, Wrong> {
    let Value::Object(settings) = settings else { return Ok(Policy::default()) };
    Settings::default().overlay(&Policy::default(), &settings)
}

#[test]
fn a_channel_overrides_what_it_may_and_nothing_else_changes() {
    let own = json!({
        "burst": "queue", "burst_quiet_ms": 7, "opt_out_words": ["halt", "basta"], "fallback_text": "Back soon.",
        "prompt": "Be kind.", "drafting": true, "reply_cap": null, "ai_model": "m",
    });
    let policy = overlay(own).expect("right");
    let wanted = Policy {
        burst: BurstPolicy::Queue,
        burst_quiet_ms: 7,
        opt_out_words: vec!["halt".to_owned(), "basta".to_owned()],
        fallback_text: Some("Back soon.".to_owned()),
        prompt: "Be kind.".into(),
        drafting: true,
        ai_model: "m".to_owned(),
        ..Policy::default()
    };
    assert_eq!(policy, wanted);
}

#[test]
fn a_channel_is_told_what_it_may_not_say() {
    for (settings, line) in [
        (json!({"burst": "often"}), r#"burst: "often" is not one of interrupt, collect, queue"#),
        (json!({"burst_quiet_ms": -1}), r#"burst_quiet_ms: "-1" is not a whole number from 0 to 3600000"#),
        (json!({"burst_quiet_ms": 1.5}), r#"burst_quiet_ms: "1.5" is not a whole number from 0 to 3600000"#),
        (json!({"api_token": "x"}), "api_token: is not a setting that a channel may override"),
        (json!({"reply_cap": {"a": 1}}), "reply_cap: must be text, a number, or a list of texts or numbers"),
        (
            json!({"follow_up_after_ms": [1, null]}),
            "follow_up_after_ms: must be text, a number, or a list of texts or numbers",
        ),
        (json!({"drafting": "maybe"}), r#"drafting: "maybe" is neither on nor off"#),
        (json!({"prompt": " "}), "prompt: must be text of at most 256 KiB, not empty"),
    ] {
        assert_eq!(overlay(settings).expect_err("refused").to_string(), line);
    }
    let hours = overlay(json!({"quiet_hours": "at night"})).expect_err("refused").to_string();
    assert!(hours.starts_with("quiet_hours: "), "{hours}");
}

#[test]
fn every_channel_key_is_a_setting_and_a_rule() {
    for key in CHANNEL_KEYS {
        assert!(keys::known(key), "{key}");
    }
    assert_eq!(Settings::default().overlay(&Policy::default(), &Map::new()), Ok(Policy::default()));
}

#[test]
fn a_language_is_one_that_the_dashboard_has_and_the_built_in_prompt_names_it() {
    let unset = load(&[], &[], "").expect("right").policy().expect("right").prompt;
    assert!(!unset.contains("cannot tell"), "{unset}");
    let settings = load(&[], &[("BATON_LANGUAGE", "es")], "").expect("right");
    assert_eq!(settings.language, Some(Language::Spanish));
    let prompt = settings.policy().expect("right").prompt;
    assert!(prompt.ends_with("Where you cannot tell the customer's language, write Spanish."), "{prompt}");
    let line = wrong(&[], &[("BATON_LANGUAGE", "tlh")], "");
    assert_eq!(line, r#"BATON_LANGUAGE: "tlh" is not one of en, es, pt, ru"#);

    let index = include_str!("../../dashboard/app/words/index.js");
    let has = |tag: &str| index.contains(&format!("\n  {tag}: {{ name: "));
    assert!(Language::ALL.iter().all(|language| has(language.as_str())));
    assert_eq!(index.matches(": { name: \"").count(), Language::ALL.len(), "one more that can be set");
}

#[test]
fn a_prompt_of_ones_own_says_for_itself_in_which_language() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("prompt.txt");
    std::fs::write(&path, "Be kind.").expect("written");
    let path = path.to_str().expect("UTF-8");
    let settings = load(&["--ai-prompt-file", path, "--language", "ru"], &[], "").expect("right");
    assert_eq!(&*settings.policy().expect("right").prompt, "Be kind.");
}

/// `.env.example` is read by people first: it must not tell them what is no longer so.
#[test]
fn the_example_lists_every_setting_with_its_default() {
    let example = include_str!("../../.env.example");
    let mut listed = Vec::new();
    for line in example.lines() {
        let Some((name, value)) = line.trim_start_matches('#').trim().split_once('=') else { continue };
        if name.starts_with("BATON_") && !name.contains(' ') {
            listed.push((name.to_owned(), value.trim().to_owned()));
        }
    }
    let wanted: Vec<_> =
        keys::all().map(|key| (variable(key), keys::default(key).unwrap_or_default())).collect();
    assert_eq!(listed, wanted);
}

#[test]
fn the_readme_names_every_setting() {
    let readme = include_str!("../../README.md");
    for key in keys::all() {
        assert!(readme.contains(&format!("`{}`", key.to_ascii_uppercase())), "{key}");
    }
}

#[test]
fn every_heading_begins_at_a_setting() {
    for (key, heading) in settings::HEADINGS {
        assert!(keys::known(key), "{heading}");
    }
}

#[test]
fn the_command_line_is_sound() {
    Cli::command().debug_assert();
    Cli::command_with_settings().debug_assert();
}

#[test]
fn a_ceiling_of_a_channel_is_refused_where_nothing_would_be_counted() {
    let object = |value: Value| value.as_object().cloned().expect("an object");
    let of = |variables: &[(&str, &str)], own: Value| {
        let settings = load(&[], variables, "").expect("right");
        settings.check_channel(&object(own)).map_err(|wrong| wrong.setting)
    };
    let priced = ("BATON_AI_PRICES", "gpt=1/2");
    let ceiling = json!({ "ai_spend_per_day": 5 });
    assert_eq!(of(&[], ceiling.clone()), Err("ai_spend_per_day".to_owned()));
    assert_eq!(of(&[priced], ceiling), Ok(()));
    assert_eq!(of(&[], json!({ "ai_spend_per_day": null, "ai_model": "other" })), Ok(()));
    let both = json!({ "ai_spend_per_day": 5, "ai_model": "other" });
    assert_eq!(of(&[priced], both.clone()), Err("ai_model".to_owned()));
    assert_eq!(of(&[("BATON_AI_PRICES", "gpt=1/2,1/2")], both), Ok(()), "a price for every other model");
    let everywhere = [priced, ("BATON_AI_SPEND_PER_DAY", "5")];
    assert_eq!(of(&everywhere, json!({ "ai_model": "other" })), Err("ai_model".to_owned()));
    assert_eq!(of(&everywhere, json!({ "ai_model": "gpt" })), Ok(()));
    // What a channel had before the prices went is loaded all the same.
    let settings = load(&[], &[], "").expect("right");
    let policy = settings.policy().expect("right");
    let loaded = settings.overlay(&policy, &object(json!({ "ai_spend_per_day": 5 }))).expect("loaded");
    assert_eq!(loaded.ai_spend_per_day, Some(5.0));
}

#[test]
fn a_ceiling_of_nothing_is_refused_with_what_to_do_instead() {
    let wrong =
        load(&[], &[("BATON_AI_PRICES", "1/2"), ("BATON_AI_SPEND_PER_DAY", "0")], "").expect_err("it is");
    let said = wrong.to_string();
    assert!(said.contains("BATON_AI_SPEND_PER_DAY") && said.contains("leave it out"), "{said}");
    let settings = load(&[], &[("BATON_AI_PRICES", "1/2")], "").expect("right");
    let nothing = json!({ "ai_spend_per_day": 0 }).as_object().cloned().expect("an object");
    assert_eq!(
        settings.check_channel(&nothing).map_err(|wrong| wrong.setting),
        Err("ai_spend_per_day".to_owned())
    );
    let policy = settings.policy().expect("right");
    assert!(settings.overlay(&policy, &nothing).is_ok(), "what a channel had before is loaded all the same");
}
