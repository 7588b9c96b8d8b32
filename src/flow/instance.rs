//! What one instance keeps for itself, and nowhere else: it is gone with the process, and no promise rests on it.
//!
//! Its channels with their rules, what is due (dispatch and its queues), the gate before the model, the turns that run, the
//! breakers of model and channels, the onlookers who see words as they are written, and what it measures. The starts of pace
//! are counted over all instances, in the database or in Redis: a trait with an adapter behind it.

pub mod channels;

pub mod dispatch;

pub mod queue;

pub mod gate;

pub mod pace;

pub mod running;

pub mod breaker;

pub mod model_breaker;

pub mod channel_breaker;

pub mod onlookers;

pub mod overhead;

pub(crate) mod measure;
