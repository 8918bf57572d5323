/* A plan text against fixed small models and machines; what is read is written and read again,
 * and lowered. */
#include <stdint.h>
#include <stdlib.h>

#include <hypar/program.h>

#include "plan/plan.h"

enum { MAX_PARTS = 4096, MAX_MICRO_BATCHES = 64 }; /* to be lowered in little time */

static const struct hypar_plan_read_options targets[] = {
    { .model = "mlp:8-6-4", .machine = "full:4" },
    { .model = "lenet5", .machine = "cluster:2x2" },
    { .model = "gpt:layers=1,hidden=8,heads=2,seq=4,vocab=16", .machine = "torus:2x2" },
};

/* With the same model and machine, as the text itself may name none that exists. */
static void write_and_read(const struct hypar_plan *plan,
                           const struct hypar_plan_read_options *options)
{
    char *text = NULL;
    size_t length = 0;
    FILE *file = open_memstream(&text, &length);
    if (!file)
        abort();
    hypar_plan_write(plan, file);
    fclose(file);
    struct hypar_plan *again;
    if (hp_plan_read_text(&again, text, length, "again", options, NULL) != HYPAR_OK)
        abort();
    hypar_plan_free(again);
    free(text);
}

static void lower(const struct hypar_plan *plan)
{
    struct hypar_program *program;
    struct hypar_error err = { "" };
    int64_t parts = 0;
    for (int op = 0; op < plan->graph->n_ops; op++)
        parts += plan->ops[op].n_parts;
    if (parts > MAX_PARTS || plan->schedule.micro_batches > MAX_MICRO_BATCHES)
        return;
    if (hypar_lower(&program, plan, NULL, &err) != HYPAR_OK && (program || !err.text[0]))
        abort();
    hypar_program_free(program);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    for (size_t i = 0; i < sizeof targets / sizeof targets[0]; i++) {
        struct hypar_plan *plan;
        struct hypar_error err = { "" };
        if (hp_plan_read_text(&plan, (const char *)data, size, "plan", &targets[i], &err) ==
            HYPAR_OK) {
            write_and_read(plan, &targets[i]);
            lower(plan);
        } else if (!err.text[0]) {
            abort();
        }
        hypar_plan_free(plan);
    }
    return 0;
}
