-- What is added to the numbers of transactions: another server, to which its own tools brought the database, begins anew.
alter table installation add column xact_offset integer not null default 0;
