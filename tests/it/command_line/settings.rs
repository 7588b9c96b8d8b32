//! Settings that are wrong: one line that says which, and from where it came.

use super::{baton, folder};

#[test]
fn a_wrong_setting_is_one_line_and_exit_code_2() {
    let folder = folder();
    std::fs::write(folder.path().join("strange.toml"), "brust = \"queue\"\n").expect("written");
    for (words, variables, line) in [
        (
            &["serve", "--burst", "often"][..],
            &[][..],
            "baton: --burst: \"often\" is not one of interrupt, collect, queue",
        ),
        (
            &["serve"],
            &[("BATON_AI_ATTEMPTS", "0")],
            "baton: BATON_AI_ATTEMPTS: \"0\" is not a whole number from 1 to 20",
        ),
        (
            &["serve", "--config", "strange.toml"],
            &[],
            "baton: brust in strange.toml: there is no such setting, did you mean burst? .env.example lists all",
        ),
        (
            &["serve"],
            &[("BATON_API_TOKEN", "c4nary")],
            "baton: BATON_API_TOKEN: must have at least 20 characters (openssl rand -hex 24 makes one)",
        ),
        (
            &["serve"],
            &[("BATON_API_TOKEN", "tokenünicode-tokenünicode")],
            "baton: BATON_API_TOKEN: must be one word of ASCII letters, digits and signs",
        ),
        (
            &["serve"],
            &[("BATON_PUBLIC_URL", "https://baton.example.com/?x=1")],
            "baton: BATON_PUBLIC_URL: must end with its path",
        ),
        (
            &["serve"],
            &[("BATON_PUBLIC_URL", "https://baton.example.com:99999")],
            "baton: BATON_PUBLIC_URL: is not an address: invalid port number",
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
fn a_misspelt_variable_is_told_by_every_command() {
    let folder = folder();
    for words in [&["migrate"][..], &["token", "list"], &["check"]] {
        let output = baton(folder.path(), words, &[("BATON_DATABSE_URL", "sqlite://other.db")]);
        let told = [output.stdout, output.stderr].concat();
        let told = String::from_utf8_lossy(&told);
        assert_eq!(
            told.matches("without effect: BATON_DATABSE_URL (did you mean BATON_DATABASE_URL?)").count(),
            1,
            "{words:?}: {told}"
        );
    }
}
