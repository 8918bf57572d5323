/* Reading tables of comma-separated text into rows of fields, with the line of each row for
 * messages. */
#include "base/files/csv.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/files/file.h"
#include "base/utf8.h"

struct reading {
    struct csv *csv;
    struct arena *arena;
    int line, capacity;
    struct csv_row *rows;
    struct hypar_error *err;
};

static enum hypar_status fail_at(const struct reading *r, enum hypar_status status,
                                 const char *why)
{
    return hp_in(r->err, hp_fail(r->err, status, "%s", why), "%s:%d", r->csv->name, r->line);
}

static const char *skip_blanks(const char *p)
{
    return p + strspn(p, " ");
}

bool hp_csv_is_formula(const char *text)
{
    text += strspn(text, "'");
    return *text && strchr("=+-@\t\r", *text);
}

/* The text up to the closing quote; *p points behind the opening one. NULL: no closing
 * quote. */
static const char *quoted_field(struct arena *arena, const char **p)
{
    char *field = NEW(arena, char, strlen(*p) + 1), *end = field;
    for (; **p; (*p)++) {
        if (**p == '"' && (*p)[1] != '"') {
            (*p)++;
            return field;
        }
        *p += **p == '"';
        *end++ = **p;
    }
    return NULL;
}

static const char *plain_field(struct arena *arena, const char **p)
{
    const char *first = *p;
    *p += strcspn(*p, ",");
    const char *last = *p;
    while (last > first && last[-1] == ' ')
        last--;
    return hp_arena_strndup(arena, first, (size_t)(last - first));
}

/* The fields of a line; at most CSV_MAX_COLUMNS. */
static enum hypar_status read_fields(struct reading *r, const char *p, const char **field,
                                     int *n)
{
    for (*n = 0;; p++) { /* p points behind a comma */
        p = skip_blanks(p);
        if (*n == CSV_MAX_COLUMNS)
            return fail_at(r, HYPAR_UNSUPPORTED, "more than 64 fields");
        bool quoted = *p == '"';
        p += quoted;
        field[*n] = quoted ? quoted_field(r->arena, &p) : plain_field(r->arena, &p);
        if (!field[(*n)++])
            return fail_at(r, HYPAR_SYNTAX, "a quote has no end, expected '\"' in its line");
        if (field[*n - 1][0] == '\'' && hp_csv_is_formula(field[*n - 1]))
            field[*n - 1]++;
        p = skip_blanks(p);
        if (!*p)
            return HYPAR_OK;
        if (*p != ',')
            return fail_at(r, HYPAR_SYNTAX,
                           "text behind a quoted field, expected ',' or the end of the line");
    }
}

static bool same_word(const char *a, const char *b)
{
    while (*a && tolower((unsigned char)*a) == tolower((unsigned char)*b)) {
        a++;
        b++;
    }
    return *a == *b;
}

static enum hypar_status check_heading(const struct reading *r)
{
    const struct csv *csv = r->csv;
    for (int c = 0; c < csv->n_columns; c++)
        if (*csv->heading[c] && hp_csv_column(csv, csv->heading[c]) < c)
            return hp_csv_fail(csv, csv->line, r->err, "two columns '%.60s', expected one",
                               csv->heading[c]);
    return HYPAR_OK;
}

static enum hypar_status read_line(struct reading *r, const char *text)
{
    const char *field[CSV_MAX_COLUMNS], *first = skip_blanks(text);
    struct csv *csv = r->csv;
    int n;
    if (!*first || *first == '#')
        return HYPAR_OK;
    if (hp_has_control(first))
        return fail_at(r, HYPAR_SYNTAX, "a character that cannot be shown, expected UTF-8");
    TRY(read_fields(r, first, field, &n));
    const char **kept = NEW(r->arena, const char *, n);
    memcpy(kept, field, (size_t)n * sizeof *kept);
    if (!csv->heading) {
        csv->heading = kept;
        csv->n_columns = n;
        csv->line = r->line;
        return check_heading(r);
    }
    if (n != csv->n_columns)
        return hp_csv_fail(csv, r->line, r->err, "%d field%s, expected %d as in the heading", n,
                           n == 1 ? "" : "s", csv->n_columns);
    if (csv->n_rows == CSV_MAX_ROWS)
        return fail_at(r, HYPAR_UNSUPPORTED, "more than 2^20 rows");
    r->rows = GROW(r->arena, struct csv_row, r->rows, csv->n_rows, &r->capacity);
    r->rows[csv->n_rows++] = (struct csv_row){ r->line, kept };
    return HYPAR_OK;
}

/* Some programs write a byte order mark in front of the text. */
static size_t mark_bytes(const char *text, size_t length)
{
    return length >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
}

enum hypar_status hp_csv_read_text(struct csv *out, struct arena *arena, const char *text,
                                   size_t length, const char *name, struct hypar_error *err)
{
    struct reading r = { .csv = out, .arena = arena, .err = err };
    *out = (struct csv){ .name = hp_arena_strdup(arena, name) };
    if (length > CSV_MAX_BYTES)
        return hp_fail(err, HYPAR_UNSUPPORTED, "%s: larger than 64 MiB", name);
    for (size_t at = mark_bytes(text, length); at < length;) {
        const char *end = memchr(text + at, '\n', length - at);
        size_t n = end ? (size_t)(end - text) - at : length - at;
        char *line = hp_arena_strndup(arena, text + at, n);
        r.line++;
        if (strlen(line) != n)
            return fail_at(&r, HYPAR_SYNTAX, "a zero byte, expected text");
        if (n > 0 && line[n - 1] == '\r')
            line[n - 1] = '\0';
        for (char *tab = line; (tab = strchr(tab, '\t'));)
            *tab = ' ';
        TRY(read_line(&r, line));
        at += n + 1;
    }
    out->row = r.rows;
    if (!out->heading)
        return hp_fail(err, HYPAR_SYNTAX, "%s: empty, expected a heading and rows", name);
    return HYPAR_OK;
}

enum hypar_status hp_csv_read_file(struct csv *out, struct arena *arena, const char *path,
                                   struct hypar_error *err)
{
    const char *text;
    size_t length;
    TRY(hp_file_read(arena, path, CSV_MAX_BYTES, &text, &length, err));
    return hp_csv_read_text(out, arena, text, length,
                            strcmp(path, "-") == 0 ? "standard input" : path, err);
}

int hp_csv_column(const struct csv *csv, const char *name)
{
    for (int c = 0; c < csv->n_columns; c++)
        if (same_word(csv->heading[c], name))
            return c;
    return -1;
}

enum hypar_status hp_csv_fail(const struct csv *csv, int line, struct hypar_error *err,
                              const char *fmt, ...)
{
    char text[sizeof err->text];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    return hp_in(err, hp_fail(err, HYPAR_INVALID, "%s", text), "%s:%d", csv->name, line);
}
