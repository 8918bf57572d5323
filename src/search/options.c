/* Options that not every planner takes: finds the given ones, and the planners that take
 * them. */
#include "search/options.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#include "base/number.h"
#include "plan/schedules.h"
#include "search/planner.h"

#define MEMBER(m) \
    offsetof(struct hypar_search_options, m), sizeof(((struct hypar_search_options *)NULL)->m)
#define GIVEN(m) offsetof(struct hypar_search_options, m)

/* The location of each option in the struct: an option is given if it is not zero. */
static const struct option_row {
    unsigned bit;
    const char *name;
    size_t at, size;
    size_t given; /* a flag for an option that may be given as zero; 0: none */
} rows[] = {
    { TAKES_JOINT, "--joint", MEMBER(joint), 0 },
    { TAKES_OBJECTIVE, "--objective", MEMBER(objective), GIVEN(objective_given) },
    { TAKES_RECURRENCE, "--recurrence", MEMBER(recurrence), GIVEN(recurrence_given) },
    { TAKES_STRAIGHT, "--straight", MEMBER(straight), 0 },
    { TAKES_USE_FEWER, "--use-fewer", MEMBER(use_fewer), 0 },
    { TAKES_FREE_TRANSFERS, "--free-transfers", MEMBER(free_transfers), 0 },
    { TAKES_VERTICAL_SYNC, "--vertical-sync", MEMBER(vertical_sync), 0 },
    { TAKES_STAGES, "--stages", MEMBER(stages), 0 },
    { TAKES_MICRO_BATCHES, "--micro-batches", MEMBER(micro_batches), 0 },
    { TAKES_MICRO_BATCHES, "--micro-batches", MEMBER(layout.micro_batches), 0 },
    { TAKES_DATA, "--data", MEMBER(layout.data), 0 },
    { TAKES_TENSOR, "--tensor", MEMBER(layout.tensor), 0 },
    { TAKES_PIPELINE, "--pipeline", MEMBER(layout.pipeline), 0 },
    { TAKES_CHUNKS, "--chunks", MEMBER(layout.chunks), 0 },
    { TAKES_SCHEDULE, "--schedule", MEMBER(layout.schedule), 0 },
    { TAKES_SEQUENCE_PARALLEL, "--sequence-parallel", MEMBER(layout.sequence_parallel), 0 },
    { TAKES_MAX_TENSOR, "--max-tensor", MEMBER(max_tensor), 0 },
    { TAKES_MAX_PIPELINE, "--max-pipeline", MEMBER(max_pipeline), 0 },
    { TAKES_AXES, "--axes", MEMBER(axes), 0 },
    { TAKES_SYNC, "--sync", MEMBER(sync), GIVEN(sync_given) },
    { TAKES_FIX, "--fix", MEMBER(n_fix), 0 },
    { TAKES_START, "--start", MEMBER(start), 0 },
    { TAKES_BUDGET, "--budget", MEMBER(budget_s), 0 },
    { TAKES_PROPOSALS, "--proposals", MEMBER(proposals), 0 },
    { TAKES_PLANNER_OPTION, "--planner-option", MEMBER(n_planner_options), 0 },
    { TAKES_MINIBATCHES, "--minibatches", 0, 0, 0 }, /* an option of the simulation */
};

enum { N_ROWS = sizeof rows / sizeof *rows };

static bool is_given(const struct hypar_search_options *options, const struct option_row *row)
{
    static const char zero[sizeof(double)];
    const char *base = (const char *)options;
    return memcmp(base + row->at, zero, row->size) != 0 || (row->given && base[row->given]);
}

