/* Bytes and joules of a step, summed over all tasks. */
#include "sim/step_totals.h"

#include "machine/machine.h"

struct adding {
    struct timing *timing;
    struct step_totals *sum;
    struct hypar_sim_link *link;
};

static void add_energy(struct hypar_energy *sum, const struct work_energy *e, double times)
{
    sum->arithmetic_j += times * e->arithmetic_j;
    sum->sram_j += times * e->sram_j;
    sum->dram_j += times * e->dram_j;
}

/* The energy of a pass: every part; a part that equals the part before takes as much. Parts
 * whose energy is counted by kernel are left out. */
static void add_pass(struct adding *a, int b, int op_pass, double times)
{
    const struct lowering *s = a->timing->lowering;
    const struct op_pass *what = &s->training.op_pass[op_pass];
    const struct op_parts *l = s->body[b].parts[what->op];
    operand_set present = hp_present(&s->graph->ops[what->op]);
    axis_set positional = hp_positional_axes(l->nest);
    const struct range *before = NULL;
    const struct hypar_device *device_before = NULL;
    struct work_energy energy = { 0 };
    for (int part = 0; part < l->n_parts && !what->resend; part++) {
        const struct range *range = l->range + part * l->nest->n_axes;
        const struct hypar_device *device =
            hypar_machine_device(s->plan->machine, l->device[part]);
        if (l->empty[part] || hp_energy_by_kernel(a->timing->costs, l->device[part]))
            continue;
        if (device != device_before ||
            !hp_same_work(range, before, l->nest->n_axes, positional)) {
            struct work work =
                hp_pass_work(l->nest, what->pass, range, present, s->plan->precision);
            energy = hp_work_energy(&work, device, s->plan->precision);
        }
        add_energy(&a->sum->energy, &energy, times);
        before = range;
        device_before = device;
    }
}

/* The number of times that an exchange of the tail occurs for one batch. */
static double periods_per_step(const struct lowering *s, int exchange)
{
    return (double)hp_period_count(&s->iteration, hp_exchange_group(s, exchange)) /
           s->iteration.n_batches;
}

static void add_updates(struct adding *a, int exchange)
{
    const struct lowering *s = a->timing->lowering;
    bool norm = exchange == s->training.norm;
    const struct update_devices *u =
        norm ? &s->norm : hp_update_devices(a->timing->lowering, exchange);
    for (int i = 0; i < u->n; i++) {
        struct work work = norm
                               ? hp_squares_work(u->elements[i], hp_plan_gradients(s->plan))
                               : hp_update_work(u->elements[i], s->plan->precision,
                                                hp_plan_gradients(s->plan), s->plan->optimizer);
        struct work_energy e =
            hp_work_energy(&work, hypar_machine_device(s->plan->machine, u->device[i]),
                           hp_master_precision(s->plan->precision));
        add_energy(&a->sum->energy, &e, periods_per_step(s, exchange));
    }
}

/* The bytes of a comm on each of its links: of the whole comm, or of each message where
 * messages are tasks. */
static void add_to_links(struct adding *a, const struct pattern_cost *cost, int c, double times)
{
    const struct comm_cost *comm = &cost->comm[c];
    const struct comm_message *list = cost->messages ? cost->messages[c].list : NULL;
    int n_devices = a->timing->costs->n_devices;
    for (int i = 0; i < comm->n_links; i++)
        a->link[comm->link[i].queue - n_devices].bytes += times * comm->bytes_on_link[i];
    for (int i = 0; list && i < comm->n_tasks; i++)
        for (int h = 0; h < comm->task[i].n_holds; h++)
            if (comm->task[i].hold[h].queue >= n_devices)
                a->link[comm->task[i].hold[h].queue - n_devices].bytes +=
                    times * list[i].message.bytes;
}

/* Add the traffic of an exchange's comms to the links. */
static void add_comms(struct adding *a, int b, int exchange, double times)
{
    const struct pattern *p = hp_exchange_pattern(a->timing->lowering, b, exchange);
    const struct pattern_cost *cost = hp_exchange_cost(a->timing, b, exchange);
    for (int c = 0; c < p->n_comms; c++) {
        const struct comm_cost *comm = &cost->comm[c];
        a->sum->comm_bytes += times * comm->sent_bytes;
        a->sum->link_bytes += times * comm->link_bytes;
        a->sum->energy.link_j += times * comm->link_j;
        a->sum->energy.dram_j += times * comm->dram_j;
        if (a->link)
            add_to_links(a, cost, c, times);
    }
}

struct step_totals hp_step_totals(struct timing *timing, struct hypar_sim_link *link)
{
    const struct lowering *s = timing->lowering;
    const struct training_graph *k = &s->training;
    struct step_totals sum = { 0 };
    struct adding a = { timing, &sum, link };
    for (int b = 0; b < s->n_bodies; b++) {
        double times = (double)hp_body_times(&s->iteration, b) / s->iteration.n_batches;
        for (int i = 0; i < k->n_op_passes; i++) {
            add_pass(&a, b, i, times);
            if (timing->costs->any_kernels && timing->blocks->head[b][i] == i) {
                struct work_energy e = hp_kernels_energy(timing, b, i);
                add_energy(&sum.energy, &e, times);
            }
        }
        for (int d = 0; d < k->n_exchanges; d++)
            add_comms(&a, b, d, times);
    }
    for (int d = k->n_exchanges; d < k->n_exchanges + k->n_tail; d++) {
        add_comms(&a, 0, d, periods_per_step(s, d));
        if (k->exchange[d].place.grad)
            add_updates(&a, d);
    }
    return sum;
}

void hp_finish_energy(struct hypar_energy *energy, const struct hypar_machine *machine,
                      double step_s)
{
    double room_w = -hp_idle_w(machine);
    bool limited = true;
    for (int d = 0; d < hypar_machine_device_count(machine); d++) {
        double limit_w = hypar_machine_device(machine, d)->power_limit_w;
        limited = limited && limit_w > 0;
        room_w += limit_w;
    }
    energy->idle_j = hp_idle_w(machine) * step_s;
    double sum_j = energy->arithmetic_j + energy->sram_j + energy->dram_j;
    double share = limited && sum_j > room_w * step_s ? room_w * step_s / sum_j : 1;
    energy->arithmetic_j *= share;
    energy->sram_j *= share;
    energy->dram_j *= share;
}
