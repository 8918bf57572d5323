/* run/data/column.h - the samples of one model input in files. Internal to run/data.
 *
 * Every format reduces to this: the elements of a sample are contiguous, and samples begin at
 * equal distances. A parser finds type, shape and distances. */
#ifndef RUN_DATA_COLUMN_H
#define RUN_DATA_COLUMN_H

#include "base/arena.h"
#include "run/elements.h"
#include "run/input_file.h"

/* Samples in one file. */
struct column_part {
    const struct input_file *file;
    int64_t begin; /* byte at which the first sample begins */
    int64_t samples;
};

struct column {
    enum element type;
    bool big_endian;
    struct hypar_shape shape; /* of a sample */
    int64_t stride;           /* bytes from sample to sample */
    int64_t samples;          /* of all parts */
    int n_parts;
    struct column_part *part;
};

/* "FILE: message", HYPAR_INVALID. */
enum hypar_status hp_bad_file(const struct input_file *file, struct hypar_error *err,
                              const char *fmt, ...) HYPAR_PRINTF(3, 4);

/* Arrays: a file is one column; its first bytes identify the format. */

/* Make a column with one part: an array of this shape, samples included, whose elements begin
 * at byte `begin` and end with the file. */
enum hypar_status hp_array_column(struct column *out, struct arena *arena,
                                  const struct input_file *file, int64_t begin,
                                  const struct hypar_shape *shape, struct hypar_error *err);

struct array_format {
    const char *name;
    bool (*begins)(const unsigned char *first, int64_t n); /* n of 8 bytes are given */
    enum hypar_status (*read)(struct column *out, struct arena *arena,
                              const struct input_file *file, struct hypar_error *err);
};

extern const struct array_format hp_npy_format, hp_idx_format;

/* Records: each contains an element of two columns; the samples of several files follow one
 * another. */
struct record_format {
    const char *name;
    bool tokens; /* windows of ids; else images with labels */
    enum element type;
    int label, image, record; /* images: positions in a record, and its size in bytes */
};

/* The format of this name, or NULL. */
const struct record_format *hp_record_format(const char *name, size_t length);

/* Make the columns of inputs (images, or windows of `window` ids) and of labels. */
enum hypar_status hp_record_columns(const struct record_format *format, struct column *inputs,
                                    struct column *labels, struct arena *arena,
                                    const struct input_file *file, int n_files, int64_t window,
                                    struct hypar_error *err);

#endif /* RUN_DATA_COLUMN_H */
