//! The API as `openapi` has it: as a document, and as a plain page without scripts and without anything from elsewhere.

use std::{fmt::Write as _, sync::OnceLock};

use actix_web::web::Bytes;
use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use super::{
    answer::{Answer, to_json},
    openapi,
    problem::Problem,
    response_headers::PAGES,
};

const STYLE: &str = "\
:root{color-scheme:light dark}\
html{background:light-dark(#fff,#14181b);color:light-dark(#1a1d20,#e6e9eb)}\
body{font:16px/1.5 system-ui,sans-serif;max-width:52rem;margin:2rem auto;padding:0 1rem}\
code,pre{font:14px/1.4 ui-monospace,monospace;overflow-wrap:anywhere}\
pre{white-space:pre-wrap;background:light-dark(#f3f4f5,#20262a);padding:.5rem .8rem}\
a{color:light-dark(#0645ad,#9ecbff)}\
summary{cursor:pointer;padding:.3rem 0}\
summary b{display:inline-block;min-width:4.5rem}\
table{border-collapse:collapse;margin:.5rem 0}\
td,th{text-align:left;vertical-align:top;padding:.1rem .8rem .1rem 0;overflow-wrap:anywhere}\
details{border-top:1px solid #8884;margin:0}";

/// What is used first is described first.
const FIRST: [&str; 3] = ["Conversations", "Messages", "Mode"];

/// That of all pages, but for the one style, which is in the page itself and allowed by its hash.
fn policy() -> &'static str {
    static POLICY: OnceLock<String> = OnceLock::new();
    POLICY.get_or_init(|| {
        let hash = STANDARD.encode(Sha256::digest(STYLE));
        PAGES.replace("style-src 'self'", &format!("style-src 'sha256-{hash}'"))
    })
}

fn page(title: &str, body: &str) -> Answer {
    let html = format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width\"><title>{title}</title><style>{STYLE}</style></head>\
         <body><main>{body}</main></body></html>\n"
    );
    Answer::page(html, Some(policy()))
}

/// The description of the API.
#[utoipa::path(get, path = "/openapi.json", tag = "Pages",
    responses((status = 200, body = Object, content_type = "application/json")))]
pub(super) async fn openapi_json() -> Result<Answer, Problem> {
    // Once for all: it is large, and anyone may ask for it as often as they like.
    static BODY: OnceLock<Bytes> = OnceLock::new();
    let body = BODY.get_or_init(|| to_json(openapi::document()).into());
    Ok(Answer::text("application/json", body.clone()))
}

/// The description of the API, as a page.
#[utoipa::path(get, path = "/docs", tag = "Pages",
    responses((status = 200, body = String, content_type = "text/html")))]
pub(super) async fn docs() -> Result<Answer, Problem> {
    static BODY: OnceLock<String> = OnceLock::new();
    Ok(page("Baton: the API", BODY.get_or_init(|| describe(openapi::document()))))
}

fn describe(document: &Value) -> String {
    let mut html = String::from(
        "<h1>Baton: the API</h1><p>JSON, with <code>Authorization: Bearer TOKEN</code>. Refusals are problem documents \
         (RFC 9457). The same as <a href=\"/openapi.json\">OpenAPI</a>.</p>",
    );
    let operations = operations(document);
    let mut tags: Vec<&str> = Vec::new();
    for (_, _, operation) in &operations {
        let tag = tag_of(operation);
        if !tags.contains(&tag) {
            tags.push(tag);
        }
    }
    // Whoever comes for the first time comes for these; the others stay in their order.
    tags.sort_by_key(|tag| FIRST.iter().position(|first| first == tag).unwrap_or(FIRST.len()));
    for tag in tags {
        let _ = write!(html, "<h2>{}</h2>", escaped(tag));
        for (path, method, operation) in operations.iter().filter(|(.., operation)| tag_of(operation) == tag)
        {
            describe_operation(&mut html, document, path, method, operation);
        }
    }
    html
}

fn operations(document: &Value) -> Vec<(&str, &str, &Value)> {
    let paths = document["paths"].as_object().into_iter().flatten();
    paths
        .flat_map(|(path, methods)| {
            let methods = methods.as_object().into_iter().flatten();
            methods.map(move |(method, operation)| (path.as_str(), method.as_str(), operation))
        })
        .collect()
}

