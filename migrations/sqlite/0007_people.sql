-- The people of the business, and how they come in. Of every secret only a hash is kept.
create table agents (
    id           text primary key,
    name         text not null,
    email        text not null,
    -- The same in small letters: by this an agent is found, and it belongs to one.
    email_folded text not null unique,
    role         text not null check (role in ('admin', 'agent')),
    channels     text,
    disabled     integer not null default 0,
    password     text,
    preferences  text not null default '{}',
    created_at   integer not null,
    updated_at   integer not null
) strict;

create table sessions (
    hash       text primary key,
    agent      text not null references agents (id) on delete cascade,
    created_at integer not null,
    used_at    integer not null,
    expires_at integer not null
) strict;
create index sessions_agent on sessions (agent);
create index sessions_expires on sessions (expires_at);

create table sign_in_links (
    hash       text primary key,
    agent      text not null references agents (id) on delete cascade,
    created_at integer not null,
    expires_at integer not null,
    used_at    integer
) strict;
create index sign_in_links_agent on sign_in_links (agent);