unsigned hp_options_given(const struct hypar_search_options *options)
{
    const struct hypar_sim_options *simulation = options->simulation;
    bool minibatches = simulation && simulation->lower.minibatches && !options->start;
    unsigned bits = minibatches ? TAKES_MINIBATCHES : 0;
    for (int i = 0; i < N_ROWS; i++)
        bits |= is_given(options, &rows[i]) ? rows[i].bit : 0;
    if (options->micro_batches == 1 && options->layout.micro_batches <= 1)
        bits &= ~(unsigned)TAKES_MICRO_BATCHES; /* every planner has at least one micro-batch */
    return bits;
}

/* Limits of values that every planner takes: numbers are 0 or more, enums at most `most`. */
enum { ANY = 0 };
static const struct value_row {
    const char *name;
    size_t at, size;
    bool real;
    int64_t most; /* ANY: no limit */
} values[] = {
    { "objective", MEMBER(objective), false, HYPAR_ENERGY },
    { "precision", MEMBER(precision), false, HYPAR_PRECISION_COUNT - 1 },
    { "masks", MEMBER(masks), false, HYPAR_MASKS_COUNT - 1 },
    { "optimizer", MEMBER(optimizer), false, HYPAR_OPTIMIZER_COUNT - 1 },
    { "recompute", MEMBER(recompute), false, HYPAR_RECOMPUTE_COUNT - 1 },
    { "shard", MEMBER(shard), false, HYPAR_SHARD_COUNT - 1 },
    { "recurrence", MEMBER(recurrence), false, HYPAR_RECURRENCE_PAPER },
    { "sync", MEMBER(sync), false, HYPAR_SYNC_SERVER },
    { "layout.recompute", MEMBER(layout.recompute), false, HYPAR_RECOMPUTE_COUNT - 1 },
    { "layout.shard", MEMBER(layout.shard), false, HYPAR_SHARD_COUNT - 1 },
    { "layout.data", MEMBER(layout.data), false, ANY },
    { "layout.tensor", MEMBER(layout.tensor), false, ANY },
    { "layout.pipeline", MEMBER(layout.pipeline), false, ANY },
    { "layout.chunks", MEMBER(layout.chunks), false, HP_MAX_CHUNKS },
    { "layout.micro_batches", MEMBER(layout.micro_batches), false, HP_MAX_MICRO_BATCHES },
    { "shard_over", MEMBER(shard_over), false, ANY },
    { "seed", MEMBER(seed), false, HYPAR_MAX_SEED },
    { "stages", MEMBER(stages), false, ANY },
    { "micro_batches", MEMBER(micro_batches), false, HP_MAX_MICRO_BATCHES },
    { "max_tensor", MEMBER(max_tensor), false, ANY },
    { "max_pipeline", MEMBER(max_pipeline), false, ANY },
    { "n_fix", MEMBER(n_fix), false, ANY },
    { "n_planner_options", MEMBER(n_planner_options), false, ANY },
    { "proposals", MEMBER(proposals), false, ANY },
    { "threads", MEMBER(threads), false, ANY },
    { "memory_bytes", MEMBER(memory_bytes), true, ANY },
    { "framework_bytes", MEMBER(framework_bytes), true, ANY },
    { "memory_certainty", MEMBER(memory_certainty), true, ANY },
    { "clip", MEMBER(clip), true, ANY },
    { "budget_s", MEMBER(budget_s), true, ANY },
};

static enum hypar_status check_value(const struct hypar_search_options *options,
                                     const struct value_row *row, struct hypar_error *err)
{
    const char *at = (const char *)options + row->at;
    char range[RANGE_TEXT_BYTES];
    double real = 0;
    int64_t number = 0;
    int small = 0;
    if (row->real) {
        memcpy(&real, at, sizeof real);
        return isfinite(real) && real >= 0
                   ? HYPAR_OK
                   : hp_fail(err, HYPAR_INVALID, "option %s: %g, expected 0 or more", row->name,
                             real);
    }
    if (row->size == sizeof number)
        memcpy(&number, at, sizeof number);
    else
        memcpy(&small, at, sizeof small);
    number = row->size == sizeof number ? number : small;
    if (number >= 0 && (row->most == ANY || number <= row->most))
        return HYPAR_OK;
    return hp_fail(err, HYPAR_INVALID, "option %s: %lld, expected %s", row->name,
                   (long long)number,
                   row->most == ANY ? "0 or more" : hp_range_text(range, 0, row->most));
}

