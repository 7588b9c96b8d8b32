-- Within a lane deliveries go by the ids of events: that is the order of what happened in a conversation, the feed's is not.
-- The index in the feed's order stays for the version before.
create index deliveries_lane on deliveries (endpoint_id, lane, event_id) where state = 'pending';
