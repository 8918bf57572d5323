/* Planners that callers of the library register, or load from a file. */
#include "search/options.h"
#include "search/planner.h"

#include <string.h>

#include "base/files/library.h"
#include "search/evaluate/judge.h"

/* Filled before any search begins; rows are only added. */
static struct planner own[HYPAR_MAX_OWN_PLANNERS];
static int n_own;

const struct planner *hp_own_planner(int i)
{
    return i < n_own ? &own[i] : NULL;
}

struct hypar_plan *hypar_plan_new(const struct hypar_graph *graph,
                                  const struct hypar_machine *machine,
                                  const struct hypar_search_options *options)
{
    static const struct hypar_search_options defaults;
    options = options ? options : &defaults;
    if (hp_check_option_values(options, NULL) != HYPAR_OK)
        return NULL;
    struct hypar_plan_settings settings = hp_settings(options);
    settings.clip = options->clip;
    return hp_plan_new(graph, machine, &settings);
}

/* Passes the planner's progress on to the caller. The last progress is the planner's effort. */
struct reported {
    const struct hypar_search_options *asked;
    struct hypar_search_progress last;
    bool any;
};

static void pass_on_progress(void *who, const struct hypar_search_progress *progress)
{
    struct reported *reported = who;
    reported->last = *progress;
    reported->any = true;
    if (reported->asked->progress)
        reported->asked->progress(reported->asked->who, progress);
}

static void note_effort(struct hypar_search_info *info, const struct reported *reported)
{
    info->evaluated = reported->any ? reported->last.proposals : -1;
    info->proposals = reported->last.proposals;
    info->accepted = reported->last.accepted;
}

/* Run a registered planner. The plan gets the settings of the search, whatever the planner
 * set. */
static enum hypar_status plan_own(const struct planner *self, const struct problem *problem,
                                  struct hypar_found *found, struct hypar_error *err)
{
    const struct hypar_planner *row = self->own;
    struct hypar_plan *plan = NULL;
    struct hypar_search_options options = *problem->options;
    struct reported reported = { .asked = problem->options };
    options.progress = pass_on_progress;
    options.who = &reported;
    options.clip = 0;               /* the search clips every planner's plan at the end */
    struct hypar_error why = { 0 }; /* only the planner's own message is its reason */
    enum hypar_status status =
        row->plan(&plan, problem->graph, problem->machine, &options, row->who, &why);
    if (status != HYPAR_OK)
        hp_fail(err, status, "%s", *why.text ? why.text : hypar_status_text(status));
    if (status == HYPAR_OK && !plan)
        status = hp_fail(err, HYPAR_INVALID, "no plan, though it says that there is one");
    if (status == HYPAR_OK &&
        (plan->graph != problem->graph || plan->machine != problem->machine))
        status = hp_fail(err, HYPAR_INVALID, "its plan is for another model or machine");
    if (status == HYPAR_OK)
        status = hypar_plan_check(plan, err);
    if (status == HYPAR_OK) {
        found->plan = hp_plan_copy_with(plan, &problem->settings);
        found->info.chooses = true;
        note_effort(&found->info, &reported);
        hp_divide_batch(problem, found->plan); /* before the plan is evaluated */
        status = hp_judge(problem, found, err);
    }
    hypar_plan_free(plan);
    return hp_in(err, status, "%s", row->name);
}

/* A name that suits lists and columns of tables. */
static bool is_name(const char *name)
{
    size_t n = strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-_.");
    return n > 0 && n < 24 && !name[n] && name[0] != '-';
}

static enum hypar_status check_row(const struct hypar_planner *row, struct hypar_error *err)
{
    if (row->abi != HYPAR_ABI_VERSION)
        return hp_fail(err, HYPAR_UNSUPPORTED,
                       "a planner made for version %u of the library's interface, this is %u",
                       row->abi, HYPAR_ABI_VERSION);
    if (!row->name || !row->summary || !row->plan)
        return hp_fail(err, HYPAR_INVALID, "a planner without name, summary or function");
    if (!is_name(row->name))
        return hp_fail(err, HYPAR_INVALID,
                       "planner '%s': expected a name of at most 23 small letters, digits, "
                       "'-', '_' and '.'",
                       row->name);
    if (hp_find_planner(row->name))
        return hp_fail(err, HYPAR_INVALID, "planner '%s': there is one of that name",
                       row->name);
    if (n_own == HYPAR_MAX_OWN_PLANNERS)
        return hp_fail(err, HYPAR_UNSUPPORTED, "planner '%s': there are %d already", row->name,
                       n_own);
    return HYPAR_OK;
}

enum hypar_status hypar_planner_register(const struct hypar_planner *row,
                                         struct hypar_error *err)
{
    unsigned takes;
    for (int i = 0; i < n_own; i++)
        if (own[i].own == row)
            return HYPAR_OK;
    TRY(check_row(row, err));
    TRY(hp_in(err, hp_options_named(&takes, row->takes, err), "planner '%s'", row->name));
    own[n_own++] = (struct planner){
        .info = { .name = row->name,
                  .summary = row->summary,
                  .source = row->source ? row->source : "",
                  .proposes = takes & (TAKES_PROPOSALS | TAKES_BUDGET) },
        .plan = plan_own,
        .not_in_auto = !row->in_auto,
        .asks_links = row->in_auto,
        .unequal_shares = row->in_auto,
        .takes = takes,
        .own = row,
    };
    return HYPAR_OK;
}

enum hypar_status hypar_planner_load(const char **name, const char *path,
                                     struct hypar_error *err)
{
    const struct hypar_planner *row;
    struct library_symbol symbol = { HYPAR_PLANNER_SYMBOL, &row };
    void *library;
    *name = NULL;
    if (hp_library_load(&library, path, LIBRARY_APART, &symbol, 1, err) != HYPAR_OK)
        return HYPAR_UNREADABLE;
    enum hypar_status status = hp_in(err, hypar_planner_register(row, err), "%s", path);
    if (status == HYPAR_OK)
        *name = row->name;
    else
        hp_library_unload(library);
    return status;
}