/* Check that each has the form "NAME=VALUE". */
static enum hypar_status check_planner_options(const struct hypar_search_options *options,
                                               struct hypar_error *err)
{
    for (int i = 0; i < options->n_planner_options; i++) {
        const char *text = options->planner_option[i], *equals = strchr(text, '=');
        if (!equals || equals == text)
            return hp_fail(err, HYPAR_USAGE, "--planner-option '%.80s': expected NAME=VALUE",
                           text);
    }
    return HYPAR_OK;
}

enum hypar_status hp_check_option_values(const struct hypar_search_options *options,
                                         struct hypar_error *err)
{
    const struct value_row schedule = { "layout.schedule", MEMBER(layout.schedule), false,
                                        hp_n_schedules - 1 };
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        TRY(check_value(options, &values[i], err));
    TRY(check_value(options, &schedule, err));
    return check_planner_options(options, err);
}

/* "--joint, --objective, ... or --minibatches" */
static const char *all_options(char *text, size_t size)
{
    size_t n = 0;
    for (int i = 0; i < N_ROWS && n < size; i++)
        if (!i || rows[i - 1].bit != rows[i].bit)
            n += (size_t)snprintf(text + n, size - n, "%s%s",
                                  i == 0           ? ""
                                  : i < N_ROWS - 1 ? ", "
                                                   : " or ",
                                  rows[i].name);
    return text;
}

const char *hypar_planner_option(const struct hypar_search_options *options, const char *name)
{
    size_t n = strlen(name);
    const char *value = NULL;
    for (int i = 0; i < options->n_planner_options; i++)
        if (strncmp(options->planner_option[i], name, n) == 0 &&
            options->planner_option[i][n] == '=')
            value = options->planner_option[i] + n + 1;
    return value;
}

enum hypar_status hp_options_named(unsigned *bits, const char *list, struct hypar_error *err)
{
    char all[512];
    *bits = 0;
    while (list) {
        size_t n = strcspn(list, ",");
        unsigned bit = 0;
        for (int i = 0; i < N_ROWS; i++)
            if (strncmp(rows[i].name, list, n) == 0 && !rows[i].name[n])
                bit = rows[i].bit;
        if (!bit)
            return hp_fail(err, HYPAR_INVALID, "takes '%.*s', expected %s", (int)n, list,
                           all_options(all, sizeof all));
        *bits |= bit;
        list = list[n] ? list + n + 1 : NULL;
    }
    return HYPAR_OK;
}

/* Add word number `n` of a list of `of` words: "a", "a and b", "a, b and c". */
static void add_word(char *text, size_t size, const char *word, int n, int of)
{
    size_t at = strlen(text);
    snprintf(text + at, size - at, "%s%s", n == 0 ? "" : n < of - 1 ? ", " : " and ", word);
}

static int count_bits(unsigned bits)
{
    int n = 0;
    for (; bits; bits &= bits - 1)
        n++;
    return n;
}

const char *hp_options_text(char *text, size_t size, unsigned bits)
{
    int n = 0, of = count_bits(bits);
    text[0] = '\0';
    for (int i = 0; i < N_ROWS; i++)
        if (bits & rows[i].bit && !(i && rows[i - 1].bit == rows[i].bit))
            add_word(text, size, rows[i].name, n++, of);
    return text;
}

static char *number_words(struct arena *arena, const char *name, int64_t value)
{
    return hp_arena_printf(arena, "%s %lld", name, (long long)value);
}

