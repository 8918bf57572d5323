/* Options as the settings of searches and simulations. */
#include "cli/opt.h"

/* The value that the word of an option names, -1 if there is none; without the option
 * `otherwise`. */
static int named(enum hypar_name kind, const char *word, int otherwise)
{
    return word ? hypar_name_find(kind, word) : otherwise;
}

/* The degrees of planner 3d. */
static enum hypar_status choose_layout(const struct args *args, struct hypar_layout *out,
                                       struct hypar_error *err)
{
    *out = (struct hypar_layout){ .data = (int)args->replicas,
                                  .tensor = (int)args->tensor,
                                  .pipeline = (int)args->pipeline,
                                  .chunks = (int)args->chunks,
                                  .micro_batches = args->micro_batches,
                                  .sequence_parallel = args->sequence_parallel };
    int schedule = named(HYPAR_NAME_SCHEDULE, args->schedule, HYPAR_SCHEDULE_NONE);
    if (schedule < 0)
        return opt_unknown_word(OPT_SCHEDULE, args->schedule, err);
    out->schedule = (enum hypar_schedule_kind)schedule;
    if (args->schedule && out->schedule == HYPAR_SCHEDULE_NONE) {
        if (args->pipeline > 1)
            return opt_usage(err,
                             "--schedule: none has no stages, and --pipeline asks for %lld",
                             (long long)args->pipeline);
        out->pipeline = 1;
    }
    return HYPAR_OK;
}

static bool is_short(enum hypar_precision precision)
{
    return precision == HYPAR_BF16 || precision == HYPAR_FP16;
}

/* Take the framework's values for options that are not given. */
static void take_framework(const struct args *args, struct hypar_search_options *how)
{
    if (!args->gradient_precision)
        how->fp32_gradients =
            is_short(how->precision) && args->framework->gradients == HYPAR_WIDTH_FP32;
    if (!args->dropout_masks)
        how->masks = args->framework->keeps_masks ? HYPAR_MASKS_KEPT : HYPAR_MASKS_DRAWN;
}

/* Precisions, optimizer, masks and the framework's memory. */
static enum hypar_status choose_numbers(const struct args *args,
                                        struct hypar_search_options *how,
                                        struct hypar_error *err)
{
    int precision = named(HYPAR_NAME_PRECISION, args->precision, (int)how->precision);
    int optimizer = named(HYPAR_NAME_OPTIMIZER, args->optimizer, (int)how->optimizer);
    int masks = named(HYPAR_NAME_MASKS, args->dropout_masks, (int)how->masks);
    if (precision < 0)
        return opt_unknown_word(OPT_PRECISION, args->precision, err);
    how->precision = (enum hypar_precision)precision;
    if (args->precision)
        how->fp32_gradients = false; /* of a plan: of its precision */
    if (args->gradient_precision) {
        bool shorter = is_short(how->precision);
        int gradients = hypar_name_find(HYPAR_NAME_PRECISION, args->gradient_precision);
        if (gradients != precision && !(shorter && gradients == HYPAR_FP32))
            return opt_usage(err, "--gradient-precision: '%s' is not %s%s",
                             args->gradient_precision, hypar_precision_text(how->precision),
                             shorter ? " or fp32" : ", as the parameters are");
        how->fp32_gradients = shorter && gradients == HYPAR_FP32;
    }
    if (optimizer < 0)
        return opt_unknown_word(OPT_OPTIMIZER, args->optimizer, err);
    if (masks < 0)
        return opt_unknown_word(OPT_DROPOUT_MASKS, args->dropout_masks, err);
    how->optimizer = (enum hypar_optimizer)optimizer;
    how->masks = (enum hypar_masks)masks;
    if (args->framework)
        take_framework(args, how);
    if (args->framework_bytes > 0)
        how->framework_bytes = args->framework_bytes;
    if (args->memory_certainty > 0)
        how->memory_certainty = (double)args->memory_certainty / 100;
    return HYPAR_OK;
}

enum hypar_status opt_choices_of(const struct args *args, const struct hypar_plan *plan,
                                 struct hypar_search_options *how, struct hypar_error *err)
{
    struct hypar_plan_settings s = hypar_plan_settings(plan);
    how->precision = s.precision;
    how->fp32_gradients = hypar_plan_gradient_precision(plan) != s.precision;
    how->optimizer = s.optimizer;
    how->masks = s.masks;
    how->framework_bytes = s.framework_bytes;
    if (!(args->memory_bytes > 0))
        how->memory_bytes = s.memory_limit_bytes;
    return choose_numbers(args, how, err);
}

