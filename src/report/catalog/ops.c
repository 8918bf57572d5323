/* The operator table: a short form of every row, or one row in words. */
#include <hypar/report.h>

#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/word.h"
#include "graph/graph.h"
#include "report/columns.h"

/* Words for the texts of a row -------------------------------------------------------- */

/* One item of an axis text: "kP=out", "iI=kernel.0". */
struct axis_item {
    char name, role;
    const char *from; /* what sets its extent, `length` characters; "" if the tensors do */
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
    switch (role) {
    case 'S':
        return "sample";
    case 'A':
        return "attribute";
    case 'P':
        return "parameter";
    case 'R':
        return "reduction";
    default:
        return "inner, never split";
    }
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
    switch (count) {
    case 'S':
        return "one per spatial dimension";
    case 'D':
        return "two per spatial dimension";
    case '*':
        return "any number";
    default:
        return "one";
    }
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
        int shown = (int)strcspn(row->operands, ";"); /* statistics are inner workings */
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

/* JSON -------------------------------------------------------------------------------- */

static void put_axes(struct json_writer *w, struct arena *arena, const struct op_traits *row)
{
    struct axis_item axis;
    hp_json_begin_array(w, "axis_list", false);
    for (const char *p = row->axes; *p && *p != '*';) {
        p = next_axis(p, &axis);
        hp_json_begin_object(w, NULL, true);
        hp_json_put_string(w, "name", (char[]){ axis.name, 0 });
        hp_json_put_string(w, "role", axis.role == 'I' ? "inner" : role_word(axis.role));
        if (axis.length)
            hp_json_put_string(w, "extent",
                               hp_arena_printf(arena, "%.*s", axis.length, axis.from));
        hp_json_end_object(w);
    }
    hp_json_end_array(w);
}

static void put_operands(struct json_writer *w, struct arena *arena,
                         const struct op_traits *row)
{
    const char *text = row->operands;
    hp_json_begin_array(w, "operand_list", false);
    for (struct op_operand o = { 0 }; hp_op_next_operand(&text, &o);) {
        hp_json_begin_object(w, NULL, true);
        hp_json_put_string(w, "name", (char[]){ o.name, 0 });
        hp_json_put_string(w, "role", part_word(o.part));
        hp_json_put_bool(w, "optional", o.optional);
        hp_json_put_bool(w, "index", o.index);
        hp_json_put_bool(w, "many", o.many);
        if (o.map)
            hp_json_put_string(w, "map", hp_arena_printf(arena, "%.*s", o.map_length, o.map));
        hp_json_end_object(w);
    }
    hp_json_end_array(w);
}

static void put_attributes(struct json_writer *w, const struct op_traits *row)
{
    struct op_attr item;
    hp_json_begin_array(w, "attribute_list", false);
    for (const char *p = row->attrs; *p;) {
        p = hp_op_next_attr(p, &item);
        const struct attr_traits *traits = &hp_attr_traits[item.id];
        hp_json_begin_object(w, NULL, true);
        hp_json_put_string(w, "name", traits->name);
        hp_json_put_string(w, "values", count_word(item.count));
        hp_json_put_bool(w, "required", item.required);
        if (hp_attr_find(item.fallback) < ATTR_COUNT) /* what another attribute is */
            hp_json_put_string(w, "default", item.fallback);
        else if (*item.fallback)
            hp_json_put_number(w, "default", strtod(item.fallback, NULL));
        hp_json_put_number(w, "least", traits->least);
        hp_json_put_number(w, "most", traits->most);
        hp_json_put_bool(w, "integer", traits->integer);
        hp_json_put_string(w, "summary", traits->summary);
        hp_json_end_object(w);
    }
    hp_json_end_array(w);
}

static void put_op(struct json_writer *w, const struct op_traits *row)
{
    struct arena arena = { 0 };
    hp_json_begin_object(w, NULL, false);
    hp_json_put_string(w, "name", row->name);
    hp_json_put_string(w, "summary", row->summary);
    hp_json_put_string(w, "axes", row->axes);
    hp_json_put_string(w, "operands", row->operands);
    hp_json_put_string(w, "passes", row->passes);
    hp_json_put_string(w, "attributes", row->attrs);
    put_axes(w, &arena, row);
    put_operands(w, &arena, row);
    put_attributes(w, row);
    hp_json_end_object(w);
    hp_arena_free(&arena);
}

void hypar_report_ops(FILE *to, enum hypar_format format)
{
    struct json_writer w = { .file = to };
    if (format == HYPAR_TEXT) {
        list_text(to);
        return;
    }
    hp_json_begin_array(&w, NULL, false);
    for (int k = 0; k < OP_KIND_COUNT; k++)
        put_op(&w, &hp_op[k]);
    hp_json_end_array(&w);
}

/* One row in words -------------------------------------------------------------------- */

static void heading(struct columns *table, struct arena *arena, const char *const *names)
{
    for (size_t i = 0; i < strlen(table->align); i++)
        hp_cell(table, arena, "%s", names[i]);
}

/* "attribute kernel"; "heads / kv_heads" stays as it is. */
static char *extent_text(struct arena *arena, const struct axis_item *axis)
{
    if (!axis->length)
        return hp_arena_strdup(arena, "of its tensors");
    return hp_arena_printf(arena, "attribute %.*s", axis->length, axis->from);
}

static void show_axes(FILE *to, struct arena *arena, const struct op_traits *row)
{
    struct columns table = { .align = "lll" };
    struct axis_item axis;
    heading(&table, arena, (const char *const[]){ "axis", "role", "extent" });
    if (*row->axes == '*') {
        hp_cell(&table, arena, "*");
        hp_cell(&table, arena, "sample, attribute");
        hp_cell(&table, arena, "one per dimension: n; n c; n t c; n c h w");
    }
    for (const char *p = row->axes; *p && *p != '*';) {
        p = next_axis(p, &axis);
        hp_cell(&table, arena, "%c", axis.name);
        hp_cell(&table, arena, "%s", role_word(axis.role));
        hp_cell(&table, arena, "%s", extent_text(arena, &axis));
    }
    hp_cell(&table, arena, "r");
    hp_cell(&table, arena, "copies");
    hp_cell(&table, arena, "any");
    hp_columns_print(&table, to);
}

static void show_operands(FILE *to, struct arena *arena, const struct op_traits *row)
{
    struct columns table = { .align = "lllw" };
    const char *text = row->operands;
    heading(&table, arena, (const char *const[]){ "operand", "role", "indexed by", "" });
    for (struct op_operand o = { 0 }; hp_op_next_operand(&text, &o);) {
        const char *made = o.part != 'p' ? ""
                           : o.optional  ? "made where its place says true"
                                         : "made where it is left out";
        hp_cell(&table, arena, "%c%s", o.name, o.many ? ", ..." : "");
        hp_cell(&table, arena, "%s%s%s", o.optional ? "optional " : "", part_word(o.part),
                o.index ? ", integers" : "");
        hp_cell(&table, arena, "%.*s", o.map ? o.map_length : 20,
                o.map ? o.map : "what its shape says");
        hp_cell(&table, arena, "%s%s", made,
                o.exchanged ? (*made ? "; transposed: last two exchanged"
                                     : "transposed: last two exchanged")
                            : "");
    }
    hp_columns_print(&table, to);
}

/* Text from *p up to one of `stops` or the end, without blanks around it; *p comes to stand at
 * the stop. */
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

/* "reads -> writes : multiply-adds / other; ..." */
static void show_passes(FILE *to, struct arena *arena, const struct op_traits *row)
{
    struct columns table = { .align = "llll" };
    heading(&table, arena,
            (const char *const[]){ "pass reads", "writes", "multiply-adds", "other" });
    for (const char *p = row->passes; *p; p += *p == ';') {
        hp_cell(&table, arena, "%s", piece(arena, &p, "-"));
        p += 2; /* -> */
        hp_cell(&table, arena, "%s", piece(arena, &p, ":/;"));
        p += *p == ':';
        hp_cell(&table, arena, "%s", piece(arena, &p, "/;"));
        p += *p == '/';
        hp_cell(&table, arena, "%s", piece(arena, &p, ";"));
    }
    hp_columns_print(&table, to);
}

static void show_attributes(FILE *to, struct arena *arena, const struct op_traits *row)
{
    struct columns table = { .align = "lllrrw" };
    struct op_attr item;
    heading(&table, arena,
            (const char *const[]){ "attribute", "values", "default", "least", "most", "" });
    for (const char *p = row->attrs; *p;) {
        p = hp_op_next_attr(p, &item);
        const struct attr_traits *traits = &hp_attr_traits[item.id];
        hp_cell(&table, arena, "%s", traits->name);
        hp_cell(&table, arena, "%s", count_word(item.count));
        hp_cell(&table, arena, "%s",
                item.required    ? "required"
                : *item.fallback ? item.fallback
                                 : "none");
        hp_cell(&table, arena, "%.*g", traits->integer ? 13 : 6, traits->least);
        hp_cell(&table, arena, "%.*g", traits->integer ? 13 : 6, traits->most);
        hp_cell(&table, arena, "%s", traits->summary);
    }
    if (*row->attrs)
        hp_columns_print(&table, to);
    else
        fputs("It has no attributes.\n", to);
}

static void op_text(FILE *to, const struct op_traits *row)
{
    struct arena arena = { 0 };
    hp_put_line(to, "%s: %s", row->name, row->summary);
    fputc('\n', to);
    show_axes(to, &arena, row);
    fputc('\n', to);
    show_operands(to, &arena, row);
    fputc('\n', to);
    show_passes(to, &arena, row);
    fputc('\n', to);
    show_attributes(to, &arena, row);
    hp_arena_free(&arena);
}

enum hypar_status hypar_report_op(FILE *to, const char *name, enum hypar_format format,
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
