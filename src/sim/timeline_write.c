/* hypar-timeline/1: a program with the times of its tasks. */
#include "base/json.h"
#include "sim/program_file.h"

static void put_on(struct json_writer *w, const struct program_file *file,
                   const struct file_task *task)
{
    if (task->device >= 0) {
        hp_json_put_int(w, "on", task->device);
    } else if (task->link >= 0) {
        hp_json_put_string(w, "on", file->name[task->link]);
    } else if (task->arrow) {
        char text[32];
        snprintf(text, sizeof text, "%d->%d", task->devices[0], task->devices[1]);
        hp_json_put_string(w, "on", text);
    } else {
        hp_json_begin_array(w, "on", true);
        for (int i = 0; i < task->n_devices; i++)
            hp_json_put_int(w, NULL, task->devices[i]);
        hp_json_end_array(w);
        hp_json_put_string(w, "kind", hp_comm_text(task->kind));
    }
}

static void put_task(struct json_writer *w, const struct program_file *file, int i,
                     const struct times *times)
{
    const struct file_task *task = &file->task[i];
    const struct task_graph *graph = &file->graph;
    hp_json_begin_object(w, NULL, true);
    hp_json_put_int(w, "id", task->id);
    put_on(w, file, task);
    if (task->seconds >= 0)
        hp_json_put_number(w, "seconds", task->seconds);
    if (task->bytes >= 0)
        hp_json_put_number(w, "bytes", task->bytes);
    if (task->name)
        hp_json_put_string(w, "name", task->name);
    hp_json_begin_array(w, "after", true);
    for (int64_t a = graph->after_start[i]; a < graph->after_start[i + 1]; a++)
        hp_json_put_int(w, NULL, file->task[graph->after[a]].id);
    hp_json_end_array(w);
    hp_json_put_number(w, "ready", hp_seconds(times->ready));
    hp_json_put_number(w, "start", hp_seconds(times->start));
    hp_json_put_number(w, "end", hp_seconds(times->end));
    hp_json_end_object(w);
}

void hp_timeline_write(const struct program_file *file, const struct times *times, FILE *to)
{
    struct json_writer w = { .file = to };
    hp_json_begin_object(&w, NULL, false);
    hp_json_put_string(&w, "format", "hypar-timeline/1");
    if (file->n_devices > 0)
        hp_json_put_int(&w, "devices", file->n_devices);
    hp_json_begin_array(&w, "tasks", false);
    for (int i = 0; i < file->graph.n_tasks; i++)
        put_task(&w, file, i, &times[i]);
    hp_json_end_array(&w);
    hp_json_end_object(&w);
}
