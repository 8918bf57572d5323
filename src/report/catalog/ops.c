/* Reports the table of operators: every row in short form, or one row in words. */
#include <hypar/report.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/word.h"
#include "graph/graph.h"
#include "report/table.h"

/* Words for the codes of a row ---------------------------------------------------------- */

/* One item of the axes text: "kP=out", "iI=kernel.0". */
struct axis_item {
    char name, role;
    const char *from; /* what sets its extent, `length` characters; "": the tensors do */
    int length;
};

static const char *next_axis(const char *text, struct axis_item *out)
{
    int n = (int)strcspn(text, " ");
    *out = (struct axis_item){ text[0], text[1], text + 2, 0 };
    if (n > 3)
        *out = (struct axis_item){ text[0], text[1], text + 3, n - 3 };
    text += n;
    return text + strspn(text, " ");
}

static const char *role_word(char role)
{
    return role == 'S'   ? "sample"
           : role == 'A' ? "attribute"
           : role == 'P' ? "parameter"
           : role == 'R' ? "reduction"
                         : "inner, never split";
}

static const char *part_word(char part)
{
    return part == 'i'   ? "input"
           : part == 'p' ? "parameter"
           : part == 'o' ? "output"
                         : "statistic";
}

static const char *count_word(char count)
{
    return count == 'S'   ? "one per spatial dimension"
           : count == 'D' ? "two per spatial dimension"
           : count == '*' ? "any number"
                          : "one";
}

/* The list ---------------------------------------------------------------------------- */

static const char notation[] =
    "Axes: S sample, A attribute, P parameter, R reduction, I inner (never split); every "
    "operator "
    "also has r, copies. * one axis per dimension: n; n c; n t c; n c h w. Operands: inputs | "
    "parameters -> outputs, with the axes that index each dimension; h~i a window of i taps, "
    "h/i one of a transposed convolution, h%n, h%l and h%a in proportion (the nearest, two "
    "around, all covered), (a,d) a product, t? there if the rank says so (t?? last), b? "
    "optional, # integers. 'hypar ops NAME' tells all of one.";

static void list_text(FILE *to)
{
    enum { NAME = 17, INDENT = 4 };
    struct arena arena = { 0 };
    for (int k = 0; k < OP_KIND_COUNT; k++) {
        const struct op_traits *row = &hp_op[k];
        char *axes = hp_arena_strdup(&arena, "");
        struct axis_item axis;
        for (const char *p = row->axes; *p && *p != '*';) {
            p = next_axis(p, &axis);
            axes = hp_arena_printf(&arena, "%s%c%c ", axes, axis.name, axis.role);
        }
        int shown = (int)strcspn(row->operands, ";"); /* statistics are internal */
        fprintf(to, "%-*s ", NAME - 1, row->name);
        hp_wrap(to, row->summary, NAME);
        fprintf(to, "%*s", INDENT, "");
        hp_wrap(to,
                hp_arena_printf(&arena, "%s  %.*s", *axes ? axes : "* ", shown, row->operands),
                INDENT);
    }
    fputc('\n', to);
    hp_wrap(to, notation, 0);
    hp_arena_free(&arena);
}

/* Tables of one operator --------------------------------------------------------------- */

struct axis_row {
    const char *name, *role_text, *role, *extent_text, *extent;
};

static const struct column axis_columns[] = {
    { "axis", "name", AS_TEXT, AT(struct axis_row, name) },
    { "role", NULL, AS_TEXT, AT(struct axis_row, role_text) },
    { NULL, "role", AS_TEXT, AT(struct axis_row, role) },
    { "extent", NULL, AS_TEXT, AT(struct axis_row, extent_text) },
    { NULL, "extent", AS_TEXT, AT(struct axis_row, extent), LEFT_OUT },
    { 0 },
};

/* Text also has the axes that every operator has. */
static void axis_rows(struct table_writer *table, struct arena *arena,
                      const struct op_traits *op)
{
    struct axis_item axis;
    table->column = axis_columns;
    hp_table_begin(table, "axis_list");
    if (!table->json && *op->axes == '*')
        hp_table_row(table,
                     &(struct axis_row){ "*", "sample, attribute", NULL,
                                         "one per dimension: n; n c; n t c; n c h w", NULL });
    for (const char *p = op->axes; *p && *p != '*';) {
        p = next_axis(p, &axis);
        char *extent =
            axis.length ? hp_arena_printf(arena, "%.*s", axis.length, axis.from) : NULL;
        struct axis_row row = {
            .name = (char[]){ axis.name, 0 },
            .role_text = role_word(axis.role),
            .role = axis.role == 'I' ? "inner" : role_word(axis.role),
            .extent_text =
                extent ? hp_arena_printf(arena, "attribute %s", extent) : "of its tensors",
            .extent = extent,
        };
        hp_table_row(table, &row);
    }
    if (!table->json)
        hp_table_row(table, &(struct axis_row){ "r", "copies", NULL, "any", NULL });
    hp_table_end(table);
}

