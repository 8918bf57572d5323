/* Errors for unknown options: they name the nearest option, or the commands that have the
 * option. getopt only says that an option is unknown. */
#include "cli/opt.h"

#include <string.h>

/* The row of a word "--name", "--name=value" or "--na" (an abbreviation); NULL: none. */
static const struct argp_option *find_long(const struct argp_option *row, const char *word)
{
    size_t n = strcspn(word, "=") - 2;
    const struct argp_option *found = NULL;
    for (; row->name && n > 0; row++) {
        if (strncmp(row->name, word + 2, n) != 0)
            continue;
        if (!row->name[n])
            return row;
        found = found ? found : row;
    }
    return found;
}

/* Is the next word the value of an option in this one, as in "-qo FILE"? */
static bool takes_next_short(const struct argp_option *row, const char *letters)
{
    for (; *letters; letters++)
        for (const struct argp_option *o = row; o->name; o++)
            if (o->key == *letters && o->arg)
                return !letters[1];
    return false;
}

/* The first long option that the command does not have; 0: none. Words after --help do not
 * count. */
static int find_unknown(const struct argp_option *row, int argc, char **argv)
{
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
        if (strncmp(argv[i], "--", 2) != 0) {
            i += argv[i][0] == '-' && takes_next_short(row, argv[i] + 1);
            continue;
        }
        const struct argp_option *o = find_long(row, argv[i]);
        if (!o)
            return i;
        if (o->key == OPT_HELP)
            return 0;
        i += o->arg && !strchr(argv[i], '=');
    }
    return 0;
}

/* Does the command have an option of exactly this name? */
static bool has_option(const struct command *command, const char *name)
{
    for (const struct argp_option *o = command->options; o && o->name; o++)
        if (strcmp(o->name, name) == 0)
            return true;
    return false;
}

/* "simulate, train": the commands that have an option of exactly this name; "": none. */
static const char *owners_text(char *text, size_t size, const char *name)
{
    const struct command *command;
    size_t n = 0;
    *text = '\0';
    for (int i = 0; (command = opt_command(i)) && n < size; i++)
        if (has_option(command, name))
            n += (size_t)snprintf(text + n, size - n, "%s%s", n ? ", " : "", command->name);
    return text;
}

enum hypar_status opt_check_names(const struct command *command, const struct argp_option *row,
                                  int argc, char **argv, struct hypar_error *err)
{
    const char *names[OPT_MAX_ROWS];
    int nearest, n = 0, at = find_unknown(row, argc, argv);
    if (!at)
        return HYPAR_OK;
    char name[64], owners[128];
    int length = (int)strcspn(argv[at], "=");
    snprintf(name, sizeof name, "%.*s", length - 2, argv[at] + 2);
    for (; row[n].name; n++)
        names[n] = row[n].name;
    if (command == &cmd_train && find_long(cmd_plan.options, argv[at]))
        return opt_usage(
            err, "train: --%s is an option of 'hypar plan', whose -o FILE train takes", name);
    if (*owners_text(owners, sizeof owners, name))
        return opt_usage(err,
                         "%s: unknown option '--%s', an option of %s; see 'hypar %s --help'",
                         command->name, name, owners, command->name);
    if (hypar_nearest(name, names, n, &nearest, 1))
        return opt_usage(err, "%s: unknown option '%.*s'; did you mean '--%s'?", command->name,
                         length, argv[at], names[nearest]);
    return opt_usage(err, "%s: unknown option '%.*s'; see 'hypar %s --help'", command->name,
                     length, argv[at], command->name);
}
