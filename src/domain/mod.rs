//! Facts and rules. No async, no input or output, no clock: a rule takes what is and answers what should be.

pub(crate) mod words;

pub mod time;

pub mod chat;

pub mod mode;

pub mod conversation;

pub mod message;

pub mod reaction;

pub mod turn;

pub mod payload;

pub mod tool;

pub mod draft;

pub mod event;

pub mod docket;

pub mod policy;

pub mod lane;

pub mod burst;

pub mod pacing;

pub mod markdown;

pub mod retry;

pub mod cadence;

pub mod brake;

pub mod hours;

pub mod phrases;

pub mod network;

pub mod label;

pub mod canned_reply;

pub mod hosts;

pub mod enclosure;

pub mod price;

pub mod endpoint;

pub mod faults;
