-- The spine: conversations, their messages, turns and follow-ups, and the journal.
-- Times are milliseconds since the epoch, ids are UUIDs as text, small structures are JSON as text: the same in both dialects.

create table installation (
    one            integer primary key default 1 check (one = 1),
    id             text not null,
    -- Part of every event id: an id of another generation cannot be resumed from. Renewed by restore.
    generation     text not null,
    -- The last place of the feed from which an event was removed: a reader who stopped before it can't go on.
    forgotten_xact integer not null default 0,
    forgotten_id   integer not null default 0
) strict;
insert into installation (id, generation)
values (lower(hex(randomblob(16))), lower(hex(randomblob(4))));

create table channels (
    name                   text primary key check (length(name) between 1 and 40 and name not glob '*[^a-z0-9-]*'),
    title                  text,
    provider               text not null,
    instance               text,
    api_url                text,
    sealed                 blob,
    settings               text not null default '{}',
    state                  text not null default '',
    next_send_at           integer not null default 0,
    poll_owner             text,
    poll_until             integer not null default 0,
    repair_at              integer not null default 0,
    repaired_to            integer,
    -- When the provider may next be asked about sends of unknown fate: one turn for all instances.
    look_up_at             integer not null default 0,
    managed_by_environment integer not null default 0,
    created_at             integer not null,
    updated_at             integer not null
) strict;

create table tokens (
    id         text primary key,
    name       text not null,
    hash       text not null unique,
    role       text not null check (role in ('admin', 'agent', 'read', 'metrics')),
    channels   text,
    agent      text,
    expires_at integer,
    created_at integer not null
) strict;

create table conversations (
    id                     text primary key,
    channel                text not null,
    chat_id                text not null,
    contact_name           text,
    contact_named_by_agent integer not null default 0,
    mode                   text not null check (mode in ('AI', 'HUMAN')),
    mode_version           integer not null check (mode_version > 0),
    mode_reason            text not null,
    mode_actor             text not null,
    mode_changed_at        integer not null,
    mode_until             integer check (mode_until is null or mode = 'HUMAN'),
    drafting               integer not null default 0,
    status                 text not null check (status in ('open', 'snoozed', 'closed')),
    snoozed_until          integer check (snoozed_until is null or status = 'snoozed'),
    assignee               text,
    opted_out              integer not null default 0,
    attention              text,
    attention_since        integer,
    seq                    integer not null,
    event_seq              integer not null,
    fence                  integer not null,
    lease_owner            text,
    lease_turn             text,
    lease_until            integer,
    contact_seq            integer not null,
    our_seq                integer not null,
    waiting_since          integer,
    read_seq               integer not null,
    unread                 integer not null,
    last_message_at        integer,
    -- When somebody must look again; derived by the rules at each change.
    turn_at                integer,
    send_at                integer,
    send_rank              integer not null default 0,
    follow_up_at           integer,
    tend_at                integer,
    -- What only the rules remember.
    memo                   text not null default '{}',
    created_at             integer not null,
    updated_at             integer not null,
    check ((attention is null) = (attention_since is null)),
    check ((lease_owner is null) = (lease_until is null) and (lease_owner is null) = (lease_turn is null))
) strict;
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
) strict;
create index chats_conversation on chats (conversation_id);

