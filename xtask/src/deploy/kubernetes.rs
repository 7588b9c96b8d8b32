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
    faults.extend(stops_in_time(&tools.yaml(&format!("{FOLDER}/deployment.yml"))?)?);
    Ok(faults)
}

/// Every setting that there is, as the example lists them; the program's own tests hold it against the code.
fn settings(example: &str) -> BTreeSet<&str> {
    let names = example.lines().filter_map(|line| line.trim_start_matches('#').trim().split_once('='));
    names.map(|(name, _)| name).filter(|name| name.starts_with("BATON_")).collect()
}

/// The pause before the stop and the grace after it, both within what the cluster waits.
fn stops_in_time(deployment: &Value) -> Result<Option<String>> {
    let pod = &deployment["spec"]["template"]["spec"];
    let waits = pod["terminationGracePeriodSeconds"].as_u64().context("no terminationGracePeriodSeconds")?;
    let baton = &pod["containers"][0];
    let pause = baton["lifecycle"]["preStop"]["sleep"]["seconds"].as_u64().context("no preStop")?;
    let grace = baton["env"].as_array().into_iter().flatten().find(|it| it["name"] == "BATON_GRACE_MS");
    let grace =
        grace.and_then(|it| it["value"].as_str()?.parse::<u64>().ok()).context("no BATON_GRACE_MS")?;
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
                "containers": [{
                    "env": [{ "name": "BATON_GRACE_MS", "value": "15000" }],
                    "lifecycle": { "preStop": { "sleep": { "seconds": 5 } } },
                }],
            } } } })
        };
        assert_eq!(stops_in_time(&deployment(21)).expect("read"), None);
        assert!(stops_in_time(&deployment(20)).expect("read").is_some());
    }

    #[test]
    fn settings_are_read_whether_they_are_set_or_not() {
        let all = settings("# How: BATON is\n#BATON_LISTEN=1\nBATON_LOG=info\n#POSTGRES_PASSWORD=\n");
        assert_eq!(all, BTreeSet::from(["BATON_LISTEN", "BATON_LOG"]));
    }
}
