-- Suggestions for what our side says next, and the turns that write them.
alter domain purpose_word drop constraint purpose_word_check;
alter domain purpose_word add constraint purpose_word_check check (value in ('reply', 'follow_up', 'draft'));
create domain draft_word as text check (value in ('fresh', 'stale', 'sent', 'edited', 'discarded'));
create table drafts (
    id              text primary key,
    conversation_id text not null references conversations (id) on delete cascade,
    text            text not null,
    state           draft_word not null,
    -- The newest message that it has read.
    based_on_seq    bigint not null,
    turn_id         text not null,
    message_id      text,
    decided_by      text,
    decided_at      bigint,
    -- In words.
    edit_distance   bigint,
    created_at      bigint not null,
    check ((decided_at is null) = (state in ('fresh', 'stale')) and (decided_by is null) = (decided_at is null)),
    check ((message_id is not null) = (state in ('sent', 'edited')) and (edit_distance is null) = (message_id is null))
);
-- At most one draft of a conversation is fresh.
create unique index drafts_fresh on drafts (conversation_id) where state = 'fresh';
create index drafts_conversation on drafts (conversation_id, created_at desc, id desc);
create index drafts_created on drafts (created_at);
