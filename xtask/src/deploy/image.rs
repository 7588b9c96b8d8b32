//! What we ask of the Dockerfile: that what runs is not root, has no shell to need, and stops as it is told.

use anyhow::Result;

use super::{Faults, tools::Tools};

pub(super) fn look(tools: &Tools) -> Result<Faults> {
    let mut faults = faults(&tools.text("Dockerfile")?);
    let ignored = tools.text(".dockerignore")?;
    for secret in [".env", "*.key", "*.db", "*.token"] {
        if !ignored.lines().any(|line| line == secret) {
            faults.push(format!(".dockerignore lets {secret} into the image's layers"));
        }
    }
    Ok(faults)
}

fn faults(dockerfile: &str) -> Faults {
    let lines = instructions(dockerfile);
    let of = |name: &str| -> Vec<&str> {
        lines.iter().filter_map(|line| line.strip_prefix(name)?.strip_prefix(' ')).map(str::trim).collect()
    };
    let mut faults = Faults::new();
    for from in of("FROM") {
        let image = from.split(' ').next().unwrap_or_default();
        let named = image.strip_prefix("${").and_then(|name| name.strip_suffix('}'));
        let argument = named
            .and_then(|name| of("ARG").into_iter().find_map(|it| it.strip_prefix(name)?.strip_prefix('=')));
        let image = argument.unwrap_or(image);
        let tag = image.rsplit_once(':').map_or("", |(_, tag)| tag);
        if tag.is_empty() || tag == "latest" {
            faults.push(format!("FROM {image} names no version"));
        }
    }
    // By number: a name says nothing to a cluster that refuses root.
    let user = of("USER").last().and_then(|user| user.split(':').next()?.parse::<u32>().ok());
    if user.is_none_or(|user| user == 0) {
        faults.push("the last USER is no number, or root".to_owned());
    }
    for name in ["ENTRYPOINT", "CMD"] {
        if !of(name).last().is_some_and(|it| it.starts_with('[')) {
            faults.push(format!("{name} wants a shell, which would also keep signals to itself"));
        }
    }
    if !of("HEALTHCHECK").last().is_some_and(|it| it.contains("CMD [")) {
        faults.push("there is no HEALTHCHECK, or it wants a shell".to_owned());
    }
    faults
}

/// One a line, without comments.
fn instructions(dockerfile: &str) -> Vec<String> {
    let lines = dockerfile.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    let whole: Vec<&str> = lines.collect();
    whole.join("\n").replace("\\\n", "").lines().map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOUND: &str = "ARG B=b:1\nFROM a:1 AS build\nRUN x \\\n  && y\nFROM ${B}\n# USER root\nUSER 7:7\n\
        HEALTHCHECK --retries=3 CMD [\"x\"]\nENTRYPOINT [\"x\"]\nCMD [\"y\"]\n";

    #[test]
    fn each_carelessness_of_an_image_is_found() {
        assert_eq!(faults(SOUND), Faults::new());
        for (from, to) in [
            ("a:1", "a"),
            ("b:1", "b:latest"),
            ("USER 7:7", "USER 0"),
            ("USER 7:7", "USER baton"),
            ("ENTRYPOINT [\"x\"]", "ENTRYPOINT x"),
            ("CMD [\"y\"]", "CMD y"),
            ("HEALTHCHECK --retries=3 CMD [\"x\"]", "HEALTHCHECK CMD curl x"),
        ] {
            assert_eq!(faults(&SOUND.replace(from, to)).len(), 1, "{to}");
        }
    }
}
