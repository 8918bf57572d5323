/* harness.h - running the operator of a case: its tensors, whole or part by part. */
#ifndef TESTS_KERNEL_HARNESS_H
#define TESTS_KERNEL_HARNESS_H

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/op_cases.h"

#include "base/random.h"
#include "kernel/kernel.h"

/* The operator of a case with all of each tensor. */
struct subject {
    const struct op_case *c;
    struct hypar_graph *graph;
    const struct op *op;
    const struct nest *nest;
    const struct kernels *kernels;
    enum real real;
    uint64_t key;
    struct view value[MAX_OPERANDS], grad[MAX_OPERANDS];
    struct view mask; /* of a dropout that keeps it */
};

static inline size_t element_bytes(const struct subject *s, int o)
{
    if (s->nest->operand[o].index)
        return sizeof(int32_t);
    return s->real == REAL_F32 ? sizeof(float) : sizeof(double);
}

/* Exactly as large as the box, so that a sanitizer sees every step beside it. */
static inline struct view new_view(struct box box, size_t bytes)
{
    size_t n = (size_t)hp_box_elements(&box) * bytes;
    struct view view = hp_dense_view(malloc(n ? n : 1), &box);
    assert_non_null(view.data);
    memset(view.data, 0, n);
    return view;
}

static inline double get(const struct view *view, int64_t i, enum real real)
{
    return real == REAL_F32 ? (double)((const float *)view->data)[i]
                            : ((const double *)view->data)[i];
}

static inline void put(const struct view *view, int64_t i, enum real real, double value)
{
    if (real == REAL_F32)
        ((float *)view->data)[i] = (float)value;
    else
        ((double *)view->data)[i] = value;
}

/* The same with gaps that are not numbers, dimension `inner` lying innermost. */
static inline struct view new_strided_view(struct box box, size_t bytes, int inner)
{
    struct view view = { .box = box };
    int64_t stride = 1;
    for (int i = 0; i < box.n_dims; i++) {
        int d = (inner + i) % box.n_dims;
        view.stride[d] = stride;
        stride *= box.dim[d].hi - box.dim[d].lo + (i < box.n_dims - 1);
    }
    view.data = malloc((size_t)(stride + 1) * bytes);
    assert_non_null(view.data);
    memset(view.data, 0xff, (size_t)(stride + 1) * bytes);
    return view;
}

/* Copy what both boxes have in common. */
static inline void copy_view(const struct view *to, const struct view *from, size_t bytes)
{
    int64_t n = hp_box_elements(&to->box);
    for (int64_t e = 0; e < n; e++) {
        int64_t rest = e, at = 0, from_at = 0;
        bool inside = true;
        for (int d = to->box.n_dims - 1; d >= 0; d--) {
            struct range t = to->box.dim[d], f = from->box.dim[d];
            int64_t index = t.lo + rest % (t.hi - t.lo);
            rest /= t.hi - t.lo;
            inside = inside && index >= f.lo && index < f.hi;
            at += (index - t.lo) * to->stride[d];
            from_at += (index - f.lo) * from->stride[d];
        }
        if (inside)
            memcpy((char *)to->data + (size_t)at * bytes,
                   (const char *)from->data + (size_t)from_at * bytes, bytes);
    }
}

static inline bool in(operand_set set, int o)
{
    return set >> o & 1;
}

#define NO_KERNEL "operator '%s' has no kernel: add its row to src/kernel/reference.inc"

static inline struct subject subject_new(const struct op_case *c, enum real real)
{
    struct subject s = { .c = c, .graph = op_case_build(c), .real = real, .key = 42 };
    if (!hp_kernel_exists(c->kind))
        fail_msg(NO_KERNEL, hp_op[c->kind].name);
    s.kernels = hp_kernels_find("reference");
    s.op = &s.graph->ops[s.graph->n_ops - 1];
    s.nest = s.op->nest;
    for (int o = 0; o < s.nest->n_operands; o++) {
        enum operand_role role = s.nest->operand[o].role;
        if (s.op->tensor[o] < 0 && role != OPERAND_STAT && role != OPERAND_OUTPUT)
            continue;
        s.value[o] = new_view(hp_operand_box(s.nest, o), element_bytes(&s, o));
        s.grad[o] = new_view(hp_operand_box(s.nest, o), element_bytes(&s, o));
    }
    return s;
}

