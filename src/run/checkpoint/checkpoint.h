/* run/checkpoint/checkpoint.h - tensors in a file, in the safetensors format. Internal.
 *
 *     8 bytes      N, little-endian
 *     N bytes      {"name": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}, ...,
 *                   "__metadata__": {"header_crc32": "0123abcd", "step": "100", ...,
 *                                    "crc32.name": "4567cdef"}}, padded with blanks
 *     the rest     the tensors, row-major, little-endian, without holes
 *
 * Tensors are whole, so that a training can go on under another plan or on other devices. They
 * are written and read box by box: nobody has to hold all of one. Checksums, eight hexadecimal
 * digits, are metadata, which other readers do not look at: one of each tensor's bytes, and one
 * of length and header together, in which its own digits count as zeros. */
#ifndef RUN_CHECKPOINT_CHECKPOINT_H
#define RUN_CHECKPOINT_CHECKPOINT_H

#include "base/arena.h"
#include "base/error.h"
#include "run/elements.h"

#include <hypar/plan.h>

struct checkpoint_tensor {
    const char *name;
    enum element type; /* writing: F32, F64 or I64 */
    struct hypar_shape shape;
};

/* An entry of the metadata. */
struct checkpoint_pair {
    const char *key, *value;
};

#define HEADER_CHECKSUM "header_crc32"
#define TENSOR_CHECKSUM "crc32." /* before the tensor's name */
#define CHECKSUM_BLANK  "00000000"
enum { CHECKSUM_DIGITS = sizeof CHECKSUM_BLANK - 1 };

/* Writing ------------------------------------------------------------------------------- */

struct checkpoint_writer;

/* Begin a file at `path`: it has its name when it is closed and kept, not before. The tensors'
 * names differ. HYPAR_RUNTIME if it cannot be written. */
enum hypar_status hp_checkpoint_create(struct checkpoint_writer **out, const char *path,
                                       const struct checkpoint_tensor *tensor, int n_tensors,
                                       const struct checkpoint_pair *metadata, int n_metadata,
                                       struct hypar_error *err);

/* Write a box of tensor `t` from a dense array of the tensor's type. Boxes of one tensor do not
 * overlap and, put together, are all of it. HYPAR_RUNTIME if it cannot be written. */
enum hypar_status hp_checkpoint_put(struct checkpoint_writer *writer, int t,
                                    const struct box *box, const void *dense,
                                    struct hypar_error *err);

/* Put the file into its place if `keep` and every write succeeded, else remove it; frees the
 * writer (NULL will do). HYPAR_RUNTIME if a write failed. */
enum hypar_status hp_checkpoint_finish(struct checkpoint_writer *writer, bool keep,
                                       struct hypar_error *err);

/* Reading ------------------------------------------------------------------------------- */

struct checkpoint;

/* The header is read and checked whole, with its checksum if there is one: HYPAR_UNREADABLE, or
 * HYPAR_INVALID (HYPAR_SYNTAX) with what is wrong. A file has all checksums or none. */
enum hypar_status hp_checkpoint_open(struct checkpoint **out, const char *path,
                                     struct hypar_error *err);
void hp_checkpoint_close(struct checkpoint *checkpoint);

/* Does the file carry checksums? */
bool hp_checkpoint_has_checksums(const struct checkpoint *checkpoint);

/* Read tensors and compare their checksums: those that begin in part `share` of `n_shares` even
 * parts of the data, so that several processes read the file once together. HYPAR_INVALID with
 * the name of the first that is damaged; a file without checksums passes. */
enum hypar_status hp_checkpoint_verify(const struct checkpoint *checkpoint, int share,
                                       int n_shares, struct hypar_error *err);

const char *hp_checkpoint_path(const struct checkpoint *checkpoint);
int hp_checkpoint_count(const struct checkpoint *checkpoint);
const struct checkpoint_tensor *hp_checkpoint_tensor(const struct checkpoint *checkpoint,
                                                     int t);
/* The tensor called `name`, or -1; the metadata's `key`, or NULL. */
int hp_checkpoint_find(const struct checkpoint *checkpoint, const char *name);
const char *hp_checkpoint_metadata(const struct checkpoint *checkpoint, const char *key);

/* The tensor called `name`, which must have this shape: HYPAR_INVALID if it is not there or has
 * another. */
enum hypar_status hp_checkpoint_need(const struct checkpoint *checkpoint, const char *name,
                                     const struct hypar_shape *shape, int *t,
                                     struct hypar_error *err);

/* A box of tensor `t` into a dense array. Floating-point types of 2, 4 and 8 bytes become the
 * precision asked for; other types are HYPAR_INVALID. */
enum hypar_status hp_checkpoint_read(const struct checkpoint *checkpoint, int t,
                                     const struct box *box, enum real real, void *dense,
                                     struct hypar_error *err);

/* The same of integers. */
enum hypar_status hp_checkpoint_read_int(const struct checkpoint *checkpoint, int t,
                                         const struct box *box, int64_t *dense,
                                         struct hypar_error *err);

/* What a training's checkpoint says besides --------------------------------------------- */

/* Where a training stands. */
struct training_state {
    int64_t step;     /* steps done */
    int64_t position; /* samples of the data set that they took */
    int64_t samples;  /* that the data set has; 0: an older version did not say */
    uint64_t seed;
    uint64_t graph_hash;
    enum hypar_optimizer optimizer;
};

enum { TRAINING_PAIRS = 8 };

/* As metadata: TRAINING_PAIRS pairs, texts in the arena. */
void hp_training_metadata(const struct training_state *state, struct arena *arena,
                          struct checkpoint_pair pair[TRAINING_PAIRS]);

/* And back. HYPAR_INVALID if something is missing, or is not what it should be. */
enum hypar_status hp_training_state(const struct checkpoint *checkpoint,
                                    struct training_state *out, struct hypar_error *err);

/* Did as many steps of `batch` samples take as many samples as it says? HYPAR_INVALID if not.
 */
enum hypar_status hp_training_position(const struct checkpoint *checkpoint,
                                       const struct training_state *state, int64_t batch,
                                       struct hypar_error *err);

/* Parameters have their own names; array k of a parameter's optimizer state this:
 * "optimizer.0.fc1.w". (Running statistics: hp_running_name().) */
const char *hp_state_name(struct arena *arena, int k, const char *name);

#endif /* RUN_CHECKPOINT_CHECKPOINT_H */
