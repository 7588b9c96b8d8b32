//! Tools of the business's own, as a file lists them. In: its text. Out: the tools, or one line on what is wrong with which.

use std::{collections::BTreeSet, path::Path, sync::Arc};

use serde::Deserialize;
use serde_json::{Map, Value};

use super::{sources::read_text, values::http_url};
use crate::domain::tool::{BUILT_IN, LookUp, Tool};

/// The model reads all of them with every request.
const TOOLS_MAX: usize = 32;
const FILE_MAX_BYTES: usize = 256 * 1024;
const DESCRIPTION_MAX: usize = 4_096;
/// What models and their servers take.
const NAME_MAX: usize = 64;

const TIMEOUT_MS: u64 = 10_000;
/// A contact waits meanwhile.
const TIMEOUT_MS_MAX: u64 = 60_000;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Listed {
    name: String,
    description: String,
    parameters: Map<String, Value>,
    #[serde(default)]
    url: Option<String>,
    #[serde(default)]
    timeout_ms: Option<u64>,
}

/// Reads the file.
pub(super) fn read(path: &Path) -> Result<Arc<[Tool]>, String> {
    let shown = path.display();
    let text = read_text(path)?;
    parse(&text).map_err(|problem| format!("{shown}: {problem}"))
}

fn parse(text: &str) -> Result<Arc<[Tool]>, String> {
    if text.len() > FILE_MAX_BYTES {
        return Err("has more than 256 KiB".to_owned());
    }
    let listed: Vec<Listed> = serde_json::from_str(text).map_err(|error| error.to_string())?;
    if listed.len() > TOOLS_MAX {
        return Err(format!("has {} tools; at most {TOOLS_MAX}", listed.len()));
    }
    let mut names = BTreeSet::new();
    listed
        .into_iter()
        .map(|listed| {
            let name = listed.name.clone();
            if !names.insert(name.clone()) {
                return Err(format!("{name:?} is there twice"));
            }
            tool(listed).map_err(|problem| format!("{name:?}: {problem}"))
        })
        .collect()
}

fn tool(listed: Listed) -> Result<Tool, String> {
    let Listed { name, description, parameters, url, timeout_ms } = listed;
    let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    if !(1..=NAME_MAX).contains(&name.len()) || !name.chars().all(is_name) {
        return Err(format!("a name is 1 to {NAME_MAX} letters, digits, _ and -"));
    }
    if BUILT_IN.contains(&name.as_str()) {
        return Err("Baton has a tool of that name".to_owned());
    }
    if description.trim().is_empty() || description.chars().count() > DESCRIPTION_MAX {
        return Err(format!(
            "the description must not be empty, and has at most {DESCRIPTION_MAX} characters"
        ));
    }
    check_schema(&parameters)?;
    let look_up = match (url, timeout_ms) {
        (None, None) => None,
        (None, Some(_)) => return Err("timeout_ms is for a tool with a url".to_owned()),
        (Some(url), timeout_ms) => Some(LookUp {
            // A slash at its end is meant: this address is no beginning of others.
            url: http_url(&url).map(|_| url.trim().to_owned()).map_err(|_| NO_ADDRESS.to_owned())?,
            timeout_ms: bounded(timeout_ms.unwrap_or(TIMEOUT_MS))?,
        }),
    };
    Ok(Tool { name, description, parameters, look_up })
}

/// Without the address itself, which may hold a secret.
const NO_ADDRESS: &str = "the url is not an address: must begin with http:// or https://";

/// Only what each server of models insists on: the rest of a schema is between the model and the business.
fn check_schema(parameters: &Map<String, Value>) -> Result<(), String> {
    if parameters.get("type").and_then(Value::as_str) != Some("object") {
        return Err(r#"parameters must be the JSON schema of an object: {"type":"object","properties":{…}}"#
            .to_owned());
    }
    if !parameters.get("properties").is_none_or(Value::is_object) {
        return Err("properties of parameters must be an object".to_owned());
    }
    let is_texts = |list: &Value| list.as_array().is_some_and(|list| list.iter().all(Value::is_string));
    if !parameters.get("required").is_none_or(is_texts) {
        return Err("required of parameters must be a list of names".to_owned());
    }
    Ok(())
}

