#include "graph/attrs.h"

#include <string.h>

const struct attr_traits hp_attr_traits[ATTR_COUNT] = {
#define X(id, name, least, most, integer) [ATTR_##id] = { name, least, most, integer },
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
