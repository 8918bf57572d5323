/* Finds the largest batch that fits: the batch grows until one does not fit, then the interval
 * is divided until it is closed. A batch below one that fits is assumed to fit. */
#include <math.h>

#include "base/stop.h"
#include "search/evaluate/room.h"

/* A batch that was tried. */
struct trial {
    int64_t batch;             /* 0: none */
    double part;               /* share of the fullest device's memory that the batch needs; 0:
                                * not known */
    struct hypar_graph *graph; /* of a batch that fits */
    struct hypar_found *found;
};

struct bounds {
    const struct hypar_machine *machine;
    const struct hypar_search_options *options;
    const struct hypar_batches *batches;
    int64_t unit;              /* all batches are multiples of it */
    struct trial fits, beyond; /* the largest batch that fits; the smallest that does not */
    struct trial before;       /* the previous value of `fits`; only its figures */
    struct hypar_largest about;
    bool halved; /* the last trial left at most half of the interval */
};

static void drop(struct trial *t)
{
    hypar_found_free(t->found);
    hypar_graph_free(t->graph);
    t->found = NULL;
    t->graph = NULL;
}

static enum hypar_status check_figures(const struct hypar_graph *graph, struct hypar_error *err)
{
    int op = hp_find_measured(graph);
    if (op < 0)
        return HYPAR_OK;
    return hp_fail(err, HYPAR_UNSUPPORTED,
                   "op '%.40s' has measured figures, which are of one batch: no largest batch "
                   "follows from them",
                   graph->ops[op].name);
}

static void keep_beyond(struct bounds *b, struct trial *t, const struct hypar_memory *fullest,
                        const struct hypar_error *why)
{
    b->about.beyond = t->batch;
    b->about.need_bytes = fullest->peak;
    b->about.has_bytes = fullest->limit;
    b->about.why = why ? *why : (struct hypar_error){ 0 };
    drop(t);
    b->beyond = *t;
}

static void keep_fitting(struct bounds *b, struct trial *t)
{
    drop(&b->fits);
    b->before = b->fits;
    b->fits = *t;
    b->about.batch = t->batch;
}

/* Does the batch not fit? A model that cannot have this batch counts as not fitting. */
static bool is_beyond(const struct bounds *b, const struct trial *t, enum hypar_status status)
{
    return status == HYPAR_INFEASIBLE || (!t->graph && b->fits.batch);
}

/* Try a batch; it becomes one of the bounds. Any other reason than memory is a failure. */
static enum hypar_status try_batch(struct bounds *b, int64_t batch, struct hypar_error *err)
{
    struct trial t = { .batch = batch };
    struct hypar_memory fullest = { 0 };
    struct hypar_error why = { 0 };
    enum hypar_status status = b->batches->graph(b->batches->who, batch, &t.graph, &why);
    if (status == HYPAR_OK)
        status = check_figures(t.graph, &why);
    if (status == HYPAR_OK)
        status = hypar_search(&t.found, t.graph, b->machine, b->options, &why);
    b->about.tried++;
    if (hp_stopped(b->options->stop)) {
        drop(&t);
        return HYPAR_OK;
    }
    if (status == HYPAR_OK)
        status = hp_found_fits(t.found, b->options->memory_bytes, &fullest, &why);
    t.part = fullest.limit > 0 ? fullest.peak / fullest.limit : 0;
    bool fits = status == HYPAR_OK, beyond = is_beyond(b, &t, status);
    if (fits)
        keep_fitting(b, &t);
    else if (beyond)
        keep_beyond(b, &t, &fullest, t.found ? NULL : &why);
    else
        drop(&t);
    if (b->batches->tried)
        b->batches->tried(b->batches->who, batch, fits);
    return fits || beyond ? HYPAR_OK : hp_fail_again(err, status, &why);
}

/* The batch at which memory is full, if the need grows linearly from one batch to the other;
 * NAN: not known. */
static double full_at(const struct trial *a, const struct trial *b)
{
    if (!(a->part > 0) || !(b->part > a->part))
        return NAN;
    return (double)a->batch +
           (1 - a->part) / (b->part - a->part) * (double)(b->batch - a->batch);
}

/* While all batches fit, try the first batch beyond the estimated limit of memory: at least
 * twice and at most sixteen times the samples. */