fn tag_of(operation: &Value) -> &str {
    operation["tags"][0].as_str().unwrap_or("Other")
}

fn describe_operation(html: &mut String, document: &Value, path: &str, method: &str, operation: &Value) {
    let text = |name: &str| marked(operation[name].as_str().unwrap_or_default());
    // Writing to a string cannot fail.
    let _ = write!(
        html,
        "<details><summary><b>{}</b><code>{}</code> {}</summary><p>{}</p>",
        method.to_uppercase(),
        escaped(path),
        text("summary"),
        text("description"),
    );
    if let Some(role) = operation["x-role"].as_str() {
        let _ = write!(html, "<p>Role of the token: {}.</p>", escaped(role));
    }
    let parameters = operation["parameters"].as_array().into_iter().flatten();
    let rows = parameters.map(|it| row(&it["name"], &it["schema"], &it["description"])).collect::<String>();
    table(html, "Parameters", &rows);
    let body = &operation["requestBody"]["content"]["application/json"]["schema"];
    table(html, "Body", &fields(resolved(document, body)));
    example(html, &operation["requestBody"]["content"]["application/json"]["example"]);
    for (status, response) in operation["responses"].as_object().unwrap_or(&Map::new()) {
        let contents = response["content"].as_object().into_iter().flatten();
        for (media_type, content) in contents {
            let heading = format!("{status}, {media_type}");
            table(html, &heading, &fields(resolved(document, &content["schema"])));
            example(html, &content["example"]);
        }
    }
    html.push_str("</details>");
}

fn table(html: &mut String, heading: &str, rows: &str) {
    if !rows.is_empty() {
        let _ = write!(html, "<table><caption>{}</caption>{rows}</table>", escaped(heading));
    }
}

fn example(html: &mut String, shown: &Value) {
    if !shown.is_null() {
        let _ = write!(html, "<p>For example:</p><pre>{}</pre>", escaped(&format!("{shown:#}")));
    }
}

fn fields(schema: &Value) -> String {
    let parts = schema["allOf"].as_array().into_iter().flatten().chain([schema]);
    let properties = parts.flat_map(|part| part["properties"].as_object().into_iter().flatten());
    properties.map(|(name, field)| row(&Value::from(name.as_str()), field, &field["description"])).collect()
}

fn row(name: &Value, schema: &Value, description: &Value) -> String {
    let example = schema["example"].as_str().map(|it| format!(" For example <code>{}</code>.", escaped(it)));
    format!(
        "<tr><td><code>{}</code></td><td>{}</td><td>{}{}</td></tr>",
        escaped(name.as_str().unwrap_or_default()),
        escaped(&kind(schema)),
        marked(description.as_str().unwrap_or_default()),
        example.unwrap_or_default(),
    )
}

/// What a schema is, in a word or two.
fn kind(schema: &Value) -> String {
    if let Some(to) = schema["$ref"].as_str() {
        return to.rsplit('/').next().unwrap_or(to).to_owned();
    }
    if let Some(choices) = schema["oneOf"].as_array() {
        return choices.iter().map(kind).collect::<Vec<_>>().join(" or ");
    }
    match &schema["type"] {
        Value::String(word) if word == "array" => format!("array of {}", kind(&schema["items"])),
        Value::String(word) => word.clone(),
        Value::Array(words) => words.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" or "),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => String::new(),
    }
}

fn resolved<'a>(document: &'a Value, schema: &'a Value) -> &'a Value {
    let pointer = schema["$ref"].as_str().and_then(|to| to.strip_prefix('#'));
    pointer.and_then(|pointer| document.pointer(pointer)).unwrap_or(schema)
}

/// What stands between two backticks is code; one without its other stays as it is.
fn marked(text: &str) -> String {
    let text = escaped(text);
    let parts: Vec<&str> = text.split('`').collect();
    let (last, pairs) = parts.split_last().unwrap_or((&"", &[]));
    let pairs = pairs.chunks(2).map(|pair| match pair {
        [before, code] => format!("{before}<code>{code}</code>"),
        unpaired => format!("{}`", unpaired.concat()),
    });
    pairs.chain([(*last).to_owned()]).collect()
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
