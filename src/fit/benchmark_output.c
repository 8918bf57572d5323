/* Reading what nccl-tests and the OSU micro-benchmarks print. Lines of words: those that begin
 * with
 * '#' tell what was run and name the columns, those that begin with a number are measurements,
 * any other line (of a launcher, of a queue) is passed over. */
#include "fit/benchmark_output.h"

#include <ctype.h>
#include <string.h>

#include "base/number.h"
#include <hypar/machine.h>

enum { MAX_WORDS = 64, WORD_BYTES = 64, MAX_HOSTS = 1 << 12, OSU_WINDOW = 64 };

/* The kind of exchange that a test measures. `name`: nccl-tests: of the program; OSU: of the
 * title. */
struct test_row {
    const char *name, *collective;
    enum {
        OF_ALL,     /* the size is that of the whole data, or of a message */
        OF_EACH,    /* ... of a device's share of it */
        OF_DEVICE,  /* ... of all messages of a device */
        PER_SECOND, /* MB/s of a window of messages */
    } size;
    int devices; /* 0: any number */
};

static const struct test_row nccl_tests[] = {
    { "all_reduce_perf", "all-reduce", OF_ALL, 0 },
    { "all_gather_perf", "all-gather", OF_ALL, 0 },
    { "reduce_scatter_perf", "reduce-scatter", OF_ALL, 0 },
    { "broadcast_perf", "broadcast", OF_ALL, 0 },
    { "alltoall_perf", "all-to-all", OF_DEVICE, 0 },
    { "reduce_perf", "reduce", OF_ALL, 0 },
    { NULL, NULL, OF_ALL, 0 },
};

static const struct test_row osu_tests[] = {
    { "Allreduce Latency Test", "all-reduce", OF_ALL, 0 },
    { "Allgather Latency Test", "all-gather", OF_EACH, 0 },
    { "Reduce_scatter Latency Test", "reduce-scatter", OF_ALL, 0 },
    { "Broadcast Latency Test", "broadcast", OF_ALL, 0 },
    { "Bcast Latency Test", "broadcast", OF_ALL, 0 },
    { "Reduce Latency Test", "reduce", OF_ALL, 0 },
    { "All-to-All Personalized Exchange Latency Test", "all-to-all", OF_ALL, 0 },
    { "Alltoall Latency Test", "all-to-all", OF_ALL, 0 },
    { "Bidirectional", NULL, OF_ALL, 0 },
    { "Multi", NULL, OF_ALL, 0 },
    { "Latency Test", "send", OF_ALL, 2 },
    { "Bandwidth Test", "send", PER_SECOND, 2 },
    { NULL, NULL, OF_ALL, 0 },
};

struct output {
    struct arena *arena;
    const char *file, *machine; /* machine: NULL: the output tells it */
    struct hypar_error *err;
    bool osu;
    const struct test_row *test; /* NULL: not known yet */
    int line, size_at, value_at; /* words of a row; -1: no heading yet */
    int ranks, per_process, n_hosts;
    const char *host[MAX_HOSTS];
    int n_rows, capacity;
    struct csv_row *row;
};

static enum hypar_status fail(const struct output *o, const char *what)
{
    return hp_fail(o->err, HYPAR_INVALID, "%s:%d: %s", o->file, o->line, what);
}

/* The words of a line; those that are too long are cut. */
struct words {
    int n;
    char at[MAX_WORDS][WORD_BYTES];
};

static void split(const char *line, size_t length, struct words *words)
{
    words->n = 0;
    for (size_t i = 0; i < length && words->n < MAX_WORDS;) {
        size_t n = 0;
        while (i + n < length && !isspace((unsigned char)line[i + n]))
            n++;
        if (n > 0)
            snprintf(words->at[words->n++], WORD_BYTES, "%.*s",
                     (int)(n < WORD_BYTES ? n : WORD_BYTES - 1), line + i);
        i += n ? n : 1;
    }
}

static int find_word(const struct words *words, const char *word, int from)
{
    for (int i = from; i < words->n; i++)
        if (strcmp(words->at[i], word) == 0)
            return i;
    return -1;
}

