//! Labels.

use serde::Serialize;
use utoipa::ToSchema;

use crate::domain::label;

/// A word that people put on conversations.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Label {
    name: String,
    /// `#rrggbb`.
    colour: Option<String>,
    /// What it is for.
    description: Option<String>,
}

impl From<label::Label> for Label {
    fn from(label: label::Label) -> Self {
        Self { name: label.name, colour: label.colour, description: label.description }
    }
}
