/* A card by CUDA: finding it, compiling for it, its memory, kernels, and what fails. The card
 * is a stand-in (tests/cuda), or the machine's own (HYPAR_TEST_CARD). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "run/backend/cuda/cuda.h"
#include "tests/cuda_stand_in.h"

static const char *const SOURCE =
    "extern \"C\" __global__ void twice(float *to, const float *from, int n)\n"
    "{\n"
    "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
    "    if (i < n)\n"
    "        to[i] = 2 * from[i];\n"
    "}\n"
    /* the sum of a block, where threads wait for each other */
    "extern \"C\" __global__ void __launch_bounds__(64) sum(float *to, const float *from)\n"
    "{\n"
    "    __shared__ float part[64];\n"
    "    part[threadIdx.x] = from[blockIdx.x * 64 + threadIdx.x];\n"
    "    for (int half = 32; half > 0; half /= 2) {\n"
    "        __syncthreads();\n"
    "        if (threadIdx.x < half)\n"
    "            part[threadIdx.x] += part[threadIdx.x + half];\n"
    "    }\n"
    "    if (threadIdx.x == 0)\n"
    "        to[blockIdx.x] = part[0];\n"
    "}\n"
    "extern \"C\" __global__ void around(float *to)\n" /* each thread has its neighbour's number
                                                        */
    "{\n"
    "    to[threadIdx.x] = __shfl_xor_sync(~0u, (float)threadIdx.x, 1);\n"
    "}\n";

static struct cuda *open_card(void)
{
    struct cuda *c;
    struct hypar_error err;
    if (!cuda_stand_in()) {
        print_message("no C++ compiler: there is no stand-in for a card\n");
        skip();
    }
    if (hp_cuda_open(&c, 0, &err) != HYPAR_OK)
        fail_msg("%s", err.text);
    return c;
}

static void check(struct cuda *c)
{
    struct hypar_error err;
    if (hp_cuda_status(c, &err) != HYPAR_OK)
        fail_msg("%s", err.text);
}

static void kernels_run(void **state)
{
    (void)state;
    enum { N = 1000, BLOCKS = 5 };
    struct cuda *c = open_card();
    float *from = hp_cuda_pinned_alloc(c, N * sizeof *from);
    float *to = hp_cuda_pinned_alloc(c, N * sizeof *to);
    float *on_card = hp_cuda_alloc(c, N * sizeof *on_card);
    struct cuda_module *m = hp_cuda_module(c, "test", SOURCE);
    struct cuda_function *twice = hp_cuda_function(c, m, "twice");
    check(c);
    assert_true(from && to && on_card && twice);
    assert_ptr_equal(hp_cuda_find(c, "test"), m);
    assert_ptr_equal(hp_cuda_function(c, m, "twice"), twice);
    for (int i = 0; i < N; i++)
        from[i] = (float)i;
    int n = N;
    struct cuda_grid grid = { { (N + 63) / 64 }, { 64 }, 0 };
    hp_cuda_launch(c, twice, &grid, (void *[]){ &on_card, &from, &n });
    hp_cuda_launch(c, twice, &grid, (void *[]){ &to, &on_card, &n });
    hp_cuda_finish(c);
    check(c);
    for (int i = 0; i < N; i++)
        assert_true(to[i] == 4 * (float)i);
    grid.blocks[0] = BLOCKS;
    hp_cuda_launch(c, hp_cuda_function(c, m, "sum"), &grid, (void *[]){ &on_card, &to });
    n = BLOCKS;
    hp_cuda_launch(c, twice, &grid, (void *[]){ &to, &on_card, &n });
    grid.blocks[0] = 1;
    hp_cuda_launch(c, hp_cuda_function(c, m, "around"), &grid, (void *[]){ &from });
    hp_cuda_finish(c);
    check(c);
    for (int i = 0; i < BLOCKS; i++)
        assert_true(to[i] == 8 * (float)(64 * 64 * i + 63 * 32));
    for (int i = 0; i < 64; i++)
        assert_true(from[i] == (float)(i ^ 1));
    hp_cuda_free(c, on_card);
    hp_cuda_pinned_free(c, from);
    hp_cuda_pinned_free(c, to);
    check(c);
    hp_cuda_close(c);
}

