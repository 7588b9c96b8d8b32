-- The spine: conversations, their messages, turns and follow-ups, and the journal.
-- Times are milliseconds since the epoch, ids are UUIDs as text, small structures are JSON as text: the same in both dialects.

create table installation (
    one            boolean primary key default true check (one),
    id             text not null,
    -- Part of every event id: an id of another generation cannot be resumed from. Renewed by restore.
    generation     text not null,
    -- The last place of the feed from which an event was removed: a reader who stopped before it can't go on.
    forgotten_xact bigint not null default 0,
    forgotten_id   bigint not null default 0
);
insert into installation (id, generation)
values (replace(gen_random_uuid()::text, '-', ''), substr(replace(gen_random_uuid()::text, '-', ''), 1, 8));

create table channels (
    name                   text primary key check (name ~ '^[a-z0-9-]{1,40}$'),
    title                  text,
    provider               text not null,
    instance               text,
    api_url                text,
    sealed                 bytea,
    settings               text not null default '{}',
    state                  text not null default '',
    next_send_at           bigint not null default 0,
    poll_owner             text,
    poll_until             bigint not null default 0,
    repair_at              bigint not null default 0,
    repaired_to            bigint,
    -- When the provider may next be asked about sends of unknown fate: one turn for all instances.
    look_up_at             bigint not null default 0,
    managed_by_environment boolean not null default false,
    created_at             bigint not null,
    updated_at             bigint not null
);

create table tokens (
    id         text primary key,
    name       text not null,
    hash       text not null unique,
    role       text not null check (role in ('admin', 'agent', 'read', 'metrics')),
    channels   text,
    agent      text,
    expires_at bigint,
    created_at bigint not null
);

create table conversations (
    id                     text primary key,
    channel                text not null,
    chat_id                text not null,
    contact_name           text,
    contact_named_by_agent boolean not null default false,
    mode                   text not null check (mode in ('AI', 'HUMAN')),
    mode_version           bigint not null check (mode_version > 0),
    mode_reason            text not null,
    mode_actor             text not null,
    mode_changed_at        bigint not null,
    mode_until             bigint check (mode_until is null or mode = 'HUMAN'),
    drafting               boolean not null default false,
    status                 text not null check (status in ('open', 'snoozed', 'closed')),
    snoozed_until          bigint check (snoozed_until is null or status = 'snoozed'),
    assignee               text,
    opted_out              boolean not null default false,
    attention              text,
    attention_since        bigint,
    seq                    bigint not null,
    event_seq              bigint not null,
    fence                  bigint not null,
    lease_owner            text,
    lease_turn             text,
    lease_until            bigint,
    contact_seq            bigint not null,
    our_seq                bigint not null,
    waiting_since          bigint,
    read_seq               bigint not null,
    unread                 bigint not null,
    last_message_at        bigint,
    -- When somebody must look again; derived by the rules at each change.
    turn_at                bigint,
    send_at                bigint,
    send_rank              bigint not null default 0,
    follow_up_at           bigint,
    tend_at                bigint,
    -- What only the rules remember.
    memo                   text not null default '{}',
    created_at             bigint not null,
    updated_at             bigint not null,
    check ((attention is null) = (attention_since is null)),
    check ((lease_owner is null) = (lease_until is null) and (lease_owner is null) = (lease_turn is null))
);
create index conversations_turn on conversations (turn_at) where turn_at is not null;
create index conversations_send on conversations (send_at) where send_at is not null;
create index conversations_follow_up on conversations (follow_up_at) where follow_up_at is not null;
create index conversations_tend on conversations (tend_at) where tend_at is not null;
-- One without messages stands where it began.
create index conversations_newest on conversations (coalesce(last_message_at, created_at) desc, id);
create index conversations_updated on conversations (updated_at desc, id);
create index conversations_waiting on conversations (waiting_since, id) where waiting_since is not null;
create index conversations_attention on conversations (attention) where attention is not null;

-- Every id of a chat, and the conversation it belongs to.
create table chats (
    channel         text not null,
    chat_id         text not null,
    conversation_id text not null references conversations (id) on delete cascade,
    -- The chat first: people look for one without naming its channel.
    primary key (chat_id, channel)
);
create index chats_conversation on chats (conversation_id);

