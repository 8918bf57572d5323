#include "cli/launch.h"
#include "cli/opt.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <malloc.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Every command, in the order of the help. To add one: its file, a declaration in opt.h, a row
 * here, its man page. */
static const struct command *const commands[] = {
    &cmd_plan,       &cmd_compare,  &cmd_simulate, &cmd_explain,    &cmd_report,
    &cmd_explore,    &cmd_export,   &cmd_lower,    &cmd_train,      &cmd_profile,
    &cmd_import,     &cmd_check,    &cmd_fit,      &cmd_models,     &cmd_machines,
    &cmd_frameworks, &cmd_planners, &cmd_ops,      &cmd_completion,
};

enum { COMMAND_COUNT = sizeof commands / sizeof commands[0] };

const struct command *opt_command(int i)
{
    return i < COMMAND_COUNT ? commands[i] : NULL;
}

static void print_usage(FILE *to)
{
    fputs("Usage: hypar COMMAND [OPTION...] [OPERAND]\n"
          "How to split the training of a neural network over many devices.\n\n"
          "Commands:\n",
          to);
    for (int i = 0; i < COMMAND_COUNT; i++) {
        int indent = fprintf(to, "  %-10s ", commands[i]->name);
        hypar_report_text(to, commands[i]->summary, indent);
    }
    fputs("\n'hypar COMMAND --help' tells the options of one.\n", to);
}

/* "...: 8 x NVIDIA H200" */
static void add_cards(char *text, size_t size)
{
    enum { MOST = 64 };
    struct hypar_card card[MOST];
    int n = hypar_cards(card, MOST), same;
    for (int i = 0; i < n && i < MOST; i += same) {
        size_t length = strlen(text);
        for (same = 1; i + same < n && i + same < MOST; same++)
            if (strcmp(card[i + same].name, card[i].name) != 0)
                break;
        snprintf(text + length, size - length, "%s%d x %s", i ? ", " : ": ", same,
                 card[i].name);
    }
}

/* Print whether the library of a line of hypar_features(), such as "mpi: yes (...)", can be
 * loaded, and the consequence. A build may support a library that this machine lacks. */
static bool look_at_feature(const char *line, char name[32], struct hypar_error *means)
{
    char there[4];
    sscanf(line, "%31[^:]: %3s (%255[^)\n]", name, there, means->text);
    struct hypar_error why;
    if (strcmp(there, "yes") != 0)
        return false;
    if (hypar_feature_loads(name, &why) == HYPAR_OK) {
        if (strcmp(name, "mpi") == 0 && !launch_finds_mpirun())
            snprintf(means->text, sizeof means->text,
                     "training on several processes, but mpirun is not in PATH: under a "
                     "launcher of your own alone");
        if (strcmp(name, "cuda") == 0)
            add_cards(means->text, sizeof means->text);
        return true;
    }
    snprintf(means->text, sizeof means->text, "cannot be loaded: %.400s", why.text);
    return false;
}

static void print_version(FILE *to, bool json)
{
    unsigned version = hypar_version();
    struct hypar_error means;
    char name[32];
    fprintf(to, json ? "{\"version\": \"%u.%u.%u\", \"libraries\": {" : "hypar %u.%u.%u\n",
            version >> 16, version >> 8 & 255, version & 255);
    const char *line = hypar_features();
    for (int i = 0; *line; i++, line += strcspn(line, "\n") + 1) {
        bool there = look_at_feature(line, name, &means);
        if (!json) {
            fprintf(to, "%s: %s (%s)\n", name, there ? "yes" : "no", means.text);
            continue;
        }
        fprintf(to, "%s\"%s\": {\"there\": %s, \"means\": \"", i ? ", " : "", name,
                there ? "true" : "false");
        for (const char *c = hypar_clean_text(means.text); *c; c++)
            fprintf(to, strchr("\"\\", *c) ? "\\%c" : "%c", *c);
        fputs("\"}", to);
    }
    if (json)
        fputs("}}\n", to);
}

static const struct command *find_command(const char *name)
{
    for (int i = 0; i < COMMAND_COUNT; i++)
        if (strcmp(commands[i]->name, name) == 0)
            return commands[i];
    return NULL;
}

