/* Writes rows by their columns: as text, as JSON and as CSV. */
#include "report/table.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/files/csv.h"
#include "base/number.h"
#include "base/utf8.h"

/* Values ------------------------------------------------------------------------------ */

struct value {
    bool known, is_text;
    double number;
    const char *text;
};

static const void *place_of(const struct column *c, const void *row)
{
    const char *at = (const char *)row + c->offset;
    return c->flags & BEHIND ? *(const char *const *)at + c->inner : at;
}

static struct value value_of(const struct column *c, const void *row)
{
    const void *at = place_of(c, row);
    struct value v = { .is_text = c->form == AS_TEXT || c->form == AS_WORD };
    switch (c->form) {
    case AS_INT:
        v.number = *(const int *)at;
        break;
    case AS_LONG:
    case AS_COUNT:
        v.number = (double)*(const int64_t *)at;
        break;
    case AS_BOOL:
        v.number = *(const bool *)at;
        break;
    case AS_TEXT:
    case AS_WORD:
        v.text = c->flags & INSIDE ? at : *(const char *const *)at;
        v.number = v.text && *v.text;
        break;
    default:
        v.number = c->get ? c->get(at) : *(const double *)at;
    }
    v.known = v.is_text ? v.text != NULL : isfinite(v.number) != 0;
    if ((c->flags & IF_POSITIVE && v.number <= 0) || (c->flags & IF_KNOWN && v.number < 0))
        v.known = false;
    return v;
}

static const void *record_of(const struct column *c, const void *row)
{
    const void *at = place_of(c, row);
    return c->flags & INSIDE ? at : *(const void *const *)at;
}

/* JSON -------------------------------------------------------------------------------- */

static void put_field(struct json_writer *w, const struct column *c, const void *row)
{
    if (c->form == AS_RECORD) {
        const void *record = record_of(c, row);
        if (c->key && (record || !(c->flags & LEFT_OUT)))
            hp_put_record(w, c->key, c->of, record);
        else if (record)
            hp_put_fields(w, c->of, record);
        return;
    }
    struct value v = value_of(c, row);
    if (!v.known && c->flags & LEFT_OUT)
        return;
    if (!v.known)
        hp_json_put_null(w, c->key);
    else if (v.is_text)
        hp_json_put_string(w, c->key, v.text);
    else if (c->form == AS_BOOL)
        hp_json_put_bool(w, c->key, v.number > 0);
    else if (c->form == AS_LONG || c->form == AS_COUNT)
        hp_json_put_int(w, c->key, *(const int64_t *)place_of(c, row));
    else
        hp_json_put_number(w, c->key, v.number);
}

void hp_put_fields(struct json_writer *w, const struct column *column, const void *row)
{
    for (const struct column *c = column; c->form; c++)
        if ((c->key || c->form == AS_RECORD) && !(c->flags & NOT_JSON))
            put_field(w, c, row);
}

void hp_put_record(struct json_writer *w, const char *key, const struct column *column,
                   const void *row)
{
    if (!row) {
        hp_json_put_null(w, key);
        return;
    }
    hp_json_begin_object(w, key, true);
    hp_put_fields(w, column, row);
    hp_json_end_object(w);
}

void hp_put_members(struct json_writer *w, const struct member *m)
{
    for (; m->kind; m++)
        if (m->kind == IS_TEXT)
            hp_json_put_string(w, m->key, m->text);
        else if (m->kind == IS_INT)
            hp_json_put_int(w, m->key, m->integer);
        else if (m->kind == IS_NUMBER)
            hp_json_put_known(w, m->key, isfinite(m->number), m->number);
        else if (m->kind == IS_FLAG)
            hp_json_put_bool(w, m->key, m->integer);
        else if (m->kind == IS_RECORD && m->key)
            hp_put_record(w, m->key, m->column, m->row);
        else if (m->kind == IS_RECORD)
            hp_put_fields(w, m->column, m->row);
}

void hp_put_object(struct json_writer *w, const char *key, bool flat,
                   const struct member *member)
{
    hp_json_begin_object(w, key, flat);
    hp_put_members(w, member);
    hp_json_end_object(w);
}

/* CSV --------------------------------------------------------------------------------- */

static void begin_field(struct table_writer *t)
{
    if (t->begun)
        fputc(',', t->to);
    t->begun = true;
}

/* Write a text in quotes: reasons contain commas and quotes around names; paths may contain
 * anything. */
