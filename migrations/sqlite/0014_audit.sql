-- Who has changed what of the installation itself, let whom in, or taken data out of it.
create table audit (
    id      text primary key,
    at      integer not null,
    actor   text not null,
    deed    text not null,
    subject text,
    details text not null
) strict;
create index audit_at on audit (at);
