/* Reading a batch: which samples it has, and the required part of each. */
#include "run/data/source.h"

#include <assert.h>
#include <string.h>

#include "run/data.h"
#include "run/data/files.h"
#include "run/data/inputs.h"
#include "run/data/shuffle.h"
#include "run/data/synthetic.h"

static const int64_t SYNTHETIC_SAMPLES[] = { [DATA_TRAIN] = 1 << 16, [DATA_TEST] = 1 << 10 };

/* A set of samples: first .. first + samples of the available ones. */
struct samples {
    const struct data_files *files; /* NULL: synthetic */
    int64_t first, samples;
};

struct data_source {
    struct arena arena; /* holds the source too */
    const struct hypar_graph *graph;
    uint64_t seed;
    bool in_order;
    struct data_files opened[DATA_SET_COUNT];
    struct samples set[DATA_SET_COUNT];
};

/* Opening ------------------------------------------------------------------------------- */

static bool is_synthetic(const char *text)
{
    return !text || strcmp(text, "synthetic") == 0;
}

/* Synthetic samples never end: test samples follow the training samples. */
static enum hypar_status open_set(struct data_source *source, enum data_set set,
                                  const struct data_options *options, struct hypar_error *err)
{
    const char *text = set == DATA_TRAIN ? options->train : options->test;
    struct samples *out = &source->set[set];
    if (is_synthetic(text)) {
        out->samples =
            options->synthetic_samples ? options->synthetic_samples : SYNTHETIC_SAMPLES[set];
        out->first = set == DATA_TRAIN ? 0 : (int64_t)1 << 40;
        return HYPAR_OK;
    }
    TRY(hp_files_open(&source->opened[set], &source->arena, source->graph, text, err));
    out->files = &source->opened[set];
    out->samples = source->opened[set].samples;
    return HYPAR_OK;
}

/* Keep the last training samples for testing. */
static enum hypar_status hold_out(struct data_source *source, double share,
                                  struct hypar_error *err)
{
    struct samples *train = &source->set[DATA_TRAIN], *test = &source->set[DATA_TEST];
    int64_t n = (int64_t)((double)train->samples * share + 0.5);
    if (n < 1 || n >= train->samples)
        return hp_fail(err, HYPAR_INVALID,
                       "data: %g of %lld samples are %lld, expected some for training and some "
                       "for testing",
                       share, (long long)train->samples, (long long)n);
    train->samples -= n;
    *test = (struct samples){ train->files, train->samples, n };
    return HYPAR_OK;
}

static enum hypar_status open_sets(struct data_source *source,
                                   const struct data_options *options, struct hypar_error *err)
{
    TRY(open_set(source, DATA_TRAIN, options, err));
    if (options->test)
        return open_set(source, DATA_TEST, options, err);
    return options->held_out > 0 ? hold_out(source, options->held_out, err) : HYPAR_OK;
}

enum hypar_status hp_data_open(struct data_source **out, const struct hypar_graph *graph,
                               const struct data_options *options, struct hypar_error *err)
{
    struct arena arena = { 0 };
    struct data_source *source = NEW(&arena, struct data_source, 1);
    source->arena = arena;
    source->graph = graph;
    source->seed = options->seed;
    source->in_order = options->in_order;
    *out = NULL;
    enum hypar_status status = open_sets(source, options, err);
    if (status == HYPAR_OK)
        *out = source;
    else
        hp_data_close(source);
    return status;
}

void hp_data_close(struct data_source *source)
{
    if (!source)
        return;
    for (int set = 0; set < DATA_SET_COUNT; set++)
        hp_files_close(&source->opened[set]);
    hp_arena_free(&source->arena);
}

int64_t hp_data_samples(const struct data_source *source, enum data_set set)
{
    return source->set[set].samples;
}

/* One sample ---------------------------------------------------------------------------- */

enum { CHUNK = 1024 };

/* The source of one input's samples, and the bytes of the current sample. */
struct reader {
    const struct column *column; /* NULL: synthetic */
    struct synthetic synthetic;
    int64_t below;        /* integers: less than this; 0: numbers */
    struct range span;    /* required elements of a sample */
    unsigned char *bytes; /* these elements of `sample` */
    int64_t sample;       /* number in the files, or of a synthetic sample */
    const struct input_file *file;
    const char *input;
};