create table messages (
    id                  text primary key,
    conversation_id     text not null references conversations (id) on delete cascade,
    channel             text not null,
    seq                 bigint not null,
    author              text not null check (author in ('contact', 'assistant', 'agent', 'system')),
    origin              text not null,
    kind                text not null,
    text                text not null,
    sender              text,
    agent               text,
    quoted              text,
    media               text,
    provider_message_id text,
    -- What makes a message once only in its conversation: the provider's id, else a fingerprint.
    key                 text,
    at                  bigint not null,
    provider_at         bigint,
    edited_at           bigint,
    deleted_at          bigint,
    turn_id             text,
    -- Inbound.
    outcome             text check (outcome in ('pending', 'answered', 'left_to_human', 'ignored', 'handed_over', 'dead')),
    outcome_reason      text,
    starts_turn         boolean,
    -- Outbound.
    state               text check (state in ('queued', 'sending', 'sent', 'delivered', 'read', 'failed', 'unknown', 'cancelled', 'dead')),
    reason              text,
    attempts            bigint,
    part                bigint,
    parts               bigint,
    reply_id            text,
    mode_version        bigint,
    gate                text check (gate in ('assistant', 'farewell', 'person', 'follow_up')),
    lane                text check (lane in ('human', 'present', 'reply', 'proactive')),
    due_at              bigint,
    typing_ms           bigint,
    idempotency_key     text unique,
    attempt_id          text,
    attempt_at          bigint,
    lease_until         bigint,
    unclear             boolean,
    queued_at           bigint,
    sent_at             bigint,
    -- The provider reported that it has left there: until then it can neither be recalled nor be taken for gone.
    left_at             bigint,
    delivered_at        bigint,
    read_at             bigint,
    -- Belongs to the open business of its conversation.
    open                boolean not null,
    unique (conversation_id, seq),
    check ((outcome is null) = (starts_turn is null)),
    check (outcome is null or state is null),
    check ((state is null) = (idempotency_key is null) and (state is null) = (mode_version is null)
        and (state is null) = (gate is null) and (state is null) = (lane is null) and (state is null) = (due_at is null)),
    check (state <> 'sending' or (attempt_id is not null and lease_until is not null)),
    check (state not in ('queued', 'sending', 'unknown') or open),
    check (outcome <> 'pending' or open)
);
create unique index messages_key on messages (conversation_id, key) where key is not null;
create index messages_provider on messages (conversation_id, provider_message_id) where provider_message_id is not null;
create index messages_open on messages (conversation_id, seq) where open;
create index messages_sending on messages (channel) where state = 'sending';
create index messages_unknown on messages (attempt_at desc) where state = 'unknown';
-- For numbers by day, and for the export, which goes through all of them page by page.
create index messages_at on messages (at, id);

create table turns (
    id              text primary key,
    conversation_id text not null references conversations (id) on delete cascade,
    state           text not null check (state in ('generating', 'completed', 'cancelled', 'superseded', 'failed')),
    purpose         text not null check (purpose in ('reply', 'follow_up')),
    mode_version    bigint not null,
    fence           bigint not null,
    last_seq        bigint not null,
    is_final        boolean not null,
    messages        text not null,
    attempt         bigint not null,
    started_at      bigint not null,
    first_token_at  bigint,
    ended_at        bigint,
    model           text not null,
    input_tokens    bigint not null,
    output_tokens   bigint not null,
    wasted          boolean not null,
    reason          text,
    check ((state = 'generating') = (ended_at is null))
);
-- One turn at a time.
create unique index turns_generating on turns (conversation_id) where state = 'generating';
create index turns_conversation on turns (conversation_id, started_at desc);
create index turns_ended on turns (ended_at);

create table follow_ups (
    id              text primary key,
    conversation_id text not null references conversations (id) on delete cascade,
    due_at          bigint not null,
    text            text,
    instructions    text,
    created_by      text not null,
    created_at      bigint not null,
    state           text not null check (state in ('pending', 'sent', 'cancelled', 'withheld')),
    reason          text,
    attempts        bigint not null default 0,
    message_id      text,
    check (text is null or instructions is null)
);
-- At most one follow-up is pending for a conversation.
create unique index follow_ups_pending on follow_ups (conversation_id) where state = 'pending';
create index follow_ups_due on follow_ups (state, due_at, id);

create table dead_letters (
    id              text primary key,
    kind            text not null check (kind in ('webhook', 'turn', 'send', 'delivery')),
    channel         text not null,
    conversation_id text references conversations (id) on delete cascade,
    subject         text,
    state           text not null check (state in ('open', 'replayed', 'discarded')),
    reason          text not null,
    attempts        bigint not null,
    first_at        bigint not null,
    last_at         bigint not null,
    payload         text not null
);
create index dead_letters_listed on dead_letters (state, last_at desc, id);
create index dead_letters_conversation on dead_letters (conversation_id) where state = 'open';

-- Reports of the provider that wait until it can be told what they are about.
create table parked (
    id                  text primary key,
    conversation_id     text not null references conversations (id) on delete cascade,
    provider_message_id text not null,
    report              text not null,
    at                  bigint not null
);
create index parked_conversation on parked (conversation_id);

-- What an idempotency key stands for.
create table requests (
    key             text primary key,
    conversation_id text not null references conversations (id) on delete cascade,
    body_hash       text not null,
    message_id      text not null,
    answer          text not null,
    at              bigint not null
);
create index requests_at on requests (at);

create table events (
    id              bigint generated always as identity,
    -- Ids are not the order of commits: the feed goes by (transaction, id), below the oldest transaction still running.
    xact            bigint not null default (pg_current_xact_id()::text::bigint),
    at              bigint not null,
    channel         text not null,
    conversation_id text,
    conv_seq        bigint,
    message_id      text,
    turn_id         text,
    mode_version    bigint,
    actor           text not null,
    kind            text not null,
    action          text,
    details         text not null,
    primary key (xact, id)
);
create index events_conversation on events (conversation_id, conv_seq) where conversation_id is not null;
create index events_at on events (at);

-- Whoever removes events, the feed knows of it.
create function remember_forgotten_events() returns trigger language plpgsql as $$
begin
    update installation i
    set (forgotten_xact, forgotten_id) = (select g.xact, g.id from gone g order by g.xact desc, g.id desc limit 1)
    where exists (select 1 from gone g where (g.xact, g.id) > (i.forgotten_xact, i.forgotten_id));
    return null;
end $$;
create trigger events_forgotten after delete on events referencing old table as gone
    for each statement execute function remember_forgotten_events();