fn bounded(timeout_ms: u64) -> Result<u64, String> {
    if (100..=TIMEOUT_MS_MAX).contains(&timeout_ms) {
        Ok(timeout_ms)
    } else {
        Err(format!("timeout_ms is not a whole number from 100 to {TIMEOUT_MS_MAX}"))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn listed(change: impl FnOnce(&mut Value)) -> Result<Arc<[Tool]>, String> {
        let mut tool = json!({ "name": "order_status", "description": "Where an order is.", "parameters": { "type": "object" } });
        change(&mut tool);
        parse(&json!([tool]).to_string())
    }

    #[test]
    fn a_tool_with_an_address_is_a_look_up_and_one_without_is_an_errand() {
        let tools = parse(
            r#"[{"name":"order_status","description":"Where an order is.","url":"http://127.0.0.1:9000/status/",
                 "parameters":{"type":"object","properties":{"order":{"type":"string"}},"required":["order"]}},
                {"name":"book","description":"Books.","parameters":{"type":"object"}}]"#,
        );
        let tools = tools.expect("right");
        let look_up = LookUp { url: "http://127.0.0.1:9000/status/".into(), timeout_ms: TIMEOUT_MS };
        assert_eq!(tools[0].look_up, Some(look_up));
        assert_eq!(tools[0].required().collect::<Vec<_>>(), ["order"]);
        assert_eq!((tools[1].name.as_str(), &tools[1].look_up), ("book", &None));
        assert_eq!(parse("[]").expect("none is none").len(), 0);
        assert!(!format!("{tools:?}").contains("9000"), "an address may hold a secret");
    }

    #[test]
    fn what_the_guide_shows_and_gives_away_is_taken() {
        let guide = include_str!("../../docs/guides/models.md");
        let (_, section) = guide.split_once("## Tools of your own").expect("a section");
        let (_, rest) = section.split_once("```json\n").expect("an example");
        let shown = parse(rest.split_once("```").expect("it ends").0).expect("right");
        let given = parse(include_str!("../../docs/examples/tools.json")).expect("right");
        for tools in [shown, given] {
            let names: Vec<_> =
                tools.iter().map(|tool| (tool.name.as_str(), tool.look_up.is_some())).collect();
            assert_eq!(names, [("order_status", true), ("book_table", false)]);
        }
    }

    #[test]
    fn what_is_wrong_with_a_tool_is_one_line_that_names_it() {
        type Change = fn(&mut Value);
        let schema = r#""order_status": parameters must be the JSON schema of an object: {"type":"object","properties":{…}}"#;
        let table: &[(Change, &str)] = &[
            (
                |it| it["name"] = "order status".into(),
                "\"order status\": a name is 1 to 64 letters, digits, _ and -",
            ),
            (|it| it["name"] = "".into(), "\"\": a name is 1 to 64 letters, digits, _ and -"),
            (|it| it["name"] = "x".repeat(65).into(), "\"xxxx"),
            (|it| it["name"] = "hand_over".into(), "\"hand_over\": Baton has a tool of that name"),
            (|it| it["description"] = " ".into(), "\"order_status\": the description must not be empty"),
            (
                |it| it["description"] = "x".repeat(4_097).into(),
                "\"order_status\": the description must not be",
            ),
            (|it| it["parameters"] = json!({}), schema),
            (|it| it["parameters"] = json!({ "type": "string" }), schema),
            (|it| it["parameters"]["properties"] = json!([]), "\"order_status\": properties of parameters"),
            (|it| it["parameters"]["required"] = json!([1]), "\"order_status\": required of parameters"),
            (|it| it["parameters"] = json!("object"), "invalid type: string \"object\", expected a map"),
            (
                |it| it["url"] = "ftp://s3cret".into(),
                "\"order_status\": the url is not an address: must begin with http",
            ),
            (|it| it["timeout_ms"] = 500.into(), "\"order_status\": timeout_ms is for a tool with a url"),
            (
                |it| (it["url"], it["timeout_ms"]) = ("http://a".into(), 99.into()),
                "\"order_status\": timeout_ms is not a whole number from 100 to 60000",
            ),
            (
                |it| (it["url"], it["timeout_ms"]) = ("http://a".into(), 60_001.into()),
                "\"order_status\": timeout_ms is not a whole number from 100 to 60000",
            ),
            (|it| it["adress"] = "http://a".into(), "unknown field `adress`, expected one of `name`"),
            (|it| it["description"] = Value::Null, "invalid type: null, expected a string"),
        ];
        for (change, line) in table {
            let had = listed(*change).expect_err(line);
            assert!(had.starts_with(line) && !had.contains('\n') && !had.contains("s3cret"), "{had}");
        }
    }

    #[test]
    fn too_many_are_refused_and_so_are_two_of_one_name() {
        let many = |names: &[String]| {
            let tool = |name: &String| json!({ "name": name, "description": "x", "parameters": { "type": "object" } });
            parse(&names.iter().map(tool).collect::<Value>().to_string()).map(|tools| tools.len())
        };
        let names: Vec<String> = (0..33).map(|n| format!("tool_{n}")).collect();
        assert_eq!(many(&names[..32]), Ok(32));
        assert_eq!(many(&names), Err("has 33 tools; at most 32".to_owned()));
        assert_eq!(many(&["a".into(), "a".into()]), Err("\"a\" is there twice".to_owned()));
        assert_eq!(parse(&" ".repeat(FILE_MAX_BYTES + 1)), Err("has more than 256 KiB".to_owned()));
    }
}
