/* The meaning of each option's key, and the parser of a command line. */
#include "cli/opt.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum value_kind {
    FLAG,
    TEXT,
    TEXTS,
    LIST,  /* parts separated by commas; a repeated option adds parts */
    READ,  /* TEXT: a file, or a word in its place */
    WRITE, /* TEXT: a file */
    COUNT,
    BATCH, /* COUNT, or what else the command takes */
    NUMBER,
    BYTES,
    SECONDS,
    DURATION /* SECONDS, or minutes or hours */
};

/* The options: what kind of value each takes and where that is kept. */
static const struct value {
    enum opt_key key;
    const char *name;
    enum value_kind kind;
    size_t offset;
    double least, most; /* of a COUNT, of a BATCH */
} values[] = {
#define OPT(key, letter, name, kind, member, least, most) \
    { OPT_##key, name, kind, offsetof(struct args, member), least, most },
#include "cli/opt_list.h"
#undef OPT
};

static const struct value *find_value(int key)
{
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++)
        if ((int)values[i].key == key)
            return &values[i];
    return NULL;
}

static const struct argp_option common_options[] = {
    { "json", OPT_JSON, NULL, 0, "report as JSON, in SI units", 0 },
    { "output", OPT_OUTPUT, "FILE", 0, "write the result to FILE (-: standard output)", 0 },
    { "quiet", OPT_QUIET, NULL, 0, "no progress, no notes; with -o no summary", 0 },
    { "help", OPT_HELP, NULL, 0, "print this help", -1 },
    { 0 },
};

/* The state of the parser. */
struct parse {
    const struct command *command;
    struct args *args;
    struct hypar_error *err;
    char name[64]; /* "hypar import", for the usage line */
};

enum hypar_status opt_usage(struct hypar_error *err, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(err->text, sizeof err->text, fmt, ap);
    va_end(ap);
    return HYPAR_USAGE;
}

/* Where room is short the front of the path is cut. */
enum hypar_status opt_in_file(const char *path, enum hypar_status status,
                              struct hypar_error *err)
{
    if (status == HYPAR_OK || status == HYPAR_USAGE || status == HYPAR_RUNTIME)
        return status;
    if (strcmp(path, "-") == 0)
        path = "standard input";
    size_t n = strlen(path), length = strlen(err->text), most = sizeof err->text - sizeof ": ";
    size_t room = most > length ? most - length : 0;
    if (n > room) {
        path += n - room;
        while (((unsigned char)*path & 0xc0) == 0x80) /* not from the middle of a character */
            path++;
        n = strlen(path);
    }
    if (n > 0) {
        memmove(err->text + n + 2, err->text, length + 1);
        memcpy(err->text, path, n);
        memcpy(err->text + n, ": ", 2);
    }
    return status;
}

/* An option that may be given several times. */
static error_t add_text(const struct value *value, struct text_list *list, const char *text,
                        struct parse *parse)
{
    if (list->n == MAX_FIXES) {
        opt_usage(parse->err, "%s: more than %d times", value->name, MAX_FIXES);
        return EINVAL;
    }
    list->text[list->n++] = text;
    return 0;
}

static error_t add_to_list(const struct value *value, char list[LIST_BYTES], const char *text,
                           struct parse *parse)
{
    size_t n = strlen(list), room = LIST_BYTES - n;
    if ((size_t)snprintf(list + n, room, "%s%s", n ? "," : "", text) >= room) {
        opt_usage(parse->err, "%s: more than %d characters", value->name, LIST_BYTES - 1);
        return EINVAL;
    }
    return 0;
}

/* Is it a batch that is not a number: the largest, or several? The last that is said counts. */
static bool set_batches(const char *text, struct parse *parse)
{
    struct args *args = parse->args;
    bool several = strchr(text, ',') || strstr(text, "..");
    args->largest_batch = parse->command->takes_largest && strcmp(text, "max") == 0;
    args->batches = parse->command->takes_batches && several ? text : NULL;
    return args->largest_batch || args->batches;
}

