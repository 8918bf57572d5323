/* Completing the attributes of an operator: given values are checked against the row, missing
 * ones get defaults. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "base/sort.h"
#include "base/word.h"
#include "graph/binding.h"

const char *hp_op_next_attr(const char *text, struct op_attr *out)
{
    char name[24] = "";
    size_t n = strcspn(text, ":!= ");
    memcpy(name, text, n);
    *out = (struct op_attr){ .id = hp_attr_find(name), .count = '1' };
    text += n;
    if (*text == ':') {
        out->count = text[1];
        text += 2;
    }
    if (*text == '!') {
        out->required = true;
        text++;
    }
    if (*text == '=') {
        n = strcspn(++text, " ");
        memcpy(out->fallback, text, n);
        text += n;
    }
    return text + strspn(text, " ");
}

const char *hp_op_attr_names(const struct op_traits *row, char *text, size_t size)
{
    const char *names[ATTR_COUNT];
    struct op_attr item;
    int n = 0;
    for (const char *p = row->attrs; *p;) {
        p = hp_op_next_attr(p, &item);
        names[n++] = hp_attr_traits[item.id].name;
    }
    return hp_word_list(text, size, names, n);
}

/* The number of values: one for each spatial dimension (S), two for each (D), one, or -1 for
 * any number. */
static int wanted_count(char count, int rank)
{
    int spatial = rank < 4 ? 1 : rank == 4 ? 2 : 3;
    switch (count) {
    case 'S':
        return spatial;
    case 'D':
        return 2 * spatial;
    case '*':
        return -1;
    default:
        return 1;
    }
}

static enum hypar_status check_values(const struct attr *attr, int wanted,
                                      struct hypar_error *err)
{
    const struct attr_traits *traits = &hp_attr_traits[attr->id];
    if (wanted >= 0 && attr->n != wanted)
        return hp_fail(err, HYPAR_INVALID, "attribute '%s' has %d values, expected %s%d",
                       traits->name, attr->n, wanted > 1 ? "1 or " : "", wanted);
    if (attr->n < 1 || attr->n > ATTR_MAX_VALUES)
        return hp_fail(err, HYPAR_INVALID, "attribute '%s' has %d values, expected 1 to %d",
                       traits->name, attr->n, ATTR_MAX_VALUES);
    for (int i = 0; i < attr->n; i++) {
        double v = attr->v[i];
        if (!(v >= traits->least && v <= traits->most) || (traits->integer && v != floor(v)))
            return hp_fail(err, HYPAR_INVALID,
                           "attribute '%s' is %g, expected %s from %g to %g", traits->name, v,
                           traits->integer ? "an integer" : "a number", traits->least,
                           traits->most);
    }
    return HYPAR_OK;
}

static bool row_has(const struct op_traits *row, enum attr_id id)
{
    struct op_attr item;
    for (const char *p = row->attrs; *p;) {
        p = hp_op_next_attr(p, &item);
        if (item.id == id)
            return true;
    }
    return false;
}

/* The kind of operator that has this attribute, for the message: conv with groups is
 * group_conv. */
static const char *kind_with(const struct op_traits *row, enum attr_id id)
{
    for (int k = 0; k < OP_KIND_COUNT; k++) {
        const char *last = strrchr(hp_op[k].name, '_');
        if (last && strcmp(last + 1, row->name) == 0 && row_has(&hp_op[k], id))
            return hp_op[k].name;
    }
    return NULL;
}

static enum hypar_status refuse_unknown(const struct op_traits *row, const struct attrs *given,
                                        struct hypar_error *err)
{
    for (int i = 0; given && i < given->n; i++) {
        enum attr_id id = given->attr[i].id;
        char names[200];
        if (row_has(row, id))
            continue;
        const char *kind = kind_with(row, id);
        return hp_fail(err, HYPAR_INVALID, "unknown attribute '%s'%s%s%s, expected %s%s",
                       hp_attr_traits[id].name, kind ? " (of " : "", kind ? kind : "",
                       kind ? ")" : "", *row->attrs ? "one of " : "none",
                       hp_op_attr_names(row, names, sizeof names));
    }
    return HYPAR_OK;
}

/* Negative dimensions count from the last: of the first input; for unsqueeze, of the output.
 * The operator stores the non-negative form. */
static enum hypar_status count_from_first(const struct op_traits *row, const struct attr *attr,
                                          int rank, double *v, struct hypar_error *err)
{
    if (attr->id != ATTR_AXIS && attr->id != ATTR_AXES)
        return HYPAR_OK;
    if (row == &hp_op[OP_UNSQUEEZE])
        rank += attr->n;
    char range[RANGE_TEXT_BYTES];
    for (int i = 0; i < attr->n; i++) {
        if (v[i] < -rank)
            return hp_fail(err, HYPAR_INVALID, "attribute '%s' is %g, expected %s",
                           hp_attr_traits[attr->id].name, v[i],
                           hp_range_text(range, -rank, rank - 1));
        v[i] += v[i] < 0 ? rank : 0;
    }
    return HYPAR_OK;
}

static int by_id(const void *a, const void *b)
{
    return (int)((const struct attr *)a)->id - (int)((const struct attr *)b)->id;
}

/* `n` copies of the default: a number, or the value of another attribute. */
static void fill_default(double *v, int n, const struct op_attr *item,
                         const struct attrs *given)
{
    enum attr_id other = hp_attr_find(item->fallback);
    double value =
        other < ATTR_COUNT ? hp_attr(given, other, 0, 1) : strtod(item->fallback, NULL);
    for (int i = 0; i < n; i++)
        v[i] = value;
}

/* The values of one item: given ones (one number may stand for all), or the default. A negative
 * zero becomes 0: graphs are compared by their bytes. */
static enum hypar_status complete_item(struct arena *arena, const struct op_traits *row,
                                       const struct op_attr *item, const struct attrs *given,
                                       int rank, struct attr *out, struct hypar_error *err)
{
    const struct attr *have = hp_attr_get(given, item->id);
    int wanted = wanted_count(item->count, rank);
    int count = have && (have->n != 1 || wanted < 0) ? have->n : wanted;
    double *v = NEW(arena, double, count);
    for (int i = 0; have && i < count; i++)
        v[i] = have->v[have->n == 1 ? 0 : i] + 0.0;
    if (!have)
        fill_default(v, count, item, given);
    *out = (struct attr){ item->id, count, v };
    TRY(check_values(out, wanted, err));
    return count_from_first(row, out, rank, v, err);
}

enum hypar_status hp_attrs_complete(struct arena *arena, const struct op_traits *row,
                                    const struct attrs *given, int rank,
                                    const struct attrs **out, struct hypar_error *err)
{
    struct attr list[ATTR_COUNT];
    int n = 0;
    struct op_attr item;

    TRY(refuse_unknown(row, given, err));
    for (const char *p = row->attrs; *p;) {
        p = hp_op_next_attr(p, &item);
        bool have = hp_attr_get(given, item.id);
        if (!have && item.required)
            return hp_fail(err, HYPAR_INVALID, "missing attribute '%s'",
                           hp_attr_traits[item.id].name);
        if (have || *item.fallback)
            TRY(complete_item(arena, row, &item, given, rank, &list[n++], err));
    }
    hp_sort(list, n, sizeof list[0], by_id);

    struct attr *copy = NEW(arena, struct attr, n);
    struct attrs *attrs = NEW(arena, struct attrs, 1);
    memcpy(copy, list, (size_t)n * sizeof *copy);
    *attrs = (struct attrs){ n, copy };
    *out = attrs;
    return HYPAR_OK;
}
