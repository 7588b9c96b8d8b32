//! Everything outside: one file or folder an outside thing, each behind a place of the flow.

pub mod http_client;

pub mod green_api;

pub mod sandbox;
