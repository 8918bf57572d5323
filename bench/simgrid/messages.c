/* hypar's side of the comparison with SimGrid.
 *
 *     messages platform MACHINE
 *         the machine as a SimGrid platform: its links, one for each direction, and its routes
 *     messages blocks MACHINE
 *         the sizes of the blocks of its hierarchical all-reduces
 *     messages compare MACHINE [BLOCK]
 *         reads "KIND;ALGORITHM;BYTES;SECONDS" from standard input and prints a row for each;
 *         exit 1 if one differs too much
 */
#include "base/arena.h"
#include "cost/collective.h"
#include "cost/collective_rounds.h"
#include "sim/full/timeline.h"
#include "sim/tasks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_DEVICES = 1024 };

static void print_platform(const struct hypar_machine *machine)
{
    int n = hypar_machine_device_count(machine);
    struct arena arena = { 0 };
    int *route = NEW(&arena, int, hypar_machine_longest_route(machine) + 1);
    printf("<?xml version='1.0'?>\n"
           "<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n"
           "<platform version=\"4.1\">\n<zone id=\"machine\" routing=\"Full\">\n");
    for (int i = 0; i < n; i++)
        printf("<host id=\"d%d\" speed=\"1f\"/>\n", i);
    for (int l = 0; l < 2 * hypar_machine_link_count(machine); l++) {
        struct hypar_link link = hypar_machine_link(machine, l / 2);
        printf("<link id=\"l%d\" bandwidth=\"%.17gBps\" latency=\"%.17gs\"/>\n", l,
               link.bytes_per_s, link.latency_s);
    }
    for (int from = 0; from < n; from++)
        for (int to = 0; to < n; to++) {
            if (from == to)
                continue;
            int hops = hypar_machine_route(machine, from, to, route,
                                           hypar_machine_longest_route(machine));
            printf("<route src=\"d%d\" dst=\"d%d\" symmetrical=\"NO\">", from, to);
            for (int i = 0; i < hops; i++)
                printf("<link_ctn id=\"l%d\"/>", route[i]);
            printf("</route>\n");
        }
    printf("</zone>\n</platform>\n");
    hp_arena_free(&arena);
}

/* A message as a task that holds the links of its route, one after the other. */
static struct sim_task task_of(struct arena *arena, const struct hypar_machine *machine,
                               const struct message *m, int number)
{
    int longest = hypar_machine_longest_route(machine);
    int *route = NEW(arena, int, longest + 1);
    struct hold *hold = NEW(arena, struct hold, longest);
    ticks offset = 0, held = 0;
    int hops = hypar_machine_route(machine, m->from, m->to, route, longest);
    for (int h = 0; h < hops; h++) {
        struct hypar_link link = hypar_machine_link(machine, route[h] / 2);
        hold[h] = (struct hold){ route[h], offset, hp_ticks(m->bytes / link.bytes_per_s) };
        offset += hp_ticks(link.latency_s);
        held = hold[h].busy > held ? hold[h].busy : held;
    }
    return (struct sim_task){ .number = number,
                              .duration = offset + held,
                              .n_holds = hops,
                              .hold = hold,
                              .held = HELD_ON_ROUTE };
}

/* The simulator's time for messages by themselves. */
static double serve(const struct hypar_machine *machine, const struct comm_messages *messages)
{
    struct arena arena = { 0 };
    int n = messages->n;
    int64_t n_edges = 0, *start = NEW(&arena, int64_t, n + 1);
    for (int i = 0; i < n; i++)
        n_edges += messages->list[i].n_after;
    int *after = NEW(&arena, int, n_edges + 1);
    struct sim_task *task = NEW(&arena, struct sim_task, n);
    for (int i = 0; i < n; i++) {
        const struct comm_message *m = &messages->list[i];
        task[i] = task_of(&arena, machine, &m->message, i);
        start[i + 1] = start[i] + m->n_after;
        for (int a = 0; a < m->n_after; a++)
            after[start[i] + a] = m->after[a];
    }
    struct task_graph graph = { n, 2 * hypar_machine_link_count(machine), task, start, after };
    double time_s = hp_seconds(hp_run_graph(&graph, NEW(&arena, struct times, n), NULL));
    hp_arena_free(&arena);
    return time_s;
}

