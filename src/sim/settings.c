/* The options of a simulation: checking them, storing them in a plan, and reading them back. */
#include "base/error.h"
#include "base/word.h"
#include "cost/collective_rounds.h"
#include "plan/framework.h"
#include "sim/timing.h"

#include <assert.h>
#include <string.h>

static const char fastest[] = "auto";

enum { MAX_WORDS = 16, WORD_BYTES = 32 };

/* The names of all-reduce algorithms that may be asked for. */
struct words {
    int n;
    const char *word[MAX_WORDS];
    char text[MAX_WORDS][WORD_BYTES];
};

static void list_words(struct words *w)
{
    const struct comm_algorithm *row;
    w->n = 0;
    w->word[w->n++] = fastest;
    for (int i = 0; (row = hp_comm_algorithm(i)); i++) {
        if (row->kind != COMM_ALL_REDUCE)
            continue;
        assert(w->n < MAX_WORDS && strlen(row->name) < WORD_BYTES);
        char *text = w->text[w->n];
        strcpy(text, row->name);
        for (char *blank = text; (blank = strchr(blank, ' '));)
            *blank = '-';
        w->word[w->n++] = text;
    }
}

enum hypar_status hypar_check_all_reduce(const char *word, struct hypar_error *err)
{
    struct words words;
    char text[400]; /* all names, beside the word in a line of errors */
    if (!word || strcmp(word, fastest) == 0 || hp_find_comm_algorithm(COMM_ALL_REDUCE, word))
        return HYPAR_OK;
    list_words(&words);
    return hp_fail(err, HYPAR_USAGE, "unknown all-reduce '%.64s', %s", word,
                   hp_expected(text, sizeof text, word, words.word, words.n, NULL));
}

/* The framework with the settings that were asked for. */
static struct hypar_framework framework_of(const struct hypar_sim_options *options)
{
    struct hypar_framework framework = options->framework;
    if (options->no_overlap)
        hp_wait_for_all(&framework);
    if (options->lower.bucket_bytes > 0)
        framework.bucket_bytes = options->lower.bucket_bytes;
    return framework;
}

struct hypar_sim_options hp_settled(const struct hypar_sim_options *options)
{
    struct hypar_sim_options how = *options;
    how.framework = framework_of(options);
    how.lower.bucket_bytes = how.framework.bucket_bytes;
    return how;
}

struct hypar_simulation hp_simulation_of(const struct hypar_sim_options *options)
{
    struct hypar_simulation how = { .local_bn = false };
    if (!options)
        return how;
    how = (struct hypar_simulation){ .local_bn = options->lower.local_bn,
                                     .half_duplex = options->half_duplex,
                                     .one_class = options->one_class,
                                     .expand_collectives = options->expand_collectives,
                                     .framework = framework_of(options) };
    if (options->all_reduce && strcmp(options->all_reduce, fastest) != 0)
        snprintf(how.all_reduce, sizeof how.all_reduce, "%s", options->all_reduce);
    return how;
}

struct hypar_sim_options hypar_as_planned(const struct hypar_plan *plan,
                                          const struct hypar_sim_options *options)
{
    const struct hypar_simulation *planned = &plan->simulation;
    struct hypar_sim_options how = options ? *options : (struct hypar_sim_options){ 0 };
    if (!how.all_reduce && *planned->all_reduce)
        how.all_reduce = planned->all_reduce;
    how.lower.local_bn |= planned->local_bn;
    how.expand_collectives |= planned->expand_collectives;
    how.half_duplex |= planned->half_duplex;
    how.one_class |= planned->one_class;
    if (!how.framework_given)
        how.framework = planned->framework;
    how.framework_given = true;
    return hp_settled(&how);
}

void hp_take_simulation(struct hypar_plan *plan, const struct hypar_sim_options *options)
{
    plan->simulation.framework = hp_keep_framework(&plan->arena, &options->framework);
    plan->simulation.local_bn = options->lower.local_bn;
}

struct hypar_plan *hp_simulated_plan(const struct hypar_plan *plan,
                                     const struct hypar_sim_options *options)
{
    if (hp_framework_same(&plan->simulation.framework, &options->framework) &&
        plan->simulation.local_bn == options->lower.local_bn)
        return NULL;
    struct hypar_plan *copy = hypar_plan_copy(plan);
    hp_take_simulation(copy, options);
    return copy;
}

/* Some options exclude each other: without overlap, a separate message would keep its sender
 * from receiving. Queues cannot express "either computing, or sending and receiving". */
enum hypar_status hp_check_sim_options(const struct hypar_sim_options *options,
                                       struct hypar_error *err)
{
    if (!options)
        return HYPAR_OK;
    TRY(hp_check_lower_options(&options->lower, err));
    TRY(hp_check_framework(&options->framework, err));
    TRY(hypar_check_all_reduce(options->all_reduce, err));
    struct hypar_framework framework = framework_of(options);
    if (options->expand_collectives && hp_waits_for_any(&framework))
        return hp_fail(
            err, HYPAR_USAGE,
            "collectives cannot be expanded without overlap, expected one of the two");
    return HYPAR_OK;
}
