//! Step: a person is removed everywhere. First the conversation is closed for good, in one short transaction; from then on
//! nobody finds it, and a new message of theirs begins another. Then its rows go, page by page.
//!
//! In: a person or a command that erases; every few seconds, erasures that were abandoned. Out: nothing of the person
//! but keyed hashes of their messages' keys, and an event that says who erased and how many rows.

mod traces;

use std::{
    collections::HashSet,
    sync::{Arc, Mutex, PoisonError},
};

use uuid::Uuid;

use self::traces::Told;
use super::{
    erasures::{Erasing, Erasures, OwnedRows, Rows, Turned, add},
    tombstones::Tombstones,
};
use crate::{
    domain::{
        chat::ChatId,
        docket::{Docket, Erasure},
        message::{DeliveryState, ECHO_AWAITED_MS, Message},
        payload::Payload,
        time::Time,
    },
    flow::{
        archive::{Archive, Overview},
        back_office::vault::Vault,
        instance::dispatch::Dispatch,
        intake::body_of,
        ledger::{Error, Key, Ledger, Need, change},
    },
};

/// Rows of one transaction: few enough that nobody waits for it.
const PAGE: usize = 500;
/// An erasure without progress for this long is anybody's: the instance that began it has died.
const IDLE_MS: i64 = 10_000;
/// Erasures taken up at once.
const TAKEN_UP_MAX: usize = 20;
/// Erasures by other instances are noticed at the latest after this long.
const HEARD_MS: i64 = 60_000;

/// The step.
pub struct Eraser {
    /// Where conversations are closed.
    pub ledger: Arc<dyn Ledger>,
    /// Where they are found.
    pub archive: Arc<dyn Archive>,
    /// Where their rows go.
    pub erasures: Arc<dyn Erasures>,
    /// By what removed messages are known.
    pub tombstones: Tombstones,
    /// Opens what was sealed.
    pub vault: Arc<dyn Vault>,
    /// Whose feed is woken.
    pub dispatch: Arc<Dispatch>,
    /// What others have erased, as far as it was heard.
    pub heard: Mutex<HashSet<Uuid>>,
}

/// Who is erased, as far as it is known.
struct Person {
    /// Conversations with them that are not closed yet, each after the one by which it was found.
    left: Vec<Uuid>,
    /// All that were found, and those that are no more.
    known: HashSet<Uuid>,
    /// Their ids.
    chats: Vec<ChatId>,
}

impl Person {
    fn known_by(named: Overview) -> Self {
        let mut person = Self { left: Vec::new(), known: HashSet::new(), chats: Vec::new() };
        person.is_known_by(named.conversation.id, Some(named));
        person
    }

    /// Another conversation with them; None: it is no more.
    fn is_known_by(&mut self, conversation: Uuid, found: Option<Overview>) {
        self.known.insert(conversation);
        if let Some(found) = found {
            self.left.push(conversation);
            self.chats.extend(found.aliases);
            self.chats.push(found.conversation.chat);
        }
    }
}

impl Eraser {
    /// Closes the conversation for good, with all that were merged with it: nobody finds the person any more, and what is kept
    /// of them goes in any case. Returns what is to be removed; `Gone` if there is no such conversation.
    pub async fn close(&self, conversation: Uuid, actor: &str) -> Result<Vec<Uuid>, Error> {
        let Some(named) = self.archive.conversation(conversation).await? else { return Err(Error::Gone) };
        let mut person = Person::known_by(named);
        let mut closed = Vec::new();
        // The last one first, and the named one at the end, each before those by which it was found: whoever is cut off and
        // tries again finds what is left.
        while let Some(last) = person.left.last().copied() {
            match self.close_one(last, &person, actor).await {
                Err(Error::Gone) if last != conversation => {
                    person.left.pop();
                }
                outcome => {
                    let others = outcome?;
                    if others.is_empty() {
                        closed.extend(person.left.pop());
                    }
                    for other in others {
                        person.is_known_by(other, self.archive.conversation(other).await?);
                    }
                }
            }
        }
        Ok(closed)
    }

    /// Removes what is kept of conversations that were closed. Returns how many rows are gone.
    pub async fn remove(&self, closed: &[Uuid]) -> Result<Rows, Error> {
        let mut removed = Rows::new();
        for conversation in closed {
            if let Some(erasing) = self.erasures.erasing(*conversation).await? {
                add(&mut removed, self.finish(erasing).await?);
            }
        }
        Ok(removed)
    }

