/* graph/binding.h - fitting a row of the operator table to given tensors. Internal to graph/.
 *
 * In: the row, the complete attributes, the given tensors. Out: axes with extents, operands
 * with sizes and index maps, passes. */
#ifndef GRAPH_BINDING_H
#define GRAPH_BINDING_H

#include "base/arena.h"
#include "base/error.h"
#include "graph/graph.h"

/* How a dimension of a tensor is indexed in the operator that writes it: the letters of the
 * axes longer than 1, outermost first, and how many times each goes into the one before. */
struct dim_letters {
    int n;
    char name[MAX_FACTORS];
    int64_t outer[MAX_FACTORS];
};

struct binding {
    const struct op_traits *row;
    const struct attrs *attrs;
    int64_t batch;
    int n_inputs;                             /* given, made or absent */
    const struct tensor *input[MAX_OPERANDS]; /* NULL: absent or to be made */
    bool make[MAX_OPERANDS];
    struct dim_letters
        letters[MAX_DIMS]; /* of the first input; only if the row takes over letters */

    struct hypar_axis axis[MAX_AXES];
    int n_axes;
    struct operand operand[MAX_OPERANDS];
    int n_operands;
    struct pass pass[MAX_PASSES];
    int n_passes;

    bool beyond;             /* why it failed: other dimensions than the row has */
    struct hypar_error *err; /* written when a step returns false */
};

/* Write the reason and return false. */
bool hp_bind_fail(struct binding *b, const char *fmt, ...) HYPAR_PRINTF(2, 3);

/* Complete the attributes of a row, in order: given values, and defaults for the rest. `rank`
 * is that of the first input. */
enum hypar_status hp_attrs_complete(struct arena *arena, const struct op_traits *row,
                                    const struct attrs *given, int rank,
                                    const struct attrs **out, struct hypar_error *err);

/* Fit the row by its texts (signature.c) or by its function (bind.c), then its passes. */
bool hp_bind(struct binding *b);
bool hp_bind_passes(struct binding *b);

/* Steps that signature.c and bind.c share. */

/* One axis for each dimension of `size`, named by rank; the one at `sample_dim` (-1: none) is
 * n. */
bool hp_bind_axes(struct binding *b, int n_dims, const int64_t *size, int sample_dim);
struct operand *hp_bind_operand(struct binding *b, char letter, int number,
                                enum operand_role role);
struct dim_map hp_map_axis(int axis);
struct dim_map hp_map_offset(int axis, int64_t stride, int64_t pad);

struct dim_map hp_map_whole(enum dim_kind kind);
bool hp_in_axes(const struct binding *b, int d); /* is d in the attribute 'axes' */

/* The attribute 'axis', checked against the rank. */
bool hp_dimension_attr(struct binding *b, int rank, int *axis);

/* Names of the axes of rank 1, 2, ...: n; n c; n t c; n c h w; ... */
extern const char *const hp_names_by_rank[MAX_AXES];

/* Row functions of graph/bind.c and graph/reshape.c. */
bool bind_concat(struct binding *b);
bool bind_split(struct binding *b);
bool bind_slice(struct binding *b);
bool bind_pad(struct binding *b);
bool bind_transpose(struct binding *b);
bool bind_reshape(struct binding *b);
bool bind_expand(struct binding *b);
bool bind_reduce(struct binding *b);
bool bind_cumsum(struct binding *b);
bool bind_gather(struct binding *b);
bool bind_opaque(struct binding *b);

/* Letters (letters.c). A reshape or a transpose computes nothing. Its axes take the letters of
 * the operator that writes its input, so that the same letter splits the same elements. */
static inline bool hp_takes_letters(const struct op_traits *row)
{
    return row->bind == bind_reshape || row->bind == bind_transpose;
}

/* The letters of the first input, which is tensor `t`. */
void hp_bind_letters(struct binding *b, const struct hypar_graph *graph, int t);

/* The letter of the axis that begins in dimension `d` of the first input after `outer`; 0:
 * none. */
char hp_letter_at(const struct binding *b, int d, int64_t outer);

/* Name the axes that have no letter yet; n is the axis of the samples, or the first. */
void hp_name_axes(struct binding *b);

#endif /* GRAPH_BINDING_H */
