-- Labels, and which conversations carry them. In a table of its own: no message costs more for it.
create table labels (
    id          text primary key,
    name        text not null,
    -- The name without its case: by this it is looked for, and taken once.
    folded      text not null unique,
    colour      text,
    description text,
    created_at  bigint not null
);
create table conversation_labels (
    conversation_id text not null references conversations (id) on delete cascade,
    label_id        text not null references labels (id) on delete cascade,
    -- The label first: lists are narrowed by it.
    primary key (label_id, conversation_id)
);
create index conversation_labels_conversation on conversation_labels (conversation_id);

-- Replies kept at hand, shared or an agent's own.
create table canned_replies (
    id         text primary key,
    shortcut   text not null,
    -- The shortcut without its case.
    folded     text not null,
    text       text not null,
    channels   text,
    owner      text,
    created_at bigint not null
);
create unique index canned_replies_shortcut on canned_replies (coalesce(owner, ''), folded);
