/* Any text: a profile that is written and read back the same, and so is its graph, if it has
 * one; or one line. */
#include "model/pipedream/pipedream.h"

#include <stdlib.h>
#include <string.h>

#include "tests/written_graph.h"

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

/* As a graph, for one sample and for several; and that graph as a profile again. */
static void check_graph(const struct text_profile *profile)
{
    for (int64_t batch = 1; batch <= 6; batch += 5) {
        struct hypar_graph *graph;
        struct text_profile *back = NULL;
        struct hypar_error err = { 0 };
        enum hypar_status status =
            hp_text_profile_graph(&graph, profile, "profile", batch, &err);
        check(status, graph, &err);
        if (!graph)
            continue;
        if (!survives_writing(graph, &err))
            abort();
        status = hp_text_profile_of_graph(&back, graph, NULL, &err);
        check(status, back, &err);
        if (back)
            check_written(back);
        hp_text_profile_free(back);
        hypar_graph_free(graph);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct text_profile *profile;
    struct hypar_error err = { 0 };
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
