/* Arrays in the IDX format of MNIST: two zeros, the type, the number of dimensions, their
 * sizes, the elements; all big-endian. */
#include "run/data/column.h"

/* By the third byte, from 8 on. */
static const int types[] = { ELEMENT_U8,  ELEMENT_I8,  -1,         ELEMENT_I16,
                             ELEMENT_I32, ELEMENT_F32, ELEMENT_F64 };
enum { FIRST_TYPE = 8, N_TYPES = sizeof types / sizeof types[0] };

static bool begins(const unsigned char *first, int64_t n)
{
    int type = first[2] - FIRST_TYPE;
    return n >= 4 && first[0] == 0 && first[1] == 0 && type >= 0 && type < N_TYPES &&
           types[type] >= 0 && first[3] > 0;
}

static enum hypar_status read_idx(struct column *out, struct arena *arena,
                                  const struct input_file *file, struct hypar_error *err)
{
    unsigned char first[4 + 4 * HYPAR_MAX_DIMS];
    struct hypar_shape shape = { 0 };
    TRY(hp_input_read(file, 0, 4, first, err));
    if (first[3] > HYPAR_MAX_DIMS)
        return hp_bad_file(file, err, "an IDX file of %d dimensions, expected at most %d",
                           first[3], HYPAR_MAX_DIMS);
    int64_t begin = 4 + 4 * first[3];
    if (file->bytes < begin)
        return hp_bad_file(file, err, "%lld bytes, expected %lld for the header of an IDX file",
                           (long long)file->bytes, (long long)begin);
    TRY(hp_input_read(file, 4, begin - 4, first + 4, err));
    out->type = (enum element)types[first[2] - FIRST_TYPE];
    out->big_endian = true;
    shape.n_dims = first[3];
    for (int d = 0; d < shape.n_dims; d++)
        hp_elements_to_int(&(struct elements){ first + 4 + 4 * d, ELEMENT_U32, true, 1 },
                           &shape.dim[d]);
    return hp_array_column(out, arena, file, begin, &shape, err);
}

const struct array_format hp_idx_format = { "idx", begins, read_idx };
