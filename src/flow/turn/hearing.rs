//! Voice notes are listened to before the model reads them. In: a turn that has begun. Out: the same with their words, which
//! are kept with the messages, so that each is listened to once. Those that nobody understands are as any message that cannot
//! be read: the contact is told so, or a person is called, and the model answers the rest, if there is any.

use std::{sync::Arc, time::Duration};

use bytes::{Bytes, BytesMut};
use futures_util::{StreamExt as _, stream};
use tokio::{sync::Semaphore, time::timeout};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::{Turns, end::need_of};
use crate::{
    domain::{
        docket::Docket,
        enclosure::description,
        message::{Author, Message},
        turn::Purpose,
    },
    flow::{
        archive::Placed,
        channels::Channel,
        files::Piece,
        inbox::Begun,
        ledger::{self, Key, change},
        media::Fetching,
        reply,
        transcriber::{SOUND_MAX_BYTES, Transcriber},
    },
};

/// Voice notes listened to at once on this instance: fewer than files are fetched, which people look at too.
const AT_ONCE: usize = 32;

/// And of one turn.
const AT_ONCE_OF_A_TURN: usize = 3;

/// Longest transcript that is kept, in characters.
const WORDS_MAX: usize = 20_000;

/// What makes words of voice notes.
pub struct Hearing {
    fetching: Arc<Fetching>,
    transcriber: Arc<dyn Transcriber>,
    /// For one, from the first byte asked for to the last word.
    limit: Duration,
    slots: Semaphore,
}

/// A message, and what is said in it; None: nobody could tell.
type Heard = (Uuid, Option<String>);

impl Turns {
    /// Listens to what this turn is about. False: nothing of it can be understood, and the turn has ended.
    pub(super) async fn hear(
        &self,
        channel: &Channel,
        begun: &mut Begun,
        stopped: &CancellationToken,
    ) -> Result<bool, ledger::Error> {
        let Some(hearing) = &self.hearing else { return Ok(true) };
        if begun.turn.purpose == Purpose::Draft && begun.said.is_none() {
            let limit = channel.policy.ai_history + begun.burst.len();
            begun.said = Some(self.archive.history(begun.conversation, begun.history_to, limit).await?);
        }
        let notes = unheard(channel, begun);
        if notes.is_empty() {
            return Ok(true);
        }
        let heard = tokio::select! {
            biased;
            () = stopped.cancelled() => return Ok(true),
            heard = hearing.all(notes) => heard,
        };
        for message in begun.burst.iter_mut().chain(begun.said.iter_mut().flatten()) {
            note(message, &heard);
        }
        let mut need = need_of(begun);
        need.messages.extend(heard.iter().map(|(id, _)| *id));
        let (policy, turn) = (Arc::clone(&channel.policy), begun.clone());
        let step = move |docket: &mut Docket| {
            keep(docket, &heard);
            let unread: Vec<Uuid> =
                heard.iter().filter_map(|(id, words)| words.is_none().then_some(*id)).collect();
            turn.turn.purpose == Purpose::Reply && reply::leave_unread(docket, &policy, &turn, &unread)
        };
        Ok(!change(&*self.ledger, Key::Id(begun.conversation), need, step).await?)
    }
}

impl Hearing {
    /// Fetches voice notes there, and has them listened to; each within that time.
    pub fn new(fetching: Arc<Fetching>, transcriber: Arc<dyn Transcriber>, limit: Duration) -> Self {
        Self { fetching, transcriber, limit, slots: Semaphore::new(AT_ONCE) }
    }

    async fn all(&self, notes: Vec<Placed>) -> Vec<Heard> {
        let hear = |placed: Placed| async move {
            let _slot = self.slots.acquire().await;
            let words = timeout(self.limit, self.words(&placed)).await;
            let words = words.unwrap_or_else(|_| Err(format!("not done in {} ms", self.limit.as_millis())));
            let words = words.inspect_err(|problem| {
                tracing::warn!(message = %placed.message.id, %problem, "a voice note was not understood");
            });
            (placed.message.id, words.ok())
        };
        stream::iter(notes).map(hear).buffered(AT_ONCE_OF_A_TURN).collect().await
    }

    async fn words(&self, placed: &Placed) -> Result<String, String> {
        let sound = self.sound(placed).await?;
        let words = self.transcriber.transcribe(sound).await.map_err(|failure| failure.to_string())?;
        // PostgreSQL cannot keep it.
        let words: String = words.trim().replace('\0', "").chars().take(WORDS_MAX).collect();
        if words.is_empty() { Err("nothing was said".to_owned()) } else { Ok(words) }
    }

    async fn sound(&self, placed: &Placed) -> Result<Bytes, String> {
        let mut file = self.fetching.fetch(placed, None).await.map_err(|unfetched| unfetched.to_string())?;
        let mut sound = BytesMut::new();
        while let Some(piece) = file.pieces.recv().await {
            match piece {
                Piece::End => return Ok(sound.freeze()),
                Piece::Part(bytes) if sound.len() + bytes.len() > SOUND_MAX_BYTES => {
                    return Err("the file is too large".to_owned());
                }
                Piece::Part(bytes) => sound.extend_from_slice(&bytes),
            }
        }
        Err("the file was broken off".to_owned())
    }
}

/// The voice notes that nobody has listened to: of a burst, or, for a draft, of what was said since we last spoke.
fn unheard(channel: &Channel, begun: &Begun) -> Vec<Placed> {
    let wanted: Vec<&Message> = match begun.turn.purpose {
        Purpose::Reply => begun.burst.iter().collect(),
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
    wanted.into_iter().filter(|message| message.is_unheard()).map(placed).collect()
}

/// Keeps the words with their messages.
fn keep(docket: &mut Docket, heard: &[Heard]) {
    for (id, words) in heard {
        if words.is_some() && docket.message(*id).is_some_and(Message::is_unheard) {
            let message = docket.edit(*id).expect("it was just looked at");
            note(message, heard);
        }
    }
}

fn note(message: &mut Message, heard: &[Heard]) {
    let words = heard.iter().find(|(id, _)| *id == message.id).and_then(|(_, words)| words.as_ref());
    if let (Some(words), Some(media)) = (words, message.media.as_mut()) {
        media.transcript.clone_from(words);
        message.text = description(message.kind, &media.file_name, words);
    }
}