/* Too much memory is an answer, not a failure. */
static void memory_is_limited(void **state)
{
    (void)state;
    struct cuda *c = open_card();
    struct hypar_card card = hp_cuda_card(c);
    assert_true(card.arch >= 50 && card.multiprocessors > 0 &&
                hp_cuda_free_bytes(c) <= card.memory_bytes);
    void *all = hp_cuda_alloc(c, (size_t)card.memory_bytes + 1), *empty = hp_cuda_alloc(c, 0);
    assert_true(!all && empty);
    hp_cuda_free(c, empty);
    hp_cuda_free(c, NULL);
    check(c);
    hp_cuda_close(c);
}

/* The first file of the cache that was not there before. */
static void compiled_code_is_kept(void **state)
{
    (void)state;
    char folder[] = "/tmp/hypar-cuda-XXXXXX", pattern[128], command[128];
    struct arena arena = { 0 };
    struct cuda_code code[3];
    struct hypar_error err = { .text = "" };
    hp_cuda_close(open_card());
    char *before = getenv("XDG_CACHE_HOME") ? strdup(getenv("XDG_CACHE_HOME")) : NULL;
    assert_non_null(mkdtemp(folder));
    setenv("XDG_CACHE_HOME", folder, 1);
    snprintf(pattern, sizeof pattern, "%s/hypar/cuda/*.cubin", folder);
    for (int i = 0; i < 3; i++) {
        glob_t found;
        if (hp_cuda_compile(&arena, "test", SOURCE, 90, &code[i], &err) != HYPAR_OK)
            fail_msg("%s", err.text);
        assert_int_equal(glob(pattern, 0, NULL, &found), 0);
        assert_int_equal(found.gl_pathc, 1);
        FILE *file = fopen(found.gl_pathv[0], i == 1 ? "r+" : "r");
        assert_non_null(file);
        if (i == 1) /* a damaged file is not used */
            assert_true(fseek(file, 100, SEEK_SET) == 0 && fputs("damaged", file) >= 0);
        fclose(file);
        globfree(&found);
    }
    assert_int_equal(code[1].n, code[0].n);
    assert_memory_equal(code[1].bytes, code[0].bytes, code[0].n);
    assert_non_null(code[2].bytes);
    hp_arena_free(&arena);
    snprintf(command, sizeof command, "rm -r %s", folder);
    assert_int_equal(system(command), 0);
    if (before)
        setenv("XDG_CACHE_HOME", before, 1);
    free(before);
}

/* Failures: one line, and nothing more is begun. */

static void expect(enum hypar_status status, const char *text, const char *expected)
{
    if (status == HYPAR_OK || !strstr(text, expected) || strchr(text, '\n'))
        fail_msg("status %d, \"%s\", expected \"%s\"", (int)status, text, expected);
}

static void sources_are_refused(void **state)
{
    (void)state;
    struct cuda *c = open_card();
    struct hypar_error err = { .text = "" };
    assert_null(hp_cuda_module(c, "wrong", "extern \"C\" __global__ void f() { nothing(); }"));
    enum hypar_status status = hp_cuda_status(c, &err);
    expect(status, err.text, "CUDA source wrong cannot be compiled: ");
    expect(status, err.text, "nothing");
    assert_null(hp_cuda_alloc(c, 1));
    assert_null(hp_cuda_module(c, "test", SOURCE));
    hp_cuda_launch(c, NULL, &(struct cuda_grid){ 0 }, NULL);
    hp_cuda_fail(c, HYPAR_USAGE, "a later failure");
    hp_cuda_finish(c);
    assert_int_equal(hp_cuda_status(c, &err), status);
    expect(status, err.text, "nothing");
    hp_cuda_close(c);
    c = open_card();
    assert_null(hp_cuda_function(c, hp_cuda_module(c, "test", SOURCE), "thrice"));
    expect(hp_cuda_status(c, &err), err.text, "thrice");
    hp_cuda_close(c);
}

