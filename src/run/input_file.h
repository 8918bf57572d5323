/* run/input_file.h - a file of which parts are read: data, checkpoints. Internal.
 *
 * What is read is asked for by pread(), not mapped: a file that another process shortens in the
 * middle of a training then gives one line, not a signal. */
#ifndef RUN_INPUT_FILE_H
#define RUN_INPUT_FILE_H

#include "base/error.h"

struct input_file {
    const char *path; /* the caller's */
    int fd;           /* -1: closed */
    int64_t bytes;
};

/* HYPAR_UNREADABLE if there is no regular file that can be read. */
enum hypar_status hp_input_open(struct input_file *file, const char *path,
                                struct hypar_error *err);
void hp_input_close(struct input_file *file);

/* Bytes `from` to from + n; HYPAR_UNREADABLE if there are not as many. Threads may read at the
 * same time. */
enum hypar_status hp_input_read(const struct input_file *file, int64_t from, int64_t n,
                                void *out, struct hypar_error *err);

#endif /* RUN_INPUT_FILE_H */
