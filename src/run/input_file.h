/* run/input_file.h - a file of which parts are read: data, checkpoints. Internal.
 *
 * Parts are read by pread(), not mapped. If another process shortens the file during a
 * training, the result is an error of one line, not a signal. */
#ifndef RUN_INPUT_FILE_H
#define RUN_INPUT_FILE_H

#include "base/error.h"

struct input_file {
    const char *path; /* the caller's */
    int fd;           /* -1: closed */
    int64_t bytes;
};

/* HYPAR_UNREADABLE if there is no readable regular file. */
enum hypar_status hp_input_open(struct input_file *file, const char *path,
                                struct hypar_error *err);
void hp_input_close(struct input_file *file);

/* Read bytes `from` to from + n; HYPAR_UNREADABLE if the file is shorter. Threads may read at
 * the same time. */
enum hypar_status hp_input_read(const struct input_file *file, int64_t from, int64_t n,
                                void *out, struct hypar_error *err);

#endif /* RUN_INPUT_FILE_H */
