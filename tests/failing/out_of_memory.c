/* out_of_memory PRELOAD HYPAR [MOST [SAMPLES]] - one allocation after the other fails.
 *
 * Each command of a table is run with its nth allocation failing, and again with all from the
 * nth on, for n up to MOST (2,000) or, with SAMPLES, so many of them. It must end with exit 4
 * and one line, "hypar: out of memory...", print nothing else and leave no file; or, where a
 * library gets by without, as it ends undisturbed: the same bytes on standard output and in its
 * file. */
#include <dirent.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MAX_WORDS = 24, TEXT_BYTES = 1 << 20, MOST_FAULTS_SHOWN = 20 };

/* Run one after the other, in an empty folder: what comes first makes what the others read.
 * Those that write a file write `out`, unless they make an input; the shell is for pipes. */
static const struct {
    const char *words, *input; /* input: the file that is read from standard input */
    bool timed;                /* it tells how long a search took: no two results are alike */
} commands[] = {
    { "import lenet5 -q -o small.json", NULL, false },
    { "import resnet18 -q -o net.json", NULL, false },
    { "plan lenet5 --on full:4 --planner dp --batch 8 -q -o small-plan.json", NULL, false },
    { "plan resnet18 --on full:4 --planner dp --batch 8 -q -o plan.json", NULL, false },
    { "machines cluster:2x2 -q -o machine.json", NULL, false },
    { "import lenet5 -o out", NULL, false },
    { "import net.json --json", NULL, false },
    { "import - -o out", "net.json", false },
    { "import convolutions.onnx -q -o out", NULL, false },
    { "import lstm_lm.onnx -q --json", NULL, false },
    { "import chain.txt -q --json", NULL, false },
    { "plan small.json --on machine.json --batch 8 -q -o out", NULL, false },
    { "plan lenet5 --on full:2 --planner flexflow --proposals 200 --batch 8 -q -o out", NULL,
      false },
    { "plan lenet5 --on local:2 --planner dp --batch 8 -q -o out", NULL, false },
    { "simulate plan.json --json -o out", NULL, false },
    { "simulate small-plan.json --trace out", NULL, false },
    { "simulate flexflow-fig4.json", NULL, false },
    { "simulate -", "plan.json", false },
    { "simulate small-plan.json --svg out", NULL, false },
    { "report small-plan.json --operators 1 -q -o out", NULL, false },
    { "lower plan.json -q -o out", NULL, false },
    { "compare net.json --on machine.json --planner hypar,dp --batch 8 -q", NULL, true },
    { "compare plan.json plan.json --json -o out", NULL, false },
    { "check small-plan.json --json -o out", NULL, false },
    { "explore lenet-c --on htree:16 --topology htree,torus --planner dp,owt --csv out", NULL,
      false },
    { "machines machine.json -o out", NULL, false },
    { "models --json -o out", NULL, false },
    { "train mlp:8-4 --on local:1 --planner dp --batch 2 --steps 1 --kernels reference -q",
      NULL, true },
};

enum { N_COMMANDS = sizeof commands / sizeof commands[0], N_INPUTS = 5 };

struct ending {
    int status;
    size_t n_out, n_err, n_file; /* n_file: SIZE_MAX if there is none */
    char out[TEXT_BYTES], err[TEXT_BYTES], file[TEXT_BYTES];
};

static const char *preload, *hypar;

static size_t read_whole(const char *path, char text[TEXT_BYTES])
{
    FILE *file = fopen(path, "rb");
    if (!file)
        return SIZE_MAX;
    size_t n = fread(text, 1, TEXT_BYTES, file);
    fclose(file);
    if (n < TEXT_BYTES)
        return n;
    fprintf(stderr, "out_of_memory: %s: too long\n", path);
    exit(2);
}

static void redirect(const char *path, const char *mode, FILE *stream)
{
    if (!freopen(path, mode, stream))
        _exit(126);
}

static void set_number(const char *name, long value)
{
    char text[32];
    snprintf(text, sizeof text, "%ld", value);
    setenv(name, text, 1);
}

/* Become the command with its nth allocation failing; 0: none. */
static void become(int command, long n, bool on)
{
    char words[256], program[] = "hypar", *argv[MAX_WORDS] = { program };
    int argc = 1;
    snprintf(words, sizeof words, "%s", commands[command].words);
    for (char *word = strtok(words, " "); word; word = strtok(NULL, " "))
        argv[argc++] = word;
    redirect(commands[command].input ? commands[command].input : "/dev/null", "r", stdin);
    redirect(".stdout", "w", stdout);
    redirect(".stderr", "w", stderr);
    set_number("FAIL_ALLOCATION", n);
    set_number("FAIL_ON", on);
    setenv("COUNT_ALLOCATIONS", n ? "/dev/null" : ".count", 1);
    setenv("LD_PRELOAD", preload, 1);
    alarm(600); /* wall time: other work on the machine must not fail the test */
    execv(hypar, argv);
    _exit(127);
}

