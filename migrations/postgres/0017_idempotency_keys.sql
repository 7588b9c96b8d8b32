-- The key under which a message is given to the provider is the message's own id: one index of it is enough.
alter table messages drop constraint messages_idempotency_key_key;