    /// Closes one of them, unless it leads to others that are not known. Returns these: whether there are any is asked under
    /// its lock, for it may be merged at this very moment.
    async fn close_one(&self, conversation: Uuid, person: &Person, actor: &str) -> Result<Vec<Uuid>, Error> {
        let (tombstones, known) = (self.tombstones.clone(), person.known.clone());
        let (chats, actor) = (person.chats.clone(), actor.to_owned());
        let step = move |docket: &mut Docket| {
            let others = docket.conversation.memo.others().filter(|other| !known.contains(other));
            let others: Vec<Uuid> = others.collect();
            if others.is_empty() {
                close(docket, &tombstones, &chats, &actor);
            }
            others
        };
        match change(&*self.ledger, Key::Id(conversation), Need::itself(), step).await {
            // A step that was repeated because its answer was lost finds no conversation: it has closed it itself.
            Err(Error::Gone) if self.erasures.erasing(conversation).await?.is_some() => Ok(Vec::new()),
            outcome => outcome,
        }
    }

    /// Continues erasures that were left half-way. Returns how many.
    pub async fn take_up(&self) -> Result<usize, Error> {
        let left = self.erasures.left_behind(IDLE_MS, TAKEN_UP_MAX).await?;
        let mut taken_up = 0;
        for conversation in left {
            if let Some(erasing) = self.erasures.erasing(conversation).await? {
                tracing::info!(%conversation, "an erasure that was left half-way goes on");
                self.finish(erasing).await?;
                taken_up += 1;
            }
        }
        Ok(taken_up)
    }

    /// What other processes have erased is not remembered here either.
    pub async fn hear(&self, now: Time) -> Result<(), Error> {
        let erased = self.erasures.erased_since(now.plus_ms(-HEARD_MS)).await?;
        let mut heard = self.heard.lock().unwrap_or_else(PoisonError::into_inner);
        for conversation in erased.iter().filter(|conversation| !heard.contains(conversation)) {
            self.ledger.forget(*conversation);
        }
        *heard = erased.into_iter().collect();
        Ok(())
    }

    /// Removes what there is of somebody with whom there is no conversation: what they wrote among others, and webhooks
    /// that could not be read and name them. Returns how many rows.
    pub async fn erase_traces(&self, channel: &str, chat: &ChatId) -> Result<Rows, Error> {
        let (chats, mut removed) = (std::slice::from_ref(chat), Rows::new());
        if let Some(Told::Nobody(messages @ 1..)) = self.unname(channel, chats, Told::Nobody(0)).await? {
            removed.insert("messages_in_groups".to_owned(), messages);
        }
        let (mut after, mut webhooks) = (None, 0);
        loop {
            let page = self.erasures.webhooks(channel, after, PAGE).await?;
            let Some((last, _)) = page.last() else { break };
            after = Some(*last);
            let named = naming(&page, chats);
            if !named.is_empty() {
                webhooks += self.erasures.discard_webhooks(named).await?;
            }
        }
        if webhooks > 0 {
            removed.insert("dead_letters".to_owned(), i64::try_from(webhooks).unwrap_or(i64::MAX));
        }
        Ok(removed)
    }

    async fn finish(&self, mut erasing: Erasing) -> Result<Rows, Error> {
        let conversation = erasing.conversation;
        loop {
            match self.remove_all(erasing).await? {
                Some(rest) => {
                    if self.erasures.end(&rest).await? {
                        self.dispatch.feed.notify_one();
                    }
                    return Ok(rest.removed);
                }
                None => match self.erasures.erasing(conversation).await? {
                    Some(now) => erasing = now,
                    // Somebody else was faster to the end.
                    None => return Ok(Rows::new()),
                },
            }
        }
    }

    /// Removes everything; None: somebody else has taken it over.
    async fn remove_all(&self, erasing: Erasing) -> Result<Option<Erasing>, Error> {
        let Some(mut erasing) = self.remove_messages(erasing).await? else { return Ok(None) };
        for kind in OwnedRows::ALL {
            erasing = loop {
                match self.erasures.remove(&erasing, kind, PAGE).await? {
                    Turned::Removed(now) => erasing = now,
                    Turned::Nothing => break erasing,
                    Turned::Overtaken => return Ok(None),
                }
            };
        }
        let (channel, chats) = (erasing.channel.clone(), erasing.chats.clone());
        let Some(Told::Erasing(erasing)) = self.unname(&channel, &chats, Told::Erasing(erasing)).await?
        else {
            return Ok(None);
        };
        let Some(erasing) = self.remove_webhooks(erasing).await? else { return Ok(None) };
        self.remove_answers(erasing).await
    }

