-- Suggestions for what our side says next, and the turns that write them.
-- SQLite changes no check: the column is made anew. To rebuild the table would take along whatever refers to it.
alter table turns add column purpose_word text not null default 'reply'
    check (purpose_word in ('reply', 'follow_up', 'draft'));
update turns set purpose_word = purpose;
alter table turns drop column purpose;
alter table turns rename column purpose_word to purpose;
create table drafts (
    id              text primary key,
    conversation_id text not null references conversations (id) on delete cascade,
    text            text not null,
    state           text not null check (state in ('fresh', 'stale', 'sent', 'edited', 'discarded')),
    -- The newest message that it has read.
    based_on_seq    integer not null,
    turn_id         text not null,
    message_id      text,
    decided_by      text,
    decided_at      integer,
    -- In words.
    edit_distance   integer,
    created_at      integer not null,
    check ((decided_at is null) = (state in ('fresh', 'stale')) and (decided_by is null) = (decided_at is null)),
    check ((message_id is not null) = (state in ('sent', 'edited')) and (edit_distance is null) = (message_id is null))
) strict;
-- At most one draft of a conversation is fresh.
create unique index drafts_fresh on drafts (conversation_id) where state = 'fresh';
create index drafts_conversation on drafts (conversation_id, created_at desc, id desc);
create index drafts_created on drafts (created_at);
