/* cli/opt.h - commands, their options and their arguments.
 *
 * A command is one const struct in its own cmd_*.c file and one row of the table in main.c. Its
 * options are an argp table, from which --help is printed; opt.c defines the meaning of each
 * key once, for all commands. */
#ifndef CLI_OPT_H
#define CLI_OPT_H

#include <argp.h>
#include <hypar/hypar.h>

/* Leave the function with the status of `call` unless it is HYPAR_OK. */
#define TRY(call)                        \
    do {                                 \
        enum hypar_status try_ = (call); \
        if (try_ != HYPAR_OK)            \
            return try_;                 \
    } while (0)

/* The options in the order of their list, then their keys; a letter is also the short option.
 */
enum {
#define OPT(key, ...) NUMBER_##key,
#include "cli/opt_list.h"
#undef OPT
};
enum opt_key {
    OPT_HELP = 'h',
#define OPT(key, letter, ...) OPT_##key = (letter) ? (letter) : 256 + NUMBER_##key,
#include "cli/opt_list.h"
#undef OPT
};

enum { MAX_OPERANDS = 32, MAX_FIXES = 64, LIST_BYTES = 1024 };

/* The parsed command line. Members of options that are not given are 0, NULL or empty. Pointers
 * lead into main's argv. */
struct args {
    const char *operand[MAX_OPERANDS];
    int n_operands;
    const char *model, *machine, *output, *planner;
    char planners[LIST_BYTES]; /* `planner`, if some names were files that are now loaded ... */
    bool beside;               /* ... namely all but the first of several */
    char batch_dims[LIST_BYTES], dims[LIST_BYTES], freeze[LIST_BYTES];
    const char *objective, *optimizer, *precision, *gradient_precision, *dropout_masks,
        *recompute, *recurrence, *shard;
    int64_t shard_over;
    const char *bandwidth, *batches, *cost, *csv, *device, *devices, *layers, *levels, *mark,
        *nearest, *svg, *target, *topology, *write_as;
    const char *profile, *trace, *trace_devices, *trace_names, *timeline, *start, *measured;
    double trace_from_s, trace_to_s;
    int64_t trace_bars;
    bool trace_arrows;
    const char *attention, *axes, *sync, *all_reduce, *as, *schedule;
    struct hypar_framework *framework; /* that --as names, else the usual one of --for; NULL */
    char word[LIST_BYTES];             /* operand 0 with the words of `attention` */
    const char *bind, *hostfile, *checkpoint, *data, *init, *kernels, *rate, *resume,
        *run_device, *test_data;
    struct text_list {
        int n;
        const char *text[MAX_FIXES];
    } fix, sweep, planner_options, other_machines;
    int64_t batch, seed, check_delta, operators, proposals, stages, micro_batches, minibatches;
    int64_t replicas, tensor, pipeline, chunks, max_tensor, max_pipeline;
    int64_t steps, ranks, threads, warm_up, every, test_every;
    double clip, learning_rate, weight_decay;
    bool check, detail, in_process, links, partial_weights;
    const char *command;
    int argc; /* the command's own arguments, its name first */
    char **argv;
    double memory_bytes, framework_bytes, bucket_bytes, measured_s, budget_s, wait_note_s;
    int64_t memory_certainty; /* per cent */
    bool json, quiet, help, joint, local_bn, expand_collectives, no_overlap, half_duplex, fits;
    bool one_class, forward, straight, use_fewer, free_transfers, vertical_sync, follow_links,
        sequence_parallel, largest_batch;
};

struct command {
    const char *name;
    const char *operands; /* as the usage line shows them, other forms in lines of their own;
                             NULL: none */
    int min_operands, max_operands;
    const char *summary;                /* one line, for hypar --help */
    const char *doc;                    /* for hypar COMMAND --help */
    const struct argp_option *options;  /* beyond --json, -o, -q and --help; ends with { 0 } */
    const char *(*operand_word)(int i); /* what an operand may be, by number; or NULL */
    bool names_alone;                   /* the operand is such a word, never a file */
    bool output_is_plan;                /* -o is not for what --json reports */
    bool takes_largest;                 /* --batch max */
    bool takes_batches;                 /* --batch 64..4096, 64,96 */
    bool takes_machines;                /* --on again: others beside the first */
    enum hypar_status (*run)(const struct args *args, struct hypar_error *err);
};

