/* base/file.h - a text file as a whole. Internal. */
#ifndef BASE_FILE_H
#define BASE_FILE_H

#include "base/arena.h"
#include "base/error.h"

#include <stdio.h>

/* Read the file at `path` ("-": standard input), of at most `most` bytes, into the arena. A
 * larger one is read a little further than that, so that *length tells. HYPAR_UNREADABLE if it
 * cannot be read. */
enum hypar_status hp_file_read(struct arena *arena, const char *path, size_t most,
                               const char **text, size_t *length, struct hypar_error *err);

/* The same of what is left of an open file; `name` stands in front of messages. */
enum hypar_status hp_file_read_rest(struct arena *arena, FILE *file, const char *name,
                                    size_t most, const char **text, size_t *length,
                                    struct hypar_error *err);

#endif /* BASE_FILE_H */
