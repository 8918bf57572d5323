/* Every CUDA source compiles for the cards that are in use, by NVRTC itself: those of the tree,
 * and the kernels that are generated for every operator (in `make soak` in all their forms).
 * Skipped where there is no NVRTC. */
#include "tests/kernel/harness.h"

#include "base/table.h"
#include "run/backend/cuda/cuda.h"
#include "run/backend/cuda/driver.h"
#include "run/backend/cuda/generate.h"
#include "run/backend/cuda/sources.h"
#include "tests/length.h"

static const int archs[] = { 80, 90, 100 };
enum { ARCHS = sizeof archs / sizeof *archs };

static void compile(const char *name, const char *source, int arch)
{
    struct arena arena = { 0 };
    struct cuda_code code;
    struct hypar_error err;
    if (hp_cuda_compile(&arena, name, source, arch, &code, &err) != HYPAR_OK)
        fail_msg("sm_%d: %s", arch, err.text);
    assert_true(code.n > 0);
    hp_arena_free(&arena);
}

static void skip_without_compiler(void)
{
    const struct cuda_compiler *nvrtc;
    struct hypar_error err;
    if (getenv("HYPAR_NVRTC")) /* .ci/run */
        setenv("HYPAR_CUDA_PATH", getenv("HYPAR_NVRTC"), 0);
    if (hp_cuda_compiler(&nvrtc, &err) == HYPAR_OK)
        return;
    print_message("%s\n", err.text);
    skip();
}

/* Outside of `make soak` each source is compiled for one architecture. */
static void test_sources_of_the_tree(void **state)
{
    static const struct {
        const char *name, *source;
    } tree[] = {
        { "move", hp_cuda_move },
        { "update", hp_cuda_update },
        { "reshape", hp_cuda_reshape },
        { "recurrent", hp_cuda_recurrent },
        { "lookup", hp_cuda_lookup },
        { "attention", hp_cuda_attention },
        { "convolution", hp_cuda_convolution },
    };
    (void)state;
    skip_without_compiler();
    for (size_t k = 0; k < sizeof tree / sizeof *tree; k++)
        for (size_t i = 0; i < ARCHS; i++)
            if (soak_length() || k % ARCHS == i)
                compile(tree[k].name, tree[k].source, archs[i]);
    struct arena scratch = { 0 };
    char *flash =
        hp_arena_printf(&scratch, "enum { HEAD = 64, VALUE = 128 };\n%s", hp_cuda_flash);
    for (size_t i = 0; i < (soak_length() ? ARCHS : 1); i++)
        compile("flash", flash, archs[i]);
    hp_arena_free(&scratch);
}

/* Different texts with the same types, as one source. */
struct collection {
    struct arena arena;
    struct table texts;
    const char *types;
    char *source;
    size_t used, room;
    int n;
};

static void add(struct collection *c, const char *text)
{
    size_t n = strlen(text);
    while (c->used + n + 64 > c->room)
        c->source = realloc(c->source, c->room = 2 * c->room + 65536);
    assert_non_null(c->source);
    memcpy(c->source + c->used, text, n + 1);
    c->used += n;
}

/* Kernels of one source need names of their own. */
static void add_kernel(struct collection *c, const char *text)
{
    static const char parameters[] = "(cuda_call p)";
    char number[32];
    int before = hp_table_number(&c->texts, &c->arena, text, strlen(text));
    if (before < c->n)
        return;
    snprintf(number, sizeof number, "_%d", c->n++);
    for (const char *at; (at = strstr(text, parameters)); text = at + strlen(parameters)) {
        add(c, hp_arena_strndup(&c->arena, text, (size_t)(at - text)));
        add(c, number);
        add(c, parameters);
    }
    add(c, text);
}

static void collect(void *who, const struct kernel_call *call, const struct target *target)
{
    static char text[GENERATED_BYTES];
    struct collection *c = who;
    for (int form = 0; form < (soak_length() ? 2 : 1); form++) {
        struct generated g = { .text = text };
        hp_cuda_generate(&g, call, target, soak_length() ? form : c->n % 2);
        if (!c->types) {
            c->types = g.types;
            add(c, g.types);
            add(c, hp_cuda_generic);
            add(c, hp_cuda_columns);
        }
        assert_string_equal(c->types, g.types); /* cases are small */
        add_kernel(c, text);
    }
}

/* Numbers in memory: fp32, fp64, or bf16 but for statistics. */
static void collect_case(struct collection *c, const struct op_case *of, enum real real)
{
    struct subject s = subject_new(of, real == REAL_BF16 ? REAL_F32 : real);
    operand_set narrow = 0;
    for (int o = 0; o < s.nest->n_operands && real == REAL_BF16; o++)
        if (!s.nest->operand[o].index && s.nest->operand[o].role != OPERAND_STAT)
            narrow |= (operand_set)1 << o;
    for (int p = 0; p < s.nest->n_passes; p++)
        for (int fresh = soak_length() ? 0 : 1; fresh < 2; fresh++) {
            struct kernel_call call = call_of(&s, p);
            memcpy(call.value, s.value, sizeof call.value);
            memcpy(call.grad, s.grad, sizeof call.grad);
            call.add_after = true;
            call.narrow = call.narrow_grad = narrow;
            call.fresh = call.fresh_grad = fresh ? ~(operand_set)0 : 0;
            hp_cuda_targets(&call, collect, c);
        }
    subject_free(&s);
}

/* Outside of `make soak` each architecture has a share of the operators. */
static void compile_operators(enum real real, int i)
{
    struct collection c = { .types = NULL };
    int n = 0;
    for (int k = 0; k < OP_CASE_COUNT; k++) {
        bool first = k == 0 || op_cases[k].kind != op_cases[k - 1].kind;
        if (!hp_kernel_exists(op_cases[k].kind) || !(first || soak_length()))
            continue;
        if (soak_length() || n++ % (9 * ARCHS) == i)
            collect_case(&c, &op_cases[k], real);
    }
    printf("sm_%d: %d kernels, %zu bytes\n", archs[i], c.n, c.used);
    static const char *const name[] = { [REAL_F32] = "operators_f32",
                                        [REAL_F64] = "operators_f64",
                                        [REAL_BF16] = "operators_bf16" };
    compile(name[real], c.source, archs[i]);
    free(c.source);
    hp_arena_free(&c.arena);
}

static void test_kernels_of_operators(void **state)
{
    (void)state;
    skip_without_compiler();
    for (int real = REAL_F32; real <= REAL_BF16; real++)
        for (int i = 0; i < ARCHS; i++)
            if (soak_length() || real == REAL_F32 || (real == REAL_BF16 && i == 0))
                compile_operators((enum real)real, i);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_sources_of_the_tree),
                                        cmocka_unit_test(test_kernels_of_operators) };
    return cmocka_run_group_tests_name("run: CUDA sources", tests, NULL, NULL);
}
