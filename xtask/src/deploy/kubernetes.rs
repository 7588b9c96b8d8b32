//! What we ask of the manifests beyond their schemas: that they name each other, that settings are settings, and that an
//! instance has the time to stop.

use std::collections::BTreeSet;

use anyhow::{Context as _, Result};
use serde_json::Value;

use super::{Faults, tools::Tools};

const FOLDER: &str = "deploy/kubernetes";

pub(super) fn look(tools: &Tools) -> Result<Faults> {
    let mut faults = Faults::new();
    for list in tools.files(FOLDER, "kustomization.yml")? {
        let folder = list.trim_end_matches("/kustomization.yml");
        let named = &tools.yaml(&list)?["resources"];
        let named: BTreeSet<String> =
            named.as_array().into_iter().flatten().filter_map(|it| Some(it.as_str()?.to_owned())).collect();
        let there = tools.files(folder, ".yml")?.into_iter().filter_map(|file| {
            let name = file.strip_prefix(folder)?.trim_start_matches('/').to_owned();
            let is_manifest =
                !name.contains('/') && !["kustomization.yml", "prometheus-adapter.yml"].contains(&&*name);
            is_manifest.then_some(name)
        });
        let there: BTreeSet<String> = there.collect();
        faults
            .extend(there.symmetric_difference(&named).map(|it| format!("{list} or its folder lacks {it}")));
    }
    let example = tools.text(".env.example")?;
    let settings = settings(&example);
    let list = tools.yaml(&format!("{FOLDER}/kustomization.yml"))?;
    let literals = list["configMapGenerator"][0]["literals"].as_array().cloned().unwrap_or_default();
    let secrets = tools.text(&format!("{FOLDER}/baton.env.example"))?;
    let lines = literals.iter().filter_map(Value::as_str).chain(secrets.lines());
    let names = lines.filter(|line| line.starts_with("BATON_")).filter_map(|line| line.split('=').next());
    faults.extend(
        names.filter(|name| !settings.contains(*name)).map(|name| format!("there is no setting {name}")),
    );
    for manifest in tools.files(FOLDER, ".yml")? {
        let said = said_beside(&tools.yaml(&manifest)?);
        faults.extend(said.into_iter().map(|fault| format!("{manifest}: {fault}")));
    }
    faults.extend(stops_in_time(&tools.yaml(&format!("{FOLDER}/deployment.yml"))?, &literals)?);
    Ok(faults)
}

/// Every setting that there is, as the example lists them; the program's own tests hold it against the code.
fn settings(example: &str) -> BTreeSet<&str> {
    let names = example.lines().filter_map(|line| line.trim_start_matches('#').trim().split_once('='));
    names.map(|(name, _)| name).filter(|name| name.starts_with("BATON_")).collect()
}

/// Settings whose value stands in a manifest: `env` beats `envFrom`, so that whoever sets them where settings belong is not
/// heard. A reference to a secret says no value.
fn said_beside(manifest: &Value) -> Faults {
    let mut faults = Faults::new();
    let mut rest = vec![manifest];
    while let Some(value) = rest.pop() {
        match value {
            Value::Array(items) => rest.extend(items),
            Value::Object(fields) => {
                let name = fields.get("name").and_then(Value::as_str).unwrap_or_default();
                if name.starts_with("BATON_") && fields.contains_key("value") {
                    faults.push(format!(
                        "the value of {name} stands here, and beats configMapGenerator and baton.env"
                    ));
                }
                rest.extend(fields.values());
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
    faults
}

/// The pause before the stop and the grace after it, both within what the cluster waits.
fn stops_in_time(deployment: &Value, literals: &[Value]) -> Result<Option<String>> {
    let pod = &deployment["spec"]["template"]["spec"];
    let waits = pod["terminationGracePeriodSeconds"].as_u64().context("no terminationGracePeriodSeconds")?;
    let baton = &pod["containers"][0];
    let pause = baton["lifecycle"]["preStop"]["sleep"]["seconds"].as_u64().context("no preStop")?;
    let grace = literals.iter().find_map(|it| it.as_str()?.strip_prefix("BATON_GRACE_MS="));
    let grace = grace.and_then(|it| it.parse::<u64>().ok()).context("no BATON_GRACE_MS")?;
    let fault = || format!("killed after {waits} s, with a pause of {pause} s and {grace} ms of grace");
    Ok((waits * 1_000 <= pause * 1_000 + grace).then(fault))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_stop_has_time_for_the_pause_and_the_grace() {
        let deployment = |waits: u64| {
            json!({ "spec": { "template": { "spec": {
                "terminationGracePeriodSeconds": waits,
                "containers": [{ "lifecycle": { "preStop": { "sleep": { "seconds": 5 } } } }],
            } } } })
        };
        let literals = [json!("BATON_LOG_FORMAT=json"), json!("BATON_GRACE_MS=15000")];
        assert_eq!(stops_in_time(&deployment(21), &literals).expect("read"), None);
        assert!(stops_in_time(&deployment(20), &literals).expect("read").is_some());
        assert!(stops_in_time(&deployment(21), &literals[..1]).is_err(), "nothing is said of the grace");
    }

    #[test]
    fn a_setting_is_said_in_no_manifest_but_a_secret_may_be_referred_to() {
        let manifest = |variable: Value| {
            json!({ "spec": { "template": { "spec": {
                "initContainers": [{ "name": "migrate", "env": [variable] }],
                "containers": [{ "name": "baton", "envFrom": [{ "secretRef": { "name": "baton" } }] }],
            } } } })
        };
        let said = said_beside(&manifest(json!({ "name": "BATON_GRACE_MS", "value": "15000" })));
        assert!(said.len() == 1 && said[0].contains("BATON_GRACE_MS"), "{said:?}");
        let referred = json!({ "name": "BATON_API_TOKEN", "valueFrom": { "secretKeyRef": { "name": "a", "key": "b" } } });
        assert_eq!(said_beside(&manifest(referred)), Faults::new());
        assert_eq!(said_beside(&manifest(json!({ "name": "TZ", "value": "UTC" }))), Faults::new());
    }

    #[test]
    fn settings_are_read_whether_they_are_set_or_not() {
        let all = settings("# How: BATON is\n#BATON_LISTEN=1\nBATON_LOG=info\n#POSTGRES_PASSWORD=\n");
        assert_eq!(all, BTreeSet::from(["BATON_LISTEN", "BATON_LOG"]));
    }
}