static char *list_words(struct arena *arena, const char *name, const char *const *value, int n)
{
    char *text = hp_arena_strdup(arena, "");
    for (int i = 0; i < n; i++)
        text = hp_arena_printf(arena, "%s%s%s %s", text, i ? " " : "", name, value[i]);
    return text;
}

/* An option that not every planner takes, with its value: "--stages 4". */
static char *row_words(struct arena *arena, const struct hypar_search_options *options,
                       const struct option_row *row)
{
    static const char *const objectives[] = { "time", "comm", "energy" };
    const char *at = (const char *)options + row->at;
    switch (row->bit) {
    case TAKES_OBJECTIVE:
        return hp_arena_printf(arena, "%s %s", row->name, objectives[options->objective]);
    case TAKES_RECURRENCE:
        return hp_arena_printf(arena, "%s %s", row->name,
                               options->recurrence == HYPAR_RECURRENCE_CODE ? "code" : "paper");
    case TAKES_SYNC:
        return hp_arena_printf(arena, "%s %s", row->name,
                               options->sync == HYPAR_SYNC_SERVER ? "server" : "all-reduce");
    case TAKES_SCHEDULE:
        return hp_arena_printf(arena, "%s %s", row->name,
                               hypar_schedule_text(options->layout.schedule));
    case TAKES_AXES:
        return hp_arena_printf(arena, "%s %s", row->name, options->axes);
    case TAKES_START:
        return hp_arena_printf(arena, "%s PLAN", row->name);
    case TAKES_FIX:
        return list_words(arena, row->name, options->fix, options->n_fix);
    case TAKES_PLANNER_OPTION:
        return list_words(arena, row->name, options->planner_option,
                          options->n_planner_options);
    default:
        return row->size == sizeof(int64_t)
                   ? number_words(arena, row->name, *(const int64_t *)(const void *)at)
               : row->size == sizeof(int)
                   ? number_words(arena, row->name, *(const int *)(const void *)at)
                   : hp_arena_strdup(arena, row->name);
    }
}

static void add_option(struct arena *arena, char **text, const char *words)
{
    *text = hp_arena_printf(arena, "%s%s%s", *text, **text ? " " : "", words);
}

char *hp_options_words(struct arena *arena, const struct hypar_search_options *options)
{
    char *text = hp_arena_strdup(arena, ""), memory[NUMBER_TEXT_BYTES];
    unsigned told = TAKES_BUDGET | TAKES_PROPOSALS; /* they end a search but do not restrict
                                                     * plans */
    if (options->memory_bytes > 0 && !options->unlimited)
        add_option(arena, &text,
                   hp_arena_printf(arena, "--memory %sGB",
                                   hp_number_text(memory, options->memory_bytes / 1e9)));
    if (options->target)
        add_option(arena, &text, hp_arena_printf(arena, "--for %s", options->target));
    if (options->profile)
        add_option(arena, &text, "--profile");
    if (options->recompute_given)
        add_option(
            arena, &text,
            hp_arena_printf(arena, "--recompute %s", hypar_recompute_text(options->recompute)));
    if (options->shard_given)
        add_option(arena, &text,
                   hp_arena_printf(arena, "--shard %s", hypar_shard_text(options->shard)));
    if (options->shard_over)
        add_option(arena, &text, number_words(arena, "--shard-over", options->shard_over));
    for (int i = 0; i < N_ROWS; i++) {
        if (rows[i].size && !(told & rows[i].bit) && is_given(options, &rows[i])) {
            add_option(arena, &text, row_words(arena, options, &rows[i]));
            told |= rows[i].bit;
        }
    }
    return text;
}

bool hp_may_try(const struct planner *self, const struct planner *other, unsigned given)
{
    bool in_turn = other->plan && !other->not_in_auto;
    return (in_turn || other == self->random_search) && !(given & ~other->takes & ~self->takes);
}

/* Does this planner take all of these options? For a planner that tries others, some planner
 * that it tries must take all of them. Options in the planner's own row are for its random
 * search, or for the plans of the others. */
