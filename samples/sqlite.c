/* SQLite, of its source package, with a database in memory: inserts, an index, joins, groups, sorting, updates. */
#include "freestanding/out.h"

#include <sqlite3.h>
#include <stdlib.h>

static uint32_t hash;

static void stop(sqlite3 *database)
{
    out_string(database ? sqlite3_errmsg(database) : "no database");
    out_char('\n');
    exit(1);
}

static void execute(sqlite3 *database, const char *sql)
{
    if (sqlite3_exec(database, sql, NULL, NULL, NULL) != SQLITE_OK)
        stop(database);
}

static sqlite3_stmt *prepared(sqlite3 *database, const char *sql)
{
    sqlite3_stmt *statement;
    if (sqlite3_prepare_v2(database, sql, -1, &statement, NULL) != SQLITE_OK)
        stop(database);
    return statement;
}

/* Mixes every column of every row into the checksum, as text; returns the number of rows. */
static uint32_t query(sqlite3 *database, const char *sql, int32_t parameter)
{
    sqlite3_stmt *statement = prepared(database, sql);
    uint32_t rows = 0;
    int status;
    if (sqlite3_bind_parameter_count(statement))
        sqlite3_bind_int(statement, 1, parameter);
    while ((status = sqlite3_step(statement)) == SQLITE_ROW) {
        rows++;
        for (int column = 0; column < sqlite3_column_count(statement); column++) {
            const unsigned char *text = sqlite3_column_text(statement, column);
            for (; text && *text; text++)
                hash = mix32(hash, *text);
        }
    }
    if (status != SQLITE_DONE)
        stop(database);
    sqlite3_finalize(statement);
    return rows;
}

static void fill(sqlite3 *database, uint32_t rows, uint32_t *random)
{
    static const char *const towns[] = {"Arles", "Bergen", "Cadiz", "Delft", "Exeter", "Faro", "Gent"};
    sqlite3_stmt *person = prepared(database, "INSERT INTO person VALUES (?, ?, ?, ?)");
    sqlite3_stmt *order = prepared(database, "INSERT INTO purchase(person, cents, note) VALUES (?, ?, ?)");
    for (uint32_t i = 0; i < rows; i++) {
        char name[9];
        for (uint32_t j = 0; j < sizeof name - 1; j++)
            name[j] = (char)('a' + (random32(random) >> 9) % 26);
        name[sizeof name - 1] = 0;
        sqlite3_bind_int(person, 1, (int)i);
        sqlite3_bind_text(person, 2, name, -1, SQLITE_TRANSIENT);
        sqlite3_bind_text(person, 3, towns[(random32(random) >> 5) % 7], -1, SQLITE_STATIC);
        sqlite3_bind_int(person, 4, (int)(1930 + (random32(random) >> 7) % 90));
        if (sqlite3_step(person) != SQLITE_DONE || sqlite3_reset(person) != SQLITE_OK)
            stop(database);
        for (uint32_t j = 0; j < 3; j++) {
            sqlite3_bind_int(order, 1, (int)((random32(random) >> 4) % rows));
            sqlite3_bind_int64(order, 2, (sqlite3_int64)(random32(random) >> 12));
            sqlite3_bind_text(order, 3, j ? name : NULL, -1, SQLITE_TRANSIENT);
            if (sqlite3_step(order) != SQLITE_DONE || sqlite3_reset(order) != SQLITE_OK)
                stop(database);
        }
    }
    sqlite3_finalize(person);
    sqlite3_finalize(order);
}

static uint32_t one_round(uint32_t *random)
{
    sqlite3 *database;
    uint32_t rows = 0;
    if (sqlite3_open(":memory:", &database) != SQLITE_OK)
        stop(database);
    execute(database, "CREATE TABLE person(id INTEGER PRIMARY KEY, name TEXT, town TEXT, born INTEGER);"
                      "CREATE TABLE purchase(id INTEGER PRIMARY KEY, person INTEGER, cents INTEGER, note TEXT);"
                      "BEGIN");
    fill(database, 400, random);
    execute(database, "COMMIT; CREATE INDEX purchase_of ON purchase(person); CREATE INDEX by_name ON person(name)");
    rows += query(database, "SELECT town, count(*), sum(cents) FROM person JOIN purchase ON person = person.id "
                            "GROUP BY town ORDER BY 3 DESC", 0);
    for (int32_t year = 1930; year < 2020; year += 9)
        rows += query(database, "SELECT name, max(cents) FROM person JOIN purchase ON purchase.person = person.id "
                                "WHERE born >= ?1 AND born < ?1 + 9 GROUP BY person.id ORDER BY name LIMIT 20", year);
    rows += query(database, "SELECT upper(name) || '-' || town FROM person WHERE name LIKE '%an%' OR name GLOB '[a-c]*'", 0);
    execute(database, "BEGIN; UPDATE purchase SET cents = cents * 2 + id WHERE note IS NULL;"
                      "DELETE FROM purchase WHERE cents % 7 = 3; COMMIT");
    rows += query(database, "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000) "
                            "SELECT sum(i * i % 17), group_concat(i % 10, '') FROM n", 0);
    rows += query(database, "SELECT born / 10, count(DISTINCT town), avg(cents) > 500000 FROM person LEFT JOIN purchase "
                            "ON purchase.person = person.id GROUP BY 1 HAVING count(*) > 3 ORDER BY 1", 0);
    rows += query(database, "SELECT a.name FROM person a WHERE EXISTS (SELECT 1 FROM purchase p WHERE p.person = a.id "
                            "AND p.cents > 900000) ORDER BY length(a.name), a.name DESC", 0);
    sqlite3_close(database);
    return rows;
}

int main(int argc, char **argv)
{
    uint32_t rounds = sample_begin(argc, argv, 1), random = 521288629, rows = 0;
    for (uint32_t round = 0; round < rounds; round++)
        rows += one_round(&random);
    out_line_decimal("rows", (int32_t)rows);
    return sample_end(hash);
}
