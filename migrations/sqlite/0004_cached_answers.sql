-- Which turn answered which question, for the time in which the model is away. No texts: the answer is read from the
-- messages themselves, and goes with them.
create table cached_answers (
    turn_id         text primary key references turns (id) on delete cascade,
    channel         text not null,
    -- Hashes of the question's words, and of the prompt and model that answered it.
    question        text not null,
    prompt          text not null,
    conversation_id text not null references conversations (id) on delete cascade,
    -- The model had read nothing but this question, so the answer holds for anybody who asks it.
    alone           integer not null,
    at              integer not null
) strict;
create index cached_answers_question on cached_answers (channel, question, prompt, at desc);
create index cached_answers_at on cached_answers (at);
create index cached_answers_conversation on cached_answers (conversation_id);
