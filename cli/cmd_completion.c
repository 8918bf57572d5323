/* Writes completion scripts for shells: commands, options and their words, from the tables of
 * options. */
#include "cli/opt.h"

#include <string.h>

/* The value of an option that takes one. */
struct value_words {
    const char *name; /* "MACHINE" */
    bool files, any;  /* a file may be named; there are words */
};

static struct value_words value_of(const struct argp_option *option)
{
    return (struct value_words){ option->arg, opt_is_file(option->key),
                                 opt_word(option->key, 0) != NULL };
}

/* "a b c". */
static void put_words(FILE *to, const char *(*word)(int i), const char *between)
{
    const char *text;
    for (int i = 0; word && (text = word(i)); i++)
        fprintf(to, "%s%s", i ? between : "", text);
}

static void put_option_words(FILE *to, int key)
{
    const char *text;
    for (int i = 0; (text = opt_word(key, i)); i++)
        fprintf(to, "%s%s", i ? " " : "", text);
}

static void put_commands(FILE *to)
{
    for (int i = 0; opt_command(i); i++)
        fprintf(to, "%s%s", i ? " " : "", opt_command(i)->name);
}

/* `text` with a backslash before each of `special`, and a quote as `quote`. */
static void put_escaped(FILE *to, const char *text, const char *special, const char *quote)
{
    for (; *text; text++) {
        if (*text == '\'') {
            fputs(quote, to);
            continue;
        }
        if (strchr(special, *text))
            fputc('\\', to);
        fputc(*text, to);
    }
}

/* May the operand be a file? It may not if the command takes only names of built-in things. */
static bool takes_files(const struct command *command)
{
    return command->max_operands && !command->names_alone;
}

/* bash ------------------------------------------------------------------------------------ */

/* "--planner|-p", or with a blank between. */
static void put_bash_option(FILE *to, const struct argp_option *o, char between)
{
    fprintf(to, "--%s", o->name);
    if (o->key < 128)
        fprintf(to, "%c-%c", between, o->key);
}

static void put_bash_command(FILE *to, const struct command *command)
{
    struct argp_option row[OPT_MAX_ROWS];
    int n = opt_rows(command, row);
    fprintf(to, "    %s)\n        options=\"", command->name);
    for (int i = 0; i < n; i++) {
        fputs(i ? " " : "", to);
        put_bash_option(to, &row[i], ' ');
    }
    fputs("\"\n        case $before in\n", to);
    for (int i = 0; i < n; i++) {
        struct value_words value = value_of(&row[i]);
        if (!value.name)
            continue;
        fputs("        ", to);
        put_bash_option(to, &row[i], '|');
        fputs(") value=1", to);
        if (value.any) {
            fputs(" words=\"", to);
            put_option_words(to, row[i].key);
            fputs("\"", to);
        }
        fprintf(to, "%s%s ;;\n",
                row[i].key == OPT_PLANNER ? " files=slash"
                : value.files             ? " files=1"
                                          : "",
                row[i].key == OPT_ON ? " end=: site=machines" : "");
    }
    fputs("        *) words=\"", to);
    put_words(to, command->operand_word, " ");
    fprintf(to, "\"%s%s ;;\n        esac\n        ;;\n", takes_files(command) ? " files=1" : "",
            command->operand_word == opt_topology_word ? " site=machines" : "");
}

