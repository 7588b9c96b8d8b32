//! Voice notes are transcribed, and pictures described, before the model reads them. In: a turn that has begun. Out: the same
//! with their words, which are kept with the messages, so that each is put into words once. A voice note that cannot be
//! understood is treated like any message that cannot be read: the contact is told so, or a person is called, and the model
//! answers the rest, if there is any. Where a note was only unavailable now, the attempt has failed, as when the model is
//! unavailable. Of pictures that were not described it reads that they are there, as if this were not set up.

use std::{fmt, sync::Arc, time::Duration};

use bytes::{Bytes, BytesMut};
use futures_util::{StreamExt as _, stream};
use tokio::{sync::Semaphore, time::timeout};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::{
    Turns,
    end::{END, need_of},
};
use crate::{
    domain::{
        docket::{Docket, Entry},
        event::{EventType, actor},
        message::{Author, Message},
        turn::Purpose,
    },
    flow::{
        archive::Placed,
        generator::{
            Failure, FailureKind,
            describer::{Describer, PICTURE_MAX_BYTES, Picture},
            transcriber::{SOUND_MAX_BYTES, Transcriber},
        },
        inbox::Begun,
        instance::channels::Channel,
        ledger::{self, Key, insist},
        media::{
            Fetching,
            files::{File, Piece, Unfetched},
        },
        reply,
    },
};

/// Voice notes and pictures put into words at once on this instance: fewer than files are fetched, which people look at too.
const AT_ONCE: usize = 32;

/// And of one turn.
const AT_ONCE_OF_A_TURN: usize = 3;

/// Pictures of one turn that are looked at, the newest: an album must not cost a fortune.
const PICTURES_MAX: usize = 3;

/// Longest transcript that is kept, in characters.
const HEARD_MAX: usize = 20_000;

/// Longest description that is kept, in characters: a page of text. The model reads it with each answer from now on.
const SEEN_MAX: usize = 4_000;

/// What makes words of voice notes and pictures.
pub struct Perceiving {
    fetching: Arc<Fetching>,
    /// Who listens, if anybody does.
    transcriber: Option<Arc<dyn Transcriber>>,
    /// Who looks, if anybody does.
    describer: Option<Arc<dyn Describer>>,
    /// For one, from the first byte asked for to the last word.
    limit: Duration,
    slots: Semaphore,
}

/// What puts a message into words.
enum Sense {
    Ear(Arc<dyn Transcriber>),
    Eye(Arc<dyn Describer>),
}

/// What came of one message.
struct Perceived {
    message: Uuid,
    words: Result<String, Unheard>,
    /// Without words nobody can read it.
    needs_words: bool,
}

/// Why there are no words.
enum Unheard {
    /// There never will be.
    ForGood(String),
    /// What failed may be over soon.
    ForNow(Failure),
}

impl Unheard {
    fn for_good(problem: impl ToString) -> Self {
        Self::ForGood(problem.to_string())
    }

    fn for_now(kind: FailureKind, problem: impl ToString) -> Self {
        Self::ForNow(Failure::new(kind, problem.to_string()))
    }
}

impl From<Unfetched> for Unheard {
    fn from(unfetched: Unfetched) -> Self {
        match unfetched {
            Unfetched::Busy | Unfetched::Failed(_) => Self::for_now(FailureKind::Unreachable, unfetched),
            _ => Self::for_good(unfetched),
        }
    }
}

impl From<Failure> for Unheard {
    fn from(failure: Failure) -> Self {
        match failure.kind {
            FailureKind::RateLimited
            | FailureKind::Server
            | FailureKind::Unreachable
            | FailureKind::TimedOut
            | FailureKind::Cut => Self::ForNow(failure),
            _ => Self::for_good(failure),
        }
    }
}

impl fmt::Display for Unheard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ForGood(problem) => f.write_str(problem),
            Self::ForNow(failure) => failure.fmt(f),
        }
    }
}