static enum hypar_status grow(struct bounds *b, struct hypar_error *err)
{
    int64_t most = HYPAR_MAX_BATCH / b->unit;
    while (!b->beyond.batch && b->fits.batch / b->unit < most &&
           !hp_stopped(b->options->stop)) {
        int64_t n = b->fits.batch / b->unit, next = n ? 2 * n : 1;
        double full = full_at(&b->before, &b->fits) / (double)b->unit;
        if (full >= (double)next)
            next = full < 16 * (double)n ? (int64_t)full + 1 : 16 * n;
        TRY(try_batch(b, (next < most ? next : most) * b->unit, err));
    }
    return HYPAR_OK;
}

/* The next batch between the bounds: the estimated limit of memory, or the middle if the last
 * estimate was bad. */
static int64_t next_batch(const struct bounds *b)
{
    int64_t lo = b->fits.batch / b->unit, hi = b->beyond.batch / b->unit;
    double guess = b->halved ? full_at(&b->fits, &b->beyond) / (double)b->unit : NAN;
    int64_t at = isnan(guess) ? lo + (hi - lo) / 2 : (int64_t)guess;
    if (at <= lo)
        at = lo + 1;
    if (at >= hi)
        at = hi - 1;
    return at * b->unit;
}

static enum hypar_status part(struct bounds *b, struct hypar_error *err)
{
    b->halved = true;
    while (b->beyond.batch - b->fits.batch > b->unit && !hp_stopped(b->options->stop)) {
        int64_t between = b->beyond.batch - b->fits.batch;
        TRY(try_batch(b, next_batch(b), err));
        b->halved = b->beyond.batch - b->fits.batch <= between / 2 + b->unit;
    }
    return HYPAR_OK;
}

/* Find the bounds. If not even one sample per device fits, try fewer samples. If the planner
 * has no plan for fewer samples (dp), the result reports the memory that one sample per device
 * lacks. */
static enum hypar_status find(struct bounds *b, struct hypar_error *err)
{
    if (b->unit > HYPAR_MAX_BATCH)
        return hp_fail(
            err, HYPAR_INFEASIBLE,
            "%lld micro-batches on %d devices take a batch of %lld, expected at most "
            "%d",
            (long long)b->about.micro_batches, hypar_machine_device_count(b->machine),
            (long long)b->unit, HYPAR_MAX_BATCH);
    TRY(grow(b, err));
    if (!b->fits.batch && b->beyond.batch > 1 && !hp_stopped(b->options->stop)) {
        struct trial most = b->beyond;
        struct hypar_largest lacks = b->about;
        b->unit = 1;
        TRY(try_batch(b, 1, err));
        lacks.tried = b->about.tried;
        lacks.batch = b->about.batch;
        if (b->fits.batch)
            b->beyond = most;
        if (b->fits.batch || *b->about.why.text)
            b->about = lacks;
    }
    if (b->fits.batch && b->beyond.batch)
        TRY(part(b, err));
    return HYPAR_OK;
}

static enum hypar_status refuse(const struct bounds *b, struct hypar_error *err)
{
    struct memory_text text = hp_memory_text(b->about.need_bytes, b->about.has_bytes);
    TRY(hp_check_stop(b->options->stop, err));
    if (*b->about.why.text) {
        hp_fail(err, HYPAR_INFEASIBLE, "not even a batch of %lld fits: %s",
                (long long)b->about.beyond, b->about.why.text);
        return hp_about(err, b->about.why.cause, HYPAR_INFEASIBLE);
    }
    hp_fail(err, HYPAR_INFEASIBLE, "not even a batch of %lld fits: it needs %s of %s",
            (long long)b->about.beyond, text.need, text.has);
    return hp_about(err, HYPAR_CAUSE_MEMORY, HYPAR_INFEASIBLE);
}

enum hypar_status hypar_search_largest(struct hypar_found **out, struct hypar_graph **graph,
                                       const struct hypar_machine *machine,
                                       const struct hypar_search_options *options,
                                       const struct hypar_batches *batches,
                                       struct hypar_error *err)
{
    static const struct hypar_search_options defaults;
    struct hypar_search_options with = options ? *options : defaults;
    if (!with.micro_batches)
        with.micro_batches = with.layout.micro_batches ? with.layout.micro_batches : 1;
    struct bounds b = { .machine = machine, .options = &with, .batches = batches };
    b.unit = hypar_machine_device_count(machine) * with.micro_batches;
    b.about.micro_batches = with.micro_batches;
    enum hypar_status status = find(&b, err);
    if (status == HYPAR_OK && !b.fits.batch)
        status = refuse(&b, err);
    if (status != HYPAR_OK)
        drop(&b.fits);
    else
        b.fits.found->info.largest = b.about;
    if (status == HYPAR_OK && hp_stopped(with.stop))
        b.fits.found->info.interrupted = true;
    *out = b.fits.found;
    *graph = b.fits.graph;
    return status;
}