/* How long the busiest link is held by all tasks. */
static double busiest_s(struct arena *arena, const struct task_graph *g)
{
    ticks *busy = NEW(arena, ticks, g->n_queues), most = 0;
    for (int t = 0; t < g->n_tasks; t++)
        for (int h = 0; h < g->task[t].n_holds; h++)
            busy[g->task[t].hold[h].queue] += g->task[t].hold[h].busy;
    for (int q = 0; q < g->n_queues; q++)
        most = busy[q] > most ? busy[q] : most;
    return hp_seconds(most);
}

/* Do two of these messages cross a link in the same direction? */
static bool meet(const struct hypar_machine *machine, const struct message *message, int n)
{
    struct arena arena = { 0 };
    int longest = hypar_machine_longest_route(machine), most = 0;
    int *route = NEW(&arena, int, longest + 1);
    int *crossed = NEW(&arena, int, 2 * hypar_machine_link_count(machine));
    for (int i = 0; i < n; i++) {
        int hops = hypar_machine_route(machine, message[i].from, message[i].to, route, longest);
        for (int h = 0; h < hops; h++)
            most = ++crossed[route[h]] > most ? crossed[route[h]] : most;
    }
    hp_arena_free(&arena);
    return most > 1;
}

/* One line of SimGrid's, and hypar's figures beside it. */
struct row {
    char kind[32], algorithm[32];
    double bytes, simgrid_s, one_s, served_s, bound_s;
    bool meets; /* messages of one round share links */
};

/* Patterns that are no collective: every message starts at once. */
static bool weigh_messages(struct arena *arena, const struct hypar_machine *machine,
                           struct row *row)
{
    int n = hypar_machine_device_count(machine), n_messages = 0, order[2 * MAX_DEVICES];
    struct message message[2 * MAX_DEVICES];
    struct comm_message list[2 * MAX_DEVICES] = { { .n_after = 0 } };
    struct comm_way way;
    bool halo = strcmp(row->kind, "halo") == 0;
    if (!halo && strcmp(row->kind, "opposite") != 0)
        return false;
    for (int i = 0; i < n; i++) {
        message[n_messages++] = (struct message){ i, (i + (halo ? 1 : n / 2)) % n, row->bytes };
        if (halo)
            message[n_messages++] = (struct message){ i, (i + n - 1) % n, row->bytes };
    }
    hp_spread_messages(machine, message, n_messages, order);
    for (int i = 0; i < n_messages; i++)
        list[i].message = message[order[i]];
    hp_messages_way(arena, machine, message, n_messages, &way);
    row->one_s = way.fixed_s + way.s_per_byte;
    row->served_s = serve(machine, &(struct comm_messages){ .n = n_messages, .list = list });
    for (int l = 0; l < way.n_links; l++) /* no link is held for longer than it takes */
        if (way.link[l].s_per_byte > row->bound_s)
            row->bound_s = way.link[l].s_per_byte;
    row->meets = meet(machine, message, n_messages);
    return true;
}

/* Both kinds of traffic at once: from each device a message half the machine away, which gives
 * way, and a chain of exchanges with its neighbour. `near`: the time until these have ended. */