enum hypar_status opt_choices(const struct args *args, struct hypar_search_options *how,
                              struct hypar_error *err)
{
    int objective = args->objective ? opt_find_word(OPT_OBJECTIVE, args->objective) : 0;
    int sync = args->sync ? opt_find_word(OPT_SYNC, args->sync) : 0;
    int recurrence = args->recurrence ? opt_find_word(OPT_RECURRENCE, args->recurrence) : 0;
    if (objective < 0)
        return opt_unknown_word(OPT_OBJECTIVE, args->objective, err);
    if (sync < 0)
        return opt_unknown_word(OPT_SYNC, args->sync, err);
    if (recurrence < 0)
        return opt_unknown_word(OPT_RECURRENCE, args->recurrence, err);
    TRY(choose_layout(args, &how->layout, err));
    how->objective = (enum hypar_objective)objective;
    how->objective_given = args->objective != NULL;
    how->recurrence_given = args->recurrence != NULL;
    how->sync_given = args->sync != NULL;
    how->axes = args->axes;
    how->sync = sync ? HYPAR_SYNC_SERVER : HYPAR_SYNC_ALL_REDUCE;
    int shard = named(HYPAR_NAME_SHARD, args->shard, (int)how->shard);
    int recompute = named(HYPAR_NAME_RECOMPUTE, args->recompute, (int)how->recompute);
    if (shard < 0)
        return opt_unknown_word(OPT_SHARD, args->shard, err);
    how->shard = (enum hypar_shard)shard;
    if (args->shard_over && !how->shard)
        return opt_usage(err, "--shard-over needs --shard, which says what is divided");
    how->shard_given = args->shard != NULL;
    how->shard_over = (int)args->shard_over;
    if (recompute < 0)
        return opt_unknown_word(OPT_RECOMPUTE, args->recompute, err);
    how->recompute = (enum hypar_recompute)recompute;
    how->recompute_given = args->recompute != NULL;
    how->recurrence = recurrence ? HYPAR_RECURRENCE_PAPER : HYPAR_RECURRENCE_CODE;
    return args->start ? HYPAR_OK : choose_numbers(args, how, err);
}

enum hypar_status opt_simulation(const struct args *args, struct hypar_sim_options *how,
                                 struct hypar_profile **profile, struct hypar_error *err)
{
    *profile = NULL;
    *how = (struct hypar_sim_options){
        .lower = { .bucket_bytes = args->bucket_bytes,
                   .local_bn = args->local_bn,
                   .minibatches = args->minibatches,
                   .forward = args->forward },
        .expand_collectives = args->expand_collectives,
        .no_overlap = args->no_overlap,
        .half_duplex = args->half_duplex,
        .one_class = args->one_class,
        .all_reduce = args->all_reduce,
    };
    struct hypar_error why;
    if (hypar_check_all_reduce(args->all_reduce, &why) != HYPAR_OK)
        return opt_usage(err, "--all-reduce: %s", why.text);
    how->framework_given = args->framework != NULL;
    if (args->framework)
        how->framework = *args->framework;
    if (!args->profile) {
        opt_word_profile(args, how, profile);
        return HYPAR_OK;
    }
    enum hypar_status status = hypar_profile_read(profile, args->profile, err);
    how->profile = *profile;
    return status;
}

/* Does the command plan for the target that --for names? */
static bool takes_for(const struct command *command)
{
    for (const struct argp_option *o = command->options; o && o->name; o++)
        if (o->key == OPT_FOR)
            return true;
    return false;
}

enum hypar_status opt_read_framework(const struct command *command, struct args *args,
                                     struct hypar_error *err)
{
    const char *word = args->as;
    if (!word && args->target && takes_for(command))
        word = hypar_target_defaults(args->target, NULL).framework;
    return word ? hypar_framework_read(&args->framework, word, err) : HYPAR_OK;
}

void opt_take_defaults(const struct args *args, const struct hypar_machine *machine,
                       struct hypar_search_options *how)
{
    struct hypar_target_defaults usual = hypar_target_defaults(args->target, machine);
    if (!args->precision && !args->gradient_precision)
        how->precision = usual.precision;
    if (!args->optimizer)
        how->optimizer = usual.optimizer;
    if (args->framework)
        take_framework(args, how);
}