static error_t set_value(const struct value *value, char *text, struct parse *parse)
{
    void *at = (char *)parse->args + value->offset;
    double number;
    enum hypar_unit unit;

    switch (value->kind) {
    case FLAG:
        *(bool *)at = true;
        return 0;
    case TEXT:
    case READ:
    case WRITE:
        if (value->key == OPT_ON && parse->command->takes_machines && *(const char **)at)
            return add_text(value, &parse->args->other_machines, text, parse);
        *(const char **)at = text;
        return 0;
    case TEXTS:
        return add_text(value, at, text, parse);
    case LIST:
        return add_to_list(value, at, text, parse);
    case BATCH:
        if (set_batches(text, parse)) {
            *(int64_t *)at = 0;
            return 0;
        } /* fall through */
    case COUNT:
        if (!hypar_parse_quantity(text, HYPAR_UNIT_COUNT, &number) || number != floor(number) ||
            number < value->least || number > value->most) {
            opt_usage(parse->err, "%s: '%s' is not a whole number from %.0f to %.0f%s",
                      value->name, text, value->least, value->most,
                      value->kind == BATCH && parse->command->takes_largest ? ", or max" : "");
            return EINVAL;
        }
        *(int64_t *)at = (int64_t)number;
        return 0;
    case NUMBER:
        if (!hypar_parse_quantity(text, HYPAR_UNIT_COUNT, &number) || !(number > 0)) {
            opt_usage(parse->err, "%s: '%s' is not a number above 0", value->name, text);
            return EINVAL;
        }
        *(double *)at = number;
        return 0;
    case BYTES:
    case SECONDS:
    case DURATION:
        unit = value->kind == BYTES     ? HYPAR_UNIT_BYTES
               : value->kind == SECONDS ? HYPAR_UNIT_SECONDS
                                        : HYPAR_UNIT_DURATION;
        if (!hypar_parse_quantity(text, unit, &number) ||
            (unit == HYPAR_UNIT_BYTES && hypar_lacks_unit(text, unit)) ||
            (number <= 0 && value->key != OPT_TRACE_FROM)) { /* which may be the beginning */
            opt_usage(parse->err, "%s: '%s' is not %s", value->name, text,
                      hypar_unit_text(unit));
            return EINVAL;
        }
        *(double *)at = number;
        return 0;
    }
    return EINVAL;
}

static error_t add_operand(char *text, struct parse *parse)
{
    const struct command *command = parse->command;
    struct args *args = parse->args;

    if (args->n_operands == command->max_operands) {
        opt_usage(parse->err, "%s: unexpected operand '%s'; see 'hypar %s --help'",
                  command->name, text, command->name);
        return EINVAL;
    }
    args->operand[args->n_operands++] = text;
    return 0;
}

static error_t parse_key(int key, char *text, struct argp_state *state)
{
    struct parse *parse = state->input;

    if (key == ARGP_KEY_INIT)
        state->err_stream = NULL; /* getopt prints the error; argp adds no second line */
    if (key == OPT_HELP) {
        parse->args->help = true;
        state->name = parse->name;
        free(hypar_or_out_of_memory(malloc(1 << 20))); /* without memory argp aborts */
        argp_state_help(state, stdout, ARGP_HELP_SHORT_USAGE | ARGP_HELP_LONG | ARGP_HELP_DOC);
        return ECANCELED; /* what follows does not matter */
    }
    if (key == ARGP_KEY_ARG)
        return add_operand(text, parse);
    const struct value *value = find_value(key);
    return value ? set_value(value, text, parse) : ARGP_ERR_UNKNOWN;
}

/* argp would explain that `-b, --batch=N` also means `-b N`. */
static char *without_note(int key, const char *text, void *input)
{
    (void)input;
    return key == ARGP_KEY_HELP_DUP_ARGS_NOTE ? NULL : (char *)text;
}

struct option_table {
    struct argp_option row[OPT_MAX_ROWS];
    struct argp argp;
};

int opt_rows(const struct command *command, struct argp_option row[OPT_MAX_ROWS])
{
    int n = 0;
    for (const struct argp_option *o = command->options; o && o->name; o++)
        row[n++] = *o;
    for (const struct argp_option *o = common_options; o->name; o++)
        row[n++] = *o;
    assert(n < OPT_MAX_ROWS);
    return n;
}

const char *opt_name(int key)
{
    return find_value(key)->name;
}

bool opt_is_file(int key)
{
    const struct value *value = find_value(key);
    return value && (value->kind == READ || value->kind == WRITE);
}

static void make_table(struct option_table *table, const struct command *command)
{
    memset(table, 0, sizeof *table);
    opt_rows(command, table->row);
    table->argp = (struct argp){
        .options = table->row,
        .parser = parse_key,
        .args_doc = command->operands,
        .doc = command->doc,
        .help_filter = without_note,
    };
}

/* getopt prints an unknown letter unchanged; an unprintable letter is never one of our options.
 */
