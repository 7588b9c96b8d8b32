-- What the turns of erased people had used, by the quarter of an hour in which they ended: the day's ceiling of cost counts it,
-- and nobody's name is in it. It goes when no day can need it any more.
create table erased_usage (
    channel       text collate "C" not null,
    at            bigint not null,
    model         text collate "C" not null,
    input_tokens  bigint not null,
    output_tokens bigint not null,
    primary key (channel, at, model)
);
