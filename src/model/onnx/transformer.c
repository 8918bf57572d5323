/* Translates the nodes of opset 23 for transformers: Attention and RotaryEmbedding. */
#include <math.h>
#include <string.h>

#include "model/onnx/onnx.h"

/* Heads ----------------------------------------------------------------------------------- */

/* [n, heads, t, d] as [n, t, heads d], or there already. */
static enum hypar_status heads_last(struct importing *im, const char *what, int *t)
{
    static const int turned[4] = { 0, 2, 1, 3 };
    struct hypar_shape s = *hp_onnx_shape(im, *t);
    if (s.n_dims != 4)
        return HYPAR_OK;
    struct hypar_shape merged = { 3, { s.dim[0], s.dim[2], s.dim[1] * s.dim[3] } };
    TRY(hp_onnx_emit_transpose(im, what, *t, 4, turned, t));
    return hp_onnx_emit_reshape(im, what, *t, &merged, t);
}

/* And back: [n, t, heads d] as [n, heads, t, d]. */
static enum hypar_status heads_first(struct importing *im, int64_t heads, int *t)
{
    static const int turned[4] = { 0, 2, 1, 3 };
    struct hypar_shape s = *hp_onnx_shape(im, *t);
    struct hypar_shape apart = { 4, { s.dim[0], s.dim[1], heads, s.dim[2] / heads } };
    TRY(hp_onnx_emit_reshape(im, "heads", *t, &apart, t));
    return hp_onnx_emit_transpose(im, "heads", *t, 4, turned, t);
}

/* The heads of one of query, key and value; 0: it has a shape that does not fit. */
static int64_t heads_of(struct importing *im, int i, const char *attr)
{
    const struct value *v = hp_onnx_input(im, i);
    int64_t heads = !v                     ? 0
                    : v->shape.n_dims == 4 ? v->shape.dim[1]
                    : v->shape.n_dims == 3 ? hp_onnx_int(im->node, attr, 0)
                                           : 0;
    int64_t width = v && v->shape.n_dims > 0 ? v->shape.dim[v->shape.n_dims - 1] : 0;
    return heads > 0 && (v->shape.n_dims == 4 || width % heads == 0) ? heads : 0;
}

/* Attention ------------------------------------------------------------------------------- */

/* A mask as what is added to the scores, [n, heads, q, s] or 1 where it is the same for all. */
static enum hypar_status mask_bias(struct importing *im, struct value *mask, int *out)
{
    const double huge = 1e30;
    struct hypar_shape wide = { 4, { 1, 1, 1, 1 } };
    int rank = mask->shape.n_dims;
    if (rank < 1 || rank > 4)
        return hp_fail(im->err, HYPAR_UNSUPPORTED, "a mask of %d dimensions", rank);
    for (int d = 0; d < rank; d++)
        wide.dim[4 - rank + d] = mask->shape.dim[d];
    TRY(hp_onnx_tensor(im, mask, out));
    if (mask->type == ONNX_BOOL) /* 0 is masked, 1 is seen */
        TRY(hp_onnx_emit_affine(im, "mask", huge, -huge, out));
    return rank == 4 ? HYPAR_OK : hp_onnx_emit_reshape(im, "mask", *out, &wide, out);
}