extern const struct command cmd_plan, cmd_compare, cmd_simulate, cmd_explain, cmd_explore,
    cmd_export, cmd_lower, cmd_fit, cmd_import, cmd_check, cmd_report, cmd_train, cmd_profile,
    cmd_models, cmd_machines, cmd_frameworks, cmd_planners, cmd_ops, cmd_completion;

/* Every command, in the order of the help; NULL behind the last. */
const struct command *opt_command(int i);

/* The options of a command: its own, then the common ones. Returns how many. */
enum { OPT_MAX_ROWS = 64 };
int opt_rows(const struct command *command, struct argp_option row[OPT_MAX_ROWS]);

/* HYPAR_USAGE if a long option in argv is in none of `rows`, the command's options. The error
 * names the nearest option, or the commands that have this option. */
enum hypar_status opt_check_names(const struct command *command, const struct argp_option *row,
                                  int argc, char **argv, struct hypar_error *err);

/* Is `path` standard output? `path` may be NULL. */
bool opt_is_standard(const char *path);

/* The name of an option, such as "--planner"; and may its value be a file? */
const char *opt_name(int key);
bool opt_is_file(int key);

/* Word `i` that an option accepts; NULL past the last. */
const char *opt_word(int key, int i);
/* The number of the word called `text`; -1: there is none. opt_unknown_word(): HYPAR_USAGE,
 * with all words. */
int opt_find_word(enum opt_key key, const char *text);
enum hypar_status opt_unknown_word(enum opt_key key, const char *text, struct hypar_error *err);

/* Words of the library's tables, one by one. */
const char *opt_device_word(int i);
const char *opt_framework_word(int i);
const char *opt_model_word(int i);
const char *opt_planner_word(int i);
const char *opt_topology_word(int i);

/* clang-format off */
/* Options of every command that makes a plan for a machine. */
#define OPT_NUMBERS_ROWS                                                                       \
    { "precision", OPT_PRECISION, "NAME", 0,                                                   \
      "fp32, tf32, bf16, fp16 or fp64, or PyTorch's bfloat16 and so on (fp32; for a "          \
      "target on GPUs bf16)", 0 },                                                             \
    { "gradient-precision", OPT_GRADIENT_PRECISION, "NAME", 0,                                 \
      "of parameter gradients: that of the parameters, or fp32 beside bf16 and fp16 "          \
      "(that of the parameters; fp32 under fsdp, megatron)", 0 },                              \
    { "optimizer", OPT_OPTIMIZER, "NAME", 0,                                                   \
      "sgd, momentum, adam or adamw (sgd; for a target on GPUs adamw)", 0 },                   \
    { "framework-memory", OPT_FRAMEWORK_MEMORY, "BYTES", 0,                                    \
      "memory of each device that the framework takes besides, such as 2GB (0)", 0 },          \
    { "memory-margin", OPT_MEMORY_MARGIN, "PERCENT", 0,                                        \
      "how likely a plan is to fit into a device's own memory (95)", 0 }

#define OPT_DROPOUT_MASKS_ROW                                                                  \
    { "dropout-masks", OPT_DROPOUT_MASKS, "HOW", 0,                                            \
      "kept for the backward pass, or drawn again there (drawn; kept under megatron)", 0 }

/* Options of every command that makes a plan for training. */
#define OPT_CLIP_ROW                                                                           \
    { "clip", OPT_CLIP, "NORM", 0, "gradients have at most this norm, all together (any)", 0 }

#define OPT_FOR_ROW                                                                            \
    { "for", OPT_FOR, "FRAMEWORK", 0,                                                          \
      "torch, megatron or deepspeed: only plans that it can run, with its usual --as, "        \
      "--precision and --optimizer (any)", 0 }

#define OPT_RECOMPUTE_ROW                                                                      \
    { "recompute", OPT_RECOMPUTE, "WHAT", 0,                                                   \
      "full (repeated layers), selective (scores of attention) or none: compute again in "     \
      "the backward half instead of keeping it (none)", 0 }

#define OPT_SHARD_ROW                                                                          \
    { "shard", OPT_SHARD, "WHAT", 0,                                                           \
      "optimizer, gradients or parameters (or zero1, zero2, zero3): what devices that "        \
      "have the same of a parameter divide among them (none)", 0 }

#define OPT_SHARD_OVER_ROW                                                                     \
    { "shard-over", OPT_SHARD_OVER, "N", 0,                                                    \
      "--shard divides among groups of N devices (all that have the same)", 0 }

