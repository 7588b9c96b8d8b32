//! Commands as people type them, as far as a page shows any.
//!
//! In: a line of a shell. Out: what of it is typed for Baton, and why Baton would refuse it.

use baton::cli::Cli;
use clap::error::ErrorKind;

/// The commands of a line, as words: what is piped, chained or written elsewhere stands apart, and a comment is none.
pub(super) fn commands(line: &str) -> Vec<Vec<String>> {
    let mut all = vec![Vec::new()];
    let (mut word, mut quote): (Option<String>, Option<char>) = (None, None);
    for c in line.chars() {
        match (c, quote) {
            ('"' | '\'', None) => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (_, Some(open)) if c == open => quote = None,
            (_, Some(_)) => word.get_or_insert_default().push(c),
            ('#', None) if word.is_none() => break,
            (' ' | '\t' | '|' | '&' | ';' | '>' | '(' | ')', None) => {
                all.last_mut().expect("one at least").extend(word.take());
                if !c.is_whitespace() {
                    all.push(Vec::new());
                }
            }
            (_, None) => word.get_or_insert_default().push(c),
        }
    }
    all.last_mut().expect("one at least").extend(word);
    all
}

/// What is typed for Baton in a command: from the program's name on, whatever starts it.
pub(super) fn typed_for_baton(words: &[String]) -> Option<Vec<String>> {
    let is_set = |word: &String| {
        word.split_once('=').is_some_and(|(name, _)| name.starts_with(|c: char| c.is_ascii_uppercase()))
    };
    let words: Vec<&String> = words.iter().skip_while(|word| is_set(word) || *word == "sudo").collect();
    let is_run_by_cargo =
        words.first().is_some_and(|word| *word == "cargo") && words.get(1).is_some_and(|word| *word == "run");
    let at = (0..words.len()).find(|at| {
        let before = at.checked_sub(1).map(|before| words[before].as_str());
        match before {
            Some("--") if is_run_by_cargo => true,
            None | Some("--" | "baton") => words[*at] == "baton",
            Some(_) => false,
        }
    })?;
    let arguments = if is_run_by_cargo { &words[at..] } else { &words[at + 1..] };
    let arguments = arguments.iter().map(|word| example_of(word));
    Some(std::iter::once("baton".to_owned()).chain(arguments).collect())
}

/// Something that can be read where a reader is to put in their own.
fn example_of(word: &str) -> String {
    match word.trim_start_matches('$') {
        "ID" => "0199d9a0-0000-7000-8000-000000000000".to_owned(),
        "EMAIL" => "ana@example.com".to_owned(),
        "CHAT" => "6580000001@c.us".to_owned(),
        _ => word.to_owned(),
    }
}

/// Why it cannot be typed. Who only mentions a command may leave out what it needs.
pub(super) fn refusal(words: &[String], is_mention: bool) -> Option<String> {
    let error = Cli::command_with_settings().try_get_matches_from(words).err()?;
    let is_fine = match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => true,
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand
        | ErrorKind::MissingSubcommand
        | ErrorKind::MissingRequiredArgument => is_mention,
        _ => false,
    };
    (!is_fine).then(|| error.to_string().lines().next().unwrap_or_default().to_owned())
}
