/* Calls with operands in bf16: copies in fp32 go to the kernel, results are rounded. */
#include "run/backend/narrow.h"

/* The operands of a call that are copied. Two operands may be one array: it has one copy. */
struct narrow {
    const struct kernel_call *call;
    struct kernel_call wide;
    char *room;
    size_t used;
    operand_set written[2]; /* of values, of gradients */
    operand_set fresh[2];
};

static struct narrow begin(const struct kernel_call *call, void *room)
{
    struct narrow n = {
        .call = call, .wide = *call, .room = room, .fresh = { call->fresh, call->fresh_grad }
    };
    for (int p = 0; p < call->nest->n_passes; p++)
        if (call->passes ? call->passes >> p & 1 : p == call->pass) {
            n.written[0] |= call->nest->pass[p].writes;
            n.written[1] |= call->nest->pass[p].writes_grad;
        }
    n.wide.narrow = n.wide.narrow_grad = 0;
    return n;
}

static const struct view *view_of(const struct kernel_call *call, int o, int grad)
{
    return grad ? &call->grad[o] : &call->value[o];
}

static bool is_copied(const struct narrow *n, int o, int grad)
{
    return hp_call_real(n->call, o, grad) == REAL_BF16 && view_of(n->call, o, grad)->data;
}

/* The operand before this one in the same array. */
static const struct view *same_array(const struct narrow *n, int o, int grad)
{
    const struct view *view = view_of(n->call, o, grad);
    for (int i = 0; i < 2 * o + grad; i++) {
        const struct view *other = view_of(n->call, i / 2, i % 2);
        if (is_copied(n, i / 2, i % 2) && other->data == view->data &&
            hp_box_equal(&other->box, &view->box))
            return view_of(&n->wide, i / 2, i % 2);
    }
    return NULL;
}

/* Give each operand its copy. */
static void place_copies(struct narrow *n)
{
    for (int o = 0; o < n->call->nest->n_operands; o++)
        for (int grad = 0; grad < 2; grad++) {
            struct view *to = grad ? &n->wide.grad[o] : &n->wide.value[o];
            struct box box = hp_region(n->call->nest, o, n->call->range);
            const struct view *same = is_copied(n, o, grad) ? same_array(n, o, grad) : NULL;
            if (same)
                *to = *same;
            if (same || !is_copied(n, o, grad))
                continue;
            *to = hp_dense_view(n->room ? n->room + n->used : NULL, &box);
            n->used += ((size_t)hp_box_elements(&box) * sizeof(float) + 63) / 64 * 64;
        }
}

size_t hp_narrow_room(const struct kernel_call *call)
{
    struct narrow n = begin(call, NULL);
    place_copies(&n);
    return n.used;
}

void hp_narrow_compute(const struct backend *b, const struct kernel_call *call, void *room,
                       void (*compute)(const struct backend *b, const struct kernel_call *call))
{
    struct narrow n = begin(call, room);
    place_copies(&n);
    for (int i = 0; i < 2 * call->nest->n_operands; i++) {
        int o = i / 2, grad = i % 2;
        bool overwritten = (n.written[grad] & n.fresh[grad]) >> o & 1;
        if (is_copied(&n, o, grad) && !overwritten)
            b->convert(b, view_of(&n.wide, o, grad), REAL_F32, view_of(call, o, grad),
                       REAL_BF16);
    }
    compute(b, &n.wide);
    for (int i = 0; i < 2 * call->nest->n_operands; i++) {
        int o = i / 2, grad = i % 2;
        const struct view *from = view_of(&n.wide, o, grad);
        if (!is_copied(&n, o, grad) || !(n.written[grad] >> o & 1))
            continue;
        struct view to = hp_view_piece(view_of(call, o, grad), &from->box, sizeof(uint16_t));
        b->convert(b, &to, REAL_BF16, from, REAL_F32);
    }
}
