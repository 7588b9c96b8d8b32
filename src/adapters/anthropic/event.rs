//! The wire: one event of a stream, or the whole message. Read leniently: types that are new, of events, blocks and
//! pieces, are passed over, as the API asks of its readers.

use serde::Deserialize;
use serde_json::Value;

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Event {
    MessageStart {
        message: Message,
    },
    ContentBlockStart {
        #[serde(default)]
        index: i64,
        content_block: Block,
    },
    ContentBlockDelta {
        #[serde(default)]
        index: i64,
        delta: Piece,
    },
    MessageDelta {
        #[serde(default)]
        delta: End,
        #[serde(default)]
        usage: Option<Usage>,
    },
    MessageStop,
    Error {
        #[serde(default)]
        error: Value,
    },
    /// `ping`, `content_block_stop`, and what will be.
    #[serde(other)]
    Other,
}

/// The message as it begins; or all of it, from a server that does not stream.
#[derive(Deserialize)]
pub(super) struct Message {
    #[serde(default)]
    pub(super) content: Option<Vec<Block>>,
    #[serde(default)]
    pub(super) stop_reason: Option<String>,
    #[serde(default)]
    pub(super) usage: Option<Usage>,
    /// In place of a message.
    #[serde(default)]
    pub(super) error: Option<Value>,
}

/// Thoughts and the service's own tools are left unread: they are not for the contact.
#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Block {
    Text {
        #[serde(default)]
        text: String,
    },
    ToolUse {
        #[serde(default)]
        id: String,
        #[serde(default)]
        name: String,
        /// Empty where its pieces are still to come.
        #[serde(default)]
        input: Value,
    },
    #[serde(other)]
    Other,
}

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Piece {
    TextDelta {
        text: String,
    },
    InputJsonDelta {
        partial_json: String,
    },
    #[serde(other)]
    Other,
}

#[derive(Default, Deserialize)]
pub(super) struct End {
    #[serde(default)]
    pub(super) stop_reason: Option<String>,
}

#[derive(Deserialize)]
pub(super) struct Usage {
    #[serde(default)]
    input_tokens: Option<i64>,
    #[serde(default)]
    cache_creation_input_tokens: Option<i64>,
    #[serde(default)]
    cache_read_input_tokens: Option<i64>,
    #[serde(default)]
    pub(super) output_tokens: Option<i64>,
}

impl Usage {
    /// All that was read; None if nothing is said of it. What came out of a cache, or went into one, is counted apart from
    /// the rest, and the three make up the prompt.
    pub(super) fn input(&self) -> Option<i64> {
        let cached = [self.cache_creation_input_tokens, self.cache_read_input_tokens];
        let cached = cached.into_iter().flatten().fold(0, i64::saturating_add);
        self.input_tokens.map(|tokens| tokens.saturating_add(cached))
    }
}
