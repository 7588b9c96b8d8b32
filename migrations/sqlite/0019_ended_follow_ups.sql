-- Retention finds them by when they were scheduled: one that was called off has no time to come.
create index follow_ups_created on follow_ups (created_at);
