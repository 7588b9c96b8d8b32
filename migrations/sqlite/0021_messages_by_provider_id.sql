-- The gateway's id comes first: what is reported of a message of ours in a chat that is not known yet is looked for by it alone.
drop index messages_provider;
create index messages_provider on messages (provider_message_id, conversation_id) where provider_message_id is not null;