static void put_bash(FILE *to)
{
    const struct command *command;
    fputs("# bash completion of hypar, written by 'hypar completion bash'\n"
          "_hypar()\n"
          "{\n"
          "    local cur=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]}\n"
          "    local options= words= files= value= end= small= site=\n"
          "    COMPREPLY=()\n"
          "    # '=' is a word of its own: --planner=dp, torus:4x4,device=h100\n"
          "    if [ \"$cur\" = = ]; then\n"
          "        cur=\n"
          "    elif [ \"$before\" = = ]; then\n"
          "        before=${COMP_WORDS[COMP_CWORD - 2]}\n"
          "    fi\n"
          "    if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
          "        words=\"",
          to);
    for (int i = 0; (command = opt_command(i)); i++)
        fprintf(to, "%s ", command->name);
    fputs("help version\" options=\"--help --version\"\n"
          "    else\n"
          "    case ${COMP_WORDS[1]} in\n"
          "    help)\n        words=\"",
          to);
    put_commands(to);
    fputs("\"\n        ;;\n", to);
    for (int i = 0; (command = opt_command(i)); i++)
        put_bash_command(to, command);
    fputs("    esac\n"
          "    case $before in\n"
          "    # devices are found however they are written\n"
          "    *,device) value=1 files=1 end= small=1 site=devices words=\"",
          to);
    put_words(to, opt_device_word, " ");
    fputs(
        "\" ;;\n"
        "    esac\n"
        "    fi\n"
        "    if [ -z \"$value\" ] && [ \"${cur#-}\" != \"$cur\" ]; then\n"
        "        mapfile -t COMPREPLY < <(compgen -W \"$options\" -- \"$cur\")\n"
        "        return\n"
        "    fi\n"
        "    # a list: what is before the last comma stays\n"
        "    local last=${cur##*,}\n"
        "    local before=${cur%\"$last\"} begun=${small:+${last,,}}\n"
        "    mapfile -t COMPREPLY < <(compgen -P \"$before\" -S \"$end\" -W \"$words\" "
        "-- \"${begun:-$last}\")\n"
        "    [ -z \"$site\" ] || mapfile -t -O \"${#COMPREPLY[@]}\" COMPREPLY < \\\n"
        "        <(compgen -P \"$before\" -W \"$(hypar completion \"$site\" 2>/dev/null)\" -- "
        "\"$last\")\n"
        "    # a planner that is loaded has a '/' in its name\n"
        "    if [ \"$files\" = slash ]; then\n"
        "        case $last in */*)\n"
        "            mapfile -t COMPREPLY < <(compgen -P \"$before\" -f -- \"$last\")\n"
        "            compopt -o filenames 2>/dev/null ;;\n"
        "        esac\n"
        "    elif [ -n \"$files\" ]; then\n"
        "        mapfile -t -O \"${#COMPREPLY[@]}\" COMPREPLY < <(compgen -f -- \"$cur\")\n"
        "        compopt -o filenames 2>/dev/null\n"
        "    fi\n"
        "    [ -z \"$end\" ] || compopt -o nospace 2>/dev/null\n"
        "}\n"
        "complete -F _hypar hypar\n",
        to);
}

/* zsh ------------------------------------------------------------------------------------- */

static void put_zsh_value(FILE *to, const struct argp_option *o,
                          const struct value_words *value)
{
    fputc(':', to);
    put_escaped(to, value->name, ":\\", "'\\''");
    fputc(':', to);
    if (o->key == OPT_ON)
        fputs("_hypar_machine", to);
    else if (o->key == OPT_PLANNER)
        fputs("_hypar_planners", to);
    else if (value->any) {
        fprintf(to, "%s", value->files ? "{_hypar_or_file " : "(");
        put_option_words(to, o->key);
        fputs(value->files ? "}" : ")", to);
    } else if (value->files) {
        fputs("_files", to);
    }
}

/* Write an option as '--on=[help]:MACHINE:action', and its short form as '-m+[...'. */
static void put_zsh_option(FILE *to, const struct argp_option *o, bool is_short)
{
    struct value_words value = value_of(o);
    fputs("            '", to);
    if (is_short)
        fprintf(to, "-%c%s", o->key, value.name ? "+" : "");
    else
        fprintf(to, "--%s%s", o->name, value.name ? "=" : "");
    fputs("[", to);
    put_escaped(to, o->doc, "[]\\", "'\\''");
    fputs("]", to);
    if (value.name)
        put_zsh_value(to, o, &value);
    fputs("' \\\n", to);
}

static void put_zsh_command(FILE *to, const struct command *command)
{
    struct argp_option row[OPT_MAX_ROWS];
    int n = opt_rows(command, row);
    fprintf(to, "    %s)\n        _arguments -s \\\n", command->name);
    for (int i = 0; i < n; i++) {
        put_zsh_option(to, &row[i], false);
        if (row[i].key < 128)
            put_zsh_option(to, &row[i], true);
    }
    fputs("            '*:operand:", to);
    if (command->operand_word == opt_topology_word) {
        fputs("_hypar_machine", to);
    } else if (command->operand_word) {
        fputs(takes_files(command) ? "{_hypar_or_file " : "(", to);
        put_words(to, command->operand_word, " ");
        fputs(takes_files(command) ? "}" : ")", to);
    } else if (takes_files(command)) {
        fputs("_files", to);
    }
    fputs("'\n        ;;\n", to);
}