static inline void subject_free(struct subject *s)
{
    for (int o = 0; o < s->nest->n_operands; o++) {
        free(s->value[o].data);
        free(s->grad[o].data);
    }
    hypar_graph_free(s->graph);
}

/* Numbers for inputs and for the outputs' gradients; `number` is of an operand's element. */
typedef double numbers(const struct subject *s, int o, int64_t element, bool grad);

static inline bool positive(enum op_kind kind)
{
    return kind == OP_LOG || kind == OP_SQRT || kind == OP_POW || kind == OP_DIV;
}

static inline void fill(const struct subject *s, numbers *number)
{
    for (int o = 0; o < s->nest->n_operands; o++) {
        const struct operand *operand = &s->nest->operand[o];
        int64_t n = s->value[o].data ? hp_box_elements(&s->value[o].box) : 0;
        for (int64_t e = 0; e < n; e++) {
            if (operand->index)
                ((int32_t *)s->value[o].data)[e] =
                    (int32_t)((7 * e + 3 * o) % s->c->index_below);
            else if (operand->role == OPERAND_INPUT || operand->role == OPERAND_PARAM)
                put(&s->value[o], e, s->real, number(s, o, e, false));
            else if (operand->role == OPERAND_OUTPUT)
                put(&s->grad[o], e, s->real, number(s, o, e, true));
        }
    }
}

static inline struct kernel_call call_of(const struct subject *s, int pass)
{
    struct kernel_call call = { .nest = s->nest, .pass = pass, .real = s->real, .key = s->key };
    call.mask = s->mask;
    int n = hp_nest_axis(s->nest, 'n');
    hp_whole_ranges(s->nest, call.range);
    if (n >= 0)
        call.samples = call.range[n];
    return call;
}

static inline void clear_written(const struct subject *s, const struct pass *pass)
{
    for (int o = 0; o < s->nest->n_operands; o++) {
        if (in(pass->writes, o))
            hp_view_clear(&s->value[o], s->nest->operand[o].combine, s->real);
        if (in(pass->writes_grad, o))
            hp_view_clear(&s->grad[o], COMBINE_SUM, s->real);
    }
}

/* Run a call with the workspace it wants. */
static inline void run_call(const struct subject *s, struct kernel_call *call)
{
    struct kernel_call blind = *call; /* what it wants does not depend on views */
    memset(blind.value, 0, sizeof blind.value);
    memset(blind.grad, 0, sizeof blind.grad);
    size_t bytes = hp_kernel_workspace(s->kernels, &blind);
    assert_int_equal(bytes, hp_kernel_workspace(s->kernels, call));
    call->workspace = bytes ? aligned_alloc(64, (bytes + 63) / 64 * 64) : NULL;
    hp_kernel(s->kernels, call);
    free(call->workspace);
}

/* One pass, unsplit. */
static inline void run_whole(const struct subject *s, int pass)
{
    struct kernel_call call = call_of(s, pass);
    memcpy(call.value, s->value, sizeof call.value);
    memcpy(call.grad, s->grad, sizeof call.grad);
    clear_written(s, &s->nest->pass[pass]);
    call.add_after = true;
    run_call(s, &call);
}

static inline void run_phase(const struct subject *s, bool backward)
{
    for (int p = 0; p < s->nest->n_passes; p++)
        if (s->nest->pass[p].backward == backward)
            run_whole(s, p);
}

/* Parts ------------------------------------------------------------------------------- */

/* How a part's views are cut: to its regions, or with room around them; to its regions with
 * gaps and dimensions in another order. From that one on what is written is fresh. */
enum cut { CUT_EXACT, CUT_ROOMY, CUT_STRIDED, CUT_FRESH, CUT_ROOMY_FRESH };

static inline struct view part_view(const struct subject *s, int o, const struct range *range,
                                    enum cut cut)
{
    struct box box = cut == CUT_ROOMY || cut == CUT_ROOMY_FRESH ? hp_operand_box(s->nest, o)
                                                                : hp_region(s->nest, o, range);
    return cut == CUT_STRIDED ? new_strided_view(box, element_bytes(s, o), o)
                              : new_view(box, element_bytes(s, o));
}

