/* How fast the kernels compute the operators of a network: time and GFLOP/s by kind, beside a
 * plain matrix product.
 *
 *     bench_kernels                            the networks of the table below, one thread
 *     bench_kernels MODEL BATCH [THREADS [KERNELS]]    one network, every operator, with so
 *                                              many threads; KERNELS: fast, reference */
#include "bench/bench.h"

#include <stdio.h>
#include <string.h>

#include "base/random.h"
#include "graph/graph.h"
#include "kernel/blas.h"
#include "kernel/kernel.h"

enum { PHASES = 2 };

/* What one operator, or all of a kind, takes. */
struct total {
    double time_s[PHASES], flop[PHASES];
    int n;
};

/* An operator's tensors. */
struct bench {
    const struct kernels *kernels;
    const struct nest *nest;
    struct view value[MAX_OPERANDS], grad[MAX_OPERANDS];
    void *workspace;
    size_t workspace_bytes;
};

static void *allocate(size_t bytes)
{
    void *p = aligned_alloc(64, (bytes + 63) / 64 * 64 + 64);
    if (!p)
        exit(4);
    return p;
}

static struct view random_view(const struct nest *nest, int o)
{
    struct box box = hp_operand_box(nest, o);
    int64_t n = hp_box_elements(&box);
    struct random random = { (uint64_t)o };
    struct view view = hp_dense_view(allocate((size_t)n * sizeof(float)), &box);
    int v = hp_nest_axis(nest, nest->kind == OP_EMBEDDING ? 'v' : 'c');
    for (int64_t i = 0; i < n; i++)
        if (nest->operand[o].index)
            ((int32_t *)view.data)[i] = (int32_t)hp_random_below(&random, nest->axis[v].extent);
        else
            ((float *)view.data)[i] = (float)hp_random_unit(&random) + 0.01f;
    return view;
}

static void open_bench(struct bench *b, const struct kernels *kernels, const struct op *op)
{
    *b = (struct bench){ .kernels = kernels, .nest = op->nest };
    for (int o = 0; o < op->nest->n_operands; o++) {
        if (op->tensor[o] < 0 && op->nest->operand[o].role < OPERAND_OUTPUT)
            continue;
        b->value[o] = random_view(op->nest, o);
        b->grad[o] = random_view(op->nest, o);
    }
}

static void close_bench(struct bench *b)
{
    for (int o = 0; o < b->nest->n_operands; o++) {
        free(b->value[o].data);
        free(b->grad[o].data);
    }
    free(b->workspace);
}

/* One call for all passes that go with `pass`, as a first use of what they write. */
static struct kernel_call *call_of(struct bench *b, int pass)
{
    static struct kernel_call call;
    int n = hp_nest_axis(b->nest, 'n');
    memset(&call, 0, sizeof call);
    call.nest = b->nest;
    call.pass = pass;
    call.passes = hp_kernel_joint(b->kernels, b->nest, pass);
    call.add_after = true;
    memcpy(call.value, b->value, sizeof call.value);
    memcpy(call.grad, b->grad, sizeof call.grad);
    call.fresh = call.fresh_grad = ~(operand_set)0;
    hp_whole_ranges(b->nest, call.range);
    if (n >= 0)
        call.samples = call.range[n];
    size_t bytes = hp_kernel_workspace(b->kernels, &call);
    if (bytes > b->workspace_bytes) {
        free(b->workspace);
        b->workspace = allocate(bytes);
        b->workspace_bytes = bytes;
    }
    call.workspace = b->workspace;
    return &call;
}

/* How long a call is repeated. Threads that have slept take a while until all of them run. */
static double window_s = 0.02;

static double time_call(struct bench *b, const struct kernel_call *call)
{
    double best_s = 1e9, end_s = now_s() + window_s;
    for (int i = 0; i < 2 || (i < 40 && now_s() < end_s); i++) {
        double start_s = now_s();
        hp_kernel(b->kernels, call);
        double time_s = now_s() - start_s;
        best_s = time_s < best_s ? time_s : best_s;
        if (time_s > 1)
            break;
    }
    return best_s;
}

/* Whether a pass computes a gradient that somebody needs, or a value. */
static bool needed(const struct hypar_graph *g, const struct op *op, const struct pass *pass)
{
    for (int o = 0; o < op->nest->n_operands; o++)
        if (pass->writes_grad >> o & 1 && op->tensor[o] >= 0 &&
            g->tensors[op->tensor[o]].needs_grad)
            return true;
    return pass->writes != 0;
}

static struct total measure(const struct kernels *kernels, const struct hypar_graph *g,
                            const struct op *op)
{
    struct bench b;
    struct total total = { { 0 }, { 0 }, 1 };
    pass_set done = 0;
    open_bench(&b, kernels, op);
    for (int p = 0; p < b.nest->n_passes; p++) {
        const struct pass *pass = &b.nest->pass[p];
        total.flop[pass->backward] += needed(g, op, pass) ? 2 * pass->macs : 0;
        if (done >> p & 1 || !needed(g, op, pass))
            continue;
        const struct kernel_call *call = call_of(&b, p);
        total.time_s[pass->backward] += time_call(&b, call);
        done |= call->passes;
    }
    close_bench(&b);
    return total;
}

