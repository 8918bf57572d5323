/* hypar/base.h - version, status codes, errors and output files: what every header needs.
 *
 * The convention of the whole library: a function that can fail returns enum hypar_status,
 * makes its result through its first parameter (NULL on failure), and says why in the
 * caller's struct hypar_error. A zero-initialised options struct means the defaults. */
#ifndef HYPAR_BASE_H
#define HYPAR_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

#define HYPAR_API             __attribute__((visibility("default")))
#define HYPAR_PRINTF(fmt, va) __attribute__((format(printf, fmt, va)))
#define HYPAR_NORETURN        __attribute__((noreturn))

#define HYPAR_VERSION_MAJOR 0
#define HYPAR_VERSION_MINOR 1
#define HYPAR_VERSION_PATCH 0

/* Version of the library linked against, as 0x00XXYYZZ. */
HYPAR_API unsigned hypar_version(void);

/* What this build can do beyond planning, one line each: "MPI: no (...)". Static text. */
HYPAR_API const char *hypar_features(void);

/* Every way a call can end: name, exit code of the command line tool, text. */
#define HYPAR_STATUS_MAP(X)                                       \
    X(OK, 0, "success")                                           \
    X(INFEASIBLE, 1, "no plan satisfies the constraints")         \
    X(USAGE, 2, "wrong use of the command")                       \
    X(SYNTAX, 3, "malformed input")                               \
    X(INVALID, 3, "input that contradicts itself")                \
    X(UNSUPPORTED, 3, "valid input this version does not handle") \
    X(UNREADABLE, 3, "cannot read a file")                        \
    X(RUNTIME, 4, "the machine failed: a write, memory, a rank")

enum hypar_status {
#define X(name, exit_code, text) HYPAR_##name,
    HYPAR_STATUS_MAP(X)
#undef X
};

/* The text of a status; never NULL, never freed. */
HYPAR_API const char *hypar_status_text(enum hypar_status status);

/* The exit code of the command line tool for a status. */
HYPAR_API int hypar_status_exit_code(enum hypar_status status);

/* Why a call failed, for a person: "resnet.json:12: conv 'c1': input has 2 dims, want 4".
 * The caller owns it; it holds no pointers. Functions write it only when they fail, and
 * accept NULL when the caller does not care. */
struct hypar_error {
    char text[512];
};

/* What happens when memory runs out. By default one line goes to standard error, files not yet
 * in their places are removed (hypar_output_remove_unfinished()), and the process ends with
 * exit code 4, by _exit(): nothing is flushed, no atexit() function is called.
 *
 * A host may set a handler of its own; NULL is the default again. It is called on the thread
 * that called the library, when no other thread works for that call any more, with the bytes
 * that were asked for (0: unknown). It may exit, or longjmp() to a frame of that thread; then
 * the call has failed, what it was making is lost and its memory is not given back, and all
 * that was there before is as it was. If the handler returns, the default follows. It is to be
 * set before other threads use the library. */
HYPAR_API void hypar_set_out_of_memory(void (*handler)(size_t bytes, void *arg), void *arg);

/* Memory ran out: do what was set. */
HYPAR_API HYPAR_NORETURN void hypar_out_of_memory(size_t bytes);

/* What a function of the C library returned, as fopen() or realpath(); if it is NULL for want
 * of memory, as errno says, hypar_out_of_memory(). */
HYPAR_API void *hypar_or_out_of_memory(void *made);

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
 * given a name beside its place, and renamed.
 * "-" is standard output, and so is a file that it goes to already. */
struct hypar_output {
    FILE *file; /* write here */
    char path[HYPAR_PLACE_BYTES], temporary[HYPAR_PLACE_BYTES + 32];
    bool nameless; /* it does not have its temporary name yet */
};

HYPAR_API enum hypar_status hypar_output_open(struct hypar_output *out, const char *path,
                                              struct hypar_error *err);

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
};

/* Parse the whole of `text`; false unless it is a finite, non-negative number of that unit. */
HYPAR_API bool hypar_parse_quantity(const char *text, enum hypar_unit unit, double *out);

/* Write `value` with three significant digits and a fitting unit ("12.5 GB/s") into `buffer`,
 * which holds at least 32 bytes; returns `buffer`. */
HYPAR_API char *hypar_format_quantity(char *buffer, double value, enum hypar_unit unit);

/* What hypar_parse_quantity() takes, for messages: "a size such as 80GB or 80GiB". Static. */
HYPAR_API const char *hypar_unit_text(enum hypar_unit unit);

/* Put '?' for whatever of `text` would break a line or command a terminal, and for bytes that
 * are no UTF-8 (at the end: nothing, as it was cut short): what is left can be shown. Changes
 * `text` and returns it; errors' texts are so.
 */
HYPAR_API char *hypar_clean_text(char *text);

/* Which of `names` may `word` be a slip of? Writes the indices of up to `max` of them (at most
 * 3), nearest first, into near[] and returns how many there are. */
HYPAR_API int hypar_nearest(const char *word, const char *const *names, int n, int *near,
                            int max);

#ifdef __cplusplus
}
#endif

#endif /* HYPAR_BASE_H */
