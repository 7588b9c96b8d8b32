//! What a process touches besides its store.

use std::sync::Arc;

use baton::flow::{
    generator::{Generator, describer::Describer, look_ups::LookUps, transcriber::Transcriber},
    provider::Provider,
};
use execution::key_store::KeyStore;

use super::{fuse::Fuse, fused::Fused};

/// What is outside of a process, besides its store.
#[derive(Clone)]
pub(crate) struct Outside {
    pub(crate) provider: Arc<dyn Provider>,
    pub(crate) generator: Arc<dyn Generator>,
    pub(crate) transcriber: Arc<dyn Transcriber>,
    pub(crate) describer: Arc<dyn Describer>,
    pub(crate) look_ups: Arc<dyn LookUps>,
    /// Redis, if there is one: the lock in front, and the quick memory of webhooks.
    pub(crate) keys: Option<Arc<dyn KeyStore>>,
    /// Where traces go, if anywhere.
    pub(crate) collector: Option<String>,
}

impl Outside {
    /// The same, as far as a process that this fuse ends can reach it.
    pub(super) fn behind(self, fuse: &Arc<Fuse>) -> Self {
        Self {
            provider: Fused::over(fuse, self.provider),
            generator: Fused::over(fuse, self.generator),
            transcriber: self.transcriber,
            describer: self.describer,
            look_ups: self.look_ups,
            keys: self.keys.map(|keys| -> Arc<dyn KeyStore> { Fused::over(fuse, keys) }),
            collector: self.collector,
        }
    }
}