static void clean_letters(int argc, char **argv)
{
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++)
        if (argv[i][0] == '-' && argv[i][1] != '-')
            hypar_clean_text(argv[i]);
}

/* The files that were named, operands first; and `read`, unless NULL. */
static enum hypar_status check_files(const struct args *args, const char *read,
                                     struct hypar_error *err)
{
    struct named_file file[MAX_OPERANDS + sizeof values / sizeof values[0] + 1];
    int n = 0;
    for (int i = 0; i < args->n_operands; i++)
        file[n++] = (struct named_file){ NULL, args->operand[i], 0, false };
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        const struct value *v = &values[i];
        bool write = v->kind == WRITE;
        if (!write && v->kind != READ)
            continue;
        const char *path = *(const char *const *)((const char *)args + v->offset);
        if (path)
            file[n++] = (struct named_file){ v->name, path, v->key, write };
    }
    if (read)
        file[n++] = (struct named_file){ NULL, read, 0, false };
    return opt_check_files(file, n, err);
}

enum hypar_status opt_try_outputs(const struct args *args, struct hypar_error *err)
{
    enum hypar_status status = HYPAR_OK;
    for (size_t i = 0; status == HYPAR_OK && i < sizeof values / sizeof values[0]; i++) {
        const char *const *path = (const void *)((const char *)args + values[i].offset);
        if (values[i].kind == WRITE && *path)
            status = hypar_output_try(*path, err);
    }
    return status;
}

/* Refuse --json on standard output if another output of the command goes there, too. */
static enum hypar_status check_json(const struct command *command, const struct args *args,
                                    struct hypar_error *err)
{
    bool elsewhere = args->output && !command->output_is_plan;
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        const struct value *v = &values[i];
        if (v->kind != WRITE || v->key == OPT_OUTPUT || !args->json || elsewhere)
            continue;
        if (opt_is_standard(*(const char *const *)((const char *)args + v->offset)))
            return opt_usage(err, "--json beside %s -: expected one of them on standard output",
                             v->name);
    }
    return HYPAR_OK;
}

enum hypar_status opt_reads(void *args, const char *path, struct hypar_error *err)
{
    return check_files(args, path, err);
}

/* --attention is an option of the model: it becomes part of the word, which plans keep. */
static enum hypar_status add_attention(struct args *args, struct hypar_error *err)
{
    const char *model = args->operand[0];
    if (!args->n_operands || strcmp(model, "-") == 0 || hypar_model_is_path(model))
        return opt_usage(err, "--attention is for models of the zoo%s%s%s",
                         args->n_operands ? ", and '" : "", args->n_operands ? model : "",
                         args->n_operands ? "' is a file" : "");
    int n = snprintf(args->word, sizeof args->word, "%s%sattention=%s", model,
                     strchr(model, ':') ? "," : ":", args->attention);
    if ((size_t)n >= sizeof args->word)
        return opt_usage(err, "model '%.40s...': too long, expected less than %d characters",
                         model, LIST_BYTES);
    args->operand[0] = args->word;
    return HYPAR_OK;
}

enum hypar_status opt_parse(const struct command *command, int argc, char **argv,
                            struct args *out, struct hypar_error *err)
{
    char program[] = "hypar"; /* stands in front of getopt's messages */
    struct parse parse = { command, out, err, "" };
    struct option_table table;

    memset(out, 0, sizeof *out);
    out->argc = argc;
    out->argv = argv;
    out->command = command->name;
    err->text[0] = '\0';
    snprintf(parse.name, sizeof parse.name, "hypar %s", command->name);
    make_table(&table, command);
    clean_letters(argc, argv);
    if (opt_check_names(command, table.row, argc, argv, err) != HYPAR_OK)
        return HYPAR_USAGE;
    argv[0] = program;
    error_t error =
        argp_parse(&table.argp, argc, argv, ARGP_NO_HELP | ARGP_NO_EXIT, NULL, &parse);
    argv[0] = NULL;
    if (error == ENOMEM)
        hypar_out_of_memory(0);
    if (error)
        return out->help ? HYPAR_OK : HYPAR_USAGE;
    if (out->n_operands < command->min_operands)
        return opt_usage(err, "%s: missing operand %.*s; see 'hypar %s --help'", command->name,
                         (int)strcspn(command->operands, "\n"), command->operands,
                         command->name);
    if (out->attention && add_attention(out, err) != HYPAR_OK)
        return HYPAR_USAGE;
    if (check_json(command, out, err) != HYPAR_OK)
        return HYPAR_USAGE;
    return check_files(out, NULL, err);
}
