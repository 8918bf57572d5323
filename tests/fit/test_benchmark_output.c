/* What nccl-tests and the OSU micro-benchmarks print, as rows of measured collectives. */
#include "fit/benchmark_output.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define RANK(n, host) "#  Rank  " n " Group  0 Pid   100" n " on    " host " device  " n " [0x8d] NVIDIA\n"
#define HEADING                                                                             \
    "#       size         count      type   redop    root     time   algbw   busbw #wrong     " \
    "time   algbw   busbw #wrong\n"                                                         \
    "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            " \
    "(us)  (GB/s)  (GB/s)\n"
#define OLD_HEADING                                                                           \
    "#       size         count    type    root     time   algbw   busbw  error     time   algbw " \
    "  busbw  error\n"

static const struct {
    const char *text, *machine;
    int n_rows; /* the last of them is: */
    const char *collective, *devices, *bytes;
    double us;
    const char *on;
} good[] = {
    { "# Collective test starting: all_reduce_perf\n# nThread 1 nGpus 1 minBytes 8\n" RANK("0", "a")
          RANK("1", "a") RANK("2", "b") RANK("3", "b") HEADING
      "  0  0 float sum -1 5.70 0.00 0.00 0 5.5 0.00 0.00 0\n"
      "  1048576  262144  float  sum  -1  62.10  16.89  25.33  0  61.70  16.99  25.49  0\n"
      "# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 25.4\n",
      NULL, 1, "all-reduce", "4", "1048576", 62.10, "cluster:2x2" },
    { "$ ./broadcast_perf -b 8 -e 2G -g 8\n# nThread 1 nGpus 8 minBytes 8\n" OLD_HEADING
      "  64  16  float  0  45.82  0.00  0.00  N/A  38.17  0.00  0.00  N/A\n",
      NULL, 1, "broadcast", "8", "64", 45.82, "cluster:1x8" },
    { "alltoall_perf\n# nThread 1 nGpus 8 minBytes 8\n" HEADING
      "  800  200 float none -1  50  0 0 0  51 0 0 0\n",
      "cluster:2x4", 1, "all-to-all", "8", "100", 50, "cluster:2x4" },
    { "# OSU MPI-CUDA Latency Test v5.9\n# Size          Latency (us)\n0 1.42\n8 9.80\n", NULL, 1,
      "send", "2", "8", 9.8, "cluster:1x2" },
    { "# OSU MPI Bandwidth Test v7.3\n# Size      Bandwidth (MB/s)\n1000000   25000\n",
      "cluster:2x1", 1, "send", "2", "64000000", 2560, "cluster:2x1" },
    { "mpirun: hello\n# OSU MPI Allgather Latency Test v7.3\n# Size       Avg Latency(us)\n1024 20.10\n",
      "cluster:2x8", 1, "all-gather", "16", "16384", 20.1, "cluster:2x8" },
    { "# OSU MPI Allreduce Latency Test v7.3\n# Size  Avg Latency(us)   Min Latency(us)\n4 1.5 1\n8 2.5 2\n",
      "full:4", 2, "all-reduce", "4", "8", 2.5, "full:4" },
};

static void outputs_are_tables(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        struct arena arena = { 0 };
        struct csv csv;
        struct hypar_error err;
        if (hp_measurements_read(&csv, &arena, good[i].text, strlen(good[i].text), "out.txt",
                                 good[i].machine, &err) != HYPAR_OK)
            fail_msg("%zu: %s", i, err.text);
        assert_int_equal(csv.n_rows, good[i].n_rows);
        const char *const *field = csv.row[csv.n_rows - 1].field;
        assert_string_equal(field[hp_csv_column(&csv, "collective")], good[i].collective);
        assert_string_equal(field[hp_csv_column(&csv, "devices")], good[i].devices);
        assert_string_equal(field[hp_csv_column(&csv, "bytes")], good[i].bytes);
        assert_string_equal(field[hp_csv_column(&csv, "machine")], good[i].on);
        double s = strtod(field[hp_csv_column(&csv, "seconds")], NULL);
        assert_true(fabs(1e6 * s / good[i].us - 1) < 1e-9);
        hp_arena_free(&arena);
    }
}

static const struct {
    const char *text, *error;
} bad[] = {
    { "# nThread 1 nGpus 8\n" HEADING "  64 16 float sum -1 5 0 0 0 5 0 0 0\n",
      "out.txt:4: no name of a test, expected a line with one such as all_reduce_perf before the "
      "rows" },
    { "all_reduce_perf\n# nThread 1 nGpus 8\n" HEADING "  64 16 float sum -1 5 0 0 3 5 0 0 0\n",
      "out.txt:5: wrong results, expected a run without errors" },
    { "all_reduce_perf\n# nThread 1 nGpus 8\n" HEADING "  64 16 float sum -1 fast 0 0 0\n",
      "out.txt:5: time 'fast', expected a number above 0" },
    { "all_reduce_perf\n# nThread 1 nGpus 8\n" HEADING "  64 16 float sum\n",
      "out.txt:5: a row without a time" },
    { "all_reduce_perf\n# nThread 1 nGpus 8\n" HEADING,
      "out.txt: no rows of a benchmark, expected lines of sizes and times" },
    { "# OSU MPI Allreduce Latency Test v7\n# Size  Avg Latency(us)\n4 1.5\n",
      "out.txt:3: the output does not tell how many devices took part: give --on MACHINE" },
    { "# OSU MPI Bidirectional Bandwidth Test v7\n# Size  Bandwidth (MB/s)\n4 1.5\n",
      "out.txt:3: a test that measures no single collective, expected osu_latency, osu_bw or a "
      "collective" },
    { "# OSU MPI Barrier v7\n# Size  x\n4 1.5\n",
      "out.txt:3: no title of a test of OSU that is known, expected one such as '# OSU MPI "
      "Allreduce Latency Test'" },
};

static void what_is_wrong_is_told(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct arena arena = { 0 };
        struct csv csv;
        struct hypar_error err;
        assert_int_equal(hp_measurements_read(&csv, &arena, bad[i].text, strlen(bad[i].text),
                                              "out.txt", NULL, &err),
                         HYPAR_INVALID);
        assert_string_equal(err.text, bad[i].error);
        hp_arena_free(&arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(outputs_are_tables),
        cmocka_unit_test(what_is_wrong_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
