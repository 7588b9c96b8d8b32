-- Copies one conversation that Baton itself has written, with all that belongs to it, under new names: `begin` to `end`.
-- Columns are taken from the tables as they are, so that no change of theirs is missed here. Events are left out, which
-- would be most of the bytes: nothing on a message's way reads those of other conversations.
create or replace function copy_conversation(original text, first bigint, last bigint) returns void language plpgsql as $$
declare
    place text;
    names text;
    copies text;
begin
    foreach place in array array['conversations', 'chats', 'messages', 'turns', 'follow_ups'] loop
        select string_agg(quote_ident(column_name), ', ' order by ordinal_position),
               string_agg(case
                   -- What names a chat is what the gateway will call it.
                   when column_name = 'chat_id' then $e$'65' || lpad(n::text, 8, '0') || '@c.us'$e$
                   -- The same old name becomes the same new one wherever it stands.
                   when column_name in ('id', 'conversation_id', 'turn_id', 'reply_id', 'attempt_id', 'message_id')
                       then format('md5(o.%I || n)::uuid::text', column_name)
                   when column_name in ('idempotency_key', 'provider_message_id') then format('o.%I || n', column_name)
                   else format('o.%I', column_name)
               end, ', ' order by ordinal_position)
        into names, copies
        from information_schema.columns
        where table_schema = current_schema() and table_name = place and is_identity = 'NO' and is_generated = 'NEVER';
        execute format('insert into %I (%s) select %s from %I o, generate_series($1, $2) n where o.%I = $3',
            place, names, copies, place, case place when 'conversations' then 'id' else 'conversation_id' end)
        using first, last, original;
    end loop;
end $$;