#define OPT_FREEZE_ROW                                                                         \
    { "freeze", OPT_FREEZE, "PATTERN", 0,                                                      \
      "parameters whose names fit are not trained (none); may be repeated", 0 }

/* Options of every command with a model as operand. */
#define OPT_ATTENTION_ROW                                                                      \
    { "attention", OPT_ATTENTION, "HOW", 0,                                                    \
      "transformers of the zoo: fused, or unfused: scores lie in memory (fused)", 0 }

/* Options of every command that reads a model. */
#define OPT_FOLLOW_LINKS_ROW                                                                   \
    { "follow-links", OPT_FOLLOW_LINKS, NULL, 0,                                               \
      "follow links that lead to weights outside the model's folder", 0 }

/* Options of every command that reads a model of any kind. */
#define OPT_MODEL_ROWS                                                                         \
    { "batch-dim", OPT_BATCH_DIM, "NAME=DIM", 0,                                               \
      "ONNX: the dimension of input NAME with the samples (0)", 0 },                           \
    OPT_ATTENTION_ROW,                                                                         \
    { "dim", OPT_DIM, "NAME=N", 0, "ONNX: size of the symbolic dimension NAME", 0 },           \
    OPT_FOLLOW_LINKS_ROW

/* Options of simulation: rows of an argp table that commands share. */
#define OPT_AS_ROW                                                                              \
    { "as", OPT_AS, "FRAMEWORK", 0,                                                             \
      "the job is run as fsdp, megatron, nemo, ... or a file says, fsdp,kernels=compiled "      \
      "('hypar frameworks'; compiled, or what a plan says)", 0 }
#define OPT_ALL_REDUCE_ROW                                                                      \
    { "all-reduce", OPT_ALL_REDUCE, "HOW", 0,                                                   \
      "sum by ring, tree, multi-ring, direct, server, ... (auto: the fastest that sends to at most two others a round)", 0 }
#define OPT_SIMULATION_ROWS                                                                     \
    { "expand-collectives", OPT_EXPAND, NULL, 0,                                                \
      "simulate every message of a collective, not the collective as one", 0 },                 \
    OPT_ALL_REDUCE_ROW,                                                                         \
    OPT_AS_ROW,                                                                                 \
    { "no-overlap", OPT_NO_OVERLAP, NULL, 0,                                                    \
      "a device that sends or receives does not compute", 0 },                                  \
    { "half-duplex", OPT_HALF_DUPLEX, NULL, 0,                                                  \
      "the two directions of a link take turns", 0 },                                           \
    { "one-class", OPT_ONE_CLASS, NULL, 0,                                                      \
      "links serve sums of gradients in turn with all else, not after it", 0 },                 \
    { "minibatches", OPT_MINIBATCHES, "N", 0,                                                   \
      "pipedream: simulate N of them (enough to fill the pipeline and go on a while)", 0 },     \
    { "bucket", OPT_BUCKET, "BYTES", 0, "sum gradients in buckets of about this size, as 25MB", \
      0 },                                                                                      \
    { "local-bn", OPT_LOCAL_BN, NULL, 0, "batch norm over each part's own samples", 0 },        \
    { "profile", OPT_PROFILE, "FILE", 0, "measured times, where FILE has them", 0 }
/* clang-format on */

/* Read the arguments of `command`, argv[0] being its name. --help prints the help, sets
 * out->help and leaves nothing to run. HYPAR_USAGE if they are wrong; then
 * err->text says why, or is empty when the message has already been printed. */
enum hypar_status opt_parse(const struct command *command, int argc, char **argv,
                            struct args *out, struct hypar_error *err);

/* Load the files of planners in --planner ("./mine.so"), and replace the files' names by the
 * planners' names. */
enum hypar_status opt_load_planners(struct args *args, struct hypar_error *err);

/* Write a reason into *err and return HYPAR_USAGE. */
enum hypar_status opt_usage(struct hypar_error *err, const char *fmt, ...) HYPAR_PRINTF(2, 3);

/* Put the file's name in front of the error of reading the file at `path`, or of using its
 * contents. Errors of usage and of writing stay unchanged. Returns `status`. */
enum hypar_status opt_in_file(const char *path, enum hypar_status status,
                              struct hypar_error *err);

/* A file of the command line. */
struct named_file {
    const char *option; /* "--trace"; NULL: an operand */
    const char *path;   /* of an input: may be a word that is no file */
    enum opt_key key;   /* of the option */
    bool write;
};