/// What a turn continues with.
#[derive(Debug)]
pub(super) enum Perception {
    /// All that anybody could tell is there to be read.
    Whole,
    /// Nothing of it can be understood, and the turn has ended.
    Nothing,
    /// Something was not heard that may be heard soon.
    Failed(Failure),
}

impl Turns {
    /// Puts into words what this turn is about.
    pub(super) async fn perceive(
        &self,
        channel: &Channel,
        begun: &mut Begun,
        stopped: &CancellationToken,
    ) -> Result<Perception, ledger::Error> {
        if self.perceiving.is_idle() {
            return Ok(Perception::Whole);
        }
        if begun.turn.purpose == Purpose::Draft && begun.said.is_none() {
            let limit = channel.policy.ai_history + begun.waiting;
            begun.said = Some(self.archive.history(begun.conversation, begun.history_to, limit).await?);
        }
        let wanted = self.perceiving.wanted(channel, begun);
        if wanted.is_empty() {
            return Ok(Perception::Whole);
        }
        let perceived = tokio::select! {
            biased;
            () = stopped.cancelled() => return Ok(Perception::Whole),
            perceived = self.perceiving.all(wanted) => perceived,
        };
        for message in begun.burst.iter_mut().chain(begun.said.iter_mut().flatten()) {
            note(message, &perceived);
        }
        let mut need = need_of(begun);
        need.messages.extend(perceived.iter().map(|one| one.message));
        let (policy, turn) = (Arc::clone(&channel.policy), begun.clone());
        let step = move |docket: &mut Docket| {
            keep(docket, &perceived);
            if turn.turn.purpose != Purpose::Reply {
                return Perception::Whole;
            }
            let unheard: Vec<&Perceived> =
                perceived.iter().filter(|one| one.needs_words && one.words.is_err()).collect();
            let again = unheard.iter().find_map(|one| match &one.words {
                Err(Unheard::ForNow(failure)) if reply::is_tried_again(docket, &policy, &turn, failure) => {
                    Some(failure.clone())
                }
                _ => None,
            });
            if let Some(failure) = again {
                return Perception::Failed(failure);
            }
            let unread: Vec<Uuid> = unheard.into_iter().map(|one| one.message).collect();
            if reply::leave_unread(docket, &policy, &turn, &unread) {
                Perception::Nothing
            } else {
                Perception::Whole
            }
        };
        // What was heard has been paid for.
        insist(&*self.ledger, Key::Id(begun.conversation), need, END, step).await
    }
}

impl Perceiving {
    /// Fetches files there, and has voice notes listened to and pictures looked at; each within that time.
    pub fn new(
        fetching: Arc<Fetching>,
        transcriber: Option<Arc<dyn Transcriber>>,
        describer: Option<Arc<dyn Describer>>,
        limit: Duration,
    ) -> Self {
        Self { fetching, transcriber, describer, limit, slots: Semaphore::new(AT_ONCE) }
    }

    fn is_idle(&self) -> bool {
        self.transcriber.is_none() && self.describer.is_none()
    }

    /// What nobody has put into words: of a burst, or, for a draft, of what was said since we last spoke.
    fn wanted(&self, channel: &Channel, begun: &Begun) -> Vec<(Placed, Sense)> {
        let newest_first: Vec<&Message> = match begun.turn.purpose {
            Purpose::Reply => begun.burst.iter().rev().collect(),
            Purpose::Draft => {
                let said = begun.said.iter().flatten().rev();
                said.take_while(|message| message.author == Author::Contact).collect()
            }
            Purpose::FollowUp => Vec::new(),
        };
        let placed = |message: &Message| Placed {
            conversation: begun.conversation,
            channel: channel.name.clone(),
            chat: begun.chat.clone(),
            message: message.clone(),
        };
        let mut wanted = Vec::new();
        if let Some(transcriber) = &self.transcriber {
            let unheard = newest_first.iter().rev().filter(|message| message.is_unheard());
            wanted.extend(unheard.map(|message| (placed(message), Sense::Ear(Arc::clone(transcriber)))));
        }
        if let Some(describer) = self.describer.as_ref().filter(|_| channel.policy.describes) {
            // Those that were seen count too: or each attempt would look at older ones.
            let newest = newest_first.iter().filter(|message| message.is_picture()).take(PICTURES_MAX);
            let unseen = newest.filter(|message| message.is_unseen());
            wanted.extend(unseen.map(|message| (placed(message), Sense::Eye(Arc::clone(describer)))));
        }
        wanted
    }

