//! What is encrypted: under its own key, under the key of the place it goes to, and under a new one.

use serde_json::json;

use super::{Program, Server, into_the_other_store, path_of};

into_the_other_store!(
    the_key_goes_along_only_when_asked_for_and_opens_only_by_its_words,
    the_key_that_goes_along_opens_what_it_goes_with,
    a_key_is_changed_beside_a_server_that_goes_on,
);

/// Two keys as they are set.
fn key(of: u8) -> String {
    format!("{of:02x}").repeat(32)
}

/// A channel whose credentials are kept in the database.
async fn add_channel(server: &Server) {
    let channel = json!({
        "name": "shop", "provider": "green_api", "instance": "7105000001", "token": "t0ken-of-the-shop",
        "api_url": "http://127.0.0.1:9", "webhook_token": "door-of-the-shop-1234",
    });
    server.asks("POST", "/api/v1/channels", Some(&channel)).await;
}

/// Whether the server can read what is encrypted: the door of the channel opens by its own token.
async fn opens_the_door(server: &Server) -> bool {
    let request = server.http.post(format!("{}/webhooks/green-api/shop", server.address));
    let answer = request.bearer_auth("door-of-the-shop-1234").body("{}").send().await.expect("an answer");
    answer.status() == 200
}

async fn the_key_goes_along_only_when_asked_for_and_opens_only_by_its_words(
    mut from: Program,
    mut to: Program,
) {
    let server = from.serves(&["--ai-provider", "none"]);
    add_channel(&server).await;
    assert!(opens_the_door(&server).await);
    let without = from.backs_up("without", &[]);
    let no_words = from.says(&["backup", "locked", "--with-secrets"]);
    assert!(no_words.code == Some(1) && no_words.error.contains("at least 12 characters"), "{no_words:?}");
    assert!(no_words.error.contains("BATON_BACKUP_PASSPHRASE"), "{no_words:?}");
    from.set("BATON_BACKUP_PASSPHRASE", "correct horse battery");
    let locked = from.backs_up("locked", &["--with-secrets"]);
    drop(server);

    to.set("BATON_BACKUP_PASSPHRASE", "correct horse batterie");
    // Where there is a key already, it is another one than that of the backup.
    if to.url().starts_with("postgres") {
        to.set("BATON_SECRET_KEY", &key(7));
    }
    let wrong = to.says(&["restore", path_of(&locked)]);
    assert_eq!(wrong.code, Some(1));
    assert_eq!(wrong.error, "baton: this passphrase does not open the keys in the backup\n");
    to.set("BATON_BACKUP_PASSPHRASE", "correct horse battery");
    let told = to.does(&["restore", path_of(&locked)]);
    assert!(
        told.contains("Re-encrypted, with the key that is set here: 2 secrets.")
            && !told.contains("Cannot be opened"),
        "{told}"
    );
    let server = to.serves(&["--ai-provider", "none"]);
    assert!(opens_the_door(&server).await);
    drop(server);

    // Without the words nothing is written, and it is tried again with them.
    let mut wordless = Program::on_sqlite();
    let refused = wordless.says(&["restore", path_of(&locked)]);
    assert!(refused.code == Some(1) && refused.error.contains("set BATON_BACKUP_PASSPHRASE"), "{refused:?}");
    wordless.set("BATON_BACKUP_PASSPHRASE", "correct horse battery");
    wordless.does(&["restore", path_of(&locked)]);

    // Without the words, and without the key: it is said, and how it is mended.
    let mut bare = Program::on_sqlite();
    let told = bare.does(&["restore", path_of(&without)]);
    assert!(
        told.contains("Cannot be opened with any key that is set here: 2 secrets, above all those of channels. Put the key"),
        "{told}"
    );
    let old = match from.variables.iter().find(|(name, _)| name == "BATON_SECRET_KEY") {
        Some((_, key)) => key.clone(),
        None => std::fs::read_to_string(database_file(&from).with_extension("key"))
            .expect("a key")
            .trim()
            .to_owned(),
    };
    bare.set("BATON_SECRET_KEY", &format!("{},{old}", key(9)));
    let server = bare.serves(&["--ai-provider", "none"]);
    assert!(opens_the_door(&server).await);
    drop(server);
    let sealed = bare.does(&["secret-key", "rotate"]);
    assert!(sealed.starts_with("2 secrets were re-encrypted; 0 already had the new key.\n"), "{sealed}");
    bare.set("BATON_SECRET_KEY", &key(9));
    assert!(opens_the_door(&bare.serves(&["--ai-provider", "none"])).await);
    from.end().await;
    to.end().await;
}

