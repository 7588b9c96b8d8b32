-- The key under which a message is given to the provider is the message's own id. Its index stays: SQLite cannot take it away
-- without writing the table anew.
select 1;
