/* Finds the files that a model file names (weights, profiles): they must lie in the folder
 * of the model file. */
#define _XOPEN_SOURCE 700 /* realpath */

#include "model/beside.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The number of characters of a path that name its folder, with the slash. */
static int folder_length(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? (int)(slash - path + 1) : 0;
}

bool hp_path_beside(const char *model, const char *name, char path[PATH_MAX])
{
    return snprintf(path, PATH_MAX, "%.*s%s", folder_length(model), model, name) < PATH_MAX;
}

enum hypar_status hp_file_beside(const char *model, const char *name, const char *what,
                                 bool follow_links, char path[PATH_MAX],
                                 struct hypar_error *err)
{
    char beside[PATH_MAX], folder[PATH_MAX], whole[PATH_MAX];
    int n = folder_length(model);
    if (!hp_path_beside(model, name, path))
        return hp_fail(err, HYPAR_UNREADABLE, "%s '%.80s...': %s", what, name,
                       strerror(ENAMETOOLONG));
    snprintf(beside, sizeof beside, "%.*s", n ? n : 1, n ? path : ".");
    if (!hypar_or_out_of_memory(realpath(path, whole)) ||
        !hypar_or_out_of_memory(realpath(beside, folder)))
        return hp_fail(err, HYPAR_UNREADABLE, "%s '%.200s': %s", what, path, strerror(errno));
    size_t length = strcmp(folder, "/") == 0 ? 0 : strlen(folder);
    bool inside = strncmp(whole, folder, length) == 0 && whole[length] == '/';
    if (!inside && !follow_links)
        return hp_fail(err, HYPAR_INVALID,
                       "%s '%.200s' is a link out of the model's folder, which --follow-links "
                       "allows",
                       what, path);
    return HYPAR_OK;
}
