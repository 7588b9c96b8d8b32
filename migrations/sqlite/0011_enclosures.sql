-- Files that people send: kept before the message that carries them, under its id.
create table enclosures (
    id    text primary key,
    bytes blob not null,
    at    integer not null
) strict;
create index enclosures_at on enclosures (at);