struct operand_row {
    const char *name_text, *name, *role_text, *role, *map_text, *map, *note;
    bool optional, index, many;
};

static const struct column operand_columns[] = {
    { "operand", NULL, AS_TEXT, AT(struct operand_row, name_text) },
    { NULL, "name", AS_TEXT, AT(struct operand_row, name) },
    { "role", NULL, AS_TEXT, AT(struct operand_row, role_text) },
    { NULL, "role", AS_TEXT, AT(struct operand_row, role) },
    { NULL, "optional", AS_BOOL, AT(struct operand_row, optional) },
    { NULL, "index", AS_BOOL, AT(struct operand_row, index) },
    { NULL, "many", AS_BOOL, AT(struct operand_row, many) },
    { "indexed by", NULL, AS_TEXT, AT(struct operand_row, map_text) },
    { NULL, "map", AS_TEXT, AT(struct operand_row, map), LEFT_OUT },
    { "", NULL, AS_TEXT, AT(struct operand_row, note), WRAPS },
    { 0 },
};

static void operand_rows(struct table_writer *table, struct arena *arena,
                         const struct op_traits *op)
{
    const char *text = op->operands;
    table->column = operand_columns;
    hp_table_begin(table, "operand_list");
    for (struct op_operand o = { 0 }; hp_op_next_operand(&text, &o);) {
        const char *map = o.map ? hp_arena_printf(arena, "%.*s", o.map_length, o.map) : NULL;
        const char *made = o.part != 'p' ? ""
                           : o.optional  ? "made where its place says true"
                                         : "made where it is left out";
        struct operand_row row = {
            .name_text = hp_arena_printf(arena, "%c%s", o.name, o.many ? ", ..." : ""),
            .name = (char[]){ o.name, 0 },
            .role_text = hp_arena_printf(arena, "%s%s%s", o.optional ? "optional " : "",
                                         part_word(o.part), o.index ? ", integers" : ""),
            .role = part_word(o.part),
            .map_text = map ? map : "what its shape says",
            .map = map,
            .note = hp_arena_printf(arena, "%s%s%s", made, o.exchanged && *made ? "; " : "",
                                    o.exchanged ? "transposed: last two exchanged" : ""),
            .optional = o.optional,
            .index = o.index,
            .many = o.many,
        };
        hp_table_row(table, &row);
    }
    hp_table_end(table);
}

struct attribute_row {
    const char *values, *fallback, *other, *least_text, *most_text;
    double number, least, most;
    bool required, integer;
    const char *name, *summary;
};

static const struct column attribute_columns[] = {
    { "attribute", "name", AS_TEXT, AT(struct attribute_row, name) },
    { "values", "values", AS_TEXT, AT(struct attribute_row, values) },
    { NULL, "required", AS_BOOL, AT(struct attribute_row, required) },
    { "default", NULL, AS_TEXT, AT(struct attribute_row, fallback) },
    { NULL, "default", AS_TEXT, AT(struct attribute_row, other), LEFT_OUT },
    { NULL, "default", AS_NUMBER, AT(struct attribute_row, number), LEFT_OUT },
    { "least", NULL, AS_TEXT, AT(struct attribute_row, least_text), TO_THE_RIGHT },
    { "most", NULL, AS_TEXT, AT(struct attribute_row, most_text), TO_THE_RIGHT },
    { NULL, "least", AS_NUMBER, AT(struct attribute_row, least) },
    { NULL, "most", AS_NUMBER, AT(struct attribute_row, most) },
    { NULL, "integer", AS_BOOL, AT(struct attribute_row, integer) },
    { "", "summary", AS_TEXT, AT(struct attribute_row, summary), WRAPS },
    { 0 },
};

static void attribute_rows(struct table_writer *table, struct arena *arena,
                           const struct op_traits *op)
{
    struct op_attr item;
    table->column = attribute_columns;
    hp_table_begin(table, "attribute_list");
    for (const char *p = op->attrs; *p;) {
        p = hp_op_next_attr(p, &item);
        const struct attr_traits *traits = &hp_attr_traits[item.id];
        bool other = hp_attr_find(item.fallback) < ATTR_COUNT; /* another attribute's value */
        int digits = traits->integer ? 13 : 6;
        struct attribute_row row = {
            .values = count_word(item.count),
            .fallback = item.required    ? "required"
                        : *item.fallback ? item.fallback
                                         : "none",
            .other = other ? item.fallback : NULL,
            .least_text = hp_arena_printf(arena, "%.*g", digits, traits->least),
            .most_text = hp_arena_printf(arena, "%.*g", digits, traits->most),
            .number = !other && *item.fallback ? strtod(item.fallback, NULL) : NAN,
            .least = traits->least,
            .most = traits->most,
            .required = item.required,
            .integer = traits->integer,
            .name = traits->name,
            .summary = traits->summary,
        };
        hp_table_row(table, &row);
    }
    hp_table_end(table);
}

