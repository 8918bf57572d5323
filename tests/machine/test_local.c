#define _XOPEN_SOURCE 700 /* mkdtemp, setenv */
/* The local machine: its cores, and the memory that a process may use. */
#include "tests/machine/check.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <hypar/tool.h>

#include "machine/computer.h"

static char folder[64];

static const char *in_folder(const char *name)
{
    static char path[160];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static void write_text(const char *name, const char *text)
{
    FILE *file = fopen(in_folder(name), "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

/* Of both versions of control groups, of a group and those that it is in, the least counts. */
static void the_least_limit_counts(void **state)
{
    (void)state;
    static const struct {
        const char *groups, *path[2], *limit[2];
        double expected;
    } cases[] = {
        { "0::/\n", { "memory.max", NULL }, { "max\n", NULL }, 0 },
        { "0::/\n", { "memory.max", NULL }, { "5000000\n", NULL }, 5e6 },
        { "0::/a/b\n", { "a/memory.max", "a/b/memory.max" }, { "7000\n", "max\n" }, 7000 },
        { "0::/a/b\n", { "a/memory.max", "a/b/memory.max" }, { "9000\n", "8000\n" }, 8000 },
        { "0::/not/seen/here\n", { "memory.max", NULL }, { "6000\n", NULL }, 6000 },
        { "5:cpu:/a\n4:memory:/a\n",
          { "memory/a/memory.limit_in_bytes", "a/memory.max" },
          { "4000\n", "1\n" },
          4000 },
        { "nonsense\n", { NULL, NULL }, { NULL, NULL }, 0 },
    };
    char groups[160];
    assert_int_equal(mkdir(in_folder("a"), 0700), 0);
    assert_int_equal(mkdir(in_folder("a/b"), 0700), 0);
    assert_int_equal(mkdir(in_folder("memory"), 0700), 0);
    assert_int_equal(mkdir(in_folder("memory/a"), 0700), 0);
    snprintf(groups, sizeof groups, "%s", in_folder("groups"));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        write_text("groups", cases[i].groups);
        for (int k = 0; k < 2 && cases[i].path[k]; k++)
            write_text(cases[i].path[k], cases[i].limit[k]);
        double found = hp_memory_limit(groups, folder);
        if (found != cases[i].expected)
            fail_msg("case %zu: %g, expected %g", i, found, cases[i].expected);
        for (int k = 0; k < 2 && cases[i].path[k]; k++)
            unlink(in_folder(cases[i].path[k]));
    }
    assert_true(hp_memory_limit("/not/there", folder) == 0);
    unlink(groups);
    rmdir(in_folder("a/b"));
    rmdir(in_folder("a"));
    rmdir(in_folder("memory/a"));
    rmdir(in_folder("memory"));
}

/* A process asks once: each case has its own. */
static bool fits_in_process(const char *nodes, bool here, double least, double most)
{
    int status;
    pid_t child = fork();
    if (child == 0) {
        setenv("HWLOC_SYNTHETIC", nodes, 1);
        setenv("HWLOC_THISSYSTEM", here ? "1" : "0", 1);
        double bytes = (double)hp_local_device(16).device.memory_bytes;
        _exit(hypar_local_all_cores() == 8 && bytes >= least && bytes <= most ? 0 : 1);
    }
    assert_true(child > 0 && waitpid(child, &status, 0) == child);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* All nodes of a computer count. Where nodes tell less than the system has, as those of a
 * virtual machine may, what the system has counts. */
static void all_nodes_count(void **state)
{
    (void)state;
    double all = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
    double limit = hp_memory_limit("/proc/self/cgroup", "/sys/fs/cgroup");
    double usable = limit > 0 && limit < all ? limit : all;
    if (!strstr(hypar_features(), "hwloc: yes"))
        skip();
    assert_true(fits_in_process("numa:2(memory=64GB) core:4 pu:2", false, 8e9, 9e9));
    assert_true(fits_in_process("numa:4(memory=64GB) core:2 pu:2", false, 16e9, 18e9));
    assert_true(fits_in_process("numa:2(memory=1MB) core:4 pu:2", true, usable / 16 - 1,
                                usable / 16 + 1));
}

static void binds_to_cores_that_it_has(void **state)
{
    (void)state;
    int cores = hypar_local_cores();
    assert_in_range(cores, 1, hypar_local_all_cores());
    assert_false(hypar_local_bind(0, 0));
    assert_false(hypar_local_bind(0, cores + 1));
    assert_false(hypar_local_bind(cores, 1));
    if (hypar_local_bind(cores - 1, 1))
        assert_int_equal(hypar_local_cores(), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_least_limit_counts),
        cmocka_unit_test(all_nodes_count),
        cmocka_unit_test(binds_to_cores_that_it_has),
    };
    snprintf(folder, sizeof folder, "/tmp/hypar-local-XXXXXX");
    if (!mkdtemp(folder))
        return 1;
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    return rmdir(folder) != 0 || failed;
}
