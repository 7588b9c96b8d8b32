-- The brake on what nobody asked for: since when it holds a channel's follow-ups back, what it was latched by, and when a person
-- last released it. Sends from before then are not counted again.
alter table channels add column braked_at bigint;
alter table channels add column braked_sends bigint;
alter table channels add column braked_best bigint;
alter table channels add column brake_released_at bigint;
-- For counting them by day, every few seconds.
create index messages_proactive on messages (channel, attempt_at) where lane = 'proactive';