/* Load the required bytes of sample `index` of a column. */
static enum hypar_status load(struct reader *r, int64_t index, struct hypar_error *err)
{
    r->sample = index;
    if (!r->column)
        return HYPAR_OK;
    const struct column_part *part = r->column->part;
    while (index >= part->samples)
        index -= part++->samples;
    int64_t width = hp_element[r->column->type].bytes;
    r->file = part->file;
    r->sample = index;
    return hp_input_read(part->file,
                         part->begin + index * r->column->stride + r->span.lo * width,
                         (r->span.hi - r->span.lo) * width, r->bytes, err);
}

static struct elements loaded(const struct reader *r, int64_t from, int64_t n)
{
    int64_t width = hp_element[r->column->type].bytes;
    return (struct elements){ r->bytes + (from - r->span.lo) * width, r->column->type,
                              r->column->big_endian, n };
}

static void take_numbers(const struct reader *r, int64_t from, int64_t n, enum real real,
                         void *out)
{
    double number[CHUNK];
    if (r->column) {
        struct elements elements = loaded(r, from, n);
        hp_elements_to_double(&elements, number);
        for (int64_t i = 0; i < n && r->column->type == ELEMENT_U8; i++)
            number[i] /= 255;
    } else {
        hp_synthetic_numbers(&r->synthetic, r->sample, from, n, number);
    }
    for (int64_t i = 0; i < n; i++)
        hp_put(out, i, number[i], real);
}

static enum hypar_status take_integers(const struct reader *r, int64_t from, int64_t n,
                                       int32_t *out, struct hypar_error *err)
{
    int64_t integer[CHUNK];
    if (r->column) {
        struct elements elements = loaded(r, from, n);
        hp_elements_to_int(&elements, integer);
    } else {
        hp_synthetic_integers(&r->synthetic, r->sample, from, n, integer);
    }
    for (int64_t i = 0; i < n; i++) {
        if (r->column && (integer[i] < 0 || integer[i] >= r->below))
            return hp_bad_file(r->file, err,
                               "sample %lld, element %lld: %lld, expected 0 to %lld for input "
                               "'%.80s'",
                               (long long)r->sample, (long long)(from + i),
                               (long long)integer[i], (long long)(r->below - 1), r->input);
        out[i] = (int32_t)integer[i];
    }
    return HYPAR_OK;
}

/* Boxes --------------------------------------------------------------------------------- */

/* The requested box, as samples and a box of each: its dense array has `inner` consecutive
 * elements of each sample in each of `rows` rows. */
struct slab {
    struct hypar_shape shape; /* of a sample */
    struct box box;           /* of a sample */
    struct range samples;     /* positions in the batch */
    int64_t rows, inner;
    enum real real;
    size_t element_bytes;
};

static struct slab slab_of(const struct hypar_graph *graph, const struct data_request *request)
{
    int along = graph->tensors[request->tensor].sample_dim;
    struct slab s = { .shape = hp_sample_shape(graph, request->tensor),
                      .samples = { 0, 1 },
                      .inner = 1,
                      .real = request->real };
    s.element_bytes = hp_tensor_element_bytes(graph, request->tensor, request->real);
    for (int d = 0; d < request->box.n_dims; d++) {
        struct range range = request->box.dim[d];
        if (d == along)
            s.samples = range;
        else
            s.box.dim[s.box.n_dims++] = range;
        if (d > along)
            s.inner *= range.hi - range.lo;
    }
    s.rows = s.samples.hi - s.samples.lo;
    return s;
}

/* From the first required element of a sample to the last. */
static struct range span_of(const struct slab *s)
{
    struct range span = { -1, -1 };
    struct runs r = hp_runs(&s->shape, &s->box);
    while (hp_next_run(&r)) {
        if (span.lo < 0)
            span.lo = r.in_array;
        span.hi = r.in_array + r.length;
    }
    return span;
}

/* Copy the part of one sample, which is row `row` of the array. */
static enum hypar_status take_sample(const struct slab *s, const struct reader *r, int64_t row,
                                     void *dense, struct hypar_error *err)
{
    struct runs runs = hp_runs(&s->shape, &s->box);
    while (hp_next_run(&runs))
        for (int64_t i = 0, n; i < runs.length; i += n) {
            int64_t at = runs.in_box + i, in_row = at % s->inner;
            n = s->inner - in_row;
            n = n < runs.length - i ? n : runs.length - i;
            n = n < CHUNK ? n : CHUNK;
            int64_t to = at / s->inner * s->rows * s->inner + row * s->inner + in_row;
            void *out = (char *)dense + (size_t)to * s->element_bytes;
            if (!r->below)
                take_numbers(r, runs.in_array + i, n, s->real, out);
            else
                TRY(take_integers(r, runs.in_array + i, n, out, err));
        }
    return HYPAR_OK;
}