static bool weigh_both(struct arena *arena, const struct hypar_machine *machine,
                       struct row *row)
{
    enum { CHAIN = 16 };
    int n = hypar_machine_device_count(machine), n_tasks = n * (CHAIN + 1), n_after = 0;
    bool near = strcmp(row->kind, "near") == 0;
    if (!near && strcmp(row->kind, "near-and-far") != 0)
        return false;
    struct sim_task *task = NEW(arena, struct sim_task, n_tasks);
    struct times *times = NEW(arena, struct times, n_tasks);
    int64_t *start = NEW(arena, int64_t, n_tasks + 1);
    int *after = NEW(arena, int, 2 * n_tasks);
    for (int t = 0; t < n_tasks; t++) {
        int from = t % n, far = t < n, to = far ? (from + n / 2) % n : from ^ 1;
        task[t] = task_of(arena, machine, &(struct message){ from, to, row->bytes }, t);
        task[t].traffic = far ? TRAFFIC_SUMS : TRAFFIC_NEXT;
        if (t >= 2 * n) { /* it has sent, and received */
            after[n_after++] = t - n;
            after[n_after++] = t - n - from + (from ^ 1);
        }
        start[t + 1] = n_after;
    }
    struct task_graph graph = { n_tasks, 2 * hypar_machine_link_count(machine), task, start,
                                after };
    row->served_s = hp_seconds(hp_run_graph(&graph, times, NULL));
    for (int t = n; near && t < n_tasks; t++)
        row->served_s = t == n || hp_seconds(times[t].end) > row->served_s
                            ? hp_seconds(times[t].end)
                            : row->served_s;
    row->one_s = row->served_s;
    row->bound_s = near ? 0 : busiest_s(arena, &graph);
    return true;
}

static bool rounds_meet(struct arena *arena, const struct hypar_machine *machine,
                        const struct comm_group *group, const struct comm_way *way)
{
    struct comm_rounds rounds;
    bool result = false;
    const struct comm_algorithm *algorithm = NULL;
    for (int i = 0; (algorithm = hp_comm_algorithm(i)); i++)
        if (algorithm->kind == group->kind && strcmp(algorithm->name, way->algorithm) == 0)
            break;
    hp_comm_rounds(arena, machine, algorithm, group, way->block, &rounds);
    struct message *message = NEW(arena, struct message, rounds.n_hops);
    for (int h = 0; h < rounds.n_hops; h++)
        message[h] = (struct message){ group->device[rounds.hop[h].from],
                                       group->device[rounds.hop[h].to], 0 };
    for (int r = 0; r < rounds.n_rounds; r++)
        result |= rounds.round[r].n &&
                  meet(machine, message + rounds.round[r].first, rounds.round[r].n);
    return result;
}

/* Messages that all start at once, as one task. */
static double messages_s(struct arena *arena, const struct hypar_machine *machine,
                         const struct comm_messages *messages)
{
    struct message *message = NEW(arena, struct message, messages->n);
    struct comm_way way;
    for (int i = 0; i < messages->n; i++)
        message[i] = messages->list[i].message;
    hp_messages_way(arena, machine, message, messages->n, &way);
    return way.fixed_s + way.s_per_byte;
}

static bool weigh_collective(struct arena *arena, const struct hypar_machine *machine,
                             int block, struct row *row)
{
    int n = hypar_machine_device_count(machine), kind = 0, device[MAX_DEVICES];
    struct comm_messages messages;
    for (int i = 0; i < n; i++)
        device[i] = i;
    while (kind < COMM_EXCHANGE && strcmp(hp_comm_text((enum comm_kind)kind), row->kind) != 0)
        kind++;
    if (kind == COMM_EXCHANGE)
        return false;
    if (kind == COMM_SEND) {
        device[1] = n - 1;
        n = 2;
    }
    struct comm_group group = { (enum comm_kind)kind, n, device, 0 };
    const struct comm_model *model = hp_comm_model(arena, machine, &group);
    for (int w = 0; w < model->n_ways; w++) {
        const struct comm_way *way = &model->way[w];
        if (strcmp(way->algorithm, row->algorithm) != 0 || (way->block && way->block != block))
            continue;
        hp_comm_messages(arena, machine, &group, way, row->bytes, &messages);
        row->one_s = kind == COMM_ALL_TO_ALL && strcmp(way->algorithm, "all at once") == 0
                         ? messages_s(arena, machine, &messages)
                         : way->fixed_s + row->bytes * way->s_per_byte;
        row->served_s = serve(machine, &messages);
        row->bound_s = hp_comm_lower_bound_s(machine, &group, row->bytes);
        row->meets = rounds_meet(arena, machine, &group, way);
        return true;
    }
    return false;
}