static void run(int command, long n, bool on, struct ending *e)
{
    remove("out");
    fflush(stdout);
    pid_t child = fork();
    if (child == 0)
        become(command, n, on);
    if (child < 0 || waitpid(child, &e->status, 0) != child) {
        perror("out_of_memory");
        exit(2);
    }
    e->n_out = read_whole(".stdout", e->out);
    e->n_err = read_whole(".stderr", e->err);
    e->n_file = read_whole("out", e->file);
}

static bool same(const char *a, size_t n, const char *b, size_t m)
{
    return n == m && (n == SIZE_MAX || memcmp(a, b, n) == 0);
}

static bool has_part(void)
{
    bool found = false;
    DIR *folder = opendir(".");
    for (const struct dirent *entry; folder && (entry = readdir(folder));)
        found = found || strstr(entry->d_name, ".part");
    if (folder)
        closedir(folder);
    return found;
}

/* What is wrong with how it ended; NULL: nothing. */
static const char *fault(int command, const struct ending *e, const struct ending *undisturbed)
{
    static const char line[] = "hypar: out of memory";
    if (has_part())
        return "a .part file is left";
    if (!WIFEXITED(e->status))
        return "ended by a signal";
    if (WEXITSTATUS(e->status) == 0) {
        bool as_ever = (commands[command].timed ||
                        same(e->out, e->n_out, undisturbed->out, undisturbed->n_out)) &&
                       same(e->err, e->n_err, undisturbed->err, undisturbed->n_err) &&
                       same(e->file, e->n_file, undisturbed->file, undisturbed->n_file);
        return as_ever ? NULL : "exit 0 with another result";
    }
    if (WEXITSTATUS(e->status) != 4)
        return "neither exit 0 nor exit 4";
    if (e->n_err < sizeof line || memcmp(e->err, line, sizeof line - 1) != 0)
        return "another message";
    if (memchr(e->err, '\n', e->n_err) != e->err + e->n_err - 1)
        return "more than one line";
    if (e->n_out)
        return "a part of a result is printed";
    return e->n_file == SIZE_MAX ? NULL : "a file is left";
}

static long count_of_last_run(void)
{
    static char text[TEXT_BYTES];
    size_t n = read_whole(".count", text);
    text[n < TEXT_BYTES ? n : 0] = '\0';
    return strtol(text, NULL, 10);
}

/* How many runs went wrong. */
static int try_command(int command, long most, long samples)
{
    static struct ending undisturbed, e;
    int faults = 0, ended = 0, as_ever = 0;
    run(command, 0, false, &undisturbed);
    long count = count_of_last_run(), last = count < most ? count : most;
    if (undisturbed.status != 0 || count == 0) {
        printf("hypar %s\n    undisturbed: status %x, %ld allocations\n    | %.*s",
               commands[command].words, (unsigned)undisturbed.status, count,
               (int)undisturbed.n_err, undisturbed.err);
        return 1;
    }
    samples = samples && samples < last ? samples : last;
    for (long i = 0; i < samples && command >= N_INPUTS; i++)
        for (int on = 0; on < 2; on++) {
            long n = 1 + i * last / samples;
            run(command, n, on, &e);
            const char *why = fault(command, &e, &undisturbed);
            ended += !why && e.status != 0;
            as_ever += !why && e.status == 0;
            if (why && ++faults <= MOST_FAULTS_SHOWN)
                printf("hypar %s\n    allocation %ld%s: %s (status %x)\n    | %.*s",
                       commands[command].words, n, on ? " and all after it" : "", why,
                       (unsigned)e.status, (int)e.n_err, e.err);
        }
    if (command >= N_INPUTS)
        printf("%6d out of memory, %5d as ever, %3d wrong of %5ld allocations: hypar %s\n",
               ended, as_ever, faults, count, commands[command].words);
    fflush(stdout);
    return faults;
}

int main(int argc, char **argv)
{
    char folder[] = "/tmp/hypar-memory-XXXXXX", tidy[64];
    int faults = 0;
    if (argc < 3) {
        fprintf(stderr, "usage: out_of_memory PRELOAD HYPAR [MOST [SAMPLES]]\n");
        return 2;
    }
    preload = argv[1];
    hypar = argv[2];
    if (!mkdtemp(folder))
        return 2;
    snprintf(tidy, sizeof tidy, "rm -rf %s", folder);
    char copy[256];
    snprintf(
        copy, sizeof copy,
        "cp tests/data/onnx/small/convolutions.onnx tests/data/onnx/inference/lstm_lm.onnx "
        "tests/data/pipedream/chain.txt examples/programs/flexflow-fig4.json %s",
        folder);
    if (system(copy) != 0 || chdir(folder) != 0)
        return 2;
    for (int i = 0; i < N_COMMANDS; i++)
        faults += try_command(i, argc > 3 ? atol(argv[3]) : 2000, argc > 4 ? atol(argv[4]) : 0);
    return system(tidy) != 0 || faults ? 1 : 0;
}
