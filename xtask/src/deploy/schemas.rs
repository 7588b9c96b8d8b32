//! What others say about such files: their schemas, and the programs that will read them.

use std::{fs, path::Path};

use anyhow::{Context as _, Result};

use super::{
    Faults,
    tools::{Tools, judged},
};

/// The oldest Kubernetes that we name (its `sleep` before a stop came with it), and the newest whose schemas we have.
const KUBERNETES: [&str; 2] = ["1.30.0", "1.37.0"];

/// Of the operator of Prometheus: no schema of Kubernetes knows it.
const FOREIGN: &str = "servicemonitor.yml";

pub(super) fn compose(tools: &Tools) -> Result<Faults> {
    let words = ["--builtin-schema", "vendor.compose-spec", "docker-compose.yml"];
    judged(&mut tools.packaged("check-jsonschema", &words))
}

/// Each by itself.
pub(super) fn manifests(tools: &Tools) -> Result<Faults> {
    let files = tools.files("deploy/kubernetes", ".yml")?;
    let is_manifest = |file: &&String| {
        let name = file.rsplit('/').next().unwrap_or_default();
        !["kustomization.yml", "prometheus-adapter.yml", FOREIGN].contains(&name)
    };
    let files: Vec<&Path> = files.iter().filter(is_manifest).map(Path::new).collect();
    valid(tools, &files)
}

/// All of them as a cluster gets them, with every component, and made-up secrets.
pub(super) fn rendered(tools: &Tools) -> Result<Faults> {
    let Some(mut kubectl) = tools.program("kubectl", &["kustomize"]) else { return Ok(absent("kubectl")) };
    let folder = tools.scratch("kubernetes")?;
    for file in tools.files("deploy/kubernetes", "")? {
        let to = folder.join(file.trim_start_matches("deploy/kubernetes/"));
        fs::create_dir_all(to.parent().context("a file in a folder")?)?;
        fs::copy(tools.path(&file), to)?;
    }
    fs::copy(folder.join("baton.env.example"), folder.join("baton.env"))?;
    let list = folder.join("kustomization.yml");
    fs::write(&list, fs::read_to_string(&list)?.replace("# - components/", "- components/"))?;
    let output = kubectl.arg(&folder).output().context("cannot run kubectl")?;
    if !output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stderr).lines().map(str::to_owned).collect());
    }
    let whole = String::from_utf8(output.stdout)?;
    let ours = whole.split("\n---\n").filter(|manifest| !manifest.contains("monitoring.coreos.com"));
    let file = folder.join("rendered.yml");
    fs::write(&file, ours.collect::<Vec<_>>().join("\n---\n"))?;
    valid(tools, &[&file])
}

fn valid(tools: &Tools, files: &[&Path]) -> Result<Faults> {
    let mut faults = Faults::new();
    for version in KUBERNETES {
        let words = ["--strict", "--quiet", "--kubernetes-version", version];
        faults.extend(judged(tools.packaged("kubernetes-validate", &words).args(files))?);
    }
    Ok(faults)
}

/// With a program that is here in place of Baton, which is not installed.
pub(super) fn unit(tools: &Tools) -> Result<Faults> {
    let file = tools.scratch("systemd")?.join("baton.service");
    let text = tools.text("deploy/systemd/baton.service")?;
    fs::write(&file, text.replace("ExecStart=/usr/local/bin/baton", "ExecStart=/bin/true"))?;
    let Some(mut verify) = tools.program("systemd-analyze", &["verify"]) else {
        return Ok(absent("systemd-analyze"));
    };
    // What it does not know it ignores, says so, and is content.
    let said = verify.arg(&file).output().context("cannot run systemd-analyze")?;
    let said = String::from_utf8_lossy(&said.stderr);
    let mut faults: Faults =
        said.lines().filter(|line| line.contains("baton.service")).map(str::to_owned).collect();
    // Tenths of ten; a unit that says nothing about its rights has 9.6.
    let words = ["security", "--no-pager", "--offline=true", "--threshold=15"];
    let security = tools.program("systemd-analyze", &words);
    faults.extend(security.map(|mut command| judged(command.arg(&file))).transpose()?.unwrap_or_default());
    Ok(faults)
}

pub(super) fn proxy(tools: &Tools) -> Result<Faults> {
    let words = ["adapt", "--adapter", "caddyfile", "--config", "deploy/caddy/Caddyfile"];
    let Some(mut caddy) = tools.program("caddy", &words) else { return Ok(absent("caddy")) };
    judged(caddy.env("DOMAIN", "baton.example.com"))
}

/// Nothing is wrong, but nothing was looked at either.
fn absent(program: &str) -> Faults {
    println!("      (there is no {program} here, so the next was not looked at)");
    Faults::new()
}