/* JSON -------------------------------------------------------------------------------- */

static void put_op(struct json_writer *w, const struct op_traits *row)
{
    struct arena arena = { 0 };
    hp_json_begin_object(w, NULL, false);
    PUT(w, TEXT("name", row->name), TEXT("summary", row->summary), TEXT("axes", row->axes),
        TEXT("operands", row->operands), TEXT("passes", row->passes),
        TEXT("attributes", row->attrs));
    axis_rows(&(struct table_writer){ .json = w }, &arena, row);
    operand_rows(&(struct table_writer){ .json = w }, &arena, row);
    attribute_rows(&(struct table_writer){ .json = w }, &arena, row);
    hp_json_end_object(w);
    hp_arena_free(&arena);
}

/* One row in words -------------------------------------------------------------------- */

/* The text from *p up to one of `stops` or the end, without blanks around it; moves *p to the
 * stop. */
static char *piece(struct arena *arena, const char **p, const char *stops)
{
    *p += strspn(*p, " ");
    size_t n = strcspn(*p, stops), kept = n;
    while (kept > 0 && (*p)[kept - 1] == ' ')
        kept--;
    char *text = hp_arena_strndup(arena, *p, kept);
    *p += n;
    return text;
}

/* Print the passes of a row: "reads -> writes : multiply-adds / other; ..." */
static void show_passes(FILE *to, struct arena *arena, const struct op_traits *op)
{
    struct table_writer table = { .to = to, .texts = "pass reads|writes|multiply-adds|other" };
    hp_table_begin(&table, NULL);
    for (const char *p = op->passes; *p; p += *p == ';') {
        const char *row[4] = { piece(arena, &p, "-") };
        p += 2; /* -> */
        row[1] = piece(arena, &p, ":/;");
        p += *p == ':';
        row[2] = piece(arena, &p, "/;");
        p += *p == '/';
        row[3] = piece(arena, &p, ";");
        hp_table_row(&table, row);
    }
    hp_table_end(&table);
}

static void op_text(FILE *to, const struct op_traits *row)
{
    struct arena arena = { 0 };
    hp_put_line(to, "%s: %s", row->name, row->summary);
    fputc('\n', to);
    axis_rows(&(struct table_writer){ .to = to }, &arena, row);
    fputc('\n', to);
    operand_rows(&(struct table_writer){ .to = to }, &arena, row);
    fputc('\n', to);
    show_passes(to, &arena, row);
    fputc('\n', to);
    attribute_rows(&(struct table_writer){ .to = to }, &arena, row);
    if (!*row->attrs)
        fputs("It has no attributes.\n", to);
    hp_arena_free(&arena);
}

static enum hypar_status report_op(FILE *to, const char *name, enum hypar_format format,
                                   struct hypar_error *err)
{
    struct json_writer w = { .file = to };
    const char *names[OP_KIND_COUNT];
    char near[120];
    enum op_kind kind = hp_op_find(name);
    for (int k = 0; k < OP_KIND_COUNT; k++)
        names[k] = hp_op[k].name;
    if (kind == OP_KIND_COUNT && hp_nearest_text(name, names, OP_KIND_COUNT, near, sizeof near))
        return hp_fail(err, HYPAR_INVALID, "unknown operator '%.60s', did you mean %s?", name,
                       near);
    if (kind == OP_KIND_COUNT)
        return hp_fail(err, HYPAR_INVALID,
                       "unknown operator '%.60s', expected one that 'hypar ops' lists", name);
    if (format == HYPAR_JSON)
        put_op(&w, &hp_op[kind]);
    else
        op_text(to, &hp_op[kind]);
    return HYPAR_OK;
}

enum hypar_status hypar_report_ops(FILE *to, const char *name, enum hypar_format format,
                                   struct hypar_error *err)
{
    if (name)
        return report_op(to, name, format, err);
    if (format != HYPAR_JSON) {
        list_text(to);
        return HYPAR_OK;
    }
    struct json_writer w = { .file = to };
    hp_json_begin_array(&w, NULL, false);
    for (int k = 0; k < OP_KIND_COUNT; k++)
        put_op(&w, &hp_op[k]);
    hp_json_end_array(&w);
    return HYPAR_OK;
}
