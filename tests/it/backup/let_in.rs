//! Whom a backup lets in, when its server may have shut them out since.

use super::{Program, into_the_other_store, path_of};

into_the_other_store!(whoever_is_let_in_again_is_named);

async fn whoever_is_let_in_again_is_named(mut from: Program, mut to: Program) {
    for program in [&mut from, &mut to] {
        program.set("BATON_SECRET_KEY", &"5e".repeat(32));
    }
    let server = from.serves(&["--ai-provider", "none"]);
    // Only where nobody is there yet it makes the first admin.
    while !from.does(&["agent", "list"]).contains("admin@localhost") {}
    for email in ["ana@example.com", "ben@example.com"] {
        from.does(&["agent", "add", email]);
    }
    from.does(&["token", "create", "crm"]);
    from.does(&["token", "create", "of ben", "--agent", "ben@example.com"]);
    from.does(&["agent", "disable", "ben@example.com"]);
    let path = from.backs_up("baton.backup", &[]);
    drop(server);

    let told = to.does(&["restore", path_of(&path)]);
    let line = "Let in as when it was made, whatever was changed since: 2 agents: admin@localhost, ana@example.com; \
                1 token: crm. Before the first start, shut out those who no longer may enter: `baton agent disable EMAIL`";
    assert!(told.contains(line), "{told}");
    to.does(&["agent", "disable", "ana@example.com"]);
    let moved = Program::on_sqlite();
    let told = moved.does(&["restore", path_of(&path), "--moved"]);
    assert!(!told.contains("Let in"), "nothing was changed since: {told}");
    from.end().await;
    to.end().await;
    moved.end().await;
}
