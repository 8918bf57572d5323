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

/* Begin a file at `path`: it gets its name when it is closed and kept. The tensors' names
 * differ. HYPAR_RUNTIME if it cannot be written. */
enum hypar_status hp_checkpoint_create(struct checkpoint_writer **out, const char *path,
                                       const struct checkpoint_tensor *tensor, int n_tensors,
                                       const struct checkpoint_pair *metadata, int n_metadata,
                                       struct hypar_error *err);

/* Write a box of tensor `t` from a dense array of the tensor's type. The boxes of a tensor do
 * not overlap and together cover it. HYPAR_RUNTIME if it cannot be written. */
enum hypar_status hp_checkpoint_put(struct checkpoint_writer *writer, int t,
                                    const struct box *box, const void *dense,
                                    struct hypar_error *err);

/* Put the file into its place if `keep` and every write succeeded, else remove it; frees the
 * writer (NULL is allowed). HYPAR_RUNTIME if a write failed. */
enum hypar_status hp_checkpoint_finish(struct checkpoint_writer *writer, bool keep,
                                       struct hypar_error *err);

/* Reading ------------------------------------------------------------------------------- */

struct checkpoint;

/* Open a file: the whole header is read and checked, with its checksum if there is one.
 * HYPAR_UNREADABLE, or HYPAR_INVALID (HYPAR_SYNTAX) with the fault. A file has all checksums or
 * none. */
enum hypar_status hp_checkpoint_open(struct checkpoint **out, const char *path,
                                     struct hypar_error *err);
void hp_checkpoint_close(struct checkpoint *checkpoint);

/* Does the file carry checksums? */
bool hp_checkpoint_has_checksums(const struct checkpoint *checkpoint);

/* Read tensors and compare their checksums: the tensors that begin in part `share` of
 * `n_shares` even parts of the data, so that several processes together read the file once.
 * HYPAR_INVALID with the name of the first damaged tensor; a file without checksums passes. */
enum hypar_status hp_checkpoint_verify(const struct checkpoint *checkpoint, int share,
                                       int n_shares, struct hypar_error *err);

const char *hp_checkpoint_path(const struct checkpoint *checkpoint);
int hp_checkpoint_count(const struct checkpoint *checkpoint);
const struct checkpoint_tensor *hp_checkpoint_tensor(const struct checkpoint *checkpoint,
                                                     int t);
/* The tensor called `name`, or -1; the metadata's `key`, or NULL. */
int hp_checkpoint_find(const struct checkpoint *checkpoint, const char *name);
const char *hp_checkpoint_metadata(const struct checkpoint *checkpoint, const char *key);

/* The tensor called `name`, which must have this shape: HYPAR_INVALID if it is missing or has
 * another shape. */
enum hypar_status hp_checkpoint_need(const struct checkpoint *checkpoint, const char *name,
                                     const struct hypar_shape *shape, int *t,
                                     struct hypar_error *err);

/* Read a box of tensor `t` into a dense array. Floating-point types of 2, 4 and 8 bytes are
 * converted to the requested precision; other types are HYPAR_INVALID. */
enum hypar_status hp_checkpoint_read(const struct checkpoint *checkpoint, int t,
                                     const struct box *box, enum real real, void *dense,
                                     struct hypar_error *err);

/* The same for integers. */
enum hypar_status hp_checkpoint_read_int(const struct checkpoint *checkpoint, int t,
                                         const struct box *box, int64_t *dense,
                                         struct hypar_error *err);

/* Metadata of a training's checkpoint --------------------------------------------------- */

/* The progress of a training. */
struct training_state {
    int64_t step;     /* steps done */
    int64_t position; /* samples of the data set that these steps used */
    int64_t samples;  /* size of the data set; 0: written by an older version */
    uint64_t seed;
    uint64_t graph_hash;
    enum hypar_optimizer optimizer;
};

enum { TRAINING_PAIRS = 8 };

/* Write it as metadata: TRAINING_PAIRS pairs, with texts in the arena. */
void hp_training_metadata(const struct training_state *state, struct arena *arena,
                          struct checkpoint_pair pair[TRAINING_PAIRS]);

/* Read it back. HYPAR_INVALID if something is missing or wrong. */
enum hypar_status hp_training_state(const struct checkpoint *checkpoint,
                                    struct training_state *out, struct hypar_error *err);

/* Do this many steps of `batch` samples use as many samples as the state says? HYPAR_INVALID if
 * not. */
enum hypar_status hp_training_position(const struct checkpoint *checkpoint,
                                       const struct training_state *state, int64_t batch,
                                       struct hypar_error *err);

/* Parameters have their own names; array k of a parameter's optimizer state is called
 * "optimizer.0.fc1.w". (Running statistics: hp_running_name().) */
const char *hp_state_name(struct arena *arena, int k, const char *name);

#endif /* RUN_CHECKPOINT_CHECKPOINT_H */
