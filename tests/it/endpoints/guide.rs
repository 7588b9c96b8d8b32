//! What the guide says about signatures, run as it stands there.

use std::{
    io::Write as _,
    process::{Command, Stdio},
};

use serde_json::json;

use super::receiver::Post;

const GUIDE: &str = include_str!("../../../docs/webhooks.md");

const PYTHON: &str = r#"
import json, sys
given = json.load(sys.stdin)
time.time = lambda: given["now"]
print(json.dumps(is_ours(given["secret"], given["headers"], given["body"].encode())))
"#;

const NODE: &str = r#"
import { readFileSync } from "node:fs";
const given = JSON.parse(readFileSync(0, "utf8"));
Date.now = () => given.now * 1000;
console.log(JSON.stringify(isOurs(given.secret, given.headers, Buffer.from(given.body))));
"#;

/// Both examples know what is ours, and nothing else. One whose language is not on this machine is left out.
pub(super) fn knows(secret: &str, post: &Post) {
    let headers = |signature: &str| json!({ "webhook-id": post.id, "webhook-timestamp": post.timestamp, "webhook-signature": signature });
    let body = std::str::from_utf8(&post.raw).expect("JSON is text");
    let now: i64 = post.timestamp.parse().expect("seconds");
    let given = |signature: &str, body: &str, now: i64| {
        json!({ "secret": secret, "headers": headers(signature), "body": body, "now": now }).to_string()
    };
    let both = format!("v1,AAAA {}", post.signature);
    let table = [
        (given(&post.signature, body, now), true),
        (given(&both, body, now + 299), true),
        (given(&post.signature, &format!("{body} "), now), false),
        (given("v1,AAAA", body, now), false),
        (given(&post.signature, body, now + 301), false),
    ];
    for (given, is_ours) in table {
        for (name, program, arguments, end) in
            [("python", "python3", &["-c"][..], PYTHON), ("js", "node", &["--input-type=module", "-e"], NODE)]
        {
            if let Some(said) = run(program, arguments, &format!("{}{end}", example(name)), &given) {
                assert_eq!(said.trim(), is_ours.to_string(), "{name}: {given}");
            }
        }
    }
}

fn example(language: &str) -> &'static str {
    let (_, rest) = GUIDE.split_once(&format!("```{language}\n")).expect("the guide has an example");
    rest.split_once("```").expect("it ends").0
}

/// None: there is no such program.
fn run(program: &str, arguments: &[&str], code: &str, given: &str) -> Option<String> {
    let mut command = Command::new(program);
    command.args(arguments).arg(code).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = match command.spawn() {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return None,
        child => child.expect("it starts"),
    };
    child.stdin.take().expect("piped").write_all(given.as_bytes()).expect("it reads");
    let output = child.wait_with_output().expect("it ends");
    assert!(output.status.success(), "{program} failed");
    Some(String::from_utf8(output.stdout).expect("text"))
}
