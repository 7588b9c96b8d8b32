//! `baton dead-letters`: what the machine gave up, and what becomes of it.

use anyhow::anyhow;
use uuid::Uuid;

use super::print::{self, Format};
use crate::{
    app::{self, Opened},
    config::Settings,
    domain::{
        event::actor,
        message::Origin,
        turn::{DeadLetter, LetterKind, LetterState},
    },
    flow::{
        archive::{LetterFilter, PageOf},
        desk::{Refusal, Who},
    },
    http::wire,
};

/// Dead letters, which Baton gave up on: list, retry, discard
#[derive(Debug, clap::Subcommand)]
pub(super) enum DeadLetters {
    /// The open ones, newest first
    List(ListArgs),
    /// Retry one
    Retry {
        /// Its id, as `list` shows it
        #[arg(value_parser = super::id_of(LIST))]
        id: Uuid,
        /// Also if it is no longer wanted: a person took over (an answer of the AI then gives it back), or there is a newer answer
        #[arg(long)]
        force: bool,
    },
    /// Discard one
    Discard {
        /// Its id, as `list` shows it
        #[arg(value_parser = super::id_of(LIST))]
        id: Uuid,
    },
}

/// Which letters.
#[derive(Debug, clap::Args)]
pub(super) struct ListArgs {
    /// webhook, turn, send or delivery
    #[arg(long, value_name = "KIND")]
    kind: Option<LetterKind>,
    /// On this channel
    #[arg(long, value_name = "NAME")]
    channel: Option<String>,
    /// open, replayed or discarded
    #[arg(long, value_name = "STATE", default_value = "open")]
    state: LetterState,
    /// At most this many
    #[arg(long, value_name = "N", default_value_t = 50)]
    limit: usize,
    #[command(flatten)]
    format: Format,
}

/// The command that shows the ids.
const LIST: &str = "baton dead-letters list";

/// Rows that a store gives at once.
const PAGE: usize = 200;

impl DeadLetters {
    pub(super) async fn run(self, settings: &Settings) -> anyhow::Result<()> {
        let opened = app::open(settings).await?;
        match self {
            Self::List(which) => {
                if which.format.json {
                    print::json(&list(&opened, &which, wire::DeadLetter::from).await?)?;
                } else {
                    let head = ["ID", "KIND", "CHANNEL", "CONVERSATION", "ATTEMPTS", "LAST", "REASON"];
                    print::text(&print::table(head, &list(&opened, &which, as_row).await?))?;
                }
            }
            Self::Retry { id, force } => {
                opened.desk.replay(id, force, &shell()).await.map_err(|refusal| in_words(refusal, id))?;
                print::text("it is tried again")?;
            }
            Self::Discard { id } => {
                opened.desk.discard(id, &shell()).await.map_err(|refusal| in_words(refusal, id))?;
                print::text("it is discarded")?;
            }
        }
        Ok(())
    }
}

/// A refusal, told to who typed the command: what to do, and no code that only programs go by.
fn in_words(refusal: Refusal, id: Uuid) -> anyhow::Error {
    match refusal {
        Refusal::NotFound => anyhow!("no open dead letter has the id {id}: `{LIST}` shows them"),
        Refusal::Overtaken(why) => anyhow!("{why}: --force tries it again all the same"),
        Refusal::Conflict { detail, .. } => anyhow!("it cannot be tried again: {detail}"),
        refusal @ (Refusal::Invalid { .. }
        | Refusal::Unsendable
        | Refusal::KeyReused
        | Refusal::NotSetUp(_)
        | Refusal::Store(_)) => refusal.into(),
    }
}

/// Who acts by a command.
pub(super) fn shell() -> Who {
    Who { actor: actor::SHELL.to_owned(), agent: None, origin: Origin::Api }
}

/// Each as it is shown, page by page: a table needs nothing of what they hold.
async fn list<T>(
    opened: &Opened,
    which: &ListArgs,
    show: impl Fn(DeadLetter) -> T,
) -> anyhow::Result<Vec<T>> {
    let filter = LetterFilter {
        kind: which.kind,
        channels: which.channel.clone().map(|channel| vec![channel]),
        conversation: None,
        state: Some(which.state),
    };
    let mut shown = Vec::new();
    let mut cursor = None;
    while shown.len() < which.limit {
        let limit = PAGE.min(which.limit - shown.len());
        let page = opened.archive.letters(&filter, &PageOf { limit, cursor }).await?;
        shown.extend(page.items.into_iter().map(&show));
        cursor = page.next;
        if cursor.is_none() {
            break;
        }
    }
    Ok(shown)
}

fn as_row(letter: DeadLetter) -> [String; 7] {
    [
        letter.id.to_string(),
        letter.kind.to_string(),
        letter.channel,
        letter.conversation.map_or_else(|| "-".to_owned(), |id| id.to_string()),
        letter.attempts.to_string(),
        letter.last_at.to_string(),
        letter.reason,
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_is_told_with_what_to_do_and_without_a_code() {
        let told = |refusal| in_words(refusal, Uuid::nil()).to_string();
        assert_eq!(
            told(Refusal::Overtaken("a person has taken over")),
            "a person has taken over: --force tries it again all the same"
        );
        let gone = Refusal::Conflict { code: "not_retryable", detail: "its messages are gone".to_owned() };
        assert_eq!(told(gone), "it cannot be tried again: its messages are gone");
        assert!(told(Refusal::NotFound).contains("`baton dead-letters list` shows them"));
    }
}
