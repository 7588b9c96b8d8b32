//! How things look outside: the shapes of the contract. Facts come in from `domain` and `flow`, JSON goes out.
//!
//! Every field is always present, null when there is nothing to show.

mod basic;

mod conversation;

mod message;

mod turn;

mod draft;

mod event;

mod live;

mod channel;

mod person;

mod labels_and_replies;

mod endpoint;

pub(crate) use basic::{At, Id, List, Word, vocabulary::*};
pub(crate) use channel::{Channel, NewToken, PhoneLink, ShownChannel, Token};
pub(crate) use conversation::{Conversation, Receipt};
pub(crate) use draft::{Draft, DraftAsked, DraftSent};
pub(crate) use endpoint::{ALL_EVENTS, Endpoint, NewEndpoint, WebhookDelivery};
pub(crate) use event::Event;
pub(crate) use labels_and_replies::{CannedReply, Label};
pub(crate) use live::{Generation, GenerationEnded, Present, Typing};
pub(crate) use message::{Beside, Message, Messages, Said, SaidAll};
pub(crate) use person::{Agent, ChangedAgent, Me, NewAgent, Raw, ShownAgent};
pub(crate) use turn::{DeadLetter, FollowUp, Turn, Turns};
