//! The tools of the guide, given away with it, with each kind of model: asked while it writes, and told what to do.

use std::{
    io::{BufRead as _, BufReader},
    path::PathBuf,
    process::{ChildStdout, Command, Stdio},
};

use serde_json::{Value, json};
use wiremock::{
    Mock, MockServer, ResponseTemplate,
    matchers::{body_string_contains, method, path},
};

use super::{Server, models::Stand};

/// What asks are signed with.
const ASKED: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

const FRIDAY: &str = r#"{"at": "2026-01-09T19:30", "guests": 4}"#;

fn example(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("docs/examples").join(name)
}

/// The service of the guide, as it is given away; where it is, and what it prints.
struct Service {
    _process: Server,
    address: String,
    prints: BufReader<ChildStdout>,
}

impl Service {
    fn start(told: &str) -> Self {
        let mut service = Command::new("python3");
        service.arg(example("tools.py")).arg("0").env("ASKED", ASKED).env("TOLD", told);
        let service = service.stdout(Stdio::piped()).stderr(Stdio::null()).spawn();
        let mut process = Server(service.expect("this test needs python3: apt-get install python3"));
        let prints = BufReader::new(process.0.stdout.take().expect("piped"));
        let mut service = Self { _process: process, address: String::new(), prints };
        let line = service.line();
        line.strip_prefix("listening on ").expect("where it is").clone_into(&mut service.address);
        service
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.prints.read_line(&mut line).expect("text");
        line.trim().to_owned()
    }
}

/// What a model says at each of its three rounds: it asks, it has something done, it answers.
struct Model {
    provider: &'static str,
    path: &'static str,
    rounds: [String; 3],
}

fn stream(events: &[Value]) -> String {
    events.iter().map(|event| format!("data: {event}\n\n")).collect()
}

fn like_openai() -> Model {
    let chunk = |delta: Value| json!({ "choices": [{ "index": 0, "delta": delta, "finish_reason": null }] });
    let piece = |piece: Value| chunk(json!({ "tool_calls": [piece] }));
    let end = || json!({ "choices": [{ "index": 0, "delta": {}, "finish_reason": "tool_calls" }] });
    let rounds = [
        stream(&[
            piece(
                json!({ "index": 0, "id": "a", "function": { "name": "order_status", "arguments": "{\"or" } }),
            ),
            piece(json!({ "index": 1, "id": "b", "function": { "name": "order_status", "arguments": "" } })),
            piece(json!({ "index": 0, "function": { "arguments": "der\": \"1007\"}" } })),
            piece(json!({ "index": 1, "function": { "arguments": "{\"order\": \"1008\"}" } })),
            end(),
        ]),
        stream(&[
            piece(
                json!({ "index": 0, "id": "c", "function": { "name": "book_table", "arguments": FRIDAY } }),
            ),
            end(),
        ]),
        stream(&[chunk(json!({ "content": "1007 is on its way, and Friday it is." })), end()]),
    ];
    Model { provider: "openai", path: "/v1/chat/completions", rounds }
}

fn like_anthropic() -> Model {
    let begins =
        |at: i32, block: Value| json!({ "type": "content_block_start", "index": at, "content_block": block });
    let tool = |at: i32, id: &str, name: &str| {
        begins(at, json!({ "type": "tool_use", "id": id, "name": name, "input": {} }))
    };
    let piece = |at: i32, json: &str| json!({ "type": "content_block_delta", "index": at, "delta": { "type": "input_json_delta", "partial_json": json } });
    let ends = |reason: &str| json!({ "type": "message_delta", "delta": { "stop_reason": reason } });
    let over = || json!({ "type": "message_stop" });
    let rounds = [
        stream(&[
            begins(0, json!({ "type": "text", "text": "One moment." })),
            tool(1, "a", "order_status"),
            piece(1, "{\"or"),
            piece(1, "der\": \"1007\"}"),
            tool(2, "b", "order_status"),
            piece(2, "{\"order\": \"1008\"}"),
            ends("tool_use"),
            over(),
        ]),
        stream(&[tool(0, "c", "book_table"), piece(0, FRIDAY), ends("tool_use"), over()]),
        stream(&[
            begins(0, json!({ "type": "text", "text": "1007 is on its way, and Friday it is." })),
            ends("end_turn"),
            over(),
        ]),
    ];
    Model { provider: "anthropic", path: "/v1/messages", rounds }
}

/// A round comes after those whose results are in what it is asked.
async fn serve(model: &Model) -> MockServer {
    let server = MockServer::start().await;
    let [first, second, third] = &model.rounds;
    for (rank, seen, body) in [(1, "accepted", third), (2, "on its way", second), (3, "", first)] {
        let answer = ResponseTemplate::new(200).set_body_raw(body.clone(), "text/event-stream");
        let asked = Mock::given(method("POST")).and(path(model.path)).and(body_string_contains(seen));
        asked.respond_with(answer).with_priority(rank).expect(1).mount(&server).await;
    }
    server
}

async fn tells(model: Model) {
    let server = serve(&model).await;
    let asked = Service::start("");
    let folder = tempfile::tempdir().expect("a folder");
    let tools = folder.path().join("tools.json");
    let given = std::fs::read_to_string(example("tools.json")).expect("it is given away");
    std::fs::write(&tools, given.replace("http://127.0.0.1:9000/", &asked.address)).expect("written");
    let stand = Stand::new(&format!(
        "ai_provider = \"{}\"\nai_base_url = \"{}/v1\"\nai_api_key = \"k\"\nai_model = \"small-1\"\n\
         ai_tools_file = \"{}\"\nai_tools_secret = \"{ASKED}\"\nwebhook_hosts = \"127.0.0.1\"\n",
        model.provider,
        server.uri(),
        tools.display()
    ));
    // With which secret it is told, is known only once there is an endpoint: here another of the kind is told.
    let wanted = json!({ "url": "http://127.0.0.1:1/told", "events": ["tool_called"] });
    let endpoint = stand.ask("POST", "webhook-endpoints", wanted).await;
    let mut told = Service::start(endpoint["secret"].as_str().expect("a secret"));
    let moved = json!({ "url": format!("{}told", told.address) });
    let id = endpoint["id"].as_str().expect("an id");
    stand.ask("PATCH", &format!("webhook-endpoints/{id}"), moved).await;

    stand
        .says(
            "M1",
            "Where are 1007 and 1008? And a table for four on Friday.",
            &["message_sent", "tool_called"],
        )
        .await;
    assert_eq!(stand.chat().await[1], "1007 is on its way, and Friday it is.");
    let asked = server.received_requests().await.expect("remembered");
    let last = String::from_utf8_lossy(&asked[2].body).into_owned();
    assert!(last.contains("this customer has no such order"), "{last}");
    assert_eq!(told.line(), "a table for 4 at 2026-01-09T19:30, for 6580000001@c.us");
    let timeline = stand.get("events?type=tool_called").await;
    let called = timeline["items"].as_array().expect("a list");
    assert_eq!((called.len(), &called[0]["details"]["tool"]), (1, &json!("book_table")));
}

#[tokio::test]
async fn a_model_like_openais_asks_the_service_of_the_guide_and_has_something_done() {
    tells(like_openai()).await;
}

#[tokio::test]
async fn a_model_of_anthropics_asks_the_service_of_the_guide_and_has_something_done() {
    tells(like_anthropic()).await;
}