    async fn remove_messages(&self, mut erasing: Erasing) -> Result<Option<Erasing>, Error> {
        while let Some(page) = self.erasures.next_messages(erasing.conversation, PAGE).await? {
            let of = |chat| page.keys.iter().map(move |key| (chat, key));
            let all = erasing.chats.iter().flat_map(of);
            let hashes =
                all.map(|(chat, key)| self.tombstones.of(&erasing.channel, chat, key).hash).collect();
            match self.erasures.bury(&erasing, &page, hashes).await? {
                Turned::Removed(now) => erasing = now,
                Turned::Nothing | Turned::Overtaken => return Ok(None),
            }
        }
        Ok(Some(erasing))
    }

    async fn remove_webhooks(&self, mut erasing: Erasing) -> Result<Option<Erasing>, Error> {
        let mut after = None;
        loop {
            let page = self.erasures.webhooks(&erasing.channel, after, PAGE).await?;
            let Some((last, _)) = page.last() else { return Ok(Some(erasing)) };
            after = Some(*last);
            let named = naming(&page, &erasing.chats);
            if !named.is_empty() {
                match self.erasures.remove_webhooks(&erasing, named).await? {
                    Turned::Removed(now) => erasing = now,
                    Turned::Nothing | Turned::Overtaken => return Ok(None),
                }
            }
        }
    }

    /// An answer that shows the conversation goes as a whole: its request, repeated, is a new one.
    async fn remove_answers(&self, mut erasing: Erasing) -> Result<Option<Erasing>, Error> {
        let (mut after, id) = (String::new(), erasing.conversation.to_string());
        loop {
            let page = self.erasures.kept_answers(&after, PAGE).await?;
            let Some((last, _)) = page.last() else { return Ok(Some(erasing)) };
            after.clone_from(last);
            let shows = |sealed: &[u8]| {
                self.vault.open(sealed).is_some_and(|plain| {
                    holds(&plain, id.as_bytes())
                        || erasing.chats.iter().any(|chat| holds(&plain, chat.as_str().as_bytes()))
                })
            };
            let keys: Vec<String> =
                page.iter().filter(|(_, sealed)| shows(sealed)).map(|(key, _)| key.clone()).collect();
            if !keys.is_empty() {
                match self.erasures.remove_answers(&erasing, keys).await? {
                    Turned::Removed(now) => erasing = now,
                    Turned::Nothing | Turned::Overtaken => return Ok(None),
                }
            }
        }
    }
}

/// The rule: nobody finds it any more, whatever works on it stops. Of what may have left without an answer only the words
/// are known, and they are all that will tell its echo; of what the contact wrote and is still on its way, only when.
fn close(docket: &mut Docket, tombstones: &Tombstones, chats: &[ChatId], actor: &str) {
    let channel = docket.conversation.channel.clone();
    let may_come_back = |message: &&Message| {
        message
            .delivery
            .as_ref()
            .is_some_and(|delivery| delivery.state == DeliveryState::Sending || delivery.unclear > 0)
    };
    let said = docket.messages().iter().filter(may_come_back).map(Message::posted_words);
    let words: Vec<&str> = said.filter(|words| !words.trim().is_empty()).collect();
    let of = |chat| words.iter().map(move |words| (chat, words));
    let echoes = chats.iter().flat_map(of);
    let echoes = echoes.map(|(chat, words)| tombstones.of_words(&channel, chat, words).hash);
    let unheard = chats.iter().map(|chat| tombstones.of_chat(&channel, chat, docket.now).hash);
    let echoes = echoes.chain(unheard).collect();
    let echoed_until = docket.now.plus_ms(ECHO_AWAITED_MS);
    let chats = chats.to_vec();
    docket.erase(Erasure { actor: actor.to_owned(), chats, echoes, echoed_until });
}

/// Those that name one of these chats.
fn naming(page: &[(Uuid, Payload)], chats: &[ChatId]) -> Vec<Uuid> {
    let names = |body: &[u8]| chats.iter().any(|chat| is_named(body, chat));
    page.iter().filter(|(_, payload)| names(&body_of(payload))).map(|(id, _)| *id).collect()
}