async fn the_key_that_goes_along_opens_what_it_goes_with(mut program: Program, other: Program) {
    other.end().await;
    program.set("BATON_SECRET_KEY", &key(3));
    program.set("BATON_BACKUP_PASSPHRASE", "correct horse battery");
    let server = program.serves(&["--ai-provider", "none"]);
    add_channel(&server).await;
    // As a shell, or a nightly job, has it that knows nothing of the server's key, or has the one before.
    for (of, is_right) in [(Some(4), false), (None, false), (Some(3), true)] {
        match of {
            Some(of) => program.set("BATON_SECRET_KEY", &key(of)),
            // Without one PostgreSQL is not even asked.
            None if program.url().starts_with("postgres") => continue,
            None => program.variables.retain(|(name, _)| name != "BATON_SECRET_KEY"),
        }
        let said = program.says(&["backup", "locked", "--with-secrets"]);
        assert_eq!(said.code, Some(i32::from(!is_right)), "{of:?}: {said:?}");
        assert_eq!(program.file("locked").exists(), is_right, "{of:?}");
        let told = match of {
            Some(_) => "cannot be opened with any key that is set here",
            None => "there is no key",
        };
        assert!(is_right || said.error.contains(told), "{of:?}: {said:?}");
    }
    if !program.url().starts_with("postgres") {
        assert!(!database_file(&program).with_extension("key").exists(), "none was made");
    }
    drop(server);
    program.end().await;
}

/// The file of a SQLite database.
fn database_file(program: &Program) -> std::path::PathBuf {
    program.url().strip_prefix("sqlite://").expect("a file").into()
}

async fn a_key_is_changed_beside_a_server_that_goes_on(mut program: Program, other: Program) {
    other.end().await;
    let server = program.serves(&["--ai-provider", "none"]);
    add_channel(&server).await;
    if program.url().starts_with("postgres") {
        let old = "5e".repeat(32);
        let told = program.does(&["secret-key", "rotate"]);
        let values: Vec<&str> =
            told.lines().filter_map(|line| line.strip_prefix("BATON_SECRET_KEY=")).collect();
        let [known, both] = values[..] else { panic!("two values: {told}") };
        assert!(
            both.len() == 129 && both.ends_with(&old) && told.contains("Nothing has changed yet"),
            "{told}"
        );
        let new = both.split(',').next().expect("the first").to_owned();
        assert_eq!(known, format!("{old},{new}"));
        // While the instances are started anew, those that seal with the new key and those that know it meet.
        program.set("BATON_SECRET_KEY", known);
        let knows = program.serves(&["--ai-provider", "none"]);
        program.set("BATON_SECRET_KEY", both);
        change_a_secret(&program.serves(&["--ai-provider", "none"])).await;
        change_a_secret(&knows).await;
        drop(knows);
        // Each instance is started anew; only then is anything sealed with the new key.
        drop(server);
        let server = program.serves(&["--ai-provider", "none"]);
        let told = program.does(&["secret-key", "rotate"]);
        assert!(told.starts_with("2 secrets were re-encrypted") && told.contains("may be removed"), "{told}");
        assert!(
            program
                .does(&["secret-key", "rotate"])
                .starts_with("0 secrets were re-encrypted; 2 already had the new key")
        );
        change_a_secret(&server).await;
        program.set("BATON_SECRET_KEY", &new);
    } else {
        let file = database_file(&program).with_extension("key");
        let before = std::fs::read_to_string(&file).expect("a key").trim().to_owned();
        let told = program.does(&["secret-key", "rotate"]);
        assert!(told.starts_with("2 secrets were re-encrypted") && told.contains("may be removed"), "{told}");
        let after = std::fs::read_to_string(&file).expect("keys").trim().to_owned();
        let (new, old) = after.split_once(',').expect("two keys");
        assert!(old == before && new != before);
        // It opens what was sealed with the new one, and seals with it.
        change_a_secret(&server).await;
        let told = program.does(&["secret-key", "rotate"]);
        assert!(told.contains(&before), "the first one goes, and backups may want it: {told}");
        change_a_secret(&server).await;
        let after = std::fs::read_to_string(&file).expect("keys");
        let newest = after.split(',').next().expect("the first").to_owned();
        assert!(after.trim().ends_with(new), "the one before is kept: {after}");
        std::fs::write(&file, newest).expect("written");
        drop(server);
    }
    // With the new key alone, everything opens.
    let server = program.serves(&["--ai-provider", "none"]);
    assert!(opens_the_door(&server).await);
    change_a_secret(&server).await;
    drop(server);
    program.end().await;
}

/// One of the channel's secrets is set anew; the others are opened for that, and sealed again with it.
async fn change_a_secret(server: &Server) {
    let change = json!({ "token": "an0ther-token-of-the-shop" });
    server.asks("PATCH", "/api/v1/channels/shop", Some(&change)).await;
    assert!(opens_the_door(server).await);
}
