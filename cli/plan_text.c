/* A plan as a text, and as a file without a name. */
#define _GNU_SOURCE /* realpath, memfd_create */

#include "cli/plan_text.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

const char *plan_model_word(const char *given, char *text, size_t size)
{
    char path[PATH_MAX], whole[PATH_MAX];
    size_t length = hypar_model_path_length(given);
    if (!hypar_model_is_path(given) || length >= sizeof path)
        return given;
    snprintf(path, sizeof path, "%.*s", (int)length, given);
    if (!hypar_or_out_of_memory(realpath(path, whole)))
        return given;
    snprintf(text, size, "%s%s", whole, given + length);
    return text;
}

char *plan_to_text(const struct hypar_plan *plan)
{
    char *text = NULL;
    size_t n;
    FILE *to = hypar_or_out_of_memory(open_memstream(&text, &n));
    hypar_plan_write(plan, to);
    fclose(to);
    return hypar_or_out_of_memory(text);
}

int plan_text_file(const char *text, struct hypar_error *err)
{
    size_t n = strlen(text);
    int fd = memfd_create("hypar-plan", MFD_CLOEXEC);
    if (fd >= 0 && write(fd, text, n) == (ssize_t)n && lseek(fd, 0, SEEK_SET) == 0)
        return fd;
    snprintf(err->text, sizeof err->text, "the plan cannot be handed on: %s", strerror(errno));
    if (fd >= 0)
        close(fd);
    return -1;
}
