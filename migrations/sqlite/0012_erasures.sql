-- People who are erased. What stays of each message is a keyed hash, by which its late webhook is known and has no effect.
create table tombstones (
    hash  text primary key,
    kind  text not null check (kind in ('erased', 'expired')),
    -- Of words whose send was unclear: no echo of it comes later than this. Null: for good.
    until integer
) strict;
create index tombstones_until on tombstones (until) where until is not null;
-- The keys of these hashes, encrypted. Random, so that they outlive a change of the key that encrypts them. There is more
-- than one only where that one was lost.
create table tombstone_keys (
    id     text primary key,
    sealed blob not null,
    at     integer not null
) strict;

-- From this moment on nobody finds the conversation; its rows go page by page.
alter table conversations add column erased_at integer;
create table erasures (
    conversation_id text primary key references conversations (id) on delete cascade,
    actor           text not null,
    -- Rows removed so far, by table.
    removed         text not null default '{}',
    -- When somebody last worked on it: after a while, whoever sees it goes on.
    worked_at       integer not null
) strict;
-- The ids that the chat had: while its messages are still there, they are their own tombstones.
create table erased_chats (
    chat_id         text not null,
    channel         text not null,
    conversation_id text not null references conversations (id) on delete cascade,
    primary key (chat_id, channel, conversation_id)
) strict;
create index erased_chats_conversation on erased_chats (conversation_id);

-- What is erased, or goes with its conversation, is found without reading the whole of its table.
create index requests_conversation on requests (conversation_id);
create index dead_letters_whole on dead_letters (conversation_id, id);
create index follow_ups_conversation on follow_ups (conversation_id);
create index events_erased on events (at) where kind = 'conversation_erased';

-- Of webhooks that were ignored it is no longer noted whose they were: such an event hangs on no conversation.
update events set details = json_remove(details, '$.chat_id')
where kind = 'webhook_ignored' and conversation_id is null and details like '%"chat_id"%';
