/* Where the time of a critical path goes. */
#include "report/path.h"

#include <stdlib.h>
#include <string.h>

#include "base/table.h"
#include "base/word.h"

static const struct {
    const char *text, *words;
} kinds[] = {
    [PATH_COMPUTE] = { "computing", "computing" },
    [PATH_AGAIN] = { "recomputation", "recomputation" },
    [PATH_UPDATE] = { "update", "updating parameters" },
    [PATH_EXCHANGE] = { "exchange", "exchanges that nothing hides" },
    [PATH_BUBBLE] = { "bubble", "the pipeline's bubble" },
    [PATH_LAUNCH] = { "launches", "launching kernels" },
};

const char *hp_path_kind_text(enum path_kind kind)
{
    return kinds[kind].text;
}

const char *hp_path_kind_words(enum path_kind kind)
{
    return kinds[kind].words;
}

struct adding {
    const struct hypar_sim *sim;
    const struct hypar_graph *graph;
    struct arena *arena;
    struct path_sum *sum;
    struct table rows;   /* by name of all that is in a row */
    const char **member; /* by row: the first of these; NULL: there are several */
    int member_capacity;
};

/* "all-reduce gradient of h.0.attn.w" of "... (ring) micro 3", "... 0 -> 1". */
static char *exchange_name(struct arena *arena, const char *name)
{
    static const char *const words[] = { " (", " micro ", " period " };
    char *text = hp_arena_strdup(arena, name), *arrow = strstr(text, " -> ");
    if (arrow) {
        *arrow = '\0';
        text[strrchr(text, ' ') - text] = '\0';
    }
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strstr(text, words[i]))
            *strstr(text, words[i]) = '\0';
    return text;
}

/* The same of all layers that repeat: "all-reduce gradient of h.*.attn.w". */
static char *without_layers(struct arena *arena, const char *name)
{
    const char *space = strrchr(name, ' '), *last = space ? space + 1 : name;
    return hp_arena_printf(arena, "%.*s%s", (int)(last - name), name,
                           hp_without_numbers(arena, last));
}

/* The stage that most of the path is computed in; -1: there are none. */
static int longest_stage(const struct hypar_sim *sim)
{
    struct arena arena = { 0 };
    int n = hypar_plan_stage_count(hypar_sim_plan(sim)), longest = -1;
    double *seconds = NEW(&arena, double, n + 1);
    struct hypar_sim_segment s;
    struct hypar_sim_event e;
    for (int64_t i = 0; n > 1 && hypar_sim_segment(sim, i, &s); i++)
        if (s.kind == HYPAR_SEGMENT_COMPUTE && hypar_sim_event(sim, s.event, &e) &&
            e.stage >= 0)
            seconds[e.stage] += s.end_s - s.start_s;
    for (int stage = 0; n > 1 && stage < n; stage++)
        if (longest < 0 || seconds[stage] > seconds[longest])
            longest = stage;
    hp_arena_free(&arena);
    return longest;
}

static enum path_kind kind_of(const struct adding *a, const struct hypar_sim_segment *s,
                              const struct hypar_sim_event *e)
{
    if (s->kind != HYPAR_SEGMENT_COMPUTE)
        return s->kind == HYPAR_SEGMENT_UPDATE     ? PATH_UPDATE
               : s->kind == HYPAR_SEGMENT_EXCHANGE ? PATH_EXCHANGE
                                                   : PATH_LAUNCH;
    if (a->sum->stage >= 0 && e->stage != a->sum->stage)
        return PATH_BUBBLE;
    return strstr(e->name, " again part ") ? PATH_AGAIN : PATH_COMPUTE;
}

/* The row of a name; `member` is what is in it, the name itself if there is no other. */
static struct path_row *row_of(struct adding *a, enum path_kind kind, const char *name,
                               const char *member)
{
    struct path_sum *sum = a->sum;
    int i = hp_table_get(&a->rows, name, strlen(name));
    if (i >= 0) {
        if (a->member[i] && strcmp(a->member[i], member) != 0)
            a->member[i] = NULL;
        return &sum->row[i];
    }
    name = hp_arena_strdup(a->arena, name);
    a->member = GROW(a->arena, const char *, a->member, sum->n, &a->member_capacity);
    a->member[sum->n] = hp_arena_strdup(a->arena, member);
    sum->row = GROW(a->arena, struct path_row, sum->row, sum->n, &sum->capacity);
    sum->row[sum->n] = (struct path_row){ .kind = kind, .name = name };
    hp_table_put(&a->rows, a->arena, name, strlen(name), sum->n);
    return &sum->row[sum->n++];
}

static void add_segment(struct adding *a, const struct hypar_sim_segment *s)
{
    struct arena scratch = { 0 };
    struct hypar_sim_event e = { .name = "" };
    if (s->event >= 0)
        hypar_sim_event(a->sim, s->event, &e);
    enum path_kind kind = kind_of(a, s, &e);
    const char *member = hp_path_kind_text(kind), *name = member;
    if (kind == PATH_EXCHANGE) {
        member = exchange_name(&scratch, e.name);
        name = without_layers(&scratch, member);
    } else if (kind == PATH_COMPUTE) {
        name = member = hypar_graph_op_kind(a->graph, e.op);
    }
    struct path_row *row = row_of(a, kind, name, member);
    double seconds = s->end_s - s->start_s;
    row->seconds += seconds;
    row->queued_s += s->queued_s;
    row->segments++;
    a->sum->kind_s[kind] += seconds;
    a->sum->whole_s = s->end_s;
    hp_arena_free(&scratch);
}

static int by_time(const void *a, const void *b)
{
    const struct path_row *x = a, *y = b;
    if (x->seconds != y->seconds)
        return x->seconds > y->seconds ? -1 : 1;
    return strcmp(x->name, y->name);
}

struct path_sum hp_add_up_path(const struct hypar_sim *sim, struct arena *arena)
{
    struct path_sum sum = { .stage = longest_stage(sim) };
    struct adding a = {
        .sim = sim, .graph = hypar_plan_graph(hypar_sim_plan(sim)), .arena = arena, .sum = &sum
    };
    struct hypar_sim_segment s;
    for (int64_t i = 0; hypar_sim_segment(sim, i, &s); i++)
        add_segment(&a, &s);
    for (int i = 0; i < sum.n; i++)
        if (a.member[i])
            sum.row[i].name = a.member[i];
    if (sum.n)
        qsort(sum.row, (size_t)sum.n, sizeof *sum.row, by_time);
    return sum;
}