static void print_total(const char *what, const struct total *t)
{
    printf("%-40s %4d ", what, t->n);
    for (int phase = 0; phase < PHASES; phase++) {
        printf("  %9.2f ms", 1e3 * t->time_s[phase]);
        if (t->flop[phase] > 0)
            printf(" %7.1f GFLOP/s", 1e-9 * t->flop[phase] / t->time_s[phase]);
        else
            printf("                ");
    }
    printf("\n");
}

static void add(struct total *to, const struct total *t)
{
    for (int phase = 0; phase < PHASES; phase++) {
        to->time_s[phase] += t->time_s[phase];
        to->flop[phase] += t->flop[phase];
    }
    to->n += t->n;
}

/* "linear x[8,128,768] w[768,768]" */
static void describe(const struct nest *nest, char *text, size_t room)
{
    size_t n = (size_t)snprintf(text, room, "%s", hp_op[nest->kind].name);
    for (int o = 0; o < nest->n_operands && o < 2 && n < room; o++) {
        n += (size_t)snprintf(text + n, room - n, " %s[", nest->operand[o].name);
        for (int d = 0; d < nest->operand[o].n_dims && n < room; d++)
            n += (size_t)snprintf(text + n, room - n, "%s%lld", d ? "," : "",
                                  (long long)nest->operand[o].size[d]);
        if (n < room)
            n += (size_t)snprintf(text + n, room - n, "]");
    }
}

static void measure_model(const char *model, int64_t batch, const struct kernels *kernels,
                          bool each)
{
    static struct total of_kind[OP_KIND_COUNT], of_nest[10000];
    struct hypar_import_options options = { .batch = batch };
    struct hypar_error err;
    struct hypar_graph *g;
    struct total all = { { 0 }, { 0 }, 0 };
    memset(of_kind, 0, sizeof of_kind);
    memset(of_nest, 0, sizeof of_nest);
    must(hypar_import(&g, model, &options, &err), &err);
    printf("%s, batch %lld%30sforward%30sbackward\n", model, (long long)batch, "", "");
    for (int i = 0; i < g->n_ops; i++) {
        const struct nest *nest = g->ops[i].nest;
        struct total *t = &of_nest[nest->id];
        if (!hp_kernel_exists(nest->kind))
            continue;
        if (!t->n) {
            char text[128];
            *t = measure(kernels, g, &g->ops[i]);
            describe(nest, text, sizeof text);
            if (each)
                print_total(text, t);
        }
        add(&of_kind[nest->kind], t);
        add(&all, t);
    }
    for (int k = 0; k < OP_KIND_COUNT; k++)
        if (of_kind[k].n)
            print_total(hp_op[k].name, &of_kind[k]);
    print_total("all", &all);
    printf("%.2f samples/s\n\n", (double)batch / (all.time_s[0] + all.time_s[1]));
    hypar_graph_free(g);
}

/* A product of square matrices, which is what a machine can do. */
static void measure_gemm(int64_t n)
{
    struct gemm g = { n, n, n, false, false, n, n, n };
    float *m[3];
    for (int i = 0; i < 3; i++) {
        m[i] = allocate((size_t)(n * n) * sizeof(float));
        for (int64_t e = 0; e < n * n; e++)
            m[i][e] = (float)(e % 7) - 3;
    }
    double best_s = 1e9;
    for (int i = 0; i < 5; i++) {
        double start_s = now_s();
        hp_gemm_f32(&g, 1, m[0], m[1], 0, m[2]);
        best_s = now_s() - start_s < best_s ? now_s() - start_s : best_s;
    }
    printf("sgemm, %lld by %lld: %.1f GFLOP/s\n\n", (long long)n, (long long)n,
           2e-9 * (double)(n * n * n) / best_s);
    for (int i = 0; i < 3; i++)
        free(m[i]);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *model;
        int64_t batch;
    } rows[] = { { "resnet50", 8 }, { "vgg16", 2 }, { "bert-base", 2 }, { "gpt2", 1 } };
    take_words(argc, argv, 4, "[MODEL BATCH [THREADS [KERNELS]]]");
    const struct kernels *kernels = hp_kernels_find(argc > 4 ? argv[4] : "fast");
    if (!kernels) {
        printf("bench_kernels: built without BLAS\n");
        return 0;
    }
    if (argc > 3 && atoi(argv[3]) > 1) {
        hp_kernels_threads(atoi(argv[3]));
        window_s = 0.2;
    }
    measure_gemm(1024);
    if (argc > 2)
        measure_model(argv[1], atoll(argv[2]), kernels, true);
    for (size_t i = 0; argc <= 2 && i < sizeof rows / sizeof *rows; i++)
        measure_model(rows[i].model, rows[i].batch, kernels, false);
    return 0;
}
