/* Feeds words to the reader of fixed operators; whatever is accepted must fit the plan. */
#include "search/fix.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool condition)
{
    if (!condition)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    enum { MAX_WORDS = 8 };
    struct arena arena = { 0 };
    struct hypar_graph *graph;
    struct hypar_machine *machine;
    struct hypar_plan_settings settings = { 0 };
    struct fixes fixes;
    struct hypar_error err = { 0 };
    const char *word[MAX_WORDS];
    char *text = hp_arena_strndup(&arena, (const char *)data, size);
    int n = 0;
    for (char *end; n < MAX_WORDS && *text; text = end) { /* one in each line */
        end = text + strcspn(text, "\n");
        if (*end)
            *end++ = '\0';
        word[n++] = text;
    }
    require(hypar_import(&graph, "lenet5", NULL, NULL) == HYPAR_OK);
    require(hypar_machine_read(&machine, "full:8", NULL) == HYPAR_OK);
    if (hp_read_fixes(&fixes, graph, 8, word, n, &arena, &err) == HYPAR_OK) {
        struct hypar_plan *plan = hp_plan_new(graph, machine, &settings);
        require(fixes.n == n);
        require(hp_apply_fixes(plan, &fixes, NULL) == HYPAR_OK);
        require(hypar_plan_check(plan, NULL) == HYPAR_OK);
        hypar_plan_free(plan);
    } else {
        require(err.text[0] && !strchr(err.text, '\n'));
    }
    hypar_machine_free(machine);
    hypar_graph_free(graph);
    hp_arena_free(&arena);
    return 0;
}
