/* The names of tasks in messages, files and timelines. */
#include <stdio.h>
#include <string.h>

#include "program/blocks.h"
#include "program/program.h"

/* The first parameter whose gradient pass `pass` of `op` writes; -1: none. */
static int param_of_pass(const struct hypar_graph *g, const struct op *op, int pass)
{
    operand_set written = op->nest->pass[pass].writes_grad;
    for (int o = 0; o < op->nest->n_operands; o++)
        if (written >> o & 1 && op->tensor[o] >= 0 &&
            g->tensors[op->tensor[o]].kind == TENSOR_PARAM)
            return op->tensor[o];
    return -1;
}

/* A pass that writes a parameter's gradient belongs to the gradient phase. */
static enum phase phase_of(const struct hypar_program *p, const struct op_pass *op_pass)
{
    const struct hypar_graph *g = p->plan->graph;
    if (param_of_pass(g, &g->ops[op_pass->op], op_pass->pass) >= 0)
        return PHASE_GRADIENT;
    return op_pass->backward ? PHASE_BACKWARD : PHASE_FORWARD;
}

/* The parameter that tells this pass from the operator's other gradient passes, such as the
 * bias; NULL: the operator has one gradient pass at most. */
static const char *told_by(const struct hypar_graph *g, const struct op_pass *op_pass)
{
    const struct op *op = &g->ops[op_pass->op];
    int param = param_of_pass(g, op, op_pass->pass);
    bool others = false;
    for (int i = 0; i < op->nest->n_passes; i++)
        others |= i != op_pass->pass && param_of_pass(g, op, i) >= 0;
    return param >= 0 && others ? g->tensors[param].name : NULL;
}

/* Adds " of fc1.b" to text[0..n), and leaves room for hp_add_instance(). Of a name that is too
 * long the end is kept: the beginning is often the operator's. */
static void add_param(char *text, size_t n, size_t size, const char *name)
{
    enum { ROOM = 32 };
    if (n + strlen(" of ") + ROOM >= size)
        return;
    size_t length = strlen(name), room = size - n - strlen(" of ") - ROOM;
    name += length > room ? length - room : 0;
    while ((*name & 0xc0) == 0x80) /* not in the middle of a character */
        name++;
    snprintf(text + n, size - n, " of %s", name);
}

bool hp_is_again(const struct hypar_program *p, int task)
{
    const struct op_pass *first = &p->lowering->training.op_pass[p->task[task].index];
    return p->task[task].kind == TASK_COMPUTE && first->again && !first->resend;
}

/* `what_bytes`: characters before the part. */
static enum phase task_text(const struct hypar_program *p, int task, char *text, size_t size,
                            int *what_bytes)
{
    static const char *const phases[] = { "forward", "backward", "gradient" };
    const struct op_pass *first = &p->lowering->training.op_pass[p->task[task].index];
    enum { ROOM = 60 }; /* for the text behind the names */
    const struct op_pass *op_pass = p->lowering->training.op_pass;
    const int *next = p->blocks->next[hp_task_body(p, task)];
    enum phase phase = phase_of(p, &op_pass[p->task[task].index]);
    size_t n = 0;
    for (int i = p->task[task].index, last = -1; i >= 0; i = next[i]) {
        if (op_pass[i].op != last && n < size)
            n += (size_t)snprintf(text + n, size - n, "%s%s", n ? "+" : "",
                                  p->plan->graph->ops[op_pass[i].op].name);
        last = op_pass[i].op;
    }
    n = n < size - ROOM ? n : size - ROOM;
    n += (size_t)snprintf(text + n, size - n, " %s",
                          first->resend  ? "resend"
                          : first->again ? "again"
                                         : phases[phase]);
    *what_bytes = (int)n;
    n += (size_t)snprintf(text + n, size - n, " part %d", p->task[task].part);
    const char *param = next[p->task[task].index] < 0 ? told_by(p->plan->graph, first) : NULL;
    if (param)
        add_param(text, n, size, param);
    return phase;
}

enum phase hp_task_text(const struct hypar_program *p, int task, char *text, size_t size)
{
    int what_bytes;
    return task_text(p, task, text, size, &what_bytes);
}

enum hypar_event_kind hp_compute_name(const struct hypar_program *p, int task, char *text,
                                      size_t n, int *what_bytes)
{
    static const enum hypar_event_kind kinds[] = {
        [PHASE_FORWARD] = HYPAR_EVENT_FORWARD,
        [PHASE_BACKWARD] = HYPAR_EVENT_BACKWARD,
        [PHASE_GRADIENT] = HYPAR_EVENT_GRADIENT,
    };
    return kinds[task_text(p, task, text, n, what_bytes)];
}

void hp_comm_name(const struct lowering *l, int body, int exchange, int comm, char *text,
                  size_t n)
{
    struct place place = l->training.exchange[exchange].place;
    bool norm = exchange == l->training.norm;
    snprintf(text, n, "%s %s%.80s",
             hp_comm_text(hp_exchange_pattern(l, body, exchange)->comm[comm].kind),
             place.grad && !norm ? "gradient of " : "",
             norm ? "norm of gradients" : l->graph->tensors[place.tensor].name);
}

void hp_update_name(const struct lowering *l, int exchange, char *text, size_t n)
{
    if (exchange == l->training.norm)
        snprintf(text, n, "squares of gradients");
    else
        snprintf(text, n, "update %.120s",
                 l->graph->tensors[l->training.exchange[exchange].place.tensor].name);
}

enum hypar_event_kind hp_task_name(const struct hypar_program *p, int task, char *text,
                                   size_t n)
{
    const struct task *t = &p->task[task];
    int what_bytes;
    if (t->kind == TASK_COMPUTE)
        return hp_compute_name(p, task, text, n, &what_bytes);
    if (t->kind != TASK_COMM)
        hp_update_name(p->lowering, t->index, text, n);
    else
        hp_comm_name(p->lowering, hp_is_tail(p, task) ? 0 : hp_task_body(p, task), t->index,
                     t->comm, text, n);
    return t->kind == TASK_COMM ? HYPAR_EVENT_COMM : HYPAR_EVENT_UPDATE;
}

void hp_add_instance(const struct hypar_program *p, int micro, char *text, size_t n)
{
    size_t length = strlen(text);
    if (micro >= 0 ? p->iteration->n_micro > 1 : p->iteration->delayed)
        snprintf(text + length, n - length, "%s%d",
                 micro < 0               ? " period "
                 : p->iteration->delayed ? " minibatch "
                                         : " micro ",
                 micro < 0 ? -1 - micro : micro);
}
