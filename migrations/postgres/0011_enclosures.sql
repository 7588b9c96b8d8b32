-- Files that people send: kept before the message that carries them, under its id.
create table enclosures (
    id    text primary key,
    bytes bytea not null,
    at    bigint not null
);
-- A picture does not get smaller by being compressed once more.
alter table enclosures alter column bytes set storage external;
create index enclosures_at on enclosures (at);
