/* The table of operators, and parsing the operands of its rows. */
#include "graph/op.h"

#include <string.h>

#include "graph/binding.h"

const struct op_traits hp_op[OP_KIND_COUNT] = {
#define OP(kind, ...) [OP_##kind] = { __VA_ARGS__ },
#include "graph/op_list.h"
#undef OP
};

enum op_kind hp_op_find(const char *name)
{
    enum op_kind k = 0;
    while (k < OP_KIND_COUNT && strcmp(hp_op[k].name, name) != 0)
        k++;
    return k;
}

bool hp_op_next_operand(const char **text, struct op_operand *out)
{
    const char *p = *text;
    char part = out->part ? out->part : 'i';
    for (p += strspn(p, " "); *p && strchr("|-;", *p); p += strspn(p, " ")) {
        part = *p == '|' ? 'p' : *p == '-' ? 'o' : 's';
        p += *p == '-' ? 2 : 1; /* -> */
    }
    *out = (struct op_operand){ .part = part };
    if (!*p)
        return false;
    out->index = *p == '#';
    p += out->index;
    out->name = *p++;
    out->optional = *p == '?';
    p += out->optional;
    out->many = *p == '.';
    p += strcspn(p, "[ ;");
    if (*p == '[') {
        out->map = p;
        out->map_length = (int)strcspn(p, "]") + 1;
        p += out->map_length;
    }
    out->exchanged = *p == '@';
    *text = p + strcspn(p, " ;");
    return true;
}
