//! What can be typed, and what is shown to who asks for help.

use super::*;

fn line(words: &str) -> impl Iterator<Item = std::ffi::OsString> {
    format!("baton {words}").split(' ').map(Into::into).collect::<Vec<_>>().into_iter()
}

fn help_of(words: &str) -> String {
    match read(line(words)) {
        Err(Refused::Usage(error)) => error.to_string(),
        other => panic!("no help for {words}: {other:?}"),
    }
}

#[test]
fn every_command_of_the_contract_can_be_typed() {
    for words in [
        "serve",
        "serve --no-migrate",
        "demo --keep /tmp/play --open",
        "migrate",
        "check --json",
        "check --live",
        "mode get 6580000001@c.us",
        "mode set +6580000001 human --until 2026-01-05T18:00:00Z",
        "mode set 6580000001@c.us AI --answer-now --note hello --channel shop",
        "lock list --json",
        "lock release conversation:0199",
        "fingerprint -",
        "dead-letters list --kind send --state replayed",
        "dead-letters retry 0199d9a0-0000-7000-8000-000000000000 --force",
        "dead-letters discard 0199d9a0-0000-7000-8000-000000000000",
        "agent add ana@example.com --name Ana --role admin --channels shop,default",
        "agent add ana@example.com --json",
        "agent list --json",
        "agent disable ana@example.com",
        "agent password ana@example.com",
        "agent link ana@example.com",
        "token create ci --role read --channels shop,default",
        "token create hers --agent ana@example.com",
        "token list",
        "token revoke 0199d9a0-0000-7000-8000-000000000000",
        "backup baton.backup --force --with-secrets",
        "backup -",
        "restore baton.backup --again --moved",
        "secret-key rotate",
        "openapi",
        "simulator --listen 127.0.0.1:7108 --instance 1101000001 --token t0ken --webhook http://127.0.0.1:8080/w",
        "simulator --webhook http://127.0.0.1:8080/w --webhook-token t0ken --restart-ms 0 --unlimited",
        "token list --database-url sqlite://other.db",
    ] {
        assert!(read(line(words)).is_ok(), "{words}");
    }
}

#[test]
fn wrong_usage_is_refused_before_anything_begins() {
    for words in [
        "",
        "server",
        "serve --burst often",
        "mode set 1@c.us BOTH",
        "token create x --role king",
        "agent add ana",
        "agent add ana@example.com --role read",
        "agent password ana@example.com secret",
        "mode get x",
        "backup",
        "restore",
        "secret-key",
        "simulator --webhook-token t0ken",
        "simulator --retry-ms 0",
    ] {
        assert!(read(line(words)).is_err(), "{words}");
    }
}

/// The long help of each command shows every flag with its variable and default; the short one only the most used.
#[test]
fn help_shows_every_setting_with_its_variable_and_default() {
    for command in ["serve", "demo", "check", "mode get", "token create", "openapi"] {
        let long = help_of(&format!("{command} --help"));
        let long = long.split_whitespace().collect::<Vec<_>>().join(" ");
        for (flag, variable, default) in [
            ("--burst-quiet-ms <MS>", "[env: BATON_BURST_QUIET_MS]", "[default: 3000]"),
            (
                "--database-url <URL>",
                "[env: BATON_DATABASE_URL, or its _FILE]",
                "[default: sqlite://baton.db]",
            ),
            ("--config <FILE>", "[env: BATON_CONFIG]", "[default: ./baton.toml, if it is there]"),
        ] {
            assert!(
                long.contains(flag) && long.contains(variable) && long.contains(default),
                "{command}: {flag}\n{long}"
            );
        }
        let short = help_of(&format!("{command} -h"));
        assert!(short.contains("--database-url") && !short.contains("--burst-quiet-ms"), "{short}");
    }
}

#[test]
fn the_first_help_is_the_list_of_commands() {
    let help = help_of("--help");
    for command in [
        "serve",
        "demo",
        "migrate",
        "check",
        "mode",
        "lock",
        "fingerprint",
        "dead-letters",
        "agent",
        "token",
        "backup",
        "restore",
        "secret-key",
        "openapi",
        "simulator",
    ] {
        assert!(help.contains(&format!("\n  {command} ")), "{command}\n{help}");
    }
    assert!(!help.contains("--burst"), "{help}");
}