enum hypar_status hp_onnx_attention(struct importing *im)
{
    struct value *mask = hp_onnx_input(im, 3);
    int64_t heads = heads_of(im, 0, "q_num_heads"), kv = heads_of(im, 1, "kv_num_heads");
    double causal = hp_onnx_int(im->node, "is_causal", 0) != 0,
           scale = hp_onnx_float(im->node, "scale", 0), n_heads = (double)heads,
           n_kv = (double)kv;
    static const char *const names[] = { "q", "k", "v" };
    int t[4];
    if (!heads || !kv || heads_of(im, 2, "kv_num_heads") != kv || heads % kv)
        return hp_fail(im->err, HYPAR_UNSUPPORTED, "heads that do not fit");
    bool known = !mask || hp_onnx_is_idle_mask(mask);
    if (mask && !known && hp_onnx_is_causal_mask(mask))
        causal = known = true;
    if (hp_onnx_input(im, 4) || hp_onnx_input(im, 5) ||
        hp_onnx_float(im->node, "softcap", 0) != 0 || im->node->n_outputs > 1)
        return hp_fail(im->err, HYPAR_UNSUPPORTED, "a cache, or scores that are capped");
    if (!known)
        TRY(mask_bias(im, mask, &t[3]));
    for (int i = 0; i < 3; i++) {
        TRY(hp_onnx_tensor(im, hp_onnx_input(im, i), &t[i]));
        TRY(heads_last(im, names[i], &t[i]));
    }
    TRY(hp_onnx_emit(im, OP_ATTENTION, NULL, known ? 3 : 4, t,
                     ATTRS({ ATTR_HEADS, 1, &n_heads }, { ATTR_KV_HEADS, 1, &n_kv },
                           { ATTR_CAUSAL, 1, &causal }, { ATTR_SCALE, 1, &scale }),
                     t));
    if (hp_onnx_input(im, 0)->shape.n_dims == 4)
        TRY(heads_first(im, heads, t));
    return hp_onnx_define_tensor(im, 0, t[0]);
}

/* Rotary embeddings ----------------------------------------------------------------------- */

/* Tables [.., positions, half] of cosines and sines: the base of their angles, 0 if they are
 * not of one. */
double hp_rotary_theta(const double *cosines, const double *sines, int64_t positions,
                       int64_t half, int64_t stride)
{
    if (positions < 2 || half < 1)
        return 0;
    double angle = atan2(sines[stride + half - 1], cosines[stride + half - 1]);
    double theta = half > 1 ? pow(angle, -(double)half / (double)(half - 1)) : 10000;
    if (!(angle > 0) || !(theta > 1))
        return 0;
    if (fabs(theta - rint(theta)) < 1e-3 * theta)
        theta = rint(theta);
    for (int64_t p = 0; p < positions; p++)
        for (int64_t i = 0; i < half; i++) {
            double a = (double)p * pow(theta, -(double)i / (double)half);
            double slack = 1e-4 * fmax(1, (double)positions / 1000);
            if (!(fabs(cosines[p * stride + i] - cos(a)) < slack) ||
                !(fabs(sines[p * stride + i] - sin(a)) < slack))
                return 0;
        }
    return theta;
}

/* Halves turned by the angles of all positions, which stand in tables. */
enum hypar_status hp_onnx_rotary(struct importing *im)
{
    struct value *x = hp_onnx_input(im, 0), *c = hp_onnx_input(im, 1),
                 *s = hp_onnx_input(im, 2);
    double heads = (double)heads_of(im, 0, "num_heads"), theta = 0;
    int t, rank = x->shape.n_dims;
    int64_t positions = rank >= 3 ? x->shape.dim[rank - 2] : 0;
    bool tables = c && s && c->kind == VALUE_CONSTANT && s->kind == VALUE_CONSTANT &&
                  !c->uniform && !s->uniform && hp_same_shape(&c->shape, &s->shape) &&
                  c->shape.n_dims >= 2 && !hp_onnx_input(im, 3);
    int64_t half = tables ? c->shape.dim[c->shape.n_dims - 1] : 0;
    if (rank == 3)
        positions = x->shape.dim[1];
    if (tables && heads > 0 && c->shape.dim[c->shape.n_dims - 2] == positions)
        theta = hp_rotary_theta(c->data, s->data, positions, half, half);
    int64_t width = rank == 4   ? x->shape.dim[3]
                    : rank == 3 ? (int64_t)((double)x->shape.dim[2] / fmax(heads, 1))
                                : 0;
    if (!(theta > 0) || width != 2 * half || hp_onnx_int(im->node, "interleaved", 0) ||
        hp_onnx_int(im->node, "rotary_embedding_dim", 0))
        return hp_onnx_opaque_node(im);
    TRY(hp_onnx_tensor(im, x, &t));
    TRY(heads_last(im, "x", &t));
    TRY(hp_onnx_emit(im, OP_ROPE, NULL, 1, &t,
                     ATTRS({ ATTR_HEADS, 1, &heads }, { ATTR_THETA, 1, &theta }), &t));
    if (rank == 4)
        TRY(heads_first(im, (int64_t)heads, &t));
    return hp_onnx_define_tensor(im, 0, t);
}
