/* The attributes of one operator: what is given, checked against the row, and the defaults. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "graph/binding.h"

/* One item of a row's attribute text: "kernel:S!", "stride:S=1", "kv_heads=heads". */
struct item {
    enum attr_id id;
    char count; /* '1', 'S', 'D' or '*' */
    bool required;
    char fallback[24]; /* number, or the name of another attribute; "" if none */
};

static const char *next_item(const char *text, struct item *item)
{
    char name[24] = "";
    size_t n = strcspn(text, ":!= ");
    memcpy(name, text, n);
    *item = (struct item){ .id = hp_attr_find(name), .count = '1' };
    text += n;
    if (*text == ':') {
        item->count = text[1];
        text += 2;
    }
    if (*text == '!') {
        item->required = true;
        text++;
    }
    if (*text == '=') {
        n = strcspn(++text, " ");
        memcpy(item->fallback, text, n);
        text += n;
    }
    return text + strspn(text, " ");
}

/* How many values: one per spatial dimension (S), two (D), one, or -1 for any number. */
static int wanted_count(char count, int rank)
{
    int spatial = rank < 4 ? 1 : 2;
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
        return hp_fail(err, HYPAR_INVALID, "attribute '%s' has %d values, expected %d",
                       traits->name, attr->n, wanted);
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
    struct item item;
    for (const char *p = row->attrs; *p;) {
        p = next_item(p, &item);
        if (item.id == id)
            return true;
    }
    return false;
}

static enum hypar_status refuse_unknown(const struct op_traits *row, const struct attrs *given,
                                        struct hypar_error *err)
{
    for (int i = 0; given && i < given->n; i++)
        if (!row_has(row, given->attr[i].id))
            return hp_fail(err, HYPAR_INVALID, "unknown attribute '%s', expected %s%s",
                           hp_attr_traits[given->attr[i].id].name,
                           *row->attrs ? "of: " : "none", row->attrs);
    return HYPAR_OK;
}

static int by_id(const void *a, const void *b)
{
    return (int)((const struct attr *)a)->id - (int)((const struct attr *)b)->id;
}

/* `n` copies of the default: a number, or what another attribute of the operator says. */
static void fill_default(double *v, int n, const struct item *item, const struct attrs *given)
{
    enum attr_id other = hp_attr_find(item->fallback);
    double value =
        other < ATTR_COUNT ? hp_attr(given, other, 0, 1) : strtod(item->fallback, NULL);
    for (int i = 0; i < n; i++)
        v[i] = value;
}

enum hypar_status hp_attrs_complete(struct arena *arena, const struct op_traits *row,
                                    const struct attrs *given, int rank,
                                    const struct attrs **out, struct hypar_error *err)
{
    struct attr list[ATTR_COUNT];
    int n = 0;
    struct item item;

    TRY(refuse_unknown(row, given, err));
    for (const char *p = row->attrs; *p;) {
        p = next_item(p, &item);
        int wanted = wanted_count(item.count, rank);
        const struct attr *have = hp_attr_get(given, item.id);
        if (!have && item.required)
            return hp_fail(err, HYPAR_INVALID, "missing attribute '%s'",
                           hp_attr_traits[item.id].name);
        if (!have && !*item.fallback)
            continue;
        int count = have ? have->n : wanted;
        double *v = NEW(arena, double, count);
        if (have)
            memcpy(v, have->v, (size_t)count * sizeof *v);
        else
            fill_default(v, count, &item, given);
        list[n] = (struct attr){ item.id, count, v };
        TRY(check_values(&list[n++], wanted, err));
    }
    qsort(list, (size_t)n, sizeof list[0], by_id);

    struct attr *copy = NEW(arena, struct attr, n);
    struct attrs *attrs = NEW(arena, struct attrs, 1);
    memcpy(copy, list, (size_t)n * sizeof *copy);
    *attrs = (struct attrs){ n, copy };
    *out = attrs;
    return HYPAR_OK;
}