create table messages (
    id                  text primary key,
    conversation_id     text not null references conversations (id) on delete cascade,
    channel             text not null,
    seq                 integer not null,
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
    at                  integer not null,
    provider_at         integer,
    edited_at           integer,
    deleted_at          integer,
    turn_id             text,
    -- Inbound.
    outcome             text check (outcome in ('pending', 'answered', 'left_to_human', 'ignored', 'handed_over', 'dead')),
    outcome_reason      text,
    starts_turn         integer,
    -- Outbound.
    state               text check (state in ('queued', 'sending', 'sent', 'delivered', 'read', 'failed', 'unknown', 'cancelled', 'dead')),
    reason              text,
    attempts            integer,
    part                integer,
    parts               integer,
    reply_id            text,
    mode_version        integer,
    gate                text check (gate in ('assistant', 'farewell', 'person', 'follow_up')),
    lane                text check (lane in ('human', 'present', 'reply', 'proactive')),
    due_at              integer,
    typing_ms           integer,
    idempotency_key     text unique,
    attempt_id          text,
    attempt_at          integer,
    lease_until         integer,
    unclear             integer,
    queued_at           integer,
    sent_at             integer,
    -- The provider reported that it has left there: until then it can neither be recalled nor be taken for gone.
    left_at             integer,
    delivered_at        integer,
    read_at             integer,
    -- Belongs to the open business of its conversation.
    open                integer not null,
    unique (conversation_id, seq),
    check ((outcome is null) = (starts_turn is null)),
    check (outcome is null or state is null),
    check ((state is null) = (idempotency_key is null) and (state is null) = (mode_version is null)
        and (state is null) = (gate is null) and (state is null) = (lane is null) and (state is null) = (due_at is null)),
    check (state <> 'sending' or (attempt_id is not null and lease_until is not null)),
    check (state not in ('queued', 'sending', 'unknown') or open),
    check (outcome <> 'pending' or open)
) strict;
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
    mode_version    integer not null,
    fence           integer not null,
    last_seq        integer not null,
    is_final        integer not null,
    messages        text not null,
    attempt         integer not null,
    started_at      integer not null,
    first_token_at  integer,
    ended_at        integer,
    model           text not null,
    input_tokens    integer not null,
    output_tokens   integer not null,
    wasted          integer not null,
    reason          text,
    check ((state = 'generating') = (ended_at is null))
) strict;
-- One turn at a time.
create unique index turns_generating on turns (conversation_id) where state = 'generating';
create index turns_conversation on turns (conversation_id, started_at desc);
create index turns_ended on turns (ended_at);

create table follow_ups (
    id              text primary key,
    conversation_id text not null references conversations (id) on delete cascade,
    due_at          integer not null,
    text            text,
    instructions    text,
    created_by      text not null,
    created_at      integer not null,
    state           text not null check (state in ('pending', 'sent', 'cancelled', 'withheld')),
    reason          text,
    attempts        integer not null default 0,
    message_id      text,
    check (text is null or instructions is null)
) strict;
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
    attempts        integer not null,
    first_at        integer not null,
    last_at         integer not null,
    payload         text not null
) strict;
create index dead_letters_listed on dead_letters (state, last_at desc, id);
create index dead_letters_conversation on dead_letters (conversation_id) where state = 'open';

-- Reports of the provider that wait until it can be told what they are about.
create table parked (
    id                  text primary key,
    conversation_id     text not null references conversations (id) on delete cascade,
    provider_message_id text not null,
    report              text not null,
    at                  integer not null
) strict;
create index parked_conversation on parked (conversation_id);

-- What an idempotency key stands for.
create table requests (
    key             text primary key,
    conversation_id text not null references conversations (id) on delete cascade,
    body_hash       text not null,
    message_id      text not null,
    answer          text not null,
    at              integer not null
) strict;
create index requests_at on requests (at);

create table events (
    -- One writer: ids are the order of commits. AUTOINCREMENT, so that none is ever used twice.
    id              integer primary key autoincrement,
    at              integer not null,
    channel         text not null,
    conversation_id text,
    conv_seq        integer,
    message_id      text,
    turn_id         text,
    mode_version    integer,
    actor           text not null,
    kind            text not null,
    action          text,
    details         text not null
) strict;
create index events_conversation on events (conversation_id, conv_seq) where conversation_id is not null;
create index events_at on events (at);

-- Whoever removes events, the feed knows of it.
create trigger events_forgotten after delete on events begin
    update installation set forgotten_id = old.id where old.id > forgotten_id;
end;