static bool takes(const struct planner *planner, unsigned given)
{
    const struct planner *random = planner->random_search;
    unsigned all_of = given & TAKES_PLANNER_OPTION; /* options that nothing but the tried
                                                     * planner reads */
    if (!random)
        return !(given & ~planner->takes);
    if (given & TAKES_PROPOSALS && !all_of)
        return hp_may_try(planner, random, given);
    for (int i = 0; hp_planner_at(i); i++)
        if (hp_may_try(planner, hp_planner_at(i), given) &&
            !(all_of & ~hp_planner_at(i)->takes))
            return true;
    return false;
}

/* The planners that take an option: "planner 3d", "planners flexflow and exhaustive". */
static const char *takers(char *text, size_t size, unsigned bit)
{
    int n = 0, of = 0;
    for (int i = 0; hp_planner_at(i); i++)
        of += takes(hp_planner_at(i), bit);
    snprintf(text, size, "planner%s%s", of == 1 ? " " : "s ",
             of == 0 ? "of one's own that take it" : "");
    for (int i = 0; hp_planner_at(i); i++)
        if (takes(hp_planner_at(i), bit))
            add_word(text, size, hp_planner_at(i)->info.name, n++, of);
    return text;
}

/* Refuse an option. `planner`: the planner that does not take it; NULL: none was named. */
static enum hypar_status refuse(const struct planner *planner, unsigned bit,
                                struct hypar_error *err)
{
    char option[64], who[192];
    bool pipeline = planner && bit == TAKES_STAGES && planner->takes & TAKES_PIPELINE;
    return hp_fail(err, HYPAR_USAGE, "%s is for %s%s%s%s",
                   hp_options_text(option, sizeof option, bit), takers(who, sizeof who, bit),
                   planner ? ", not " : "", planner ? planner->info.name : "",
                   pipeline ? ", whose stages are --pipeline" : "");
}

enum hypar_status hp_check_options(const struct hypar_search_options *options,
                                   const struct planner **planner, struct hypar_error *err)
{
    const struct planner *p = *planner;
    unsigned given = hp_options_given(options);
    char text[192];
    bool others = false;
    for (int i = 0; i < N_ROWS; i++)
        if (given & rows[i].bit && !takes(p, rows[i].bit))
            return refuse(p, rows[i].bit, err);
    if (!takes(p, given))
        return hp_fail(err, HYPAR_USAGE, "no planner that %s tries takes all of %s",
                       p->info.name, hp_options_text(text, sizeof text, given));
    for (int i = 0; p->random_search && hp_planner_at(i); i++)
        others |=
            hp_planner_at(i) != p->random_search && hp_may_try(p, hp_planner_at(i), given);
    if (p->random_search && !others)
        *planner = p->random_search;
    return HYPAR_OK;
}

enum hypar_status hypar_check_options(const struct hypar_search_options *options,
                                      const char *const *planner, int n,
                                      struct hypar_error *err)
{
    unsigned given = hp_options_given(options);
    for (int i = 0; i < N_ROWS; i++) {
        const struct planner *last = NULL;
        bool taken = !(given & rows[i].bit);
        for (int j = 0; j < n && !taken; j++) {
            last = hp_find_planner(planner[j]);
            taken = !last || takes(last, rows[i].bit); /* unknown: reported later */
        }
        if (!taken)
            return refuse(last, rows[i].bit, err);
    }
    return HYPAR_OK;
}

void hypar_keep_options(struct hypar_search_options *options, const char *name)
{
    const struct planner *planner = hp_find_planner(name);
    for (int i = 0; i < N_ROWS; i++) {
        if (!planner || takes(planner, rows[i].bit))
            continue;
        memset((char *)options + rows[i].at, 0, rows[i].size);
        if (rows[i].given)
            memset((char *)options + rows[i].given, 0, sizeof(bool));
    }
}
