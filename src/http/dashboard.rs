//! The dashboard: its page, and the files of `dashboard/app`, which the binary carries. A debug build reads them from
//! the folder, so that a change is seen by loading the page again.
//!
//! Every file is under an address that holds the version of all of them. So a browser keeps them for good, and a page
//! never mixes files of two versions.

use std::{
    borrow::Cow,
    collections::BTreeMap,
    io::Write as _,
    sync::{Mutex, OnceLock, PoisonError},
};

use actix_web::{
    HttpRequest,
    http::Method,
    web::{Data, Path},
};
use bytes::Bytes;
use flate2::{Compression, write::GzEncoder};
use rust_embed::RustEmbed;
use sha2::{Digest, Sha256};

use super::{
    answer::{Answer, Asset},
    doors::Doors,
    problem::Problem,
    read::{Gzip, prefers},
};

#[derive(RustEmbed)]
#[folder = "dashboard/app"]
#[include = "*.html"]
#[include = "*.css"]
#[include = "*.js"]
#[include = "*.svg"]
struct Files;

/// Where the page is shown. Which part of it, the page itself reads from the address.
pub(super) const PATHS: [&str; 12] = [
    "/",
    "/sign-in",
    "/inbox",
    "/inbox/{id}",
    "/follow-ups",
    "/dead-letters",
    "/overview",
    "/playground",
    "/playground/{chat}",
    "/settings",
    "/settings/{section}",
    "/settings/{section}/{what}",
];

/// First words of addresses that programs use: what is not there is a problem document to them, however they ask.
const OF_PROGRAMS: [&str; 5] = ["api", "webhooks", "metrics", "healthz", "readyz"];

/// Where its files are.
pub(super) const FILES: &str = "/app/{version}/{path:.+}";

/// The first sheets, in their order: the others build on them.
const FIRST_SHEETS: [&str; 2] = ["style/tokens.css", "style/base.css"];

/// Sheets of one page beside the inbox, which fetches its own: `pages/index.js` names them.
const SHEETS_BESIDE: [&str; 3] =
    ["style/pages-plots.css", "style/pages-channels.css", "style/playground.css"];

/// The page, with the language of this installation: before it has asked anything, it must know in which to speak.
pub(super) async fn page(doors: Data<Doors>) -> Result<Answer, Problem> {
    static PAGE: OnceLock<Option<String>> = OnceLock::new();
    let html = if IS_READ_AGAIN { written() } else { PAGE.get_or_init(written).clone() };
    let html = html.ok_or_else(Problem::internal)?;
    Ok(Answer::page(html.replace("{language}", doors.language.unwrap_or_default()), None))
}

/// Where no route leads. Somebody who has mistyped the address of a page gets the page, which says so and leads on.
pub(super) async fn nowhere(request: HttpRequest, doors: Data<Doors>) -> Result<Answer, Problem> {
    let first = request.path().split('/').nth(1).unwrap_or_default();
    let is_read = request.method() == Method::GET || request.method() == Method::HEAD;
    if !is_read || !prefers(&request, "text/html") || OF_PROGRAMS.contains(&first) {
        return Err(Problem::not_found());
    }
    Ok(page(doors).await?.missing())
}

/// A file.
pub(super) async fn file(path: Path<(String, String)>, gzip: Gzip) -> Result<Answer, Problem> {
    let (version, name) = path.into_inner();
    let media_type = media_type(&name).ok_or_else(Problem::not_found)?;
    let plain = Files::get(&name).ok_or_else(Problem::not_found)?.data;
    let plain = if IS_READ_AGAIN { plain } else { travelling(&name, plain) };
    // A page of another version is given what there is, but not to keep.
    let is_immutable = !IS_READ_AGAIN && version == self::version();
    let (encoding, bytes) = match gzip {
        Gzip(true) => (Some("gzip"), packed(name, &plain)),
        Gzip(false) => (None, plain.into_owned().into()),
    };
    Ok(Answer::asset(Asset { media_type, is_immutable, encoding, bytes }))
}

/// A debug build reads the folder each time.
const IS_READ_AGAIN: bool = cfg!(debug_assertions);

/// `index.html` with the links to everything that it will need, so that nothing is waited for twice.
fn written() -> Option<String> {
    let page = Files::get("index.html")?.data;
    let mut names: Vec<Cow<'static, str>> = Files::iter().collect();
    names.sort_by_key(|name| {
        (FIRST_SHEETS.iter().position(|first| first == name).unwrap_or(usize::MAX), name.clone())
    });
    let links: Vec<String> = names.iter().filter_map(|name| link(name)).collect();
    let page = String::from_utf8_lossy(&page).replace("{links}", &links.join("\n    "));
    Some(page.replace("{version}", &version()))
}

/// How the page tells the browser of a file. A language is loaded only by who speaks it, a page beside the inbox with its
/// words by who looks at it. That nothing else is late, and nothing needless is early, `first_load.test.js` sees to.
fn link(name: &str) -> Option<String> {
    let is_beside = ["playground/", "pages/", "words/en/pages"].iter().any(|begin| name.starts_with(begin));
    let is_awaited = matches!(name, "pages/index.js" | "pages/sign_in.js");
    let is_language =
        name.strip_prefix("words/").is_some_and(|rest| rest.len() == "es.js".len() && rest != "en.js");
    match name.rsplit_once('.')?.1 {
        "css" if SHEETS_BESIDE.contains(&name) => None,
        "css" => Some(format!("<link rel=\"stylesheet\" href=\"/app/{{version}}/{name}\">")),
        "js" if !is_language && (!is_beside || is_awaited) => {
            Some(format!("<link rel=\"modulepreload\" href=\"/app/{{version}}/{name}\">"))
        }
        _ => None,
    }
}

