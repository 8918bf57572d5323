/* A program text without and with a machine: what is written by hand is simulated; what is
 * lowered is written and read again, which must give the same text. */
#include <stdlib.h>
#include <string.h>

#include "base/files/json.h"
#include "program/program.h"
#include "sim/flat/file.h"
#include "sim/full/timeline.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool condition)
{
    if (!condition)
        abort();
}

/* The contract of sim/tasks.h. */
static void check_graph(const struct task_graph *graph)
{
    for (int i = 0; i < graph->n_tasks; i++) {
        const struct sim_task *task = &graph->task[i];
        require(task->number >= 0 && task->number < graph->n_tasks && task->duration >= 0);
        for (int h = 0; h < task->n_holds; h++) {
            const struct hold *hold = &task->hold[h];
            require(hold->queue >= 0 && hold->queue < graph->n_queues);
            require(hold->offset >= 0 && hold->busy >= 0);
            require(hold->offset + hold->busy <= task->duration);
        }
        for (int64_t a = graph->after_start[i]; a < graph->after_start[i + 1]; a++)
            require(graph->task[graph->after[a]].number < task->number);
    }
}

static void simulate(const struct flat_file *file)
{
    struct times *times = calloc((size_t)file->graph.n_tasks, sizeof *times);
    require(times);
    check_graph(&file->graph);
    require(hp_run_graph(&file->graph, times, NULL) <= HP_MAX_TICKS);
    for (int i = 0; i < file->graph.n_tasks; i++)
        require(times[i].ready <= times[i].start && times[i].start <= times[i].end);
    free(times);
}

static void try_on(const char *text, size_t size, const struct hypar_machine *machine)
{
    struct flat_file *file;
    struct hypar_error err = { 0 };
    if (hp_flat_file_read_text(&file, text, size, "program", machine, &err) != HYPAR_OK) {
        require(!file && err.text[0] && !strchr(err.text, '\n'));
        return;
    }
    simulate(file);
    hp_flat_file_free(file);
}

static char *text_of(const struct hypar_program *program, size_t *length)
{
    char *text = NULL;
    FILE *to = open_memstream(&text, length);
    require(to);
    require(hypar_program_write(program, to, NULL) == HYPAR_OK);
    require(fclose(to) == 0);
    return text;
}

static void try_lowered(const char *text, size_t size, struct hypar_program **out)
{
    struct json_document *document;
    struct hypar_error err = { 0 };
    *out = NULL;
    if (hp_json_read_text(&document, text, size, "program", &err) != HYPAR_OK)
        return;
    struct json root = hp_json_root(document);
    if (hp_json_is_object(&root) && hp_program_read_json(out, &root, &err) != HYPAR_OK)
        require(!*out && err.text[0] && !strchr(err.text, '\n'));
    hp_json_free(document);
}

static void check_lowered(const char *text, size_t size)
{
    struct hypar_program *program, *again;
    size_t n, m;
    try_lowered(text, size, &program);
    if (!program)
        return;
    char *written = text_of(program, &n);
    try_lowered(written, n, &again);
    require(again);
    char *same = text_of(again, &m);
    require(n == m && memcmp(written, same, n) == 0);
    free(written);
    free(same);
    hypar_program_free(program);
    hypar_program_free(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const words[] = { "full:4", "cluster:2x2", "torus:4x2" };
    try_on((const char *)data, size, NULL);
    check_lowered((const char *)data, size);
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        struct hypar_machine *machine;
        require(hypar_machine_read(&machine, words[i], NULL) == HYPAR_OK);
        try_on((const char *)data, size, machine);
        hypar_machine_free(machine);
    }
    return 0;
}