/* HYPAR_USAGE if a file would be written twice, or both read and written, under any of its
 * paths. Exceptions: pipes, devices and standard output, which take outputs one after another;
 * and the plan of --start, which the improved plan may replace. */
enum hypar_status opt_check_files(const struct named_file *file, int n,
                                  struct hypar_error *err);

/* Can every output file of the command line be written? HYPAR_RUNTIME if one cannot. Call this
 * before any work, in the process that will write the files. */
enum hypar_status opt_try_outputs(const struct args *args, struct hypar_error *err);

/* HYPAR_USAGE if `path` is an output of the command line. Readers call this, as `reads` with
 * `who` = `args` (a const struct args), before they read a file that another file names: the
 * model and the machine of a plan, the weights of an ONNX file. */
enum hypar_status opt_reads(void *args, const char *path, struct hypar_error *err);

/* Does the file name this format, such as "hypar-plan/"? What is read of standard input is put
 * back; other streams cannot be read twice, so the answer is false. */
bool opt_is_of_format(const char *path, const char *format);

/* Read the plan at `path`, with the machine of --on (if given) and `model` (unless NULL)
 * instead of its own. HYPAR_USAGE if a file that the plan names is also an output. */
enum hypar_status opt_read_plan(const struct args *args, const char *path, const char *model,
                                struct hypar_plan **out, struct hypar_error *err);

/* Objective, precisions, optimizer, masks, recurrence and sync, which are words; and the
 * framework's memory. HYPAR_USAGE for an unknown word. */
enum hypar_status opt_choices(const struct args *args, struct hypar_search_options *how,
                              struct hypar_error *err);

/* The same; options that are not given have the plan's values. */
enum hypar_status opt_choices_of(const struct args *args, const struct hypar_plan *plan,
                                 struct hypar_search_options *how, struct hypar_error *err);

/* Set options that are not given to the defaults of --for. */
void opt_take_defaults(const struct args *args, const struct hypar_machine *machine,
                       struct hypar_search_options *how);

/* A note if devices have no unit for the precision, but for the other 16-bit one. */
void opt_note_precision(const struct args *args, const struct hypar_machine *machine,
                        enum hypar_precision precision);

/* The options of simulation, with the profile of --profile (else NULL); the caller releases
 * *profile after use. */
enum hypar_status opt_simulation(const struct args *args, struct hypar_sim_options *how,
                                 struct hypar_profile **profile, struct hypar_error *err);

/* Rewrite one line on a terminal; `who` is the beginning of the line. */
void opt_show_progress(void *who, const struct hypar_search_progress *progress);

/* A note on standard error, unless -q. */
void opt_note(const struct args *args, const char *fmt, ...) HYPAR_PRINTF(2, 3);

/* ... if a given option has no effect. */
void opt_note_unused(const struct args *args, bool given, const char *option, const char *why);

/* ... if devices of the plan's machine have nothing to do. */
void opt_note_idle(const struct args *args, const struct hypar_plan *plan);

/* ... if the plan shards what its framework cannot shard. */
void opt_note_sharding(const struct args *args, const struct hypar_plan *plan);

/* ... if pipedream found that one stage, replicated, is fastest. */
void opt_note_one_stage(const struct args *args, const struct hypar_plan *plan);

/* ... if batch norms see the samples of a micro-batch only. */
void opt_note_statistics(const struct args *args, const struct hypar_plan *plan);

/* ... with the target's remarks for users who run the plan. */
void opt_note_target(const struct args *args, const struct hypar_plan *plan,
                     const char *target);

/* ... if recomputation was asked for, but no operator can be recomputed. */
void opt_note_recompute(const struct args *args, const struct hypar_plan *plan,
                        enum hypar_recompute asked);

/* Threads of each rank. */
static inline int opt_threads(const struct args *args)
{
    return args->threads ? (int)args->threads : 1;
}

/* The default path of this machine's profile with so many ranks: in $XDG_CACHE_HOME/hypar or
 * ~/.cache/hypar. False: neither folder is known. */
bool opt_profile_path(int ranks, int threads, char *path, size_t size);

/* Was a profile measured here, by as many ranks with --threads and --kernels? Else fills `how`
 * with the differences, in words. */
enum { OPT_HOW_BYTES = 320 };
bool opt_profile_is_of(const struct args *args, const struct hypar_profile *profile, int ranks,
                       char how[OPT_HOW_BYTES]);

