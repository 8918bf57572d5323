/* search/options.h - options that not every planner takes. Internal.
 *
 * An option is honoured or refused, never dropped. A planner's row says which of these it
 * takes; all others (memory, precision, recompute, shard, ...) are for every plan. */
#ifndef SEARCH_OPTIONS_H
#define SEARCH_OPTIONS_H

#include <hypar/search.h>

#include "base/arena.h"
#include "base/error.h"

struct planner;

enum {
    TAKES_JOINT = 1 << 0,
    TAKES_OBJECTIVE = 1 << 1,
    TAKES_RECURRENCE = 1 << 2,
    TAKES_STRAIGHT = 1 << 3,
    TAKES_USE_FEWER = 1 << 4,
    TAKES_FREE_TRANSFERS = 1 << 5,
    TAKES_VERTICAL_SYNC = 1 << 6,
    TAKES_STAGES = 1 << 7,
    TAKES_MICRO_BATCHES = 1 << 8, /* of a pipeline; else gradients are accumulated */
    TAKES_DATA = 1 << 9,
    TAKES_TENSOR = 1 << 10,
    TAKES_PIPELINE = 1 << 11,
    TAKES_CHUNKS = 1 << 12,
    TAKES_SCHEDULE = 1 << 13,
    TAKES_SEQUENCE_PARALLEL = 1 << 14,
    TAKES_MAX_TENSOR = 1 << 15,
    TAKES_MAX_PIPELINE = 1 << 16,
    TAKES_AXES = 1 << 17,
    TAKES_SYNC = 1 << 18,
    TAKES_FIX = 1 << 19,
    TAKES_START = 1 << 20,
    TAKES_BUDGET = 1 << 21,
    TAKES_PROPOSALS = 1 << 22,
    TAKES_MINIBATCHES = 1 << 23, /* what is improved has its own */
    TAKES_PLANNER_OPTION = 1 << 24,
};

/* Bits of the options that are given. */
unsigned hp_options_given(const struct hypar_search_options *options);

/* The bits of a list of options, "--proposals,--budget"; NULL: none. HYPAR_INVALID, with the
 * word that is no option which not every planner takes. */
enum hypar_status hp_options_named(unsigned *bits, const char *list, struct hypar_error *err);

/* "--stages and --axes": the options of these bits. Returns `text`. */
const char *hp_options_text(char *text, size_t size, unsigned bits);

/* All options that bound a search, with their values: "--memory 16GB --stages 4". */
char *hp_options_words(struct arena *arena, const struct hypar_search_options *options);

/* May a planner that tries others (auto) try this one, given these options? */
bool hp_may_try(const struct planner *self, const struct planner *other, unsigned given);

/* Does *planner take all that is given? Else HYPAR_USAGE with those that do. A planner that
 * tries others is replaced by its random search where nobody else takes it. */
enum hypar_status hp_check_options(const struct hypar_search_options *options,
                                   const struct planner **planner, struct hypar_error *err);

/* HYPAR_INVALID: a number that is none, that is below 0 or that is above what it may be. */
enum hypar_status hp_check_option_values(const struct hypar_search_options *options,
                                         struct hypar_error *err);

#endif /* SEARCH_OPTIONS_H */