/* Libraries are loaded once in a process, and a failing kernel ends the use of a card. */
static void fails_in_a_child(void (*child)(void), const char *variable, const char *value)
{
    int result;
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        setenv(variable, value, 1);
        child();
        fflush(NULL);
        _exit(0);
    }
    assert_int_equal(waitpid(pid, &result, 0), pid);
    if (!WIFEXITED(result) || WEXITSTATUS(result) != 0)
        fail_msg("%s=%s: wait status %d", variable, value, result);
}

static void expect_in_child(enum hypar_status status, const char *text, const char *expected)
{
    if (status == HYPAR_OK || !strstr(text, expected) || strchr(text, '\n')) {
        print_error("status %d, \"%s\", expected \"%s\"\n", (int)status, text, expected);
        _exit(1);
    }
}

static void no_card(void)
{
    struct cuda *c;
    struct hypar_error err = { .text = "" };
    enum hypar_status status = hp_cuda_open(&c, 0, &err);
    expect_in_child(status, err.text, "NVIDIA's driver finds no card");
}

static void no_such_card(void)
{
    struct cuda *c;
    struct hypar_error err = { .text = "" };
    enum hypar_status status = hp_cuda_open(&c, 1, &err);
    expect_in_child(status, err.text, "there is no card 1: NVIDIA's driver finds 1");
}

static void no_library(void)
{
    struct cuda *c;
    struct hypar_error err = { .text = "" };
    enum hypar_status status = hp_cuda_open(&c, 0, &err);
    expect_in_child(status, err.text, "NVIDIA's driver: ");
    expect_in_child(status, err.text, "libcuda.so.1: cut off after 64 bytes");
}

static void a_kernel_fails(void)
{
    struct cuda *c;
    struct hypar_error err = { .text = "" };
    int n = 0;
    if (hp_cuda_open(&c, 0, &err) != HYPAR_OK)
        _exit(2);
    struct cuda_function *f = hp_cuda_function(c, hp_cuda_module(c, "test", SOURCE), "twice");
    void *data = hp_cuda_alloc(c, 4);
    hp_cuda_launch(c, f, &(struct cuda_grid){ 0 }, (void *[]){ &data, &data, &n });
    hp_cuda_finish(c);
    expect_in_child(hp_cuda_status(c, &err), err.text,
                    "card 0 (stand-in): a kernel failed: a kernel failed (CUDA error 719)");
    hp_cuda_close(c);
}

/* The first 64 bytes of the stand-in. */
static void cut_off(const char *folder)
{
    char command[512];
    snprintf(command, sizeof command,
             "head -c 64 \"$HYPAR_CUDA_PATH/libcuda.so.1\" >%s/libcuda.so.1", folder);
    assert_int_equal(system(command), 0);
}

static void what_is_missing_is_said(void **state)
{
    (void)state;
    char folder[] = "/tmp/hypar-cuda-XXXXXX", command[128];
    if (!cuda_stand_in() || cuda_real_card())
        skip();
    fails_in_a_child(no_card, "HYPAR_STAND_IN_CARDS", "0");
    fails_in_a_child(no_such_card, "HYPAR_STAND_IN_CARDS", "1");
    fails_in_a_child(a_kernel_fails, "HYPAR_STAND_IN_FAILS", "twice");
    assert_non_null(mkdtemp(folder));
    cut_off(folder);
    fails_in_a_child(no_library, "HYPAR_CUDA_PATH", folder);
    snprintf(command, sizeof command, "rm -r %s", folder);
    assert_int_equal(system(command), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_missing_is_said), /* before the libraries are loaded */
        cmocka_unit_test(kernels_run),
        cmocka_unit_test(memory_is_limited),
        cmocka_unit_test(compiled_code_is_kept),
        cmocka_unit_test(sources_are_refused),
    };
    return cmocka_run_group_tests_name("run: a card by CUDA", tests, NULL, NULL);
}
