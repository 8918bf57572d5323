/* preload.c - to be preloaded (LD_PRELOAD): makes chosen calls of a program fail.
 *
 *     FAIL_ALLOCATION=N       the Nth allocation after the program was loaded
 *     FAIL_ON=1               and all after it
 *     FAIL_FSYNC=ERRNO        every fsync(), with that error; -1: it never ends
 *     FAIL_TMPFILE=1          opening files without a name, as if the file system had none
 *     COUNT_ALLOCATIONS=FILE  none, but write how many there were to FILE
 *
 * glibc has its allocation functions under a second name each, so that nothing is to be looked
 * up, which would itself allocate. */
#define _GNU_SOURCE /* O_TMPFILE */

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

extern void *__libc_malloc(size_t bytes);
extern void *__libc_calloc(size_t count, size_t bytes);
extern void *__libc_realloc(void *old, size_t bytes);
extern void *__libc_memalign(size_t align, size_t bytes);

static atomic_long count;
static long first; /* 0: none fails */
static bool on;
static int fsync_error;
static bool no_tmpfile;

static long number(const char *name)
{
    const char *text = getenv(name);
    return text ? strtol(text, NULL, 10) : 0;
}

__attribute__((constructor)) static void begin(void)
{
    on = number("FAIL_ON") != 0;
    fsync_error = (int)number("FAIL_FSYNC");
    no_tmpfile = number("FAIL_TMPFILE") != 0;
    count = 0;
    first = number("FAIL_ALLOCATION");
}

__attribute__((destructor)) static void end(void)
{
    const char *path = getenv("COUNT_ALLOCATIONS");
    long n = count;
    FILE *file = path ? fopen(path, "w") : NULL;
    if (!file)
        return;
    fprintf(file, "%ld\n", n);
    fclose(file);
}

static bool fails(void)
{
    long n = atomic_fetch_add(&count, 1) + 1;
    if (!first || n < first || (n > first && !on))
        return false;
    errno = ENOMEM;
    return true;
}

void *malloc(size_t bytes)
{
    return fails() ? NULL : __libc_malloc(bytes);
}

void *calloc(size_t n, size_t bytes)
{
    return fails() ? NULL : __libc_calloc(n, bytes);
}

void *realloc(void *old, size_t bytes)
{
    return fails() ? NULL : __libc_realloc(old, bytes);
}

void *aligned_alloc(size_t align, size_t bytes)
{
    return fails() ? NULL : __libc_memalign(align, bytes);
}

int posix_memalign(void **out, size_t align, size_t bytes)
{
    void *made = fails() ? NULL : __libc_memalign(align, bytes);
    if (!made)
        return ENOMEM;
    *out = made;
    return 0;
}

/* The real one is not to be had by this name; what it does beyond this one does not matter. */
int open(const char *path, int flags, ...)
{
    va_list rest;
    va_start(rest, flags);
    mode_t mode = flags & (O_CREAT | __O_TMPFILE) ? va_arg(rest, mode_t) : 0;
    va_end(rest);
    if (no_tmpfile && flags & __O_TMPFILE) {
        errno = EOPNOTSUPP;
        return -1;
    }
    return openat(AT_FDCWD, path, flags, mode);
}

int fsync(int fd)
{
    while (fsync_error < 0)
        pause();
    if (fsync_error) {
        errno = fsync_error;
        return -1;
    }
    return fdatasync(fd);
}
