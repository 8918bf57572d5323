/* A program text without and with a machine; what is read is played, written as a timeline and
 * read again, which must give the same timeline. */
#include <stdlib.h>
#include <string.h>

#include "sim/program_file.h"

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

static char *play(const struct program_file *file, size_t *length)
{
    char *text = NULL;
    struct times *times = calloc((size_t)file->graph.n_tasks, sizeof *times);
    FILE *to = open_memstream(&text, length);
    require(times && to);
    check_graph(&file->graph);
    require(hp_play_graph(&file->graph, times) <= HP_MAX_TICKS);
    hp_timeline_write(file, times, to);
    require(fclose(to) == 0);
    free(times);
    return text;
}

static void try_on(const char *text, size_t size, const struct hypar_machine *machine)
{
    struct program_file *file, *again;
    struct hypar_error err = { "" };
    if (hp_program_file_read_text(&file, text, size, "program", machine, &err) != HYPAR_OK) {
        require(!file && err.text[0] && !strchr(err.text, '\n'));
        return;
    }
    size_t length, same_length;
    char *timeline = play(file, &length);
    require(hp_program_file_read_text(&again, timeline, length, "timeline", machine, NULL) ==
            HYPAR_OK);
    char *same = play(again, &same_length);
    require(same_length == length && memcmp(same, timeline, length) == 0);
    free(same);
    free(timeline);
    hp_program_file_free(again);
    hp_program_file_free(file);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const words[] = { "full:4", "cluster:2x2", "torus:4x2" };
    try_on((const char *)data, size, NULL);
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        struct hypar_machine *machine;
        require(hypar_machine_read(&machine, words[i], NULL) == HYPAR_OK);
        try_on((const char *)data, size, machine);
        hypar_machine_free(machine);
    }
    return 0;
}
