/* report/table.h - tables and records whose columns are described once. Internal.
 *
 * A column names its heading in text, its key in JSON and CSV, the form of its value, and the
 * place of the value in the struct of a row. One loop writes the rows in each output form:
 *
 *     static const struct column columns[] = {
 *         { "stage", NULL, AS_INT, AT(struct stage_row, stage) },
 *         { "computing", "busy_s", AS_SECONDS, AT(struct stage_row, busy_s) },
 *         { 0 },
 *     };
 *     struct table_writer table = { .column = columns, .to = to };    JSON: .json, CSV: .csv
 *     hp_table_begin(&table, "stages");
 *     for (...)
 *         hp_table_row(&table, &row);
 *     hp_table_end(&table);
 *
 * CTest documents/keys looks for each key of these rows and of PUT() in docs/formats-*.md.
 * CTest documents/headings looks for each heading in docs/terms.md, which has the explanations.
 */
#ifndef REPORT_TABLE_H
#define REPORT_TABLE_H

#include <math.h>
#include <stddef.h>

#include "base/files/json.h"
#include "base/files/text.h"

/* The type of a value, and its form in text. JSON and CSV have numbers in SI units. */
enum column_form {
    NO_COLUMN, /* ends a list of columns */
    /* double; NAN, INFINITY: not known */
    AS_SECONDS,
    AS_BYTES,
    AS_JOULES,
    AS_BANDWIDTH,
    AS_NUMBER,  /* "0.123", "1234" */
    AS_METRIC,  /* "3.41 G" */
    AS_PERCENT, /* 0.123 is "12.3 %" */
    AS_WHOLE_PERCENT,
    AS_TIMES,  /* "1.23 x" */
    AS_FACTOR, /* "1.23x" */
    AS_INT,    /* int: "1234" */
    AS_LONG,   /* int64_t: "1234" */
    AS_COUNT,  /* int64_t: "1,234" */
    AS_BOOL,   /* bool: "yes" */
    AS_TEXT,   /* const char *; NULL: not known; in quotes in CSV */
    AS_WORD,   /* const char *, without quotes in CSV */
    /* A struct with the columns `of`, behind a pointer; NULL: not known. It is an object in
     * JSON. In CSV and, if there is a heading, in text, each of its columns is a column. */
    AS_RECORD,
};

enum column_flag {
    LEFT_OUT = 1,      /* JSON has no member for a value that is not known; else null */
    IF_POSITIVE = 2,   /* zero, false, "" and less than zero are not known */
    IF_KNOWN = 4,      /* less than zero is not known */
    IF_ANY = 8,        /* text has the column if some row's value is above zero */
    BLANK = 16,        /* text shows "" for a value that is not known; else "-" */
    WRAPS = 32,        /* text may break the column between words */
    TO_THE_RIGHT = 64, /* texts are aligned to the left unless this is set ... */
    TO_THE_LEFT = 128, /* ... numbers to the right unless this is set */
    BEHIND = 256,      /* `offset` is that of a pointer; the value is `inner` bytes behind the
                        * address it holds */
    INSIDE = 512,      /* the struct or the characters are in the row, not behind a pointer */
    NOT_JSON = 1024,   /* the key is for CSV only */
    NOT_CSV = 2048,    /* the key is for JSON only */
};

struct column {
    const char *heading; /* NULL: not in text */
    const char *key;     /* NULL: neither in JSON nor in CSV */
    enum column_form form;
    size_t offset; /* of the value in the row: AT(struct row, member) */
    unsigned flags;
    int at;        /* order in text of columns that have one, from 1; 0: behind those before */
    unsigned when; /* text and CSV of ALL_KEYS have the column if `shows` of the table has one
                    * of these bits; 0: always */
    size_t star;   /* offset of a bool: the cell is highlighted; 0: none */
    size_t prefix; /* offset of a const char * that text writes before the value; 0: none */
    size_t inner;
    const struct column *of;
    double (*get)(const void *at); /* computes a double from the data at `offset`; NULL: none */
};

#define AT(type, member) .offset = offsetof(type, member)
/* A column of rows that are arrays of const char *. */
#define CELL(i) .offset = (size_t)(i) * sizeof(const char *)

/* CSV: the keys of all columns that are shown, in their order, each once. */
#define ALL_KEYS "*"

