-- The people of the business, and how they come in. Of every secret only a hash is kept.
create table agents (
    id           text primary key,
    name         text not null,
    email        text not null,
    -- The same in small letters: by this an agent is found, and it belongs to one.
    email_folded text not null unique,
    role         text not null check (role in ('admin', 'agent')),
    channels     text,
    disabled     boolean not null default false,
    password     text,
    preferences  text not null default '{}',
    created_at   bigint not null,
    updated_at   bigint not null
);

create table sessions (
    hash       text primary key,
    agent      text not null references agents (id) on delete cascade,
    created_at bigint not null,
    used_at    bigint not null,
    expires_at bigint not null
);
create index sessions_agent on sessions (agent);
create index sessions_expires on sessions (expires_at);

create table sign_in_links (
    hash       text primary key,
    agent      text not null references agents (id) on delete cascade,
    created_at bigint not null,
    expires_at bigint not null,
    used_at    bigint
);
create index sign_in_links_agent on sign_in_links (agent);