/* smpirun divides its program's words at blanks, so they come as underscores. */
static bool read_row(const char *line, struct row *row)
{
    if (sscanf(line, "%31[^;];%31[^;];%lf;%lf", row->kind, row->algorithm, &row->bytes,
               &row->simgrid_s) != 4)
        return false;
    for (char *c = row->algorithm; *c; c++)
        *c = *c == '_' ? ' ' : *c;
    return true;
}

static bool differs(double ours_s, double simgrid_s)
{
    return ours_s < .85 * simgrid_s || ours_s > 1.15 * simgrid_s;
}

/* The simulation as it is done unless asked otherwise, one task for a collective; and its
 * messages served, where no two of a round want the same link. A reduction's tree is left out:
 * as one task its rounds are taken to be as long as the longest route, though a tree need not
 * wait so. */
static bool is_off(const struct row *row)
{
    bool tree = strcmp(row->kind, "reduce") == 0;
    return (!tree && differs(row->one_s, row->simgrid_s)) ||
           (!row->meets && differs(row->served_s, row->simgrid_s)) ||
           row->one_s < row->bound_s * (1 - 1e-9) || row->served_s < row->bound_s * (1 - 1e-9);
}

static int compare(const struct hypar_machine *machine, const char *word, int block)
{
    char line[256];
    int bad = 0;
    while (fgets(line, sizeof line, stdin)) {
        struct arena arena = { 0 };
        struct row row = { 0 };
        if (!read_row(line, &row) ||
            (!weigh_messages(&arena, machine, &row) && !weigh_both(&arena, machine, &row) &&
             !weigh_collective(&arena, machine, block, &row))) {
            fprintf(stderr, "messages: cannot compare: %s", line);
            bad = 1;
            hp_arena_free(&arena);
            continue;
        }
        bool off = is_off(&row);
        printf("%-18s %-14s %-20s %9.0f %11.3f %11.3f %11.3f %11.3f %6.3f %6.3f%s%s\n", word,
               row.kind, row.algorithm, row.bytes, 1e6 * row.simgrid_s, 1e6 * row.one_s,
               1e6 * row.served_s, 1e6 * row.bound_s, row.one_s / row.simgrid_s,
               row.served_s / row.simgrid_s, row.meets ? " shared" : "", off ? " !" : "");
        bad |= off;
        hp_arena_free(&arena);
    }
    return bad;
}

static void print_blocks(const struct hypar_machine *machine)
{
    struct arena arena = { 0 };
    int n = hypar_machine_device_count(machine);
    int *device = NEW(&arena, int, n);
    for (int i = 0; i < n; i++)
        device[i] = i;
    struct comm_group group = { COMM_ALL_REDUCE, n, device, 0 };
    const struct comm_model *model = hp_comm_model(&arena, machine, &group);
    for (int w = 0; w < model->n_ways; w++)
        if (model->way[w].block)
            printf("%d\n", model->way[w].block);
    hp_arena_free(&arena);
}

int main(int argc, char **argv)
{
    struct hypar_machine *machine;
    struct hypar_error err;
    int status = 0;
    if (argc < 3) {
        fprintf(stderr, "usage: messages platform|blocks|compare MACHINE [BLOCK]\n");
        return 2;
    }
    if (hypar_machine_read(&machine, argv[2], &err) != HYPAR_OK) {
        fprintf(stderr, "messages: %s\n", err.text);
        return 3;
    }
    if (hypar_machine_device_count(machine) > MAX_DEVICES) {
        fprintf(stderr, "messages: %s: more than %d devices\n", argv[2], MAX_DEVICES);
        return 3;
    }
    if (strcmp(argv[1], "platform") == 0)
        print_platform(machine);
    else if (strcmp(argv[1], "blocks") == 0)
        print_blocks(machine);
    else
        status = compare(machine, argv[2], argc > 3 ? atoi(argv[3]) : 0);
    hypar_machine_free(machine);
    return status;
}
