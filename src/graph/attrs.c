/* The table of attributes of operators: names, types and bounds. */
#include "graph/attrs.h"

#include <string.h>

const struct attr_traits hp_attr_traits[ATTR_COUNT] = {
#define X(id, ...) [ATTR_##id] = { __VA_ARGS__ },
    ATTR_MAP(X)
#undef X
};

enum attr_id hp_attr_find(const char *name)
{
    enum attr_id id = 0;
    while (id < ATTR_COUNT && strcmp(hp_attr_traits[id].name, name) != 0)
        id++;
    return id;
}

bool hp_attr_is_switch(enum attr_id id)
{
    const struct attr_traits *traits = &hp_attr_traits[id];
    return traits->integer && traits->least == 0 && traits->most == 1;
}

const struct attrs *hp_attrs_copy(struct arena *arena, const struct attrs *attrs)
{
    struct attrs *copy = NEW(arena, struct attrs, 1);
    struct attr *list = NEW(arena, struct attr, attrs->n);
    for (int i = 0; i < attrs->n; i++) {
        double *v = NEW(arena, double, attrs->attr[i].n);
        memcpy(v, attrs->attr[i].v, (size_t)attrs->attr[i].n * sizeof *v);
        list[i] = (struct attr){ attrs->attr[i].id, attrs->attr[i].n, v };
    }
    *copy = (struct attrs){ attrs->n, list };
    return copy;
}

const struct attr *hp_attr_get(const struct attrs *attrs, enum attr_id id)
{
    for (int i = 0; attrs && i < attrs->n; i++)
        if (attrs->attr[i].id == id)
            return &attrs->attr[i];
    return NULL;
}

double hp_attr(const struct attrs *attrs, enum attr_id id, int i, double otherwise)
{
    const struct attr *attr = hp_attr_get(attrs, id);
    return attr && i < attr->n ? attr->v[i] : otherwise;
}