static void csv_text(struct table_writer *t, const char *text)
{
    struct arena arena = { 0 };
    begin_field(t);
    fputs(hp_csv_is_formula(text) ? "\"'" : "\"", t->to);
    for (text = hp_shown(&arena, text); *text; text++)
        fprintf(t->to, "%s%c", *text == '"' ? "\"" : "", *text);
    fputc('"', t->to);
    hp_arena_free(&arena);
}

static void csv_number(struct table_writer *t, bool known, double value)
{
    char text[NUMBER_TEXT_BYTES];
    begin_field(t);
    if (known)
        fputs(hp_number_text(text, value), t->to);
}

static void csv_plain(struct table_writer *t, const char *text)
{
    if (hp_csv_is_formula(text)) { /* loaded planners may have any name */
        csv_text(t, text);
        return;
    }
    begin_field(t);
    fputs(text, t->to);
}

/* Write the field of a key, which may belong to a record's column. Returns false if there is no
 * such key. */
static bool csv_field(struct table_writer *t, const struct column *column, const char *key,
                      size_t length, const void *row)
{
    for (const struct column *c = column; c->form; c++) {
        if (c->form == AS_RECORD &&
            csv_field(t, c->of, key, length, row ? record_of(c, row) : NULL))
            return true;
        if (c->form == AS_RECORD || !c->key || strncmp(c->key, key, length) != 0 ||
            c->key[length])
            continue;
        struct value v = { .is_text = false };
        if (row)
            v = value_of(c, row);
        if (v.is_text && !v.text && csv_field(t, c + 1, key, length, row))
            return true; /* another column with this key may have a value */
        if (!v.is_text)
            csv_number(t, v.known, v.number);
        else
            (c->form == AS_TEXT && v.text ? csv_text : csv_plain)(t, v.text ? v.text : "");
        return true;
    }
    return false;
}

static bool is_shown(const struct column *c, unsigned shows)
{
    return !c->when || c->when & shows;
}

/* The keys of all columns that are shown, each once. */
static const char *all_keys(struct table_writer *t)
{
    const char *keys = NULL, *before = NULL;
    for (const struct column *c = t->column; c->form; c++) {
        if (!c->key || c->flags & NOT_CSV || !is_shown(c, t->shows) ||
            (before && strcmp(before, c->key) == 0))
            continue;
        keys = keys ? hp_arena_printf(&t->arena, "%s %s", keys, c->key) : c->key;
        before = c->key;
    }
    return keys;
}

static void end_csv_line(struct table_writer *t)
{
    fputc('\n', t->to);
    t->begun = false;
}

static void csv_row(struct table_writer *t, const void *row)
{
    for (const char *key = t->csv; *key; key += strspn(key, " ")) {
        size_t length = strcspn(key, " ");
        bool found = csv_field(t, t->column, key, length, row);
        assert(found);
        (void)found;
        key += length;
    }
    end_csv_line(t);
}

/* Text -------------------------------------------------------------------------------- */

static char *quantity(struct arena *arena, double value, enum hypar_unit unit)
{
    char text[32];
    return hp_arena_printf(arena, "%s%s", value < 0 ? "-" : "",
                           hypar_format_quantity(text, fabs(value), unit));
}

/* The value in its form, as text. */
static const char *formed(struct arena *arena, const struct column *c, const struct value *v)
{
    switch (c->form) {
    case AS_SECONDS:
        return quantity(arena, v->number, HYPAR_UNIT_SECONDS);
    case AS_BYTES:
        return quantity(arena, v->number, HYPAR_UNIT_BYTES);
    case AS_JOULES:
        return quantity(arena, v->number, HYPAR_UNIT_JOULES);
    case AS_BANDWIDTH:
        return quantity(arena, v->number, HYPAR_UNIT_BANDWIDTH);
    case AS_METRIC:
        return hp_metric(arena, v->number);
    case AS_PERCENT:
        return hp_arena_printf(arena, "%.1f %%", 100 * v->number);
    case AS_WHOLE_PERCENT:
        return hp_arena_printf(arena, "%.0f %%", 100 * v->number);
    case AS_TIMES:
        return hp_arena_printf(arena, "%.2f x", v->number);
    case AS_FACTOR:
        return hp_arena_printf(arena, "%.3gx", v->number);
    case AS_COUNT:
        return hp_thousands(arena, (long long)v->number);
    case AS_BOOL:
        return v->number > 0 ? "yes" : "no";
    case AS_TEXT:
    case AS_WORD:
        return v->text;
    case AS_INT:
    case AS_LONG:
        return hp_arena_printf(arena, "%.0f", v->number);
    default:
        return hp_arena_printf(arena, v->number < 1000 ? "%.3g" : "%.0f", v->number);
    }
}

