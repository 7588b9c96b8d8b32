-- SQLite has no types of one's own, and reads its checks once.
select 1;
