//! The tools over the stores: one suite, run in memory and over Redis. And Redis going away and coming back.

mod private_redis;

mod rig;

mod key_store;

mod redis_lock;

mod deduplicate_webhook;

mod broadcast;

mod outage;

mod cluster;
