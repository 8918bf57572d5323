/* Which buffers hold images, whose channels a back end may want innermost. */
#include "run/exec/rank.h"

#include "kernel/scalar.h"

enum { IMAGE_DIMS = 4, CHANNELS = 1 };

/* Operators whose outputs are images of the same kind as their inputs. */
static bool keeps_images(enum op_kind kind)
{
    switch (kind) {
    case OP_CONV:
    case OP_GROUP_CONV:
    case OP_BATCH_NORM:
    case OP_MAX_POOL:
    case OP_AVG_POOL:
    case OP_GLOBAL_AVG_POOL:
    case OP_DROPOUT:
    case OP_CONCAT:
        return true;
    default:
        return hp_unary[kind].value || hp_binary[kind].value;
    }
}

static bool may_be_image(const struct hypar_graph *g, int tensor)
{
    const struct tensor *t = &g->tensors[tensor];
    return t->shape.n_dims == IMAGE_DIMS && !t->index && t->kind != TENSOR_PARAM &&
           t->kind != TENSOR_STAT;
}

/* By tensor: images that convolutions read or write, and what is computed of them element by
 * element. */
static bool *find_images(const struct hypar_graph *g, struct arena *arena)
{
    bool *image = NEW(arena, bool, g->n_tensors);
    for (bool more = true; more;) {
        more = false;
        for (int i = 0; i < g->n_ops; i++) {
            const struct op *op = &g->ops[i];
            bool any = op->kind == OP_CONV;
            for (int o = 0; o < op->nest->n_operands; o++)
                any |= op->tensor[o] >= 0 && image[op->tensor[o]];
            for (int o = 0; any && keeps_images(op->kind) && o < op->nest->n_operands; o++) {
                int t = op->tensor[o];
                bool is_new = t >= 0 && !image[t] && may_be_image(g, t);
                more |= is_new;
                if (is_new)
                    image[t] = true;
            }
        }
    }
    return image;
}

/* A tensor that has a second name may have other dimensions under that. */
void hp_rank_images(struct rank *rank)
{
    const bool *image = find_images(rank->graph, &rank->arena);
    for (int i = 0; i < rank->buffers.n; i++) {
        struct buffer *b = &rank->buffers.buffer[i];
        int t = b->place.tensor;
        bool alone = rank->buffers.held.next[hp_place_kind(b->place)][t] < 0;
        if (image[t] && alone && !b->flat && !b->mask && b->box.n_dims == IMAGE_DIMS)
            b->inner = CHANNELS;
    }
}