/* "174 MB", "76.1 to 174 MB", "up to 1.74 GB". */
static const char *range_text(struct arena *arena, const struct column *c,
                              const struct value *least, const struct value *most)
{
    const char *low = formed(arena, c, least), *high = formed(arena, c, most);
    size_t digits = strcspn(low, " ");
    if (least->is_text || strcmp(low, high) == 0)
        return low;
    return strcmp(low + digits, high + strcspn(high, " ")) == 0
               ? hp_arena_printf(arena, "%.*s to %s", (int)digits, low, high)
               : hp_arena_printf(arena, "up to %s", high);
}

/* Rows that make one row of text. */
struct rows {
    const void *first;
    int n;
    size_t bytes; /* from one to the next */
};

static char *cell_text(struct arena *arena, const struct column *c, const struct rows *rows)
{
    const void *row = rows->first;
    struct value v = value_of(c, row), most = v;
    const char *prefix = c->prefix ? *(const char *const *)((const char *)row + c->prefix) : "";
    if (!v.known)
        return hp_arena_strdup(arena, c->flags & BLANK ? "" : "-");
    for (int i = 1; i < rows->n && !v.is_text; i++) {
        struct value now = value_of(c, (const char *)row + (size_t)i * rows->bytes);
        v = now.number < v.number ? now : v;
        most = now.number > most.number ? now : most;
    }
    const char *text = range_text(arena, c, &v, &most);
    return hp_clean_text(hp_arena_printf(arena, "%s%s", prefix, text), '?');
}

/* Show a column of the row or of a record, at its own position or after the last. */
static void show(struct table_writer *t, const struct column *c, const struct column *part_of)
{
    int at = t->n_shown, own = c->at || !part_of ? c->at : part_of->at;
    if (!c->heading || !is_shown(c, t->shows))
        return;
    if (c->form == AS_RECORD) {
        for (const struct column *part = c->of; part->form; part++)
            show(t, part, c);
        return;
    }
    assert(t->n_shown < MOST_COLUMNS);
    for (; own && at > 0 && t->position[at - 1] > own; at--) {
        t->shown[at] = t->shown[at - 1];
        t->part_of[at] = t->part_of[at - 1];
        t->position[at] = t->position[at - 1];
    }
    t->shown[at] = c;
    t->part_of[at] = part_of;
    t->position[at] = own;
    t->n_shown++;
}

static char letter_of(const struct column *c)
{
    bool text = c->form == AS_TEXT || c->form == AS_WORD;
    return c->flags & WRAPS                                                 ? 'w'
           : c->flags & TO_THE_LEFT || (text && !(c->flags & TO_THE_RIGHT)) ? 'l'
                                                                            : 'r';
}

/* Does the row that begins at cell `first` read like the row before, except for the first
 * cell? */
static bool reads_alike(const struct table_writer *t, int first)
{
    for (int i = 1; i < t->n_shown && t->n_rows; i++)
        if (strcmp(t->cell[first + i], t->cell[first + i - t->n_shown]) != 0)
            return false;
    return t->n_rows > 0;
}

static void add_cell(struct table_writer *t, const char *text, bool star)
{
    t->cell = GROW(&t->arena, const char *, t->cell, t->n_cells, &t->capacity);
    t->star = GROW(&t->arena, bool, t->star, t->n_cells, &t->star_capacity);
    t->star[t->n_cells] = star;
    t->cell[t->n_cells++] = text;
    t->starred |= star;
}

static void add_cells(struct table_writer *t, const struct rows *rows)
{
    const void *row = rows->first;
    for (int i = 0; i < t->n_shown; i++) {
        const struct column *c = t->shown[i];
        const void *of = t->part_of[i] ? record_of(t->part_of[i], row) : row;
        struct rows these = { of, t->part_of[i] ? 1 : rows->n, rows->bytes };
        t->any[i] |= !(c->flags & IF_ANY) || (of && value_of(c, of).number > 0);
        add_cell(t, of ? cell_text(&t->arena, c, &these) : "-",
                 c->star && *(const bool *)((const char *)row + c->star));
    }
}

