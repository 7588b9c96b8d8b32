//! Baton from outside: what contacts, people and Green API see, on both stores, with time moved by hand. Each file is a
//! promise; a test reads as the chat that it is about. The first test of each of the first five files is a scenario of
//! the race conditions: takeover during generation, two messages in order, a webhook twice, an agent who writes, a
//! reply before the follow-up.

mod world;

mod program;

mod takeover;

mod order;

mod once;

mod people;

mod follow_up;

mod brake;

mod merge;

mod merge_takeovers;

mod merged;

mod merging;

mod sign_in;

mod many;

mod told;

mod traces;

mod stats;

mod ticks;

mod drafts;

mod failures;

mod sends;

mod erase;

mod retention;

mod crash;

mod not_set_up;

mod backup;

mod own_files;

mod webhooks;

mod endpoints;

mod feed;

mod live;

mod media;

mod voice;

mod pictures;

mod tools;

mod files;

mod bad_input;

mod command_line;

mod rolling;

mod simulator;

mod docs;

mod browser;
