//! The program as a shell sees it: what it says, where, and with which exit code.

use std::{
    path::Path,
    process::{Command, Output},
};

/// Runs `baton` in an empty folder, with these variables and no others of its own.
fn baton(folder: &Path, words: &[&str], variables: &[(&str, &str)]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_baton"));
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("BATON_") {
            command.env_remove(name);
        }
    }
    command.current_dir(folder).args(words).envs(variables.iter().copied()).output().expect("it runs")
}

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().expect("a folder")
}

#[test]
fn a_wrong_setting_is_one_line_and_exit_code_2() {
    let folder = folder();
    std::fs::write(folder.path().join("strange.toml"), "brust = \"queue\"\n").expect("written");
    for (words, variables, line) in [
        (
            &["serve", "--burst", "often"][..],
            &[][..],
            "baton: --burst: \"often\" is none of interrupt, collect, queue",
        ),
        (
            &["serve"],
            &[("BATON_AI_ATTEMPTS", "0")],
            "baton: BATON_AI_ATTEMPTS: \"0\" is not a whole number from 1 to 20",
        ),
        (
            &["serve", "--config", "strange.toml"],
            &[],
            "baton: brust in strange.toml: there is no such setting; .env.example lists all",
        ),
        (
            &["serve"],
            &[("BATON_API_TOKEN", "c4nary")],
            "baton: BATON_API_TOKEN: must have at least 20 characters (openssl rand -hex 24 makes one)",
        ),
    ] {
        let output = baton(folder.path(), words, variables);
        assert_eq!(String::from_utf8_lossy(&output.stderr), format!("{line}\n"));
        assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0), "{words:?}");
    }
}

#[test]
fn a_baton_toml_in_the_folder_is_read_unasked() {
    let folder = folder();
    std::fs::write(folder.path().join("baton.toml"), "stale_ms = \"soon\"\n").expect("written");
    let output = baton(folder.path(), &["openapi"], &[]);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(stderr.starts_with("baton: stale_ms (settings file): "), "{stderr}");
    assert_eq!(output.status.code(), Some(2));
}

#[test]
fn help_and_version_are_answers_and_anything_unknown_is_wrong_usage() {
    let folder = folder();
    for (words, code) in
        [(&["--help"][..], 0), (&["--version"], 0), (&["mode", "--help"], 0), (&["dance"], 2), (&[], 2)]
    {
        let output = baton(folder.path(), words, &[]);
        assert_eq!(output.status.code(), Some(code), "{words:?}");
        assert_eq!(output.stdout.is_empty(), code != 0, "{words:?}");
    }
    assert!(
        std::fs::read_dir(folder.path()).expect("a folder").next().is_none(),
        "nothing was made by asking"
    );
}