/* What a kernel finds where it writes: the neutral element, or in `region` anything. */
static inline void open_view(const struct view *view, enum combine combine, enum real real,
                             const struct box *region, bool fresh)
{
    hp_view_clear(view, combine, real);
    if (!fresh)
        return;
    struct view any = new_view(*region, hp_real_bytes(real));
    struct view piece = hp_view_piece(view, region, hp_real_bytes(real));
    for (int64_t e = 0, n = hp_box_elements(&any.box); e < n; e++)
        put(&any, e, real, 1000);
    hp_view_clear(&piece, COMBINE_SUM, real);
    hp_view_combine(&piece, &any, COMBINE_SUM, real);
    free(any.data);
}

static inline void take_views(const struct subject *s, struct kernel_call *call, enum cut cut)
{
    const struct pass *pass = &s->nest->pass[call->pass];
    bool fresh = cut >= CUT_STRIDED;
    call->fresh = fresh ? pass->writes : 0;
    call->fresh_grad = fresh ? pass->writes_grad : 0;
    for (int o = 0; o < s->nest->n_operands; o++) {
        struct box region = hp_region(s->nest, o, call->range);
        if (in((pass->reads & ~pass->adds) | pass->writes, o))
            call->value[o] = part_view(s, o, call->range, cut);
        if (in(pass->reads_grad | pass->writes_grad, o))
            call->grad[o] = part_view(s, o, call->range, cut);
        if (in(pass->reads & ~pass->adds, o))
            copy_view(&call->value[o], &s->value[o], element_bytes(s, o));
        if (in(pass->reads_grad, o))
            copy_view(&call->grad[o], &s->grad[o], element_bytes(s, o));
        if (in(pass->writes, o))
            open_view(&call->value[o], s->nest->operand[o].combine, s->real, &region, fresh);
        if (in(pass->writes_grad, o))
            open_view(&call->grad[o], COMBINE_SUM, s->real, &region, fresh);
    }
}

/* Whether the part's result counts for operand `o`: of copies only the first does. */
static inline bool counts(const struct subject *s, int pass, int o, const int *coordinate)
{
    for (int a = 0; a < s->nest->n_axes; a++)
        if (coordinate[a] > 0 && hp_write_kind(s->nest, pass, o, a) == WRITE_COPY)
            return false;
    return true;
}

static inline void give_views(const struct subject *s, struct kernel_call *call,
                              const int *coordinate)
{
    const struct pass *pass = &s->nest->pass[call->pass];
    for (int o = 0; o < s->nest->n_operands; o++) {
        if (in(pass->writes, o) && counts(s, call->pass, o, coordinate))
            hp_view_combine(&s->value[o], &call->value[o], s->nest->operand[o].combine,
                            s->real);
        if (in(pass->writes_grad, o) && counts(s, call->pass, o, coordinate))
            hp_view_combine(&s->grad[o], &call->grad[o], COMBINE_SUM, s->real);
        free(call->value[o].data);
        free(call->grad[o].data);
    }
}

/* What is added after partial sums: once for each piece of the operand written. */
static inline void add_after_parts(const struct subject *s, int pass, const struct split *split)
{
    axis_set written = 0;
    for (int o = 0; o < s->nest->n_operands; o++)
        if (in(s->nest->pass[pass].writes, o))
            written |= s->nest->operand[o].axes;
    for (int part = 0, n = hp_part_count(s->nest, split); part < n; part++) {
        struct kernel_call call = call_of(s, pass);
        int coordinate[MAX_AXES];
        bool first = hp_part_ranges(s->nest, split, part, call.range);
        hp_part_coordinates(s->nest, split, part, coordinate);
        for (int a = 0; a < s->nest->n_axes; a++)
            first = first && (coordinate[a] == 0 || (written >> a & 1));
        memcpy(call.value, s->value, sizeof call.value);
        if (first)
            hp_kernel_add_after(s->kernels, &call);
    }
}

/* One pass, part by part, each with its own views; then the parts are put together. */
static inline void run_parts(const struct subject *s, int pass, const struct split *split,
                             enum cut cut)
{
    clear_written(s, &s->nest->pass[pass]);
    for (int part = 0, n = hp_part_count(s->nest, split); part < n; part++) {
        struct kernel_call call = call_of(s, pass);
        int coordinate[MAX_AXES];
        hp_part_coordinates(s->nest, split, part, coordinate);
        if (!hp_part_ranges(s->nest, split, part, call.range))
            continue;
        take_views(s, &call, cut);
        run_call(s, &call);
        give_views(s, &call, coordinate);
    }
    if (s->nest->pass[pass].adds)
        add_after_parts(s, pass, split);
}

#endif /* TESTS_KERNEL_HARNESS_H */