/* The sample at a position of the training, or of a test. */
static int64_t sample_at(const struct data_source *source, enum data_set set, int64_t place)
{
    const struct samples *s = &source->set[set];
    assert(s->samples > 0);
    int64_t epoch = place / s->samples, i = place % s->samples;
    if (set == DATA_TRAIN && !source->in_order)
        i = hp_shuffled(source->seed, epoch, s->samples, i);
    return s->first + i;
}

static enum hypar_status read_rows(const struct data_source *source,
                                   const struct data_request *request, const struct slab *slab,
                                   struct reader *reader, void *dense, struct hypar_error *err)
{
    bool any = source->graph->tensors[request->tensor].sample_dim >=
               0; /* else every batch has the same */
    for (int64_t row = 0; row < slab->rows; row++) {
        int64_t place = any ? request->position + slab->samples.lo + row : 0;
        TRY(load(reader, sample_at(source, request->set, place), err));
        TRY(take_sample(slab, reader, row, dense, err));
    }
    return HYPAR_OK;
}

/* Make the reader of an input; its bytes lie in the arena. */
static enum hypar_status make_reader(struct reader *out, const struct data_source *source,
                                     const struct data_request *request,
                                     const struct slab *slab, struct arena *arena,
                                     struct hypar_error *err)
{
    const struct hypar_graph *graph = source->graph;
    const struct tensor *tensor = &graph->tensors[request->tensor];
    const struct data_files *files = source->set[request->set].files;
    *out = (struct reader){ .input = tensor->name };
    if (tensor->index)
        out->below = hp_integers_below(graph, request->tensor);
    if (!files) {
        out->synthetic = hp_synthetic(graph, request->tensor, source->seed);
        return HYPAR_OK;
    }
    out->column = &files->column[request->tensor];
    if (!out->column->samples)
        return hp_fail(err, HYPAR_INVALID, "data: no file for input '%.80s'", tensor->name);
    out->span = span_of(slab);
    out->bytes = NEW(arena, unsigned char,
                     (out->span.hi - out->span.lo) * hp_element[out->column->type].bytes);
    return HYPAR_OK;
}

enum hypar_status hp_data_read(const struct data_source *source,
                               const struct data_request *request, void *dense,
                               struct hypar_error *err)
{
    struct slab slab = slab_of(source->graph, request);
    struct reader reader;
    struct arena scratch = { 0 };
    if (hp_box_empty(&request->box))
        return HYPAR_OK;
    enum hypar_status status = make_reader(&reader, source, request, &slab, &scratch, err);
    if (status == HYPAR_OK)
        status = read_rows(source, request, &slab, &reader, dense, err);
    hp_arena_free(&scratch);
    return status;
}

/* Checks before the first step ---------------------------------------------------------- */

/* Check the samples of a set in the order of the files, each whole. */
static enum hypar_status check_input(const struct data_source *source, enum data_set set, int t,
                                     struct hypar_error *err)
{
    const int64_t most = (int64_t)1 << 24;
    const struct samples *samples = &source->set[set];
    struct arena scratch = { 0 };
    struct data_request whole = { .set = set,
                                  .tensor = t,
                                  .box = hp_shape_box(&source->graph->tensors[t].shape) };
    struct slab slab = slab_of(source->graph, &whole);
    struct reader reader;
    int64_t elements = hp_box_elements(&slab.box);
    slab.rows = 1;
    int32_t *taken = NEW(&scratch, int32_t, elements);
    enum hypar_status status = make_reader(&reader, source, &whole, &slab, &scratch, err);
    for (int64_t i = 0; status == HYPAR_OK && i < samples->samples && i * elements < most;
         i++) {
        status = load(&reader, samples->first + i, err);
        if (status == HYPAR_OK)
            status = take_sample(&slab, &reader, 0, taken, err);
    }
    hp_arena_free(&scratch);
    return status;
}

enum hypar_status hp_data_check(const struct data_source *source, struct hypar_error *err)
{
    const struct hypar_graph *graph = source->graph;
    for (int set = 0; set < DATA_SET_COUNT; set++)
        for (int t = 0; source->set[set].files && t < graph->n_tensors; t++)
            if (hp_is_data_input(graph, t) && graph->tensors[t].index)
                TRY(check_input(source, (enum data_set)set, t, err));
    return HYPAR_OK;
}