/// The version of all files together.
fn version() -> String {
    static VERSION: OnceLock<String> = OnceLock::new();
    let digest = || {
        let mut names: Vec<Cow<'static, str>> = Files::iter().collect();
        names.sort();
        let mut sum = Sha256::new();
        for file in names.iter().filter_map(|name| Files::get(name)) {
            sum.update(file.metadata.sha256_hash());
        }
        hex::encode(&sum.finalize()[..8])
    };
    if IS_READ_AGAIN { digest() } else { VERSION.get_or_init(digest).clone() }
}

fn media_type(name: &str) -> Option<&'static str> {
    match name.rsplit_once('.')?.1 {
        "js" => Some("text/javascript; charset=utf-8"),
        "css" => Some("text/css; charset=utf-8"),
        "svg" => Some("image/svg+xml"),
        // The page itself is shown at its own addresses only.
        _ => None,
    }
}

/// A file as it travels: what stands in it for those who open the code, browsers do without. A third less.
fn travelling(name: &str, file: Cow<'static, [u8]>) -> Cow<'static, [u8]> {
    match std::str::from_utf8(&file) {
        Ok(text) if is_ours(name) => bare(text).into_bytes().into(),
        _ => file,
    }
}

/// A file that we wrote, with comments in it.
fn is_ours(name: &str) -> bool {
    (name.ends_with(".js") || name.ends_with(".css")) && !name.starts_with("vendor/")
}

/// Without the comments that have lines of their own. That this changes nothing else in any file of ours, the tests of
/// the dashboard ask of a parser.
fn bare(text: &str) -> String {
    let mut is_inside = false;
    let is_code = |line: &&str| {
        let begun = is_inside || line.trim_start().starts_with("/*");
        let ends = line.trim_end().ends_with("*/");
        // With code behind its end, the line stays as it is.
        let is_comment = begun && (ends || !line.contains("*/"));
        is_inside = is_comment && !ends;
        !is_comment && !line.trim_start().starts_with("//")
    };
    text.split_inclusive('\n').filter(is_code).collect()
}

/// The file packed with gzip: once, and kept.
fn packed(name: String, plain: &[u8]) -> Bytes {
    static PACKED: Mutex<BTreeMap<String, Bytes>> = Mutex::new(BTreeMap::new());
    let pack = || {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
        // Into memory: it cannot fail.
        let _ = encoder.write_all(plain);
        Bytes::from(encoder.finish().unwrap_or_default())
    };
    if IS_READ_AGAIN {
        return pack();
    }
    PACKED.lock().unwrap_or_else(PoisonError::into_inner).entry(name).or_insert_with(pack).clone()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_names_every_sheet_in_order_and_every_module_but_the_languages() {
        let page = written().expect("a page");
        let at = |name: &str| {
            page.find(&format!("/app/{}/{name}\"", version())).unwrap_or_else(|| panic!("{name}"))
        };
        assert!(
            at("style/tokens.css") < at("style/base.css") && at("style/base.css") < at("style/shell.css")
        );
        assert!(at("main.js") > 0 && at("vendor/preact.js") > 0 && at("words/en.js") > 0);
        assert!(!page.contains("words/es.js") && !page.contains("words/en/pages"));
        assert!(!page.contains("{version}") && !page.contains("{links}"));
    }

    #[test]
    fn the_vendored_file_is_the_one_whose_checksum_is_kept() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/dashboard");
        let kept = std::fs::read_to_string(format!("{folder}/vendor/preact.js.sha256")).expect("a checksum");
        let file = Files::get("vendor/preact.js").expect("the vendored file");
        assert_eq!(kept, format!("{}  preact.js\n", hex::encode(file.metadata.sha256_hash())));
    }

    /// As they travel: what a first visit costs, and all there is.
    #[test]
    fn all_files_together_are_small() {
        let weigh = |is_wanted: fn(&str) -> bool| -> usize {
            let names = Files::iter().filter(|name| is_wanted(name));
            let file = |name: &str| travelling(name, Files::get(name).expect("a file").data);
            names.map(|name| packed(name.to_string(), &file(&name)).len()).sum()
        };
        let (first, all) = (weigh(|name| link(name).is_some()), weigh(|_| true));
        assert!(first < 160_000 && all < 320_000, "{first} of {all} bytes compressed");
    }

    #[test]
    fn only_comments_that_have_lines_of_their_own_are_left_behind() {
        let text = "// What it is.\nconst a = 1; // one\n/** @type {A} */\nlet b;\n/**\n * Words.\n * // more\n */\nb = /** @type {B} */ (a);\n\
                    /** @type {C} */ (c).d();\n  // Why.\n  f(`https://x`);\n";
        let wanted = "const a = 1; // one\nlet b;\nb = /** @type {B} */ (a);\n/** @type {C} */ (c).d();\n  f(`https://x`);\n";
        assert_eq!(bare(text), wanted);
    }
}
