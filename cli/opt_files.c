/* Finds files of a command line that are the same file. */
#define _XOPEN_SOURCE 700 /* realpath */

#include "cli/opt.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The target of a path: an existing file, or the place of a new one. */
struct place {
    bool exists, replaced; /* replaced: a regular file that a new file replaces */
    struct stat about;
    char path[PATH_MAX]; /* without links, of a place to write to */
};

static bool same_file(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* Resolve the links of the folder and of the name in it. A missing folder stays unchanged:
 * nothing can be written there. */
static void find_new(const char *path_given, char path[PATH_MAX])
{
    char folder[PATH_MAX], whole[PATH_MAX], given[HYPAR_PLACE_BYTES];
    if (hypar_output_place(path_given, given, NULL) != HYPAR_OK)
        snprintf(given, sizeof given, "%s", path_given);
    const char *slash = strrchr(given, '/');
    const char *name = slash ? slash + 1 : given;
    snprintf(path, PATH_MAX, "%s", given);
    snprintf(folder, sizeof folder, "%.*s", slash ? (int)(name - given) : 1,
             slash ? given : ".");
    size_t n = hypar_or_out_of_memory(realpath(folder, whole)) ? strlen(whole) : PATH_MAX,
           length = strlen(name);
    if (n + 1 + length >= PATH_MAX)
        return;
    strcpy(path, whole);
    path[n] = '/';
    memcpy(path + n + 1, name, length + 1);
}

/* A model's path may have options behind it: net.onnx:dim=seq=128. */
static struct place find(const struct named_file *file)
{
    struct place place = { 0 };
    struct stat out;
    char path[PATH_MAX];
    size_t n = file->write ? strlen(file->path) : hypar_model_path_length(file->path);
    snprintf(path, sizeof path, "%.*s", n < PATH_MAX ? (int)n : PATH_MAX - 1, file->path);
    if (strcmp(path, "-") == 0)
        place.exists = fstat(file->write ? STDOUT_FILENO : STDIN_FILENO, &place.about) == 0;
    else
        place.exists = stat(path, &place.about) == 0;
    if (place.exists) {
        bool standard = fstat(STDOUT_FILENO, &out) == 0 && same_file(&place.about, &out);
        place.replaced = S_ISREG(place.about.st_mode) && !standard;
    } else if (file->write) {
        find_new(path, place.path);
        place.replaced = true;
    }
    return place;
}

/* Are `a` and `b` the same file, which writing to `a` would replace? */
static bool clash(const struct place *a, const struct place *b)
{
    if (!a->replaced || a->exists != b->exists)
        return false;
    return a->exists ? same_file(&a->about, &b->about) : strcmp(a->path, b->path) == 0;
}

/* A plan that --start names may be improved in its place, a checkpoint by further steps. */
static bool may_meet(const struct named_file *written, const struct named_file *other)
{
    return written == other || (written->key == OPT_OUTPUT && other->key == OPT_START) ||
           (written->key == OPT_CHECKPOINT && other->key == OPT_RESUME);
}

enum hypar_status opt_check_files(const struct named_file *file, int n, struct hypar_error *err)
{
    for (int i = 0; i < n; i++) {
        if (!file[i].write)
            continue;
        struct place mine = find(&file[i]);
        for (int k = 0; k < n; k++) {
            struct place other = find(&file[k]);
            if (may_meet(&file[i], &file[k]) || !clash(&mine, &other))
                continue;
            return opt_usage(err, "%s: '%s' is what %s %s, expected another file",
                             file[i].option, file[i].path,
                             file[k].option ? file[k].option : "this command",
                             file[k].write ? "writes" : "reads");
        }
    }
    return HYPAR_OK;
}
