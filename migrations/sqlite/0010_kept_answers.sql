-- What requests under an Idempotency-Key were answered, where they are about no one conversation.
create table kept_answers (
    key       text primary key,
    body_hash text not null,
    -- Who works on it, and until when: then somebody else may.
    owner     text not null,
    until     integer not null,
    -- Encrypted, for an answer may hold a secret; null while somebody works on it.
    sealed    blob,
    at        integer not null
) strict;
create index kept_answers_at on kept_answers (at);
