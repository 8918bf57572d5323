/* The letters of the axes of reshapes and transposes: those of the operator that writes their
 * input. */
#include <string.h>

#include "graph/binding.h"

/* The letters that an element-wise operator would give to a tensor that no operator writes. */
static void letters_by_rank(struct binding *b, const struct tensor *t)
{
    const char *next = hp_names_by_rank[t->shape.n_dims] + 1;
    for (int d = 0; d < t->shape.n_dims; d++) {
        b->letters[d].n = 1;
        b->letters[d].outer[0] = 1;
        b->letters[d].name[0] = d == (t->sample_dim > 0 ? t->sample_dim : 0) ? 'n' : *next++;
    }
}

void hp_bind_letters(struct binding *b, const struct hypar_graph *graph, int t)
{
    const struct tensor *tensor = &graph->tensors[t];
    if (tensor->producer < 0) {
        letters_by_rank(b, tensor);
        return;
    }
    const struct op *op = &graph->ops[tensor->producer];
    const struct operand *y = &op->nest->operand[hp_output_operand(op, t)];
    for (int d = 0; d < y->n_dims; d++) {
        const struct dim_map *map = &y->dim[d];
        struct dim_letters *at = &b->letters[d];
        int64_t outer = 1;
        for (int i = 0; i < map->n_axes; i++) {
            const struct hypar_axis *axis = &op->nest->axis[map->axis[i]];
            if (axis->extent > 1 || map->n_axes == 1) {
                at->name[at->n] = axis->name[0];
                at->outer[at->n++] = outer;
            }
            outer *= axis->extent;
        }
    }
}

char hp_letter_at(const struct binding *b, int d, int64_t outer)
{
    for (int i = 0; i < b->letters[d].n; i++)
        if (b->letters[d].outer[i] == outer)
            return b->letters[d].name[i];
    return 0;
}

void hp_name_axes(struct binding *b)
{
    /* first the letters without a meaning elsewhere: d is the width of a head */
    static const char free_letters[] = "defgijlopvxyzabckmqstuhw";
    bool used[128] = { ['n'] = true };
    int n = 0;
    for (int a = b->n_axes - 1; a >= 0; a--)
        if (b->axis[a].name[0] == 'n')
            n = a;
    for (int a = 0; a < b->n_axes; a++)
        if (b->axis[a].role == HYPAR_SAMPLE)
            n = a;
    for (int a = 0; a < b->n_axes; a++) {
        char *name = &b->axis[a].name[0];
        if (a == n)
            *name = 'n';
        else if (used[(int)*name])
            *name = 0;
        used[(int)*name] = true;
    }
    for (int a = 0, next = 0; a < b->n_axes; a++) {
        while (!b->axis[a].name[0] && used[(int)free_letters[next]])
            next++;
        if (!b->axis[a].name[0])
            b->axis[a].name[0] = free_letters[next++];
    }
}

char hp_letter_by_rank(const struct nest *nest, int a)
{
    if (!hp_takes_letters(&hp_op[nest->kind]) || nest->axis[a].role == HYPAR_COPY ||
        nest->axis[a].name[0] == 'n')
        return nest->axis[a].name[0];
    int before = 0; /* axes other than n */
    for (int i = 0; i < a; i++)
        before += nest->axis[i].name[0] != 'n';
    return hp_names_by_rank[nest->n_axes - 1][1 + before];
}