static bool contains(const char *line, size_t length, const char *text)
{
    size_t n = strlen(text);
    for (size_t i = 0; i + n <= length; i++)
        if (memcmp(line + i, text, n) == 0)
            return true;
    return false;
}

static void find_test(struct output *o, const char *line, size_t length)
{
    const struct test_row *row = o->osu ? osu_tests : nccl_tests;
    if (o->osu && (!contains(line, length, "OSU") || *line != '#'))
        return;
    while (row->name && !contains(line, length, row->name))
        row++;
    if (row->name)
        o->test = row;
}

static bool read_int(const struct words *words, int at, int *out)
{
    double value;
    if (at < 0 || at >= words->n)
        return false;
    size_t n = hp_number_read(words->at[at], &value);
    if (n == 0 || words->at[at][n] || !(value >= 0 && value <= 1 << 20))
        return false;
    *out = (int)value;
    return true;
}

/* "#  Rank  0 Group  0 Pid  1887 on   worker-1 device  0 [0x8d] NVIDIA H100": the host counts.
 */
static void add_rank(struct output *o, const struct words *words)
{
    int on = find_word(words, "on", 0), h = 0;
    o->ranks++;
    if (on < 0 || on + 1 >= words->n)
        return;
    while (h < o->n_hosts && strcmp(o->host[h], words->at[on + 1]) != 0)
        h++;
    if (h == o->n_hosts && h < MAX_HOSTS)
        o->host[o->n_hosts++] = hp_arena_strdup(o->arena, words->at[on + 1]);
}

/* A line that begins with '#': a rank, the settings, or the heading. The heading names the
 * columns; the first "time" in it is the column that is measured out of place. */
static void read_comment(struct output *o, struct words *words)
{
    int first = strcmp(words->at[0], "#") == 0, size, threads = 1, devices = 1;
    if (find_word(words, "Rank", 0) == first) {
        add_rank(o, words);
        return;
    }
    if (read_int(words, find_word(words, "nThread", 0) + 1, &threads) &&
        read_int(words, find_word(words, "nGpus", 0) + 1, &devices))
        o->per_process = threads * devices;
    size = find_word(words, o->osu ? "Size" : "size", 0);
    if (size != first)
        return;
    o->size_at = 0;
    o->value_at = o->osu ? 1 : find_word(words, "time", 0) - first;
}

static const char *machine_of(const struct output *o, int *devices)
{
    if (o->machine)
        return o->machine;
    *devices = o->test->devices ? o->test->devices : o->ranks ? o->ranks : o->per_process;
    int hosts = o->n_hosts > 1 && *devices % o->n_hosts == 0 ? o->n_hosts : 1;
    return hp_arena_printf(o->arena, "cluster:%dx%d", hosts, *devices / hosts);
}

/* The devices that took part: all of a machine that was said. */
static enum hypar_status count_devices(const struct output *o, int *out)
{
    struct hypar_machine *machine;
    *out = o->test->devices ? o->test->devices : o->ranks ? o->ranks : o->per_process;
    if (*out > 0 && (o->ranks || !o->machine || o->test->devices))
        return HYPAR_OK;
    if (!o->machine)
        return fail(o,
                    "the output does not tell how many devices took part: give --on MACHINE");
    TRY(hypar_machine_read(&machine, o->machine, o->err));
    *out = hypar_machine_device_count(machine);
    hypar_machine_free(machine);
    return HYPAR_OK;
}

static enum hypar_status add_row(struct output *o, double size, double value)
{
    int devices;
    TRY(count_devices(o, &devices));
    int all = devices;
    const char *machine = machine_of(o, &all);
    const char **field = NEW(o->arena, const char *, 5);
    double seconds = 1e-6 * value, bytes = size;
    if (o->test->size == OF_EACH)
        bytes *= devices;
    if (o->test->size == OF_DEVICE)
        bytes /= devices;
    if (o->test->size == PER_SECOND) {
        bytes *= OSU_WINDOW;
        seconds = bytes / (1e6 * value);
    }
    if (bytes < 1) /* of an all-gather or all-to-all nothing is left for each */
        return HYPAR_OK;
    field[0] = o->test->collective;
    field[1] = hp_arena_printf(o->arena, "%d", devices);
    field[2] = hp_arena_printf(o->arena, "%.0f", bytes);
    field[3] = hp_arena_printf(o->arena, "%.17g", seconds);
    field[4] = machine;
    o->row = GROW(o->arena, struct csv_row, o->row, o->n_rows, &o->capacity);
    o->row[o->n_rows++] = (struct csv_row){ o->line, field };
    return HYPAR_OK;
}