/* Make the columns of a table of texts. */
static const struct column *text_columns(struct table_writer *t)
{
    struct column *column = NEW(&t->arena, struct column, MOST_COLUMNS + 1);
    const char *p = t->texts;
    for (int i = 0; i < MOST_COLUMNS && p; i++) {
        size_t n = strcspn(p, "|"), mark = *p == '>' || *p == '~';
        column[i] = (struct column){ hp_arena_strndup(&t->arena, p + mark, n - mark), NULL,
                                     AS_TEXT, CELL(i),
                                     *p == '>'   ? TO_THE_RIGHT
                                     : *p == '~' ? WRAPS
                                                 : 0 };
        p = p[n] ? p + n + 1 : NULL;
    }
    return column;
}

static void begin_text(struct table_writer *t)
{
    if (t->texts)
        t->column = text_columns(t);
    for (const struct column *c = t->column; c->form; c++)
        show(t, c, NULL);
    for (int i = 0; i < t->n_shown; i++)
        add_cell(t, hp_shown(&t->arena, t->shown[i]->heading), false);
}

static bool text_row(struct table_writer *t, const struct rows *rows)
{
    const void *row = rows->first;
    int before = t->n_cells;
    bool full = t->most && t->n_rows >= t->most;
    add_cells(t, rows);
    if (t->alike && !t->full && reads_alike(t, before)) {
        t->cell[before - t->n_shown] = hp_arena_printf(
            &t->arena, "%d-%d", t->first, *(const int *)place_of(t->shown[0], row));
        t->n_cells = before;
        return true;
    }
    t->full |= full;
    if (full) {
        t->n_cells = before;
        return false;
    }
    if (t->alike)
        t->first = *(const int *)place_of(t->shown[0], row);
    t->n_rows++;
    return true;
}

static void print_text(struct table_writer *t)
{
    char align[MOST_COLUMNS + 1] = "";
    int n = 0, n_cells = 0;
    for (int i = 0; i < t->n_shown; i++)
        if (t->any[i])
            align[n++] = letter_of(t->shown[i]);
    for (int i = 0; i < t->n_cells; i++) {
        t->cell[n_cells] = t->cell[i];
        t->star[n_cells] = t->star[i];
        n_cells += t->any[i % t->n_shown];
    }
    hp_print_cells(t->to, align, t->cell, t->star, n_cells);
}

/* Columns for a page ----------------------------------------------------------------- */

void hp_put_columns(struct json_writer *w, const char *key, const struct column *column,
                    unsigned shows)
{
    static const char *const forms[] = { [AS_SECONDS] = "seconds",
                                         [AS_BYTES] = "bytes",
                                         [AS_JOULES] = "joules",
                                         [AS_PERCENT] = "percent",
                                         [AS_TIMES] = "times" };
    hp_json_begin_array(w, key, false);
    for (const struct column *c = column; c->form; c++)
        if (c->heading && c->key && !(c->flags & NOT_JSON) && is_shown(c, shows)) {
            assert(c->form < sizeof forms / sizeof *forms && forms[c->form]);
            PUT_OBJECT(w, NULL, true, TEXT("name", c->heading), TEXT("key", c->key),
                       TEXT("form", forms[c->form]));
        }
    hp_json_end_array(w);
}

/* All forms --------------------------------------------------------------------------- */

void hp_table_begin(struct table_writer *t, const char *key)
{
    if (t->json) {
        hp_json_begin_array(t->json, key, t->json->flat[t->json->depth]);
    } else if (t->csv) {
        t->csv = strcmp(t->csv, ALL_KEYS) == 0 ? all_keys(t) : t->csv;
        for (const char *c = t->csv; *c; c++)
            fputc(*c == ' ' ? ',' : *c, t->to);
        end_csv_line(t);
    } else {
        begin_text(t);
    }
}

bool hp_table_row(struct table_writer *t, const void *row)
{
    if (t->json)
        hp_put_record(t->json, NULL, t->column, row);
    else if (t->csv)
        csv_row(t, row);
    else
        return hp_table_range(t, row, 1, 0);
    return true;
}

bool hp_table_range(struct table_writer *t, const void *rows, int n, size_t row_bytes)
{
    return text_row(t, &(struct rows){ rows, n, row_bytes });
}

void hp_table_end(struct table_writer *t)
{
    if (t->json)
        hp_json_end_array(t->json);
    else if (!t->csv && t->n_rows)
        print_text(t);
    hp_arena_free(&t->arena);
}
