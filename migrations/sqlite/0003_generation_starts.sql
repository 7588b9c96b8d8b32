-- When the generations of the last minute began, over all instances: one row for each that may begin in a minute. The
-- one that has rested longest is taken by the next, if it has rested a minute.
create table generation_starts (
    slot     integer primary key,
    begun_at integer not null
) strict;
