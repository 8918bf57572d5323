/* hypar/tool.h - tools for a command around the library: files that appear whole or not at all,
 * numbers with units, words of a command line, this computer.
 *
 * Planning, searching and simulating are in the other headers. */
#ifndef HYPAR_TOOL_H
#define HYPAR_TOOL_H

#include <hypar/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Report that memory ran out: does what hypar_set_out_of_memory() set. */
HYPAR_API HYPAR_NORETURN void hypar_out_of_memory(size_t bytes);

/* Returns the result of a function of the C library, such as fopen() or realpath(); calls
 * hypar_out_of_memory() if it is NULL for lack of memory, as errno says. */
HYPAR_API void *hypar_or_out_of_memory(void *made);

/* Can the library of a line of hypar_features(), such as "mpi", be loaded? HYPAR_RUNTIME: it
 * cannot. A linked library is always loaded. */
HYPAR_API enum hypar_status hypar_feature_loads(const char *feature, struct hypar_error *err);

enum { HYPAR_PLACE_BYTES = 4096 };

/* The final place of a file that is written to `path`: links are followed, also to a file that
 * does not exist yet. Objects without a name, as the pipe behind /dev/stdout, keep `path`.
 * HYPAR_RUNTIME if links form a cycle, or the path is too long. */
HYPAR_API enum hypar_status hypar_output_place(const char *path, char place[HYPAR_PLACE_BYTES],
                                               struct hypar_error *err);

/* The folder to which file names inside the file at `path` are relative: its own folder, after
 * following links, with the final '/'; "" is the current one. False, and "", if it has no
 * folder: "-", the pipe behind /dev/stdin. */
HYPAR_API bool hypar_file_folder(const char *path, char folder[HYPAR_PLACE_BYTES]);

/* A file that appears whole or not at all. It is written without a name, so that nothing
 * remains of it whatever ends the process; on file systems without nameless files it is written
 * beside its place. When it is complete, it gets a name beside its place and is renamed. Files
 * that killed processes left beside this place are removed; where files always have names, an
 * hour after they were written. "-" is standard output, and so is a file to which it is
 * redirected. */
struct hypar_output {
    FILE *file; /* write here */
    char path[HYPAR_PLACE_BYTES], temporary[HYPAR_PLACE_BYTES + 32];
    bool nameless; /* it has no temporary name yet */
};

HYPAR_API enum hypar_status hypar_output_open(struct hypar_output *out, const char *path,
                                              struct hypar_error *err);

/* Could the file be opened and put in its place? Nothing is changed or left behind.
 * HYPAR_RUNTIME if it could not. */
HYPAR_API enum hypar_status hypar_output_try(const char *path, struct hypar_error *err);

/* Close the file. If `keep` and every write succeeded, put it in its place; else remove it. Its
 * data is on the disk before it gets its name. HYPAR_RUNTIME if a write failed. */
HYPAR_API enum hypar_status hypar_output_close(struct hypar_output *out, bool keep,
                                               struct hypar_error *err);

/* The first half of closing a file that is kept: everything is on the disk, but not in its
 * place, so that several files appear together, or none. HYPAR_RUNTIME if a write failed; the
 * file is then removed. */
HYPAR_API enum hypar_status hypar_output_finish(struct hypar_output *out,
                                                struct hypar_error *err);

/* Remove files that have temporary names and are not closed (the first 32 of them). For a
 * process that is about to end: a signal handler may call it. */
HYPAR_API void hypar_output_remove_unfinished(void);

/* Parse numbers with units as people write them: "450GB/s", "2us", "80GB", "1.6Gb/s", "64MiB".
 * `unit` is what the number must measure. A number without a unit is SI (bytes, seconds,
 * bytes/s). */
enum hypar_unit {
    HYPAR_UNIT_COUNT,     /* 12, 4k, 1M; powers of ten */
    HYPAR_UNIT_BYTES,     /* B kB MB GB TB, KiB MiB GiB TiB */
    HYPAR_UNIT_SECONDS,   /* s ms us ns */
    HYPAR_UNIT_BANDWIDTH, /* bytes per second: B/s kB/s MB/s GB/s TB/s, and bits: Gb/s Gbps */
    HYPAR_UNIT_RATE,      /* operations per second: G, T, GFLOP/s, TFLOP/s, GOPS ... */
    HYPAR_UNIT_JOULES,    /* J mJ uJ nJ pJ */
    HYPAR_UNIT_DURATION,  /* s ms, and m min h: how long people wait */
    HYPAR_UNIT_WATTS,     /* W mW kW */
};

/* Parse the whole of `text`; false unless it is a finite, non-negative number of this unit. */
HYPAR_API bool hypar_parse_quantity(const char *text, enum hypar_unit unit, double *out);

/* Was a unit forgotten? True for a bare number that nobody means in SI units: 8 for a memory in
 * bytes, 2 for a latency in seconds. */
HYPAR_API bool hypar_lacks_unit(const char *text, enum hypar_unit unit);

/* Write `value` with three significant digits and a fitting unit ("12.5 GB/s") into `buffer`,
 * which holds at least 32 bytes; returns `buffer`. */
HYPAR_API char *hypar_format_quantity(char *buffer, double value, enum hypar_unit unit);

/* The description of a unit's quantities, for messages: "a size such as 80GB or 80GiB". Static.
 */
HYPAR_API const char *hypar_unit_text(enum hypar_unit unit);

/* A stream that packs its input by gzip into `to`, which stays open; to be closed with
 * fclose(). A failed write is an error of `to` too. */
HYPAR_API FILE *hypar_gzip(FILE *to);

/* Replace by '?' everything in `text` that would break a line or command a terminal, and bytes
 * that are no UTF-8; an incomplete character at the end is dropped. Changes `text` and returns
 * it. Error texts have this form. */
HYPAR_API char *hypar_clean_text(char *text);

/* Which of `names` may `word` be a misspelling of? Writes the indices of up to `max` of them
 * (at most 3), nearest first, into near[] and returns their number. */
HYPAR_API int hypar_nearest(const char *word, const char *const *names, int n, int *near,
                            int max);

/* Words of a command line ---------------------------------------------------------------- */

/* Is `model` a path, with or without options behind it ("net.onnx:dim=..."), and not a word of
 * the zoo? */
HYPAR_API bool hypar_model_is_path(const char *model);

/* The length of the path in `model`, without options; of a word the whole length. */
HYPAR_API size_t hypar_model_path_length(const char *model);

/* Is there an all-reduce algorithm of this name? HYPAR_USAGE, with the nearest names, if
 * not. */
HYPAR_API enum hypar_status hypar_check_all_reduce(const char *word, struct hypar_error *err);

/* This computer --------------------------------------------------------------------------- */

/* The processor of this computer, by the system's name. */
HYPAR_API const char *hypar_local_processor(void);

/* The number of cores of this computer, at least 1. The first call starts a child process that
 * asks hwloc: if hwloc crashes for lack of memory, only the child ends. */
HYPAR_API int hypar_local_all_cores(void);

/* The cores that this process may use (taskset, a cpuset), at least 1. */
HYPAR_API int hypar_local_cores(void);

/* Bind this process, and threads that it starts later, to `n` of these cores, beginning with
 * number `first`. False: there are fewer, or binding is not possible (never without hwloc). */
HYPAR_API bool hypar_local_bind(int first, int n);

#ifdef __cplusplus
}
#endif

#endif /* HYPAR_TOOL_H */
