//! The row of a canned reply. The shortcut without its case is the statements' own business.

use uuid::Uuid;

use super::{Json, table};
use crate::domain::{canned_reply::CannedReply, time::Time};

table! {
    /// One reply kept at hand.
    CannedReplyRow in "canned_replies" of CannedReply {
        id: Uuid,
        shortcut: String,
        text: String,
        channels: Option<Json<Vec<String>>>,
        owner: Option<Uuid>,
        created_at: Time,
    }
}
