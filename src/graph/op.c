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
