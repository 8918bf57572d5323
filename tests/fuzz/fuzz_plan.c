/* A plan text against fixed small models and machines; what is read is written, read again and
 * written the same, and lowered to a program whose text is JSON. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <hypar/program.h>

#include "base/files/json.h"
#include "plan/plan.h"
#include "program/program.h"

/* To be lowered, and written out, in little time. */
enum { MAX_PARTS = 4096, MAX_MICRO_BATCHES = 64, MAX_WRITTEN = 256 };

static const struct hypar_plan_read_options targets[] = {
    { .model = "mlp:8-6-4", .machine = "full:4" },
    { .model = "lenet5", .machine = "cluster:2x2" },
    { .model = "gpt:layers=1,hidden=8,heads=2,seq=4,vocab=16", .machine = "torus:2x2" },
};

static void require(bool condition)
{
    if (!condition)
        abort();
}

static char *text_of(const struct hypar_plan *plan, size_t *length)
{
    char *text = NULL;
    FILE *file = open_memstream(&text, length);
    require(file);
    hypar_plan_write(plan, file);
    require(fclose(file) == 0);
    return text;
}

/* With the same model and machine, as the text itself may name none that exists. */
static void write_and_read(const struct hypar_plan *plan,
                           const struct hypar_plan_read_options *options)
{
    size_t length, same_length;
    struct hypar_plan *again;
    char *text = text_of(plan, &length);
    require(hp_plan_read_text(&again, text, length, "again", options, NULL) == HYPAR_OK);
    char *same = text_of(again, &same_length);
    require(same_length == length && memcmp(same, text, length) == 0);
    hypar_plan_free(again);
    free(same);
    free(text);
}

static char *program_text(const struct hypar_program *program, size_t *length)
{
    char *text = NULL;
    FILE *file = open_memstream(&text, length);
    require(file);
    require(hypar_program_write(program, file, NULL) == HYPAR_OK);
    require(fclose(file) == 0);
    return text;
}

static void read_program(const struct hypar_program *program)
{
    struct hypar_program *again;
    struct json_document *document;
    size_t n, m;
    char *text = program_text(program, &n);
    require(hp_json_read_text(&document, text, n, "program", NULL) == HYPAR_OK);
    struct json root = hp_json_root(document);
    require(hp_program_read_json(&again, &root, NULL) == HYPAR_OK);
    char *same = program_text(again, &m);
    require(n == m && memcmp(text, same, n) == 0);
    hypar_program_free(again);
    hp_json_free(document);
    free(text);
    free(same);
}

static void lower(const struct hypar_plan *plan)
{
    struct hypar_program *program;
    struct hypar_error err = { 0 };
    int64_t parts = 0;
    for (int op = 0; op < plan->graph->n_ops; op++)
        parts += plan->ops[op].n_parts;
    if (parts > MAX_PARTS || plan->schedule.micro_batches > MAX_MICRO_BATCHES)
        return;
    if (hypar_lower(&program, plan, NULL, &err) != HYPAR_OK && (program || !err.text[0]))
        abort();
    if (program && parts <= MAX_WRITTEN)
        read_program(program);
    hypar_program_free(program);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    for (size_t i = 0; i < sizeof targets / sizeof targets[0]; i++) {
        struct hypar_plan *plan;
        struct hypar_error err = { 0 };
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
