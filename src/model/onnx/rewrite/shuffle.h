/* model/onnx/rewrite/shuffle.h - several reshapes and transposes of a tensor as one. Internal
 * to model/.
 *
 * Exporters write chains of reshapes and transposes around every attention, and most of them
 * cancel. A shuffle describes the effect of a chain on its first tensor, the base: each
 * dimension of the result is a product of factors, outermost first, and each factor runs
 * through the elements of the base with a stride. Dimensions of size 1 have no factors. */
#ifndef MODEL_ONNX_REWRITE_SHUFFLE_H
#define MODEL_ONNX_REWRITE_SHUFFLE_H

#include "graph/graph.h"

enum { MAX_SHUFFLE = 16 };

struct shuffle {
    int n_dims;
    int first[MAX_DIMS + 1]; /* dimension d has factors first[d] .. first[d + 1] - 1 */
    int64_t size[MAX_SHUFFLE], stride[MAX_SHUFFLE];
};

/* Nothing done yet. */
struct shuffle hp_shuffle_start(const struct hypar_shape *base);

struct hypar_shape hp_shuffle_shape(const struct shuffle *s);
bool hp_shuffle_is_plain(const struct shuffle *s, const struct hypar_shape *base);
bool hp_shuffle_same(const struct shuffle *a, const struct shuffle *b);

/* Dimension d of the result is dimension perm[d] of what there is. */
void hp_shuffle_transpose(struct shuffle *s, const int *perm);

/* The same elements in another shape; false, and nothing done, where that is no product of
 * factors any more. */
bool hp_shuffle_reshape(struct shuffle *s, const struct hypar_shape *to);

/* The dimension of the base that dimension `d` of the result is, all of it and in order; else
 * -1. A dimension of size 1 is none. */
int hp_shuffle_whole_dim(const struct shuffle *s, const struct hypar_shape *base, int d);

/* Let no factor reach over two dimensions of the base; false if that is not possible. */
bool hp_shuffle_refine(struct shuffle *s, const struct hypar_shape *base);

/* The same shuffle of a base of which one dimension has another size: then the dimension of the
 * result that is this one has it too. False where there is none. */
bool hp_shuffle_rebase(struct shuffle *s, const struct hypar_shape *from,
                       const struct hypar_shape *to);

/* How it is done: the factors in the order of the base, where each of them goes, and the shape
 * in the end. False: more factors than a tensor has dimensions. */
struct shuffle_plan {
    struct hypar_shape factors, target;
    double perm[MAX_DIMS];
    bool moves;
};
bool hp_shuffle_plan(const struct shuffle *s, struct shuffle_plan *plan);

/* Append the operators that do it to `tensor`: at most a reshape, a transpose and a reshape,
 * named "<name>.reshape" and so on. */
enum hypar_status hp_shuffle_emit(struct graph_builder *b, int tensor, const struct shuffle *s,
                                  const char *name, int *out, struct hypar_error *err);

/* Append one reshape, written so that it follows another batch. */
enum hypar_status hp_emit_reshape(struct graph_builder *b, int tensor,
                                  const struct hypar_shape *to, const char *name, int *out,
                                  struct hypar_error *err);

bool hp_same_shape(const struct hypar_shape *a, const struct hypar_shape *b);

#endif /* MODEL_ONNX_REWRITE_SHUFFLE_H */
