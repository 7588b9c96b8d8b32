//! What we ask of the compose file beyond its schema: that nothing in it is open, unlimited, unversioned or secret.

use anyhow::{Context as _, Result};
use serde_json::{Map, Value};

use super::{Faults, tools::Tools};

/// The only one that is reached from outside.
const OUTSIDE: &str = "caddy";
/// Made by whoever wants monitoring, and in no repository.
const MADE_LATER: &str = "./deploy/observe/metrics.token";

pub(super) fn look(tools: &Tools) -> Result<Faults> {
    let file = tools.yaml("docker-compose.yml")?;
    let mut faults = Faults::new();
    for (name, service) in object(&file["services"]) {
        faults.extend(service_faults(name, service).into_iter().map(|fault| format!("{name}: {fault}")));
        for source in sources(service) {
            if !tools.path(&source).is_file() {
                faults.push(format!("{name}: there is no file {source}"));
            }
        }
    }
    for (name, secret) in object(&file["secrets"]) {
        let from = secret["file"].as_str().unwrap_or_default();
        if from != MADE_LATER {
            faults.push(format!("the secret {name} lies in {from:?}, which git may not ignore"));
        }
    }
    faults.extend(stops_in_time(&file)?);
    Ok(faults)
}

fn object(value: &Value) -> impl Iterator<Item = (&String, &Value)> {
    value.as_object().into_iter().flat_map(Map::iter)
}

fn texts(value: &Value) -> Vec<&str> {
    value.as_array().into_iter().flatten().filter_map(Value::as_str).collect()
}

fn service_faults(name: &str, service: &Value) -> Faults {
    let image = service["image"].as_str().unwrap_or_default();
    let is_built = service["build"].is_string() || service["build"].is_object();
    let tag = image.rsplit_once(':').map_or("", |(_, tag)| tag);
    let is_exact = tag.contains('.') && tag.trim_start_matches('v').starts_with(|c: char| c.is_ascii_digit());
    let mut faults = Faults::new();
    let mut ask = |is_well: bool, fault: &str| {
        if !is_well {
            faults.push(fault.to_owned());
        }
    };
    ask(is_built || is_exact, "its image names no exact version");
    ask(service["restart"].is_string(), "nothing is said of restarts");
    ask(service["healthcheck"]["test"][0] == "CMD", "it has no health check, or one that wants a shell");
    ask(service["read_only"] == true, "it may write anywhere");
    ask(texts(&service["cap_drop"]) == ["ALL"], "it keeps rights of root");
    ask(texts(&service["security_opt"]).contains(&"no-new-privileges:true"), "it may gain rights");
    ask(service["privileged"].is_null(), "it is privileged");
    ask(service["deploy"]["resources"]["limits"]["memory"].is_string(), "its memory has no limit");
    ask(service["logging"]["options"]["max-size"].is_string(), "its log has no limit");
    let is_inside = texts(&service["ports"]).iter().all(|port| port.starts_with("127.0.0.1:"));
    ask(is_inside || name == OUTSIDE, "a port of it is open to the outside");
    let waits = object(&service["depends_on"]).all(|(_, on)| on["condition"] == "service_healthy");
    ask(waits && !service["depends_on"].is_array(), "it does not wait until what it needs is well");
    for (variable, value) in object(&service["environment"]) {
        let is_secret = ["PASSWORD", "SECRET", "TOKEN", "_KEY"].iter().any(|word| variable.contains(word));
        let is_said = value.as_str().is_some_and(|value| !value.is_empty() && !value.contains("${"));
        ask(!(is_secret && is_said), &format!("the value of {variable} stands in the file"));
    }
    faults
}

/// What it mounts from here.
fn sources(service: &Value) -> Vec<String> {
    let mounts = texts(&service["volumes"]).into_iter();
    let from = mounts.filter_map(|mount| mount.split(':').next()).filter(|from| from.starts_with("./"));
    from.map(str::to_owned).collect()
}

/// Whoever is killed in the middle of a send leaves its fate unknown.
fn stops_in_time(file: &Value) -> Result<Option<String>> {
    let baton = &file["services"]["baton"];
    let grace = baton["environment"]["BATON_GRACE_MS"].as_str().unwrap_or_default();
    let grace = grace.trim_start_matches("${BATON_GRACE_MS:-").trim_end_matches('}');
    let grace: u64 = grace.parse().context("baton: no BATON_GRACE_MS")?;
    let period = baton["stop_grace_period"].as_str().unwrap_or_default();
    let period: u64 =
        period.trim_end_matches('s').parse().context("baton: no stop_grace_period in seconds")?;
    let fault = || format!("baton: killed after {period} s, with {grace} ms of grace");
    Ok((period * 1_000 <= grace).then(fault))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn sound() -> Value {
        json!({
            "image": "caddy:2.11.4-alpine", "restart": "unless-stopped", "healthcheck": { "test": ["CMD", "x"] },
            "read_only": true, "cap_drop": ["ALL"], "security_opt": ["no-new-privileges:true"],
            "deploy": { "resources": { "limits": { "memory": "1g" } } }, "logging": { "options": { "max-size": "1m" } },
            "ports": ["127.0.0.1:1:1"], "environment": { "A_TOKEN": "${A_TOKEN}" },
        })
    }

    #[test]
    fn each_carelessness_of_a_service_is_found() {
        assert_eq!(service_faults("any", &sound()), Faults::new());
        for (pointer, worse, fault) in [
            ("image", json!("caddy:latest"), "its image names no exact version"),
            ("image", json!("caddy:2"), "its image names no exact version"),
            ("restart", Value::Null, "nothing is said of restarts"),
            (
                "healthcheck",
                json!({ "test": ["CMD-SHELL", "x"] }),
                "it has no health check, or one that wants a shell",
            ),
            ("read_only", json!(false), "it may write anywhere"),
            ("cap_drop", json!([]), "it keeps rights of root"),
            ("security_opt", json!([]), "it may gain rights"),
            ("privileged", json!(true), "it is privileged"),
            ("deploy", json!({}), "its memory has no limit"),
            ("logging", json!({}), "its log has no limit"),
            ("ports", json!(["1:1"]), "a port of it is open to the outside"),
            ("depends_on", json!(["b"]), "it does not wait until what it needs is well"),
            ("environment", json!({ "A_TOKEN": "x" }), "the value of A_TOKEN stands in the file"),
        ] {
            let mut service = sound();
            service[pointer] = worse;
            assert_eq!(service_faults("any", &service), [fault], "{pointer}");
        }
    }

    #[test]
    fn who_is_killed_before_its_grace_ends_is_found() {
        let file = |period: &str| {
            json!({ "services": { "baton": {
                "environment": { "BATON_GRACE_MS": "${BATON_GRACE_MS:-15000}" }, "stop_grace_period": period } } })
        };
        assert_eq!(stops_in_time(&file("30s")).expect("read"), None);
        assert!(stops_in_time(&file("15s")).expect("read").is_some());
    }
}
