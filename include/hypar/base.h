/* hypar/base.h - version, status codes, errors and memory: what every header needs.
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

/* Of the binary interface: raised when something that was compiled with older headers would no
 * longer work. It is the number in the name of the shared library, and what planners that are
 * loaded are held against (hypar/search.h). The second is that of the library linked against.
 */
#define HYPAR_ABI_VERSION 4
HYPAR_API unsigned hypar_abi_version(void);

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
    X(RUNTIME, 4, "the machine failed: a write, memory, a rank")  \
    X(STOPPED, 5, "stopped by a signal before its end")

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

/* Where the library's memory comes from: malloc() and free(), unless a host sets its own before
 * it uses anything else of the library; NULL: those again. `allocate` gives memory aligned as
 * malloc()'s is, or NULL, and memory has run out then; both may be called by several threads at
 * once. What other libraries take (jansson and zlib while a file is read, MPI, OpenBLAS) is
 * theirs. */
struct hypar_allocator {
    void *(*allocate)(size_t bytes, void *arg);
    void (*release)(void *memory, void *arg);
    void *arg; /* handed to both, and both are needed */
};
HYPAR_API void hypar_set_allocator(const struct hypar_allocator *allocator);

#ifdef __cplusplus
}
#endif

#endif /* HYPAR_BASE_H */
