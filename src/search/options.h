/* search/options.h - options that not every planner takes. Internal.
 *
 * A search applies or refuses an option, but never ignores it. A planner's row says which of
 * these options it takes; all other options (memory, precision, recompute, shard, ...) apply to
 * every plan. */
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
    TAKES_MICRO_BATCHES = 1 << 8, /* of a pipeline; without stages, gradients are accumulated */
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
    TAKES_MINIBATCHES = 1 << 23, /* a plan to improve has its own minibatches */
    TAKES_PLANNER_OPTION = 1 << 24,
};

/* The bits of the given options. */
unsigned hp_options_given(const struct hypar_search_options *options);

/* The bits of a list of options, "--proposals,--budget"; NULL: none. HYPAR_INVALID with the
 * word that is not one of these options. */
enum hypar_status hp_options_named(unsigned *bits, const char *list, struct hypar_error *err);

/* The options of these bits as text: "--stages and --axes". Returns `text`. */
const char *hp_options_text(char *text, size_t size, unsigned bits);

/* All options that restrict a search, with their values: "--memory 16GB --stages 4". */
char *hp_options_words(struct arena *arena, const struct hypar_search_options *options);

/* May a planner that tries others (auto) try this planner, if these options are given? */
bool hp_may_try(const struct planner *self, const struct planner *other, unsigned given);

/* Check that *planner takes all given options. Else HYPAR_USAGE with the planners that do. A
 * planner that tries others is replaced by its random search if no other planner takes the
 * options. */
enum hypar_status hp_check_options(const struct hypar_search_options *options,
                                   const struct planner **planner, struct hypar_error *err);

/* Check the values of all options. HYPAR_INVALID for a value that is not a number, is below 0
 * or exceeds its limit. */
enum hypar_status hp_check_option_values(const struct hypar_search_options *options,
                                         struct hypar_error *err);

#endif /* SEARCH_OPTIONS_H */
