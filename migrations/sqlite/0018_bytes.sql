-- SQLite compares byte by byte unless it is told otherwise.
select 1;