/* ... if a profile at `path` was measured while the machine was busy with something else. */
void opt_note_spread(const struct args *args, const char *path,
                     const struct hypar_profile *profile);

/* Load the default profile for simulation if the machine is this one (local:N) and --profile is
 * not given; the caller frees it. Notes whether the profile was measured under other settings.
 */
void opt_local_profile(const struct args *args, const struct hypar_machine *machine,
                       struct hypar_sim_options *how, struct hypar_profile **profile);

/* ... if steps on this machine (local:N) are simulated without a profile. */
void opt_note_unmeasured(const struct args *args, const struct hypar_machine *machine,
                         const struct hypar_sim_options *how);

/* The same as opt_local_profile() for the machine that --on names. */
void opt_word_profile(const struct args *args, struct hypar_sim_options *how,
                      struct hypar_profile **profile);

/* ... if the profile of --profile has no time of this step. */
void opt_note_profile(const struct args *args, const struct hypar_sim_measured *measured);

/* The model that the first operand names, with the options that are for reading it. Notes about
 * it go to standard error, unless -q. */
enum hypar_status opt_import(const struct args *args, struct hypar_graph **out,
                             struct hypar_error *err);

/* Write the report of the operand, or without an operand of everything. */
enum hypar_status opt_catalogue(const struct args *args,
                                enum hypar_status (*report)(FILE *to, const char *name,
                                                            enum hypar_format format,
                                                            struct hypar_error *err),
                                struct hypar_error *err);

/* Read what --as names, or --for: args->framework, to be freed. */
enum hypar_status opt_read_framework(const struct command *command, struct args *args,
                                     struct hypar_error *err);

/* The output format: JSON with --json. */
enum hypar_format opt_format(const struct args *args);

/* The destination of a report: the file of -o, else standard output. */
const char *opt_output(const struct args *args);

/* From now on a signal that ends the command removes its unfinished files first, and a limit on
 * the size of files is an error of writing. */
void opt_catch_signals(void);

/* Between these two calls the first SIGINT or SIGTERM sets the returned flag, which ends a
 * search; a second one ends the command. */
const volatile sig_atomic_t *opt_stop_on_signals(void);
void opt_end_on_signals(void);

/* The search ends after `seconds` as after the first signal; opt_out_of_time(): have the
 * seconds passed? */
void opt_stop_after(double seconds);
bool opt_out_of_time(void);

/* Note, unless -q, that a search was interrupted; `what` describes the result so far. */
void opt_note_interrupted(const struct args *args, const char *what);

/* HYPAR_INFEASIBLE, with a device and what it lacks, if a simulated plan does not fit. */
enum hypar_status opt_check_fits(const struct hypar_sim *sim, struct hypar_error *err);

/* Close what hypar_output_open() opened: keep it if `status` is HYPAR_OK, else remove it and
 * return `status`. opt_place_files() puts the kept file in its place at the end of the command.
 */
enum hypar_status opt_close(struct hypar_output *out, enum hypar_status status,
                            struct hypar_error *err);

/* Write a plan to a file. */
enum hypar_status opt_write_plan(const struct hypar_plan *plan, const char *path,
                                 struct hypar_error *err);
/* Put the files that opt_close() kept in their places if `status`, that of the whole command,
 * is HYPAR_OK, HYPAR_STOPPED or the answer HYPAR_INFEASIBLE; else remove them. Returns
 * `status`, or the status of a failed write. */
enum hypar_status opt_place_files(enum hypar_status status, struct hypar_error *err);

/* A trace to write: `put` writes the trace of `what`. */
struct trace {
    struct hypar_trace_shown (*put)(FILE *to, const void *what,
                                    const struct hypar_trace_options *options);
    const void *what;
    int n_devices;
};

/* Are the options of traces given with --trace, and do they go together? Else HYPAR_USAGE. */
enum hypar_status opt_check_trace(const struct args *args, struct hypar_error *err);

/* Write the file of --trace, packed if its name ends in .gz. Note if the trace does not show
 * all tasks. */
enum hypar_status opt_write_trace(const struct args *args, const struct trace *trace,
                                  struct hypar_error *err);

/* Should the command print a summary in addition to the file of -o? -q suppresses a summary as
 * text, but not the result of --json. */
bool opt_wants_summary(const struct args *args);

#endif /* CLI_OPT_H */
