/* The plan that `hypar train` runs: read from a file, found by a search, or handed on. */
#define _GNU_SOURCE

#include "cli/train_plan.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/launch.h"
#include "cli/plan_text.h"

void train_plan_free(struct train_plan *p)
{
    hypar_plan_free(p->read);
    hypar_profile_free(p->profile);
    hypar_found_free(p->found);
    hypar_machine_free(p->machine);
    hypar_graph_free(p->graph);
    *p = (struct train_plan){ NULL };
}

enum hypar_status train_profile(const struct args *args, const struct hypar_machine *machine,
                                struct hypar_sim_options *how, struct hypar_profile **profile,
                                struct hypar_error *err)
{
    if (args->profile)
        TRY(hypar_profile_read(profile, args->profile, err));
    how->profile = *profile;
    opt_local_profile(args, machine, how, profile);
    return HYPAR_OK;
}

bool train_on_card(const struct args *args)
{
    return args->run_device && strcmp(args->run_device, "cuda") == 0;
}

const char *train_card_device(void)
{
    struct hypar_card card;
    const char *found = NULL;
    if (hypar_cards(&card, 1) < 1)
        return NULL;
    for (int i = 0; opt_device_word(i); i++)
        if (strcasestr(card.name, opt_device_word(i)) &&
            (!found || strlen(opt_device_word(i)) > strlen(found)))
            found = opt_device_word(i);
    return found;
}

/* The machine to plan for, if none is named: this one, or its cards where each rank has one
 * that is known. */
static void own_machine(const struct args *args, int ranks, char *word, size_t n)
{
    const char *device = train_on_card(args) ? train_card_device() : NULL;
    if (device && ranks <= hypar_cards(NULL, 0))
        snprintf(word, n, "full:%d,device=%s", ranks, device);
    else
        snprintf(word, n, "local:%d", ranks);
}

static enum hypar_status search(const struct args *args, int ranks, struct train_plan *p,
                                struct hypar_error *err)
{
    char word[64], model[2 * PATH_MAX];
    struct hypar_search_options how = { .planner = args->planner,
                                        .stages = args->stages,
                                        .micro_batches = args->micro_batches,
                                        .clip = args->clip,
                                        .seed = args->seed };
    own_machine(args, ranks, word, sizeof word);
    TRY(opt_choices(args, &how, err));
    TRY(opt_import(args, &p->graph, err));
    TRY(hypar_machine_read(&p->machine, args->machine ? args->machine : word, err));
    how.model = plan_model_word(args->operand[0], model, sizeof model);
    how.machine = hypar_machine_word(p->machine);
    struct hypar_sim_options simulation = { .timeline = false };
    TRY(train_profile(args, p->machine, &simulation, &p->profile, err));
    how.profile = p->profile;
    how.simulation = p->profile ? &simulation : NULL;
    enum hypar_status status = hypar_search(&p->found, p->graph, p->machine, &how, err);
    if (status == HYPAR_OK)
        p->plan = hypar_found_plan(p->found);
    return status;
}

bool train_names_plan(const struct args *args)
{
    return launch_plan() || opt_is_of_format(args->operand[0], "hypar-plan/");
}

static enum hypar_status read_plan(const struct args *args, const char *path,
                                   struct train_plan *p, struct hypar_error *err)
{
    struct args as_it_is = *args;
    as_it_is.machine = NULL; /* --on belongs to a search; the plan names its machine */
    enum hypar_status status = opt_read_plan(&as_it_is, path, NULL, &p->read, err);
    p->plan = p->read;
    return status;
}

