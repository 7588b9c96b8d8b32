-- Endpoints of webhooks: who outside is told of events. What is told is in the journal; here is how far each has been told.
create table endpoints (
    id              text primary key,
    url             text not null,
    -- Types of events, and channels; null: all.
    events          text,
    channels        text,
    description     text,
    state           text not null check (state in ('active', 'paused', 'disabled')),
    disabled_reason text check (disabled_reason in ('gone', 'failing')),
    -- The place of the feed up to which deliveries are written down; null: it is told of what happens from now on.
    cursor_xact     integer,
    cursor_id       integer,
    -- Since when every attempt has failed.
    failing_since   integer,
    -- The instance that serves it, and for how long.
    owner           text,
    owned_until     integer not null default 0,
    created_at      integer not null,
    updated_at      integer not null,
    check ((state = 'disabled') = (disabled_reason is not null)),
    check ((cursor_xact is null) = (cursor_id is null))
) strict;

-- Their secrets. One that was changed signs too until then.
create table endpoint_secrets (
    id          text primary key,
    endpoint_id text not null references endpoints (id) on delete cascade,
    sealed      blob not null,
    until       integer
) strict;
-- One that is good for ever.
create unique index endpoint_secrets_current on endpoint_secrets (endpoint_id) where until is null;
create index endpoint_secrets_endpoint on endpoint_secrets (endpoint_id);

-- One event at one endpoint. Nothing of what it says is kept here: that is read again for each attempt.
create table deliveries (
    id              text primary key,
    endpoint_id     text not null references endpoints (id) on delete cascade,
    -- The event's place in the feed; null: a test.
    event_xact      integer,
    event_id        integer,
    kind            text not null,
    channel         text not null,
    conversation_id text,
    -- Within it deliveries go in order: the conversation, or the channel of what is outside of any.
    lane            text not null,
    state           text not null check (state in ('pending', 'delivered', 'failed', 'dropped')),
    attempts        integer not null,
    at              integer not null,
    -- The first attempt of those that count against its day.
    first_at        integer,
    next_at         integer not null,
    last_at         integer,
    last_ms         integer,
    status          integer,
    reason          text,
    answer          text,
    check ((event_xact is null) = (event_id is null)),
    check (state <> 'pending' or event_id is not null)
) strict;
-- Each event once at each endpoint.
create unique index deliveries_event on deliveries (endpoint_id, event_xact, event_id);
create index deliveries_pending on deliveries (endpoint_id, lane, event_xact, event_id) where state = 'pending';
create index deliveries_listed on deliveries (endpoint_id, at desc, id desc);
create index deliveries_last on deliveries (endpoint_id, last_at desc) where last_at is not null;
create index deliveries_ended on deliveries (last_at) where state <> 'pending';
create index deliveries_conversation on deliveries (conversation_id) where conversation_id is not null;

-- Not by a foreign key: PostgreSQL would lock conversations as deliveries are written down. An answer in the log may hold
-- words of the person who is erased.
create trigger conversations_told after delete on conversations begin
    delete from deliveries where conversation_id = old.id;
end;
