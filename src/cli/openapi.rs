//! `baton openapi`: the description of the API, as the server gives it.

use super::print;
use crate::http::openapi::openapi;

/// Print the OpenAPI document
#[derive(Debug, clap::Args)]
pub(super) struct Openapi {}

impl Openapi {
    pub(super) fn run(self) -> anyhow::Result<()> {
        print::text(&openapi())?;
        Ok(())
    }
}