/// Whether the number of a chat stands in it, and not only as a part of a longer one.
fn is_named(body: &[u8], chat: &ChatId) -> bool {
    let number = chat.as_str().split('@').next().unwrap_or_default().as_bytes();
    !number.is_empty()
        && body.windows(number.len()).enumerate().any(|(at, piece)| {
            let before = at.checked_sub(1).and_then(|before| body.get(before));
            let after = body.get(at + number.len());
            let is_part = |beside: Option<&u8>| beside.is_some_and(u8::is_ascii_alphanumeric);
            piece == number && !is_part(before) && !is_part(after)
        })
}

fn holds(text: &[u8], words: &[u8]) -> bool {
    text.windows(words.len()).any(|piece| piece == words)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        domain::{conversation::Memo, enclosure::Enclosure, message::Gate, turn::TurnState},
        flow::{
            forgetting::tombstones::KEY_BYTES,
            outbox::{Claim, Owed, Settled, owe},
            play::Play,
        },
    };

    #[test]
    fn a_raw_webhook_is_of_whoever_it_names() {
        let mei = ChatId::parse("6580000001@c.us").expect("a chat");
        for (body, named) in [
            (r#"{"chatId":"6580000001@c.us","text":"\ud800"}"#, true),
            (r#"{"sender":"+6580000001"}"#, true),
            ("6580000001", true),
            (r#"{"chatId":"16580000001@c.us"}"#, false),
            (r#"{"chatId":"65800000011@c.us"}"#, false),
            (r#"{"idMessage":"BAE56580000001"}"#, false),
            ("", false),
        ] {
            assert_eq!(is_named(body.as_bytes(), &mei), named, "{body}");
        }
    }

    #[test]
    fn whatever_works_on_it_stops_and_nobody_looks_again() {
        let mut play = Play::new();
        play.says("Hello");
        let begun = play.begins();
        let tombstones = Tombstones::new(&[1; KEY_BYTES]);
        let chats = [play.conversation.chat.clone()];
        play.step(|docket, _| {
            close(docket, &tombstones, &chats, "shell");
            assert_eq!(docket.clocks(), crate::domain::docket::Clocks::default());
            assert_eq!(docket.turn(begun.turn.id).map(|turn| turn.state), Some(TurnState::Cancelled));
        });
        let conversation = &play.conversation;
        assert!(conversation.erased_at.is_some() && conversation.lease.is_none());
        assert!(conversation.fence > begun.turn.fence, "what was begun can't be ended");
        assert_eq!((&conversation.memo, &conversation.contact_name), (&Memo::default(), &None));
    }

    #[test]
    fn of_a_send_without_an_answer_the_words_are_kept() {
        let mut play = Play::new();
        play.says("Hello");
        let begun = play.begins();
        play.writes(&begun, "I am here.");
        let (attempt, claim) = play.claims_send();
        assert!(matches!(claim, Claim::Claimed(_)));
        let tombstones = Tombstones::new(&[1; KEY_BYTES]);
        let chats = [play.conversation.chat.clone()];
        let echo = tombstones.of_words(&play.conversation.channel, &chats[0], "I am here.").hash;
        let unheard = tombstones.of_chat(&play.conversation.channel, &chats[0], play.now).hash;
        for settled in [None, Some(Settled::Unclear("timed out".into()))] {
            let mut play = play.clone();
            if let Some(settled) = &settled {
                play.settles(attempt, settled);
            }
            let echoes = play.step(|docket, _| {
                close(docket, &tombstones, &chats, "shell");
                docket.clone().close().erasure.map(|erasure| erasure.echoes)
            });
            assert_eq!(echoes, Some(vec![echo.clone(), unheard.clone()]), "{settled:?}");
        }
    }

    #[test]
    fn of_a_file_without_an_answer_the_words_under_it_are_kept() {
        let mut play = Play::new();
        let enclosure = Enclosure::of("offer.pdf", "application/pdf", None, 9);
        let owed = Owed { enclosure, ..Owed::machine(Gate::Person, None) };
        play.step(|docket, _| owe(docket, &["As promised.".to_owned()], &owed, "agent:ana"));
        let (_, claim) = play.claims_send();
        assert!(matches!(claim, Claim::Claimed(_)));
        let tombstones = Tombstones::new(&[1; KEY_BYTES]);
        let chats = [play.conversation.chat.clone()];
        // The gateway's copy has these alone, without what we say of the file.
        let echo = tombstones.of_words(&play.conversation.channel, &chats[0], "As promised.").hash;
        let erasure = play.step(|docket, _| {
            close(docket, &tombstones, &chats, "shell");
            docket.clone().close().erasure
        });
        assert!(erasure.is_some_and(|erasure| erasure.echoes.contains(&echo)));
    }
}
