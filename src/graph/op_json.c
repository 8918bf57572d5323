/* Kinds and attributes of operators, to and from JSON. */
#include "graph/op_json.h"

#include "base/word.h"

enum hypar_status hp_op_read_kind(const struct json *at, enum op_kind *out,
                                  struct hypar_error *err)
{
    const char *kind, *names[OP_KIND_COUNT];
    char near[120];
    TRY(hp_json_string(at, &kind, err));
    *out = hp_op_find(kind);
    if (*out != OP_KIND_COUNT)
        return HYPAR_OK;
    for (int k = 0; k < OP_KIND_COUNT; k++)
        names[k] = hp_op[k].name;
    if (hp_nearest_text(kind, names, OP_KIND_COUNT, near, sizeof near))
        return hp_json_fail(at, err,
                            "unknown operator kind '%.60s', did you mean %s? See 'hypar ops'",
                            kind, near);
    return hp_json_fail(at, err, "unknown operator kind '%.60s'; see 'hypar ops'", kind);
}

static enum hypar_status read_value(const struct json *at, enum attr_id id, double *out,
                                    struct hypar_error *err)
{
    const struct attr_traits *traits = &hp_attr_traits[id];
    if (hp_attr_is_switch(id) && hp_json_is_bool(at)) {
        bool on;
        TRY(hp_json_bool(at, &on, err));
        *out = on;
        return HYPAR_OK;
    }
    if (!traits->integer)
        return hp_json_number(at, traits->least, traits->most, out, err);
    int64_t value;
    TRY(hp_json_int(at, (int64_t)traits->least, (int64_t)traits->most, &value, err));
    *out = (double)value;
    return HYPAR_OK;
}

/* One attribute: a number, or an array of them. */
static enum hypar_status read_attr(struct arena *arena, const struct json *at,
                                   const struct op_traits *row, struct attr *attr,
                                   struct hypar_error *err)
{
    char names[200];
    enum attr_id id = hp_attr_find(at->key);
    if (id == ATTR_COUNT)
        return hp_json_fail(at, err, "unknown attribute, expected %s%s",
                            *row->attrs ? "one of " : "none",
                            hp_op_attr_names(row, names, sizeof names));
    bool list = hp_json_is_array(at);
    if (list)
        TRY(hp_json_array(at, ATTR_MAX_VALUES, err));
    int n = list ? hp_json_length(at) : 1;
    double *v = NEW(arena, double, n);
    for (int i = 0; i < n; i++) {
        struct json element = list ? hp_json_element(at, i) : *at;
        TRY(read_value(&element, id, &v[i], err));
    }
    *attr = (struct attr){ id, n, v };
    return HYPAR_OK;
}

enum hypar_status hp_attrs_read(struct arena *arena, const struct json *object,
                                const struct op_traits *row, struct attrs *out,
                                struct hypar_error *err)
{
    struct json at = hp_json_member(object, "attrs"), member;
    struct attr *list = NEW(arena, struct attr, ATTR_COUNT);
    *out = (struct attrs){ 0, list };
    if (!at.value)
        return HYPAR_OK;
    TRY(hp_json_object(&at, err));
    /* keys are unique, and only known attributes pass: the list cannot overflow */
    for (void *iter = NULL; hp_json_next(&at, &iter, &member);)
        TRY(read_attr(arena, &member, row, &list[out->n++], err));
    return HYPAR_OK;
}

static void write_value(struct json_writer *w, const char *key, const struct attr *attr, int i)
{
    if (hp_attr_traits[attr->id].integer)
        hp_json_put_int(w, key, (int64_t)attr->v[i]);
    else
        hp_json_put_number(w, key, attr->v[i]);
}

void hp_attrs_write(struct json_writer *w, const struct attrs *attrs)
{
    if (attrs->n == 0)
        return;
    hp_json_begin_object(w, "attrs", true);
    for (int a = 0; a < attrs->n; a++) {
        const struct attr *attr = &attrs->attr[a];
        const char *name = hp_attr_traits[attr->id].name;
        if (attr->n == 1) {
            write_value(w, name, attr, 0);
            continue;
        }
        hp_json_begin_array(w, name, true);
        for (int i = 0; i < attr->n; i++)
            write_value(w, NULL, attr, i);
        hp_json_end_array(w);
    }
    hp_json_end_object(w);
}
