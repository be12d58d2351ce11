.bail on
PRAGMA journal_mode = wal;
CREATE TABLE item (id INTEGER PRIMARY KEY, name TEXT, price REAL, data BLOB);
BEGIN;
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5000)
INSERT INTO item SELECT i, 'item ' || (i * 7919 % 5000), i * 1.25 - i % 17, zeroblob(i % 40) FROM n;
COMMIT;
CREATE INDEX by_name ON item(name);
SELECT count(*), sum(id), round(avg(price), 6), total(length(data)) FROM item;
SELECT * FROM item WHERE name LIKE 'item 49%' ORDER BY price DESC LIMIT 3;
SELECT id % 7 AS k, count(*), min(name), max(price) FROM item GROUP BY k HAVING k > 2 ORDER BY k;
SELECT name, row_number() OVER (PARTITION BY id % 3 ORDER BY price) FROM item LIMIT 4;
UPDATE item SET price = price * 2 WHERE id BETWEEN 100 AND 200;
DELETE FROM item WHERE id % 11 = 0;
SELECT count(*), round(sum(price), 4) FROM item;
CREATE VIRTUAL TABLE words USING fts5(text);
INSERT INTO words VALUES ('a quick brown fox'), ('slow green turtle'), ('quick green frog');
SELECT rowid, text FROM words WHERE words MATCH 'quick NOT fox' OR words MATCH 'turtle' ORDER BY rowid;
CREATE VIRTUAL TABLE box USING rtree(id, x0, x1, y0, y1);
INSERT INTO box SELECT id, id % 50, id % 50 + 2, id / 100, id / 100 + 1 FROM item WHERE id < 3000;
SELECT count(*) FROM box WHERE x0 < 10.5 AND x1 > 3.25 AND y1 < 20;
SELECT json_extract('{"a": [1, 2.5, {"b": "c"}]}', '$.a[2].b'), json_group_array(id) FROM item WHERE id < 6;
SELECT hex(x'0102ff'), quote(1e300), 9223372036854775807, -1 >> 1, 7.0 / 3, printf('%.17g', 0.1), 1e-320 > 0;
SELECT date('2024-02-28', '+2 days'), strftime('%J', '2000-01-01'), julianday('1970-01-01'), unixepoch('2038-01-19 03:14:08');
SELECT round(pi(), 10), round(log(2, 1024), 6), round(sin(1), 12), upper('abc'), instr('hello', 'll'), unicode('é');
PRAGMA wal_checkpoint(TRUNCATE);
VACUUM;
PRAGMA integrity_check;