/* A row of numbers. nccl-tests count results that are wrong. */
static enum hypar_status read_numbers(struct output *o, const struct words *words, double size)
{
    double value, wrong;
    if (o->size_at < 0)
        return HYPAR_OK; /* before any heading: not of the benchmark */
    if (!o->test)
        return fail(o, o->osu ? "no title of a test of OSU that is known, expected one such as "
                                "'# OSU MPI Allreduce Latency Test'"
                              : "no name of a test, expected a line with one such as "
                                "all_reduce_perf before the rows");
    if (!o->test->collective)
        return fail(
            o, "a test that measures no single collective, expected osu_latency, osu_bw or "
               "a collective");
    if (o->value_at < 1 || o->value_at >= words->n)
        return fail(o, "a row without a time");
    const char *text = words->at[o->value_at];
    size_t n = hp_number_read(text, &value);
    if (n == 0 || text[n] || !(value > 0 && value < 1e15))
        return hp_fail(o->err, HYPAR_INVALID, "%s:%d: time '%.40s', expected a number above 0",
                       o->file, o->line, text);
    if (!o->osu && o->value_at + 3 < words->n &&
        hp_number_read(words->at[o->value_at + 3], &wrong) > 0 && wrong >= 1)
        return fail(o, "wrong results, expected a run without errors");
    return size >= 1 ? add_row(o, size, value) : HYPAR_OK;
}

static enum hypar_status read_line(struct output *o, const char *line, size_t length)
{
    struct words words;
    double size;
    find_test(o, line, length);
    split(line, length, &words);
    if (words.n == 0)
        return HYPAR_OK;
    if (words.at[0][0] == '#') {
        read_comment(o, &words);
        return HYPAR_OK;
    }
    size_t n = hp_number_read(words.at[0], &size);
    if (n == 0 || words.at[0][n] || !(size >= 0 && size < 0x1p50))
        return HYPAR_OK;
    return read_numbers(o, &words, size);
}

static bool is_output(const char *text)
{
    static const char *const marks[] = { "# nThread ", "# OSU ", "(elements)" };
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
        if (strstr(text, marks[i]))
            return true;
    return false;
}

static enum hypar_status read_output(struct csv *out, struct arena *arena, const char *text,
                                     const char *name, const char *machine,
                                     struct hypar_error *err)
{
    static const char *const heading[] = { "collective", "devices", "bytes", "seconds",
                                           "machine" };
    struct hypar_error local;
    struct output *o = NEW(arena, struct output, 1);
    *o = (struct output){ .arena = arena,
                          .file = name,
                          .machine = machine,
                          .err = err ? err : &local,
                          .osu = strstr(text, "# OSU ") != NULL,
                          .size_at = -1 };
    find_test(o, name, strlen(name)); /* a later line may tell better */
    for (const char *line = text; *line;) {
        size_t n = strcspn(line, "\n");
        o->line++;
        TRY(read_line(o, line, n));
        line += n + (line[n] == '\n');
    }
    if (o->n_rows == 0)
        return hp_fail(o->err, HYPAR_INVALID,
                       "%s: no rows of a benchmark, expected lines of sizes and times", name);
    *out = (struct csv){ .name = name,
                         .n_columns = 5,
                         .n_rows = o->n_rows,
                         .heading = heading,
                         .line = 1,
                         .row = o->row };
    return HYPAR_OK;
}

enum hypar_status hp_measurements_read(struct csv *out, struct arena *arena, const char *text,
                                       size_t length, const char *name, const char *machine,
                                       struct hypar_error *err)
{
    char *copy = NEW(arena, char, length + 1);
    memcpy(copy, text, length);
    return is_output(copy) ? read_output(out, arena, copy, name, machine, err)
                           : hp_csv_read_text(out, arena, text, length, name, err);
}