static enum hypar_status unknown_command(const char *word, struct hypar_error *err)
{
    const char *names[COMMAND_COUNT];
    int nearest;
    for (int i = 0; i < COMMAND_COUNT; i++)
        names[i] = commands[i]->name;
    if (hypar_nearest(word, names, COMMAND_COUNT, &nearest, 1))
        return opt_usage(err, "unknown command '%s'; did you mean '%s'?", word, names[nearest]);
    return opt_usage(err, "unknown %s '%s'; see 'hypar --help'",
                     word[0] == '-' ? "option" : "command", word);
}

static enum hypar_status run_command(const struct command *command, int argc, char **argv,
                                     struct hypar_error *err)
{
    struct args args;
    enum hypar_status status = opt_parse(command, argc, argv, &args, err);
    if (status == HYPAR_OK && !args.help)
        status = opt_load_planners(&args, err);
    if (status == HYPAR_OK && !args.help)
        status = opt_read_framework(command, &args, err);
    if (status != HYPAR_OK || args.help)
        return status;
    if (!hypar_ranks_launched() && !args.hostfile) /* rank 0 writes, maybe on another host */
        status = opt_try_outputs(&args, err);
    if (status == HYPAR_OK)
        status = command->run(&args, err);
    hypar_framework_free(args.framework);
    return status;
}

static bool is_one_of(const char *word, const char *a, const char *b, const char *c)
{
    return strcmp(word, a) == 0 || strcmp(word, b) == 0 || strcmp(word, c) == 0;
}

static enum hypar_status dispatch(int argc, char **argv, struct hypar_error *err)
{
    if (argc < 2) {
        print_usage(stderr);
        return HYPAR_USAGE;
    }
    if (is_one_of(argv[1], "--version", "-V", "version")) {
        print_version(stdout, argc > 2 && strcmp(argv[2], "--json") == 0);
        return HYPAR_OK;
    }
    bool help = is_one_of(argv[1], "--help", "-h", "help");
    if (help && argc == 2) {
        print_usage(stdout);
        return HYPAR_OK;
    }
    const char *name = argv[help ? 2 : 1];
    const struct command *command = find_command(name);
    if (!command)
        return unknown_command(name, err);
    if (help) {
        char word[] = "help", option[] = "--help";
        char *help_argv[] = { word, option, NULL };
        return run_command(command, 2, help_argv, err);
    }
    return run_command(command, argc - 1, argv + 1, err);
}

/* A file opened later must not get the number of a closed standard stream, or output would go
 * into that file. The stream is opened in the wrong direction, so that using it still fails. */
static void occupy_standard_streams(void)
{
    for (int fd = 0; fd <= 2; fd++)
        if (fcntl(fd, F_GETFD) == -1 && errno == EBADF)
            (void)!open("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY);
}

/* Hold output until the end, so that a failed command prints no half of a summary, and a
 * command whose reader closes early (`head`) has put its files in their places. A terminal gets
 * each line at once. */
static void hold_output(void)
{
    static char room[1 << 18];
    if (!isatty(STDOUT_FILENO))
        setvbuf(stdout, room, _IOFBF, sizeof room);
}

/* Keep freed memory for the next allocations. Searches free and allocate blocks of megabytes
 * again and again; returning them to the system takes up to a sixth of the search. */
static void keep_freed_memory(void)
{
    mallopt(M_MMAP_THRESHOLD, 32 * 1024 * 1024); /* the most that glibc allows */
    mallopt(M_TRIM_THRESHOLD, INT_MAX);
}

int main(int argc, char **argv)
{
    struct hypar_error err = { 0 };

    keep_freed_memory();
    occupy_standard_streams();
    opt_catch_signals();
    hold_output();
    launch_read_words(&argc, &argv);
    enum hypar_status status = opt_place_files(dispatch(argc, argv, &err), &err);
    errno = 0;
    bool unwritten = fflush(stdout) != 0 || ferror(stdout);
    if ((status == HYPAR_OK || status == HYPAR_STOPPED) && unwritten) {
        status = HYPAR_RUNTIME;
        snprintf(err.text, sizeof err.text, "standard output: cannot write: %s",
                 strerror(errno ? errno : EIO));
    }
    if (err.text[0] && status != HYPAR_OK)
        fprintf(stderr, "hypar: %s\n", hypar_clean_text(err.text));
    return hypar_status_exit_code(status);
}