static void put_zsh(FILE *to)
{
    const struct command *command;
    fputs("#compdef hypar\n"
          "# zsh completion of hypar, written by 'hypar completion zsh'\n"
          "_hypar_or_file()\n"
          "{\n"
          "    compadd -- \"$@\"\n"
          "    _files\n"
          "}\n"
          "_hypar_machine()\n"
          "{\n"
          "    if compset -P '*,device='; then\n"
          "        compadd -M 'm:{A-Z}={a-z}' -- ",
          to);
    put_words(to, opt_device_word, " ");
    fputs("\n        compadd -- $(hypar completion devices 2>/dev/null)"
          "\n    else\n        compadd -S : -- ",
          to);
    put_words(to, opt_topology_word, " ");
    fputs("\n        compadd -- $(hypar completion machines 2>/dev/null)"
          "\n    fi\n"
          "    _files\n"
          "}\n"
          "# a list; one that is loaded has a '/' in its name\n"
          "_hypar_planners()\n"
          "{\n"
          "    compset -P '*,'\n"
          "    if [[ $PREFIX = */* ]]; then\n"
          "        _files\n"
          "    else\n"
          "        compadd -- ",
          to);
    put_option_words(to, OPT_PLANNER);
    fputs("\n    fi\n"
          "}\n"
          "_hypar()\n"
          "{\n"
          "    if ((CURRENT == 2)); then\n"
          "        local -a commands\n"
          "        commands=(\n",
          to);
    for (int i = 0; (command = opt_command(i)); i++) {
        fprintf(to, "            '%s:", command->name);
        put_escaped(to, command->summary, "\\", "'\\''");
        fputs("'\n", to);
    }
    fputs("        )\n"
          "        compadd -- --help --version help version\n"
          "        _describe command commands\n"
          "        return\n"
          "    fi\n"
          "    shift words\n"
          "    ((CURRENT--))\n"
          "    case $words[1] in\n"
          "    help)\n        compadd -- ",
          to);
    put_commands(to);
    fputs("\n        ;;\n", to);
    for (int i = 0; (command = opt_command(i)); i++)
        put_zsh_command(to, command);
    fputs("    esac\n"
          "}\n"
          "_hypar \"$@\"\n",
          to);
}

/* fish ------------------------------------------------------------------------------------ */

static void put_fish_begin(FILE *to, const struct command *command)
{
    fprintf(to, "complete -c hypar -n '__hypar_command %s'", command->name);
}

static void put_fish_option(FILE *to, const struct command *command,
                            const struct argp_option *o)
{
    struct value_words value = value_of(o);
    put_fish_begin(to, command);
    fprintf(to, " -l %s", o->name);
    if (o->key < 128)
        fprintf(to, " -s %c", o->key);
    if (value.name)
        fputs(value.files ? " -r -F" : " -x", to);
    if (o->key == OPT_ON) {
        fputs(" -a '(__hypar_machine)'", to);
    } else if (value.any) {
        fputs(o->key == OPT_PLANNER ? " -a '(__hypar_planners " : " -a '", to);
        put_option_words(to, o->key);
        fputs(o->key == OPT_PLANNER ? ")'" : "'", to);
    }
    fputs(" -d '", to);
    put_escaped(to, o->doc, "\\", "\\'");
    fputs("'\n", to);
}

static void put_fish_command(FILE *to, const struct command *command)
{
    struct argp_option row[OPT_MAX_ROWS];
    int n = opt_rows(command, row);
    fprintf(to, "complete -c hypar -n __fish_use_subcommand -a %s -d '", command->name);
    put_escaped(to, command->summary, "\\", "\\'");
    fputs("'\n", to);
    if (command->max_operands) {
        put_fish_begin(to, command);
        fputs(takes_files(command) ? " -F" : "", to);
        fputs(" -a '", to);
        put_words(to, command->operand_word, " ");
        fputs("'\n", to);
    }
    for (int i = 0; i < n; i++)
        put_fish_option(to, command, &row[i]);
}

