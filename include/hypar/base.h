/* hypar/base.h - version, status codes, errors and memory, for every other header.
 *
 * The convention of the whole library: a function that can fail returns enum hypar_status,
 * stores its result through its first parameter (NULL on failure), and writes the reason into
 * the caller's struct hypar_error. A zero-initialised options struct means the defaults. */
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

/* The version of the linked library, as 0x00XXYYZZ. */
HYPAR_API unsigned hypar_version(void);

/* The version of the binary interface. It is raised when programs compiled with older headers
 * would no longer work. It is the number in the name of the shared library, and loaded planners
 * are checked against it (hypar/search.h). The function returns the number of the linked
 * library. */
#define HYPAR_ABI_VERSION 9
HYPAR_API unsigned hypar_abi_version(void);

/* The features of this build beyond planning, one line each: "MPI: no (...)". Static text. */
HYPAR_API const char *hypar_features(void);

/* Every status of a call: name, exit code of the command line tool, text. */
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

/* What a refusal is about, for callers that name a remedy. */
enum hypar_cause {
    HYPAR_CAUSE_OTHER,
    HYPAR_CAUSE_MEMORY, /* no plan fits into the devices' memory */
    HYPAR_CAUSE_TARGET, /* the target (struct hypar_search_options) cannot run the plan */
};

/* Why a call failed, for people: "resnet.json:12: conv 'c1': input has 2 dims, want 4". The
 * caller owns it; it holds no pointers. Functions write it only when they fail, and accept
 * NULL. */
struct hypar_error {
    char text[512];
    enum hypar_cause cause;
};

/* The handler of a lack of memory. By default one line goes to standard error, unfinished files
 * are removed (hypar_output_remove_unfinished()), and the process ends with exit code 4 by
 * _exit(): nothing is flushed, no atexit() function is called.
 *
 * A host may set its own handler; NULL restores the default. The handler is called on the
 * thread that called the library, after all other threads of this call have ended, with the
 * number of bytes that were asked for (0: unknown). It may exit, or longjmp() to a frame of
 * this thread. Then the call has failed: its result and its memory are lost, and everything
 * else is unchanged. If the handler returns, the default follows. Set it before other threads
 * use the library. */
HYPAR_API void hypar_set_out_of_memory(void (*handler)(size_t bytes, void *arg), void *arg);

/* Where the library's memory comes from: malloc() and free(), unless a host sets its own
 * functions before any other use of the library; NULL restores the default. `allocate` returns
 * memory aligned as malloc()'s, or NULL if there is none; several threads may call both
 * functions at once. Other libraries (jansson and zlib while a file is read, MPI, OpenBLAS)
 * manage their own memory. */
struct hypar_allocator {
    void *(*allocate)(size_t bytes, void *arg);
    void (*release)(void *memory, void *arg);
    void *arg; /* passed to both functions; both are required */
};
HYPAR_API void hypar_set_allocator(const struct hypar_allocator *allocator);

#ifdef __cplusplus
}
#endif

#endif /* HYPAR_BASE_H */
