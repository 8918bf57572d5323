/* hypar-program/1: every task instance with what it waits for. */
#include "base/json.h"
#include "program/program.h"

static const char *const comm_name[COMM_KIND_COUNT] = {
    [COMM_SEND] = "send",
    [COMM_BROADCAST] = "broadcast",
    [COMM_ALL_GATHER] = "all-gather",
    [COMM_REDUCE] = "reduce",
    [COMM_REDUCE_SCATTER] = "reduce-scatter",
    [COMM_ALL_REDUCE] = "all-reduce",
    [COMM_ALL_TO_ALL] = "all-to-all",
    [COMM_EXCHANGE] = "exchange",
};

const char *hp_comm_text(enum comm_kind kind)
{
    return comm_name[kind];
}

/* Instances are numbered micro-batch by micro-batch, then the tail; empty parts have no number
 * of their own but keep the room, so that numbers are easy to tell. */
struct numbering {
    const struct hypar_program *program;
    int64_t micro_start; /* of the micro-batch being written */
    int64_t tail_start;
};

static int64_t start_of(const struct hypar_program *p, int micro)
{
    const struct body *first = &p->body[0];
    int64_t in_first = micro < first->n_micro ? micro : first->n_micro;
    return in_first * first->list.n_tasks +
           (micro - in_first) * (int64_t)p->body[1].list.n_tasks;
}

/* What a tail task waits for, as an instance. */
static int64_t tail_number(const struct numbering *n, int after)
{
    const struct hypar_program *p = n->program;
    if (after >= p->tail_base[2])
        return n->tail_start + after - p->tail_base[2];
    int b = after >= p->tail_base[1];
    int last = p->body[b].first_micro + p->body[b].n_micro - 1;
    return start_of(p, last) + after - p->tail_base[b];
}

static void put_name(struct json_writer *w, const struct hypar_program *p,
                     const struct task_list *list, const struct task *t, int micro)
{
    const struct hypar_graph *g = p->plan->graph;
    char text[512];
    if (t->kind == TASK_COMPUTE)
        snprintf(text, sizeof text, "%s %s pass %d part %d micro %d", g->ops[t->op].name,
                 t->backward ? "backward" : "forward", t->pass, t->part, micro);
    else if (t->kind == TASK_UPDATE)
        snprintf(text, sizeof text, "update %s", g->tensors[t->tensor].name);
    else
        snprintf(text, sizeof text, "%s %s%s",
                 comm_name[list->exchange[t->exchange].pattern->comm[t->comm].kind],
                 list->exchange[t->exchange].place.grad ? "gradient of " : "",
                 g->tensors[t->tensor].name);
    hp_json_put_string(w, "name", text);
}

static void put_where(struct json_writer *w, const struct hypar_program *p,
                      const struct task_list *list, const struct task *t)
{
    if (t->kind != TASK_COMM) {
        hp_json_put_int(w, "on", t->device);
        return;
    }
    const struct exchange *e = &list->exchange[t->exchange];
    const struct comm *comm = &e->pattern->comm[t->comm];
    hp_json_begin_array(w, "on", true);
    for (int i = 0; i < comm->n_devices; i++)
        hp_json_put_int(w, NULL, comm->device[i]);
    hp_json_end_array(w);
    hp_json_put_string(w, "kind", comm_name[comm->kind]);
    hp_json_put_number(w, "bytes",
                       comm->sent_elements * hp_message_bytes(p->plan, e->place.tensor));
}

static void put_list(struct json_writer *w, const struct numbering *n,
                     const struct task_list *list, int micro)
{
    for (int i = 0; i < list->n_tasks; i++) {
        const struct task *t = &list->task[i];
        if (t->kind == TASK_NONE)
            continue;
        hp_json_begin_object(w, NULL, true);
        hp_json_put_int(w, "id", (micro < 0 ? n->tail_start : n->micro_start) + i);
        put_where(w, n->program, list, t);
        put_name(w, n->program, list, t, micro);
        hp_json_begin_array(w, "after", true);
        for (int64_t a = list->after_start[i]; a < list->after_start[i + 1]; a++)
            hp_json_put_int(w, NULL,
                            micro < 0 ? tail_number(n, list->after[a])
                                      : n->micro_start + list->after[a]);
        hp_json_end_array(w);
        hp_json_end_object(w);
    }
}

static void put_schedule(struct json_writer *w, const struct hypar_program *p)
{
    hp_json_begin_array(w, "schedule", false);
    for (int s = 0; s < p->n_stages; s++) {
        hp_json_begin_array(w, NULL, true);
        for (int i = 0; i < p->slots_per_stage; i++) {
            struct slot slot = p->slot[(size_t)s * (size_t)p->slots_per_stage + (size_t)i];
            char text[24];
            snprintf(text, sizeof text, "%c%d", slot.backward ? 'B' : 'F', slot.micro);
            hp_json_put_string(w, NULL, text);
        }
        hp_json_end_array(w);
    }
    hp_json_end_array(w);
}

void hypar_program_write(const struct hypar_program *p, FILE *to)
{
    struct json_writer w = { .file = to };
    int n_micro = (int)p->plan->schedule.micro_batches;
    struct numbering n = { .program = p, .tail_start = start_of(p, n_micro) };
    hp_json_begin_object(&w, NULL, false);
    hp_json_put_string(&w, "format", "hypar-program/1");
    hp_json_put_string(&w, "model", hypar_plan_model(p->plan));
    hp_json_put_int(&w, "devices", hypar_machine_device_count(p->plan->machine));
    hp_json_put_int(&w, "micro_batches", n_micro);
    put_schedule(&w, p);
    hp_json_begin_array(&w, "tasks", false);
    for (int m = 0; m < n_micro; m++) {
        n.micro_start = start_of(p, m);
        put_list(&w, &n, &hp_body_of(p, m)->list, m);
    }
    put_list(&w, &n, &p->tail, -1);
    hp_json_end_array(&w);
    hp_json_end_object(&w);
}
