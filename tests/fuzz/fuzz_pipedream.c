/* Any text: a profile that is written and read back the same and whose graph, if it has one, is
 * a graph; or one line. */
#include "model/pipedream.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char *text_of(const struct text_profile *profile, size_t *n)
{
    char *text;
    FILE *file = open_memstream(&text, n);
    hp_text_profile_write(profile, file);
    fclose(file);
    return text;
}

static void check_written(const struct text_profile *profile)
{
    size_t n, m;
    char *text = text_of(profile, &n);
    struct text_profile *back;
    if (hp_text_profile_read_text(&back, text, n, "written", NULL) != HYPAR_OK)
        abort();
    char *again = text_of(back, &m);
    if (m != n || memcmp(text, again, n) != 0)
        abort();
    free(text);
    free(again);
    hp_text_profile_free(back);
}

static void check(enum hypar_status status, const void *made, const struct hypar_error *err)
{
    if ((status == HYPAR_OK) != (made != NULL) || (status != HYPAR_OK && !*err->text) ||
        strchr(err->text, '\n'))
        abort();
}

static void check_graph(const struct text_profile *profile)
{
    struct hypar_graph *graph;
    struct hypar_error err = { "" };
    enum hypar_status status = hp_text_profile_graph(&graph, profile, "profile", 6, &err);
    check(status, graph, &err);
    hypar_graph_free(graph);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct text_profile *profile;
    struct hypar_error err = { "" };
    enum hypar_status status =
        hp_text_profile_read_text(&profile, (const char *)data, size, "text", &err);
    check(status, profile, &err);
    if (profile) {
        check_written(profile);
        check_graph(profile);
    }
    hp_text_profile_free(profile);
    return 0;
}
