//! The row of a canned reply. The shortcut without its case is the statements' own business.

use uuid::Uuid;

use super::{Json, Stored, table};
use crate::domain::{canned_reply::CannedReply, time::Time};

table! {
    /// One reply kept at hand.
    CannedReplyRow in "canned_replies" {
        id: Uuid,
        shortcut: String,
        text: String,
        channels: Option<Json<Vec<String>>>,
        owner: Option<Uuid>,
        created_at: Time,
    }
}

impl Stored for CannedReply {
    type Row = CannedReplyRow;

    fn of_row(row: CannedReplyRow) -> Result<Self, sqlx::Error> {
        Ok(Self {
            id: row.id,
            shortcut: row.shortcut,
            text: row.text,
            channels: row.channels.map(|Json(channels)| channels),
            owner: row.owner,
            created_at: row.created_at,
        })
    }
}
