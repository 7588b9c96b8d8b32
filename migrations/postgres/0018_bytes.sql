-- Ids, keys and hashes are compared byte by byte: with the language of most databases (en_US), each step down an index asks
-- the C library how people would sort the two, which was a third of what a message costs. So: every text that an index holds.
do $$
declare
    it record;
begin
    -- All of them before any work is done, which would be in vain if one could not be had.
    execute (
        select 'lock table ' || string_agg(oid::regclass::text, ', ' order by relname) from pg_class
        where relnamespace = current_schema()::regnamespace and relkind = 'r' and relname <> '_sqlx_migrations');
    for it in
        select i.indrelid::regclass as place,
            string_agg(distinct format('alter %I type text collate "C"', a.attname), ', ') as changes
        from pg_index i
        join pg_class t on t.oid = i.indrelid and t.relnamespace = current_schema()::regnamespace
        join pg_attribute a on a.attrelid = t.oid and a.attnum = any (i.indkey)
        where t.relkind = 'r' and t.relname <> '_sqlx_migrations'
            and a.atttypid = 'text'::regtype and a.attcollation <> '"C"'::regcollation
        group by i.indrelid
    loop
        execute format('alter table %s %s', it.place, it.changes);
    end loop;
    -- A program from before this migration takes what its connections now answer for the fault of customers' messages. They
    -- are ended, and whatever it prepares anew waits for the tables.
    perform pg_terminate_backend(pid) from pg_stat_activity
    where application_name = 'baton' and datname = current_database() and usename = current_user
        and pid <> pg_backend_pid();
end $$;