struct table_writer {
    const struct column *column;
    /* A table of texts has headings, separated by '|', instead of columns. A '>' before a
     * heading aligns the column to the right, a '~' lets it wrap. A row is an array of texts.
     */
    const char *texts;
    FILE *to;                 /* for text and CSV */
    struct json_writer *json; /* NULL: text or CSV */
    const char *csv; /* keys of the fields in order, separated by blanks; ALL_KEYS; NULL: no
                        CSV */
    unsigned shows;
    int most;   /* limit of rows in text; 0: none */
    bool alike; /* text: neighbouring rows that read alike become one row; the first column, an
                 * AS_INT, is then "3-7" */
    /* The other members are internal. */
    struct arena arena;
    bool begun;                               /* the line of CSV has a field */
    const struct column *shown[MOST_COLUMNS]; /* columns of text, in their order */
    const struct column
        *part_of[MOST_COLUMNS]; /* the record that each column belongs to; NULL: the row */
    int position[MOST_COLUMNS];
    bool any[MOST_COLUMNS]; /* some value is above zero */
    int n_shown, n_rows;
    int first; /* number of the first of the joined rows */
    bool full; /* a row was left out */
    const char **cell;
    bool *star;
    int n_cells, capacity, star_capacity;
    bool starred;
};

/* Begin a table. `key`: of the array in JSON; NULL: the array is an element or the root. */
void hp_table_begin(struct table_writer *table, const char *key);

/* Add a row. Returns false if text already has `most` rows and leaves this one out. */
bool hp_table_row(struct table_writer *table, const void *row);

/* Text: add one row for `n` rows, which are `row_bytes` apart. Texts are those of the first
 * row, a number is the range of all: "76.1 to 174 MB", or "up to 1.74 GB" if units differ. */
bool hp_table_range(struct table_writer *table, const void *rows, int n, size_t row_bytes);

/* End the array, or print the table; text without rows prints nothing. `starred` says whether a
 * cell is highlighted. Frees the table's memory. */
void hp_table_end(struct table_writer *table);

/* Members of a JSON object that belong to no table:
 *
 *     PUT(w, TEXT("model", name), INT("batch", n), ONLY_IF(gap >= 0, NUMBER("gap", gap)));
 *
 * A number that is not finite is null. */
struct member {
    const char *key;
    enum { NO_MEMBER, LEFT_OUT_MEMBER, IS_TEXT, IS_INT, IS_NUMBER, IS_FLAG, IS_RECORD } kind;
    const char *text;
    int64_t integer;
    double number;
    const struct column *column;
    const void *row;
};

#define TEXT(k, v)     ((struct member){ .key = (k), .kind = IS_TEXT, .text = (v) })
#define INT(k, v)      ((struct member){ .key = (k), .kind = IS_INT, .integer = (v) })
#define NUMBER(k, v)   ((struct member){ .key = (k), .kind = IS_NUMBER, .number = (v) })
#define POSITIVE(k, v) NUMBER(k, (v) > 0 ? (double)(v) : NAN) /* else null */
#define FLAG(k, v)     ((struct member){ .key = (k), .kind = IS_FLAG, .integer = (v) ? 1 : 0 })
#define FIELDS(c, r)   ((struct member){ .kind = IS_RECORD, .column = (c), .row = (r) })
#define ONLY_IF(c, m)  ((c) ? (m) : (struct member){ .kind = LEFT_OUT_MEMBER })
/* The object of a row; null if `r` is NULL. FIELDS: the members of the row without braces. */
#define RECORD(k, c, r) \
    ((struct member){ .key = (k), .kind = IS_RECORD, .column = (c), .row = (r) })

#define MEMBERS(...)                  ((const struct member[]){ __VA_ARGS__, { 0 } })
#define PUT(w, ...)                   hp_put_members(w, MEMBERS(__VA_ARGS__))
#define PUT_OBJECT(w, key, flat, ...) hp_put_object(w, key, flat, MEMBERS(__VA_ARGS__))

/* Write members into an open object, or an object of them. */
void hp_put_members(struct json_writer *w, const struct member *member);
void hp_put_object(struct json_writer *w, const char *key, bool flat,
                   const struct member *member);

/* Write an array of the columns of numbers that have a heading and a key: for a page that shows
 * the table. `shows` as of a table. */
void hp_put_columns(struct json_writer *w, const char *key, const struct column *column,
                    unsigned shows);

/* Write the members of an open object. */
void hp_put_fields(struct json_writer *w, const struct column *column, const void *row);

/* Write an object on one line; null if `row` is NULL. */
void hp_put_record(struct json_writer *w, const char *key, const struct column *column,
                   const void *row);

#endif /* REPORT_TABLE_H */
