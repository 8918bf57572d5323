/* Any bytes: a checkpoint of which every tensor can be read, or one line; and of one that
 * carries checksums, whether they are right. */
#include <stdlib.h>
#include <string.h>

#include "graph/graph.h"
#include "run/checkpoint/checkpoint.h"
#include "run/data.h"
#include "tests/scratch_file.h"

static void require(bool condition)
{
    if (!condition)
        abort();
}

/* What is accepted lies in the file, so its size is bounded by the input's. */
static void read_tensor(const struct checkpoint *c, int t)
{
    const struct checkpoint_tensor *tensor = hp_checkpoint_tensor(c, t);
    int64_t n = hp_shape_elements(&tensor->shape);
    struct box box = hp_shape_box(&tensor->shape);
    struct hypar_error err = { 0 };
    char kind = hp_element[tensor->type].kind;
    double *dense = malloc((size_t)n * sizeof *dense + 1);
    int found;
    require(dense);
    require(hp_checkpoint_need(c, tensor->name, &tensor->shape, &found, &err) == HYPAR_OK);
    require(found == t);
    enum hypar_status real = hp_checkpoint_read(c, t, &box, REAL_F64, dense, &err);
    require(real == (kind == 'f' ? HYPAR_OK : HYPAR_INVALID));
    enum hypar_status whole = hp_checkpoint_read_int(c, t, &box, (int64_t *)dense, &err);
    require(whole == (kind == 'u' || kind == 'i' ? HYPAR_OK : HYPAR_INVALID));
    free(dense);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct checkpoint *c;
    struct hypar_error err = { 0 };
    struct training_state state;
    enum hypar_status status = hp_checkpoint_open(&c, scratch_file(0, data, size), &err);
    require((status == HYPAR_OK) == (c != NULL));
    require(c || (*err.text && !strchr(err.text, '\n')));
    for (int t = 0; c && t < hp_checkpoint_count(c); t++)
        read_tensor(c, t);
    if (c && hp_training_state(c, &state, &err) != HYPAR_OK)
        require(*err.text);
    else if (c && hp_training_position(c, &state, 1 + (int64_t)(size % 8), &err) != HYPAR_OK)
        require(*err.text);
    if (c && hp_checkpoint_verify(c, 0, 1, &err) != HYPAR_OK)
        require(hp_checkpoint_has_checksums(c) && *err.text && !strchr(err.text, '\n'));
    hp_checkpoint_close(c);
    return 0;
}
