-- Another number each time that anybody saves the row: whoever has seen this one knows the conversation and its open business.
alter table conversations add column stamp integer not null default 0;
-- How many sends were ever claimed: whoever has seen this number knows that nobody has claimed one since.
alter table channels add column sends integer not null default 0;
