//! The programs with which files are looked at. Python's are in an environment of their own in the target folder, made anew
//! when what it must hold has changed.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context as _, Result, bail};
use serde_json::Value;

use super::Faults;
use crate::packages::on_path;

/// What the environment must hold, to the version.
const REQUIREMENTS: &str = include_str!("requirements.txt");

/// Reads each file of its command line, and writes a list: for each file, a list of its documents.
const AS_JSON: &str = "import json, sys, yaml\n\
    json.dump([list(yaml.safe_load_all(open(file, encoding='utf-8'))) for file in sys.argv[1:]], sys.stdout)";

/// Where things are.
pub(crate) struct Tools {
    root: PathBuf,
    folder: PathBuf,
}

impl Tools {
    /// With the environment as it must be.
    pub(crate) fn ready(root: &Path) -> Result<Self> {
        let root = root.canonicalize().context("the project has no folder")?;
        let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
        // Programs are run in the root, wherever we are.
        let tools = Self { folder: std::path::absolute(target)?.join("deploy"), root };
        let stamp = tools.folder.join("python.txt");
        if fs::read_to_string(&stamp).is_ok_and(|held| held == REQUIREMENTS) {
            return Ok(tools);
        }
        fs::create_dir_all(&tools.folder)?;
        let wanted = tools.folder.join("requirements.txt");
        fs::write(&wanted, REQUIREMENTS)?;
        let python = on_path("python3").context("there is no python3")?;
        let environment = tools.folder.join("python");
        done(Command::new(python).args(["-m", "venv", "--clear"]).arg(&environment))?;
        let mut install = Command::new(environment.join("bin/python"));
        install.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--requirement"]);
        done(install.arg(&wanted))?;
        fs::write(stamp, REQUIREMENTS)?;
        Ok(tools)
    }

    /// A file of the project, by its path from the root.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    /// A folder for what is made on the way, empty.
    pub(crate) fn scratch(&self, name: &str) -> Result<PathBuf> {
        let folder = self.folder.join(name);
        if folder.exists() {
            fs::remove_dir_all(&folder)?;
        }
        fs::create_dir_all(&folder)?;
        Ok(folder)
    }

    /// What a file of the project says.
    pub(crate) fn text(&self, name: &str) -> Result<String> {
        fs::read_to_string(self.path(name)).with_context(|| format!("cannot read {name}"))
    }

    /// The only document of a file in YAML.
    pub(crate) fn yaml(&self, name: &str) -> Result<Value> {
        let path = self.path(name);
        let read = self.python(&["-c", AS_JSON]).arg(&path).output().context("cannot run Python")?;
        if !read.status.success() {
            bail!("{name} cannot be read: {}", String::from_utf8_lossy(&read.stderr).trim());
        }
        let mut files: Vec<Vec<Value>> = serde_json::from_slice(&read.stdout)?;
        let mut documents = files.pop().unwrap_or_default();
        match (documents.pop(), documents.is_empty()) {
            (Some(only), true) => Ok(only),
            _ => bail!("{name} does not hold one document"),
        }
    }

    /// Those files below a folder of the project whose names end so, by their paths from the root, in order.
    pub(crate) fn files(&self, folder: &str, ending: &str) -> Result<Vec<String>> {
        let mut found = Vec::new();
        let mut folders = vec![self.path(folder)];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(&folder).with_context(|| format!("cannot read {}", folder.display()))? {
                let entry = entry?.path();
                if entry.is_dir() {
                    folders.push(entry);
                } else if let Some(name) =
                    entry.strip_prefix(&self.root)?.to_str().filter(|it| it.ends_with(ending))
                {
                    found.push(name.to_owned());
                }
            }
        }
        found.sort();
        Ok(found)
    }

    /// Python, with the packages.
    pub(crate) fn python(&self, words: &[&str]) -> Command {
        self.command(&self.folder.join("python/bin/python"), words)
    }

    /// A program of the environment.
    pub(crate) fn packaged(&self, name: &str, words: &[&str]) -> Command {
        self.command(&self.folder.join("python/bin").join(name), words)
    }

    /// A program of this machine, if it has it.
    pub(crate) fn program(&self, name: &str, words: &[&str]) -> Option<Command> {
        on_path(name).map(|path| self.command(&path, words))
    }

    fn command(&self, program: &Path, words: &[&str]) -> Command {
        let mut command = Command::new(program);
        command.args(words).current_dir(&self.root);
        command
    }
}

/// What a program that judges files finds wrong: what it says, if it fails.
pub(crate) fn judged(command: &mut Command) -> Result<Faults> {
    let output =
        command.output().with_context(|| format!("cannot run {}", command.get_program().display()))?;
    if output.status.success() {
        return Ok(Faults::new());
    }
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said);
    let lines: Faults =
        said.lines().map(str::trim_end).filter(|line| !line.is_empty()).map(str::to_owned).collect();
    Ok(if lines.is_empty() {
        vec![format!("{:?} failed and says nothing", command.get_program())]
    } else {
        lines
    })
}

fn done(command: &mut Command) -> Result<()> {
    let faults = judged(command)?;
    if !faults.is_empty() {
        bail!("`{} …` failed:\n{}", command.get_program().display(), faults.join("\n"));
    }
    Ok(())
}