static void put_fish(FILE *to)
{
    const struct command *command;
    fputs("# fish completion of hypar, written by 'hypar completion fish'\n"
          "# is it the command of this line?\n"
          "function __hypar_command\n"
          "    set -l words (commandline -opc)\n"
          "    test (count $words) -gt 1; and test \"$words[2]\" = $argv[1]\n"
          "end\n"
          "# what is begun, without --option=\n"
          "function __hypar_begun\n"
          "    string replace -r '^--[a-z-]+=' '' -- (commandline -ct)\n"
          "end\n"
          "# a list; one that is loaded has a '/' in its name\n"
          "function __hypar_planners\n"
          "    set -l begun (__hypar_begun)\n"
          "    set -l before (string match -r '.*,' -- $begun)\n"
          "    set -l last (string replace -r '.*,' '' -- $begun)\n"
          "    if string match -q '*/*' -- $last\n"
          "        for file in $last*\n"
          "            test -d $file; and set file $file/\n"
          "            echo \"$before$file\"\n"
          "        end\n"
          "        return\n"
          "    end\n"
          "    for name in $argv\n"
          "        echo \"$before$name\"\n"
          "    end\n"
          "end\n"
          "function __hypar_machine\n"
          "    set -l before (string match -r '.*,device=' -- (__hypar_begun))\n"
          "    if test -n \"$before\"\n"
          "        for device in ",
          to);
    put_words(to, opt_device_word, " ");
    fputs(" (hypar completion devices 2>/dev/null)"
          "\n            echo \"$before$device\"\n"
          "        end\n"
          "        return\n"
          "    end\n"
          "    for topology in ",
          to);
    put_words(to, opt_topology_word, " ");
    fputs("\n        echo $topology:\n"
          "    end\n"
          "    hypar completion machines 2>/dev/null\n"
          "end\n"
          "complete -c hypar -f\n"
          "complete -c hypar -n __fish_use_subcommand -l help -d 'Print the commands'\n"
          "complete -c hypar -n __fish_use_subcommand -l version -d 'Print the version'\n"
          "complete -c hypar -n '__hypar_command help' -a '",
          to);
    put_commands(to);
    fputs("'\n", to);
    for (int i = 0; (command = opt_command(i)); i++)
        put_fish_command(to, command);
}

/* ----------------------------------------------------------------------------------------- */

/* Names of the site's files, which the completion of a shell asks for each time. */
static void put_site_names(FILE *to, enum hypar_site_kind kind)
{
    struct hypar_site_files *files = hypar_site_files(kind);
    const struct hypar_site_file *file;
    for (int i = 0; (file = hypar_site_file(files, i)); i++)
        fprintf(to, "%s\n", file->name);
    hypar_site_files_free(files);
}

static void put_site_machines(FILE *to)
{
    put_site_names(to, HYPAR_SITE_MACHINES);
}

static void put_site_devices(FILE *to)
{
    put_site_names(to, HYPAR_SITE_DEVICES);
}

static const struct {
    const char *name;
    void (*put)(FILE *to);
} printed[] = { { "bash", put_bash },
                { "zsh", put_zsh },
                { "fish", put_fish },
                { "machines", put_site_machines },
                { "devices", put_site_devices } };

enum { N_PRINTED = sizeof printed / sizeof printed[0] };

static const char *shell_word(int i)
{
    return i < N_PRINTED ? printed[i].name : NULL;
}

static enum hypar_status run(const struct args *args, struct hypar_error *err)
{
    struct hypar_output out;
    int shell = 0;
    while (shell < N_PRINTED && strcmp(printed[shell].name, args->operand[0]) != 0)
        shell++;
    if (shell == N_PRINTED)
        return opt_usage(err, "completion: '%.40s' is not bash, zsh, fish, machines or devices",
                         args->operand[0]);
    TRY(hypar_output_open(&out, opt_output(args), err));
    printed[shell].put(out.file);
    return opt_close(&out, HYPAR_OK, err);
}

const struct command cmd_completion = {
    .name = "completion",
    .operands = "bash|zsh|fish|machines|devices",
    .min_operands = 1,
    .max_operands = 1,
    .operand_word = shell_word,
    .names_alone = true,
    .summary = "print completion for bash, zsh or fish",
    .doc = "Print the script with which a shell completes commands, options and their words. "
           "'make install' installs it for all three shells; otherwise, in bash: source "
           "<(hypar completion bash). The operands machines and devices print the names of "
           "this site's files, which the scripts call for.",
    .run = run,
};
