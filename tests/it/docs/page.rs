//! Pages as a reader has them: prose, and apart from it what is code.
//!
//! In: files of Markdown. Out: their links and headings, what is typed into a shell, what is named in a line.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

/// A file of Markdown, taken apart.
pub(super) struct Page {
    /// From the repository's root, with slashes.
    pub(super) place: String,
    /// Everything.
    pub(super) text: String,
    /// Outside of blocks and spans of code.
    prose: String,
    /// What stands between backticks in a line.
    pub(super) spans: Vec<String>,
    /// Blocks of code that are typed into a shell.
    pub(super) typed: Vec<String>,
}

impl Page {
    fn read(root: &Path, path: &Path) -> Self {
        let text = fs::read_to_string(path).expect("a page is text");
        let (outside, typed) = split_blocks(&text);
        let (prose, spans) = split_spans(&outside);
        Self { place: shown(path.strip_prefix(root).expect("below the root")), text, prose, spans, typed }
    }

    /// Where its links lead, but for other sites.
    pub(super) fn links(&self) -> Vec<&str> {
        let targets = self.prose.split("](").skip(1).filter_map(|rest| rest.split([')', ' ']).next());
        targets.filter(|target| !target.contains("://") && !target.starts_with("mailto:")).collect()
    }

    /// The anchors that its headings have.
    pub(super) fn anchors(&self) -> BTreeSet<String> {
        let headings = split_blocks(&self.text).0;
        headings.lines().filter(|line| line.starts_with('#')).map(anchor).collect()
    }
}

/// A path as it is written.
pub(super) fn shown(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

/// What stands outside of fences, and the blocks for a shell within them.
fn split_blocks(text: &str) -> (String, Vec<String>) {
    let (mut outside, mut typed) = (String::new(), Vec::new());
    let mut block: Option<(bool, String)> = None;
    for line in text.lines() {
        let fence = line.trim_start().strip_prefix("```");
        match (fence, &mut block) {
            (Some(language), None) => {
                block = Some((matches!(language, "sh" | "bash" | "console"), String::new()))
            }
            (Some(_), Some(_)) => {
                typed.extend(block.take().filter(|(is_shell, _)| *is_shell).map(|(_, lines)| lines))
            }
            (None, Some((_, lines))) => {
                lines.push_str(line);
                lines.push('\n');
            }
            (None, None) => {
                outside.push_str(line);
                outside.push('\n');
            }
        }
    }
    (outside, typed)
}

/// What stands outside of backticks, and what between them. A span may go over lines, and never over a paragraph.
fn split_spans(text: &str) -> (String, Vec<String>) {
    let (mut prose, mut spans) = (String::new(), Vec::new());
    for paragraph in text.split("\n\n") {
        for (at, part) in paragraph.split('`').enumerate() {
            if at % 2 == 0 {
                prose.push_str(part);
            } else {
                spans.push(part.replace('\n', " "));
            }
        }
        prose.push_str("\n\n");
    }
    (prose, spans)
}

/// How a heading is led to.
fn anchor(heading: &str) -> String {
    let words = heading.trim_start_matches('#').trim().to_lowercase();
    let kept = words.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.map(|c| if c == ' ' { '-' } else { c }).collect()
}

pub(super) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Files with that ending, but for what is built, fetched or hidden.
pub(super) fn files(folder: &Path, ending: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).expect("a folder that can be read") {
        let path = entry.expect("an entry").path();
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        if path.is_dir() {
            if !name.starts_with('.') && name != "target" && name != "node_modules" {
                found.extend(files(&path, ending));
            }
        } else if path.extension().is_some_and(|extension| extension == ending) {
            found.push(path);
        }
    }
    found.sort();
    found
}

pub(super) fn pages() -> Vec<Page> {
    let pages: Vec<Page> = files(root(), "md").iter().map(|path| Page::read(root(), path)).collect();
    assert!(pages.len() > 30, "the pages were found: {}", pages.len());
    pages
}

pub(super) fn page(place: &str) -> Page {
    Page::read(root(), &root().join(place))
}