/* Refuse options of a model if the operand is a plan. */
static enum hypar_status check_plan_options(const struct args *args, struct hypar_error *err)
{
    const struct {
        const char *name;
        bool given;
    } of_model[] = {
        { "--planner", args->planner },
        { "--on", args->machine },
        { "--batch", args->batch != 0 },
        { "--precision", args->precision },
        { "--optimizer", args->optimizer },
        { "--seed", args->seed != 0 },
        { "--clip", args->clip > 0 },
        { "--freeze", *args->freeze },
        { "--recompute", args->recompute },
        { "--shard", args->shard },
        { "--shard-over", args->shard_over != 0 },
        { "--stages", args->stages != 0 },
        { "--micro-batches", args->micro_batches != 0 },
        { "--dropout-masks", args->dropout_masks },
    };
    for (size_t i = 0; i < sizeof of_model / sizeof *of_model; i++)
        if (of_model[i].given)
            return opt_usage(err, "train: %s is for a model, and %s is a plan",
                             of_model[i].name, args->operand[0]);
    return HYPAR_OK;
}

enum hypar_status train_plan(const struct args *args, int ranks, struct train_plan *p,
                             struct hypar_error *err)
{
    *p = (struct train_plan){ NULL };
    if (!train_names_plan(args))
        return search(args, ranks, p, err);
    if (!launch_plan())
        TRY(check_plan_options(args, err));
    return read_plan(args, launch_plan() ? launch_plan() : args->operand[0], p, err);
}

/* Check options against ranks that another launcher has started. */
static enum hypar_status check_ranks(const struct args *args, const struct hypar_ranks *ranks,
                                     struct hypar_error *err)
{
    int n = hypar_ranks_count(ranks);
    if (!launch_plan() && strcmp(args->operand[0], "-") == 0)
        return opt_usage(err, "train: standard input reaches one rank alone, expected a file");
    if (args->ranks && args->ranks != n)
        return opt_usage(err, "train: --ranks %d, but %d were started", (int)args->ranks, n);
    return HYPAR_OK;
}

/* All of standard input; the caller frees it. */
static char *read_input(void)
{
    char *text = NULL, piece[4096];
    size_t size, n;
    FILE *to = hypar_or_out_of_memory(open_memstream(&text, &size));
    while ((n = fread(piece, 1, sizeof piece, stdin)) > 0)
        fwrite(piece, 1, n, to);
    fclose(to);
    return hypar_or_out_of_memory(text);
}

/* A plan from its text. */
static enum hypar_status read_text(const struct args *args, const char *text,
                                   struct train_plan *p, struct hypar_error *err)
{
    char path[64];
    int fd = plan_text_file(text, err);
    if (fd < 0)
        return HYPAR_RUNTIME;
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    enum hypar_status status = read_plan(args, path, p, err);
    close(fd);
    return status;
}

/* Rank 0's plan as a text: from the launching process, or found here. */
static enum hypar_status make_text(const struct args *args, int ranks, char **text,
                                   struct hypar_error *err)
{
    struct train_plan p;
    if (launch_hands_on()) {
        *text = read_input();
        return HYPAR_OK;
    }
    enum hypar_status status = train_plan(args, ranks, &p, err);
    if (status == HYPAR_OK)
        *text = plan_to_text(p.plan);
    train_plan_free(&p);
    return status;
}

enum hypar_status train_plan_together(const struct args *args, struct hypar_ranks *ranks,
                                      struct train_plan *p, struct hypar_error *err)
{
    char *text = NULL;
    enum hypar_status status = check_ranks(args, ranks, err);
    *p = (struct train_plan){ NULL };
    if (status != HYPAR_OK)
        return hypar_ranks_agree(ranks, status, err);
    if (train_names_plan(args) && !launch_hands_on())
        return hypar_ranks_agree(ranks, train_plan(args, 0, p, err), err);
    if (hypar_ranks_rank(ranks) == 0)
        status = make_text(args, hypar_ranks_count(ranks), &text, err);
    status = hypar_ranks_agree(ranks, status, err);
    if (status == HYPAR_OK) {
        status = read_text(args, hypar_ranks_share(ranks, text), p, err);
        status = hypar_ranks_agree(ranks, status, err);
    }
    free(text);
    return status;
}
