-- When what is older than allowed was last removed: one run for all instances.
alter table installation add column retained_at integer not null default 0;
-- What it looks for, and had no index yet, by its age.
create index dead_letters_last on dead_letters (last_at);
create index parked_at on parked (at);