    async fn all(&self, wanted: Vec<(Placed, Sense)>) -> Vec<Perceived> {
        let perceived = stream::iter(wanted).map(|(placed, sense)| self.one(placed, sense));
        perceived.buffered(AT_ONCE_OF_A_TURN).collect().await
    }

    async fn one(&self, placed: Placed, sense: Sense) -> Perceived {
        let _slot = self.slots.acquire().await;
        let words = timeout(self.limit, self.words(&placed, &sense)).await;
        let words = words.unwrap_or_else(|_| {
            let detail = format!("not done in {} ms", self.limit.as_millis());
            Err(Unheard::for_now(FailureKind::TimedOut, detail))
        });
        let message = placed.message.id;
        let words = words.inspect_err(|problem| {
            let kind = placed.message.kind.as_str();
            tracing::warn!(%message, kind, %problem, "a message was not put into words");
        });
        Perceived { message, words, needs_words: matches!(sense, Sense::Ear(_)) }
    }

    async fn words(&self, placed: &Placed, sense: &Sense) -> Result<String, Unheard> {
        let file = self.fetching.fetch(placed, None).await?;
        let (told, max) = match sense {
            Sense::Ear(transcriber) => {
                (transcriber.transcribe(whole(file, SOUND_MAX_BYTES).await?).await, HEARD_MAX)
            }
            Sense::Eye(describer) => {
                // By its first bytes, whatever it is called, and before the rest of it is read.
                let mime_type = Picture::type_of(file.looks)
                    .ok_or_else(|| Unheard::for_good("the file is no picture to look at"))?;
                let picture = Picture { mime_type, bytes: whole(file, PICTURE_MAX_BYTES).await? };
                (describer.describe(picture).await, SEEN_MAX)
            }
        };
        // PostgreSQL cannot keep it.
        let words: String = told?.trim().replace('\0', "").chars().take(max).collect();
        if words.is_empty() { Err(Unheard::for_good("there is nothing in it")) } else { Ok(words) }
    }
}

/// All bytes of a file, if they are not more.
async fn whole(mut file: File, max_bytes: usize) -> Result<Bytes, Unheard> {
    let mut whole = BytesMut::new();
    while let Some(piece) = file.pieces.recv().await {
        match piece {
            Piece::End => return Ok(whole.freeze()),
            Piece::Part(bytes) if whole.len() + bytes.len() > max_bytes => {
                return Err(Unheard::for_good("the file is too large"));
            }
            Piece::Part(bytes) => whole.extend_from_slice(&bytes),
        }
    }
    Err(Unheard::for_now(FailureKind::Cut, "the file was broken off"))
}

/// Keeps the words with their messages.
fn keep(docket: &mut Docket, perceived: &[Perceived]) {
    for one in perceived.iter().filter(|one| one.words.is_ok()) {
        // By now it may be deleted, or another turn has put it into words.
        if docket.message(one.message).is_some_and(|message| message.is_unheard() || message.is_unseen()) {
            note(docket.edit(one.message).expect("it was just looked at"), perceived);
            let told = Entry::of(EventType::MessageEdited).action("put_into_words").by(actor::SYSTEM);
            docket.record(told.message(one.message));
        }
    }
}

fn note(message: &mut Message, perceived: &[Perceived]) {
    let one = perceived.iter().find(|one| one.message == message.id);
    if let Some(words) = one.and_then(|one| one.words.as_ref().ok()) {
        message.put_into_words(words);
    }
}
