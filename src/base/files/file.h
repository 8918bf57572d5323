/* base/files/file.h - reading a whole text file. Internal. */
#ifndef BASE_FILES_FILE_H
#define BASE_FILES_FILE_H

#include "base/arena.h"
#include "base/error.h"

#include <stdio.h>

/* Read the file at `path` ("-": standard input), of at most `most` bytes, into the arena. Of a
 * larger file a little more than `most` bytes are read, so that *length shows that it is too
 * large. HYPAR_UNREADABLE if the file cannot be read. */
enum hypar_status hp_file_read(struct arena *arena, const char *path, size_t most,
                               const char **text, size_t *length, struct hypar_error *err);

/* The same for the rest of an open file; `name` stands in front of messages. */
enum hypar_status hp_file_read_rest(struct arena *arena, FILE *file, const char *name,
                                    size_t most, const char **text, size_t *length,
                                    struct hypar_error *err);

/* HYPAR_INVALID, with the command that makes a graph of a model in it, if `path` names Python
 * source code, which people give in place of a graph or a plan. */
enum hypar_status hp_file_refuse_python(const char *path, struct hypar_error *err);

#endif /* BASE_FILES_FILE_H */
