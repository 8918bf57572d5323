/* hypar/tool.h - what a command around the library needs besides: files that appear whole or
 * not at all, numbers with units, words of a command line, this computer.
 *
 * What plans, searches or simulates something is in the other headers. */
#ifndef HYPAR_TOOL_H
#define HYPAR_TOOL_H

#include <hypar/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Memory ran out: do what was set. */
HYPAR_API HYPAR_NORETURN void hypar_out_of_memory(size_t bytes);

/* What a function of the C library returned, as fopen() or realpath(); if it is NULL for want
 * of memory, as errno says, hypar_out_of_memory(). */
HYPAR_API void *hypar_or_out_of_memory(void *made);

/* Can the library of a line of hypar_features(), "mpi", be loaded? HYPAR_RUNTIME: it cannot.
 * Those that are not loaded when they are first needed were there when this process began. */
HYPAR_API enum hypar_status hypar_feature_loads(const char *feature, struct hypar_error *err);

enum { HYPAR_PLACE_BYTES = 4096 };

/* Where what is written to `path` ends up: behind links, also of a file that is not there yet.
 * What has no name of its own, as the pipe behind /dev/stdout, stays `path`.
 * HYPAR_RUNTIME if they have no end, or the path is too long. */
HYPAR_API enum hypar_status hypar_output_place(const char *path, char place[HYPAR_PLACE_BYTES],
                                               struct hypar_error *err);

/* The folder that the file at `path` names others from: its own, behind links, with the last
 * '/'; "" is the current one. False, and "", if it lies in none: "-", the pipe behind
 * /dev/stdin. */
HYPAR_API bool hypar_file_folder(const char *path, char folder[HYPAR_PLACE_BYTES]);

/* A file that appears whole or not at all: written without a name, so that nothing stays of it
 * whatever ends the process, or on file systems that have no such files beside its place; then
 * given a name beside its place, and renamed. What a process that was killed has left beside
 * this place is removed; where files always have names, an hour after it was written.
 * "-" is standard output, and so is a file that it goes to already. */
struct hypar_output {
    FILE *file; /* write here */
    char path[HYPAR_PLACE_BYTES], temporary[HYPAR_PLACE_BYTES + 32];
    bool nameless; /* it does not have its temporary name yet */
};

HYPAR_API enum hypar_status hypar_output_open(struct hypar_output *out, const char *path,
                                              struct hypar_error *err);

/* Could it be opened, and the file put in its place? What is there stays as it is, and nothing
 * is left. HYPAR_RUNTIME if it could not. */
HYPAR_API enum hypar_status hypar_output_try(const char *path, struct hypar_error *err);

/* Close and, if `keep` and every write succeeded, put the file in its place; else remove it.
 * It is on the disk before it has its name. HYPAR_RUNTIME if a write failed. */
HYPAR_API enum hypar_status hypar_output_close(struct hypar_output *out, bool keep,
                                               struct hypar_error *err);

/* The first half of closing what is to be kept: everything written and on the disk, but not yet
 * in its place, so that several files appear together, or none. HYPAR_RUNTIME if a write
 * failed; the file is removed then. */
HYPAR_API enum hypar_status hypar_output_finish(struct hypar_output *out,
                                                struct hypar_error *err);

/* Remove what has a name beside its place and nobody has closed (of the first
 * 32 at a time). For a process that is about to end: a signal handler may call it. */
HYPAR_API void hypar_output_remove_unfinished(void);

/* Reading numbers with units as people write them: "450GB/s", "2us", "80GB", "1.6Gb/s",
 * "64MiB". `unit` is what the number must measure. A bare number is SI (bytes, seconds,
 * bytes/s). */
enum hypar_unit {
    HYPAR_UNIT_COUNT,     /* 12, 4k, 1M; powers of ten */
    HYPAR_UNIT_BYTES,     /* B kB MB GB TB, KiB MiB GiB TiB */
    HYPAR_UNIT_SECONDS,   /* s ms us ns */
    HYPAR_UNIT_BANDWIDTH, /* bytes per second: B/s kB/s MB/s GB/s TB/s, and bits: Gb/s Gbps */
    HYPAR_UNIT_RATE,      /* operations per second: G, T, GFLOP/s, TFLOP/s, GOPS ... */
    HYPAR_UNIT_JOULES,    /* J mJ uJ nJ pJ */
    HYPAR_UNIT_DURATION,  /* s ms, and m min h: of what people wait for */
    HYPAR_UNIT_WATTS,     /* W mW kW */
};

/* Parse the whole of `text`; false unless it is a finite, non-negative number of that unit. */
HYPAR_API bool hypar_parse_quantity(const char *text, enum hypar_unit unit, double *out);

/* Is it a bare number that nobody means in bytes, bytes a second, operations a second, seconds
 * of a latency or joules of an access: 8 of memory, 2 of a latency? Its unit was forgotten. */
HYPAR_API bool hypar_lacks_unit(const char *text, enum hypar_unit unit);

/* Write `value` with three significant digits and a fitting unit ("12.5 GB/s") into `buffer`,
 * which holds at least 32 bytes; returns `buffer`. */
HYPAR_API char *hypar_format_quantity(char *buffer, double value, enum hypar_unit unit);

/* What hypar_parse_quantity() takes, for messages: "a size such as 80GB or 80GiB". Static. */
HYPAR_API const char *hypar_unit_text(enum hypar_unit unit);

/* A stream that packs what is written to it by gzip into `to`, which stays open; to be closed
 * with fclose(). What cannot be written is an error of `to` too. */
HYPAR_API FILE *hypar_gzip(FILE *to);

/* Put '?' for whatever of `text` would break a line or command a terminal, and for bytes that
 * are no UTF-8 (at the end: nothing, as it was cut short): what is left can be shown. Changes
 * `text` and returns it; errors' texts are so.
 */
HYPAR_API char *hypar_clean_text(char *text);

/* Which of `names` may `word` be a slip of? Writes the indices of up to `max` of them (at most
 * 3), nearest first, into near[] and returns how many there are. */
HYPAR_API int hypar_nearest(const char *word, const char *const *names, int n, int *near,
                            int max);

/* Words of a command line ---------------------------------------------------------------- */

/* Is `model` a path, with or without options behind it ("net.onnx:dim=..."), and no word? */
HYPAR_API bool hypar_model_is_path(const char *model);

/* How long the path in `model` is, without these; a word has none. */
HYPAR_API size_t hypar_model_path_length(const char *model);

/* Is there a way to do all-reduces of this name? HYPAR_USAGE, with the nearest names, if not.
 */
HYPAR_API enum hypar_status hypar_check_all_reduce(const char *word, struct hypar_error *err);

/* This computer --------------------------------------------------------------------------- */

/* The processor of this computer, as the system names it. */
HYPAR_API const char *hypar_local_processor(void);

/* All cores of this computer, at least 1. The first call starts a child process that asks
 * hwloc: hwloc may crash where memory is short, and then ends the child alone. */
HYPAR_API int hypar_local_all_cores(void);

/* Cores of this computer that the process may run on (taskset, a cpuset), at least 1. */
HYPAR_API int hypar_local_cores(void);

/* Bind this process, and the threads that it starts from then on, to `n` of these cores, from
 * number `first` on. False: there are not so many, or it cannot be done (never without hwloc).
 */
HYPAR_API bool hypar_local_bind(int first, int n);

#ifdef __cplusplus
}
#endif

#endif /* HYPAR_TOOL_H */
