/* Collectives: every algorithm computes its result, its messages depend on earlier ones only,
 * and its cost agrees with closed forms and an independent server. */
#include "cost/collective.h"
#include "cost/collective_rounds.h"
#include "tests/cost/list_links.h"
#include "tests/cost/serve_messages.h"
#include "tests/machine/check.h"

#include <math.h>
#include <stdio.h>

enum { MAX_GROUP = 17, MAX_ROWS = 64 };

static double max(double a, double b)
{
    return a > b ? a : b;
}

static void assert_near(double value, double expected)
{
    if (!(fabs(value - expected) <= 1e-12 * fabs(expected)))
        fail_msg("%.17g, expected %.17g", value, expected);
}

static int rounds_up_log2(int n)
{
    int log = 0;
    while (1 << log < n)
        log++;
    return log;
}

static const struct comm_algorithm *row_of(enum comm_kind kind, const char *name, int *number)
{
    const struct comm_algorithm *row;
    for (int i = 0; (row = hp_comm_algorithm(i)); i++)
        if (row->kind == kind && strcmp(row->name, name) == 0) {
            *number = i;
            return row;
        }
    fail_msg("no algorithm '%s'", name);
    return NULL;
}

/* --- what is computed --- */

/* A set of contributions (bit i: that of device[i]) to one piece; 0: the piece is not there. */
typedef uint32_t sum;

struct flow {
    const struct comm_group *group;
    const struct comm_rounds *rounds;
    const struct comm_messages *messages;
    int n_pieces;  /* different ones of a chunk */
    int per_chunk; /* messages */
    sum all;
    bool wasteful;    /* known to send some of what is there already */
    sum *sent;        /* [message][piece] */
    bool *sums;       /* [message] */
    uint64_t *before; /* [message]: bit set of the messages that have arrived when it starts */
    int n_words;
};

static int piece_of(const struct comm_hop *hop, int repetition, int j)
{
    int64_t at = (hop->offset + (int64_t)repetition * hop->shift + j) % hop->period;
    return hop->base + (int)(at < 0 ? at + hop->period : at);
}

static bool is_own(const struct flow *f, int device, int piece)
{
    int n = f->group->n_devices, per_part = f->n_pieces / f->rounds->parts;
    const int *own = f->rounds->own + piece / per_part * n;
    return piece % per_part / (per_part / n) == own[device];
}

static sum piece_at_start(const struct flow *f, int device, int piece)
{
    int n = f->group->n_devices;
    switch (f->group->kind) {
    case COMM_SEND:
    case COMM_BROADCAST:
        return device == f->group->root ? f->all : 0;
    case COMM_ALL_GATHER:
        return is_own(f, device, piece) ? f->all : 0;
    case COMM_ALL_TO_ALL:
        return piece / n == device ? f->all : 0;
    default:
        return (sum)1 << device;
    }
}

static bool wants(const struct flow *f, int device, int piece)
{
    int n = f->group->n_devices;
    switch (f->group->kind) {
    case COMM_REDUCE:
        return device == f->group->root;
    case COMM_REDUCE_SCATTER:
        return is_own(f, device, piece);
    case COMM_ALL_TO_ALL:
        return piece % n == device && piece / n != device;
    default:
        return true;
    }
}

/* What `device` has of a chunk's piece once the messages in `arrived` (all if NULL) have
 * arrived. */
static sum piece_at(const struct flow *f, int chunk, int device, int piece,
                    const uint64_t *arrived)
{
    sum have = piece_at_start(f, device, piece);
    for (int s = chunk * f->per_chunk; s < (chunk + 1) * f->per_chunk; s++) {
        sum more = f->sent[(size_t)s * (size_t)f->n_pieces + (size_t)piece];
        if (!more || f->messages->list[s].message.to != f->group->device[device] ||
            (arrived && !(arrived[s / 64] >> s % 64 & 1)))
            continue;
        if (f->sums[s])
            assert_int_equal(have & more, 0); /* nothing is added twice */
        else if (!f->wasteful)
            assert_int_not_equal(have | more, have); /* nothing is sent in vain */
        have |= more;
    }
    return have;
}

static void follow_message(struct flow *f, const struct comm_hop *hop, int repetition, int s)
{
    const struct comm_message *m = &f->messages->list[s];
    uint64_t *before = f->before + s * f->n_words;
    assert_int_equal(m->message.from, f->group->device[hop->from]);
    assert_int_equal(m->message.to, f->group->device[hop->to]);
    for (int a = 0; a < m->n_after; a++) {
        assert_in_range(m->after[a], 0, s - 1);
        for (int w = 0; w < f->n_words; w++)
            before[w] |= f->before[m->after[a] * f->n_words + w];
        before[m->after[a] / 64] |= (uint64_t)1 << m->after[a] % 64;
    }
    for (int j = 0; j < hop->n_pieces; j++) {
        int piece = piece_of(hop, repetition, j);
        sum have = piece_at(f, s / f->per_chunk, hop->from, piece, before);
        assert_int_not_equal(have, 0); /* it sends what it has */
        f->sent[s * f->n_pieces + piece] = have;
    }
}

/* The hop that a message is; the messages of a round have an order of their own. Of several
 * between the same devices, which wait for the same, each is taken once: `taken`, by hop, is
 * the number of the round that took it last. */
static const struct comm_hop *hop_of(const struct flow *f, const struct comm_round *round,
                                     int number, int *taken, int time)
{
    const struct message *message = &f->messages->list[number].message;
    for (int h = round->first; h < round->first + round->n; h++) {
        const struct comm_hop *hop = &f->rounds->hop[h];
        if (f->group->device[hop->from] != message->from ||
            f->group->device[hop->to] != message->to || taken[h] == time)
            continue;
        taken[h] = time;
        return hop;
    }
    fail_msg("no such hop");
    return NULL;
}

/* Follow the pieces through all messages. */
static void check_flow(const struct hypar_machine *machine, const struct comm_group *group,
                       const struct comm_way *way, const struct comm_messages *messages,
                       double bytes)
{
    struct arena arena = { 0 };
    struct comm_rounds rounds;
    int number, n = group->n_devices, s = 0;
    hp_comm_rounds(&arena, machine, row_of(group->kind, way->algorithm, &number), group,
                   way->block, &rounds);
    struct flow f = { .group = group, .rounds = &rounds, .messages = messages };
    f.n_pieces = group->kind == COMM_ALL_TO_ALL ? n * n : rounds.pieces_per_whole;
    f.wasteful = strcmp(way->algorithm, "scatter, all-gather") == 0;
    f.all = ((sum)1 << n) - 1;
    f.n_words = messages->n / 64 + 1;
    f.per_chunk = messages->n / rounds.chunks;
    assert_int_equal(messages->n % rounds.chunks, 0);
    int *taken = NEW(&arena, int, rounds.n_hops), time = 0;
    f.sent = NEW(&arena, sum, messages->n * f.n_pieces);
    f.sums = NEW(&arena, bool, messages->n);
    f.before = NEW(&arena, uint64_t, messages->n * f.n_words);
    for (int r = 0; s < messages->n; r = (r + 1) % rounds.n_rounds)
        for (int k = 0; k < rounds.round[r].repeat; k++) {
            time++;
            for (int h = 0; h < rounds.round[r].n; h++, s++) {
                assert_true(s < messages->n);
                const struct comm_hop *hop = hop_of(&f, &rounds.round[r], s, taken, time);
                f.sums[s] = rounds.round[r].sums;
                assert_near(messages->list[s].message.bytes,
                            bytes / rounds.chunks * hop->n_pieces / rounds.pieces_per_whole);
                follow_message(&f, hop, k, s);
            }
        }
    assert_int_equal(s, messages->n);
    for (int c = 0; c < rounds.chunks; c++)
        for (int i = 0; i < n; i++)
            for (int p = 0; p < f.n_pieces; p++)
                if (wants(&f, i, p))
                    assert_int_equal(piece_at(&f, c, i, p, NULL), f.all);
    hp_arena_free(&arena);
}

/* --- what it costs --- */

/* What a link carries of a message: switches that sum or copy have messages share a load. */
static double on_link(const struct comm_hop *hop, int i, int n)
{
    int together = 2 * i < n ? hop->up_of : hop->down_of;
    return (double)hop->n_pieces / (together ? together : 1);
}

/* Time and loads by the definition, round by round, with no table of links and no repetition.
 * Chunks after the first take what the busiest link takes. */
static void check_way(const struct hypar_machine *machine, const struct comm_group *group,
                      const struct comm_way *way)
{
    struct arena arena = { 0 };
    struct comm_rounds rounds;
    int number, n_links = 2 * hypar_machine_link_count(machine), next = 0;
    double *load_s = NEW(&arena, double, n_links), *total_s = NEW(&arena, double, n_links);
    int *route = NEW(&arena, int, hypar_machine_longest_route(machine) + 1);
    double fixed_s = 0, s_per_byte = 0;
    hp_comm_rounds(&arena, machine, row_of(group->kind, way->algorithm, &number), group,
                   way->block, &rounds);
    for (int r = 0; r < rounds.n_rounds; r++)
        for (int k = 0; k < rounds.round[r].repeat; k++) {
            double latency_s = 0, longest_s = 0;
            memset(load_s, 0, (size_t)n_links * sizeof *load_s);
            for (int h = 0; h < rounds.round[r].n; h++) {
                const struct comm_hop *hop = &rounds.hop[rounds.round[r].first + h];
                int n = hypar_machine_route(machine, group->device[hop->from],
                                            group->device[hop->to], route, n_links);
                double route_s = 0;
                for (int i = 0; i < n; i++) {
                    struct hypar_link link = hypar_machine_link(machine, route[i] / 2);
                    double held_s =
                        on_link(hop, i, n) / rounds.pieces_per_whole / link.bytes_per_s;
                    route_s += link.latency_s;
                    longest_s = max(longest_s, load_s[route[i]] += held_s);
                    total_s[route[i]] += held_s;
                }
                latency_s = max(latency_s, route_s);
            }
            fixed_s += latency_s;
            s_per_byte += longest_s;
        }
    double busiest_s = 0;
    for (int l = 0; l < n_links; l++)
        busiest_s = max(busiest_s, total_s[l]);
    s_per_byte = (s_per_byte + (rounds.chunks - 1) * busiest_s) / rounds.chunks;
    assert_near(way->fixed_s, fixed_s + way->overhead.fixed_s);
    assert_near(way->s_per_byte, s_per_byte + way->overhead.s_per_byte);
    for (int l = 0; l < n_links; l++)
        if (total_s[l] > 0) {
            assert_true(next < way->n_links);
            assert_int_equal(way->link[next].link, l);
            assert_near(way->link[next++].s_per_byte, total_s[l]);
        }
    assert_int_equal(next, way->n_links);
    hp_arena_free(&arena);
}

/* Wholes that all devices send together: never less, and for most algorithms no more. */
static double least_sent(enum comm_kind kind, int n)
{
    switch (kind) {
    case COMM_ALL_REDUCE:
        return 2.0 * (n - 1);
    case COMM_ALL_TO_ALL:
        return (double)n * (n - 1);
    default:
        return n - 1;
    }
}

static void check_sent(const struct comm_group *group, const struct comm_way *way,
                       const struct comm_messages *messages, double bytes)
{
    double sent = 0, least = least_sent(group->kind, group->n_devices) * bytes;
    bool folded = strstr(way->algorithm, "doubling") && group->kind == COMM_ALL_REDUCE;
    bool scattered = strchr(way->algorithm, ','); /* the tree passes pieces on */
    for (int s = 0; s < messages->n; s++)
        sent += messages->list[s].message.bytes;
    assert_true(sent >= least * (1 - 1e-12));
    if (!folded && !scattered)
        assert_near(sent, least);
}

/* On links for every pair nothing meets: latency a and seconds b for the whole over one link.
 */
static double closed_form(const struct comm_group *group, const struct comm_way *way, double a,
                          double b)
{
    int n = group->n_devices, log = rounds_up_log2(n), core = 1 << (log - ((n & (n - 1)) != 0));
    int spread = way->block ? (n / way->block - 1) + (way->block - 1) : 0;
    double most = (n - 1.0) / n, folds = core == n ? 0 : 2;
    const char *name = way->algorithm;
    int times = group->kind == COMM_ALL_REDUCE ? 2 : 1;
    if (strcmp(name, "direct") == 0 && group->kind == COMM_ALL_REDUCE)
        return 2 * (a + b / n);
    if (strcmp(name, "direct") == 0 || strcmp(name, "all at once") == 0)
        return a + b;
    if (strcmp(name, "pairwise") == 0)
        return (n - 1) * (a + b);
    if (strcmp(name, "ring") == 0)
        return times * (n - 1) * (a + b / n);
    if (strcmp(name, "multi-ring") == 0 && n < 3)
        return times * (a + b / n);
    if (strcmp(name, "two-way ring") == 0 || strcmp(name, "multi-ring") == 0)
        return times * (n - 1) * (a + b / (2 * n));
    if (strcmp(name, "tree") == 0)
        return times * log * (a + b);
    if (strcmp(name, "hierarchical") == 0)
        return times * (spread * a + most * b);
    if (strstr(name, "server"))
        return times * (way->block > 1 && way->block < n ? 2 : 1) * (a + b);
    if (strchr(name, ','))
        return (log + n - 1) * a + 2 * most * b;
    if (strcmp(name, "halving and doubling") == 0)
        return folds * (a + b) + 2 * (rounds_up_log2(core) * a + (core - 1.0) / core * b);
    if (group->kind == COMM_ALL_REDUCE && strcmp(name, "recursive doubling") == 0)
        return folds * (a + b) + rounds_up_log2(core) * (a + b);
    if (strcmp(name, "bruck") == 0 || strncmp(name, "recursive", 9) == 0)
        return log * a + most * b;
    fail_msg("no closed form for '%s'", name);
    return 0;
}

/* --- every algorithm, machine and size --- */

static const char explicit_machine[] =
    "{\"format\":\"hypar-machine/"
    "1\",\"devices\":[{\"name\":\"a100\",\"count\":18}],\"switches\":3,"
    "\"links\":[%s{\"from\":18,\"to\":19,\"bytes_per_s\":30e9,\"latency_s\":3e-6},"
    "{\"from\":19,\"to\":20,\"bytes_per_s\":10e9,\"latency_s\":5e-6},"
    "{\"from\":4,\"to\":14,\"bytes_per_s\":4e9,\"latency_s\":1e-6}]}";

/* "listed ": the links of the word one by one, its devices with any numbers. */
static struct hypar_machine *make_listed(const char *word)
{
    struct random random = { 20250 };
    struct hypar_machine *machine = machine_of(word);
    int number[MAX_GROUP + 16];
    for (int d = 0; d < machine->n_devices; d++)
        number[d] = d;
    shuffle(&random, number, machine->n_devices);
    struct hypar_machine *listed = list_links(&random, machine, number);
    hypar_machine_free(machine);
    return listed;
}

static struct hypar_machine *make_machine(const char *word)
{
    if (strncmp(word, "listed ", 7) == 0)
        return make_listed(word + 7);
    if (strcmp(word, "explicit") != 0)
        return machine_of(word);
    char links[18 * 80] = "", text[4096];
    for (int i = 0; i < 18; i++) {
        size_t used = strlen(links);
        snprintf(links + used, sizeof links - used,
                 "{\"from\":%d,\"to\":%d,\"bytes_per_s\":%de9,\"latency_s\":%de-6},", i,
                 18 + i / 6, 20 + i, 1 + i % 3);
    }
    snprintf(text, sizeof text, explicit_machine, links);
    struct hypar_machine *machine;
    struct hypar_error err;
    if (read_json(&machine, text, &err) != HYPAR_OK)
        fail_msg("%s", err.text);
    return machine;
}

static void check_one(const struct hypar_machine *machine, const struct comm_group *group,
                      const struct comm_way *way, double bytes)
{
    struct arena arena = { 0 };
    struct comm_messages messages;
    hp_comm_messages(&arena, machine, group, way, bytes, &messages);
    assert_int_equal(messages.n, way->n_messages);
    check_flow(machine, group, way, &messages, bytes);
    check_way(machine, group, way);
    check_sent(group, way, &messages, bytes);

    double bound_s = hp_comm_lower_bound_s(machine, group, bytes);
    double one_s = way->fixed_s + bytes * way->s_per_byte;
    double served_s = serve_messages(machine, &messages);
    assert_true(bound_s > 0);
    assert_true(one_s >= bound_s * (1 - 1e-12));
    assert_true(served_s >= bound_s * (1 - 1e-12));
    for (int l = 0; l < way->n_links; l++)
        assert_true(bytes * way->link[l].s_per_byte <= served_s * (1 + 1e-12));
    /* Served first come, first served, all first rounds of chunks come before the second ones.
     */
    int number;
    if (row_of(group->kind, way->algorithm, &number)->chunks > 1)
        assert_true(served_s <= 1.5 * one_s);
    if (strcmp(hypar_machine_topology(machine), "full") == 0) {
        struct hypar_link link = hypar_machine_link(machine, 0);
        double closed_s = closed_form(group, way, link.latency_s, bytes / link.bytes_per_s);
        if (group->device[group->n_devices - 1] == group->n_devices - 1 || !way->block)
            assert_near(one_s, closed_s);
        assert_true(served_s <= one_s * (1 + 1e-12));
        bool even = (group->n_devices & (group->n_devices - 1)) == 0;
        bool lone = strstr(way->algorithm, "hierarchical server"); /* blocks may be small */
        if (!strchr(way->algorithm, ',') && !lone && (even || !strstr(way->algorithm, "tree")))
            assert_near(served_s, one_s);
    }
    hp_arena_free(&arena);
}

static const double sizes[] = { 8, 65536, 1e9 };

static void check_model(const struct hypar_machine *machine, const struct comm_group *group,
                        const struct comm_model *model, int *used)
{
    assert_true(model->n_ways > 0);
    for (int w = 0; w < model->n_ways; w++) {
        int number;
        row_of(group->kind, model->way[w].algorithm, &number);
        used[number]++;
        check_one(machine, group, &model->way[w], 65536);
    }
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        const struct comm_way *best = hp_comm_best_way(model, sizes[i]);
        for (int w = 0; w < model->n_ways; w++)
            assert_true(best->fixed_s + sizes[i] * best->s_per_byte <=
                        model->way[w].fixed_s + sizes[i] * model->way[w].s_per_byte);
    }
}

static bool only_asked_for(const struct comm_algorithm *row)
{
    return row->asked_for;
}

/* Ways of the group by this algorithm that a model has. */
static int count_ways(const struct comm_model *model, const char *name)
{
    int n = 0;
    for (int w = 0; w < model->n_ways; w++)
        n += strcmp(model->way[w].algorithm, name) == 0;
    return n;
}

/* Asked for by name: all ways of that name and no other; without one, all that there are. */
static void check_named(struct arena *arena, const struct hypar_machine *machine,
                        const struct comm_group *group, const struct comm_model *all, int *used)
{
    const struct comm_algorithm *row;
    for (int i = 0; (row = hp_comm_algorithm(i)); i++) {
        if (row->kind != group->kind)
            continue;
        const struct comm_model *model = hp_comm_model_named(arena, machine, group, row->name);
        int named = count_ways(model, row->name), offered = count_ways(all, row->name);
        if (only_asked_for(row)) {
            assert_int_equal(offered, 0);
            assert_true(named > 0 && named == model->n_ways);
            check_model(machine, group, model, used);
        } else {
            assert_int_equal(named, offered);
            assert_int_equal(model->n_ways, offered ? offered : all->n_ways);
        }
    }
}

static void check_group(const struct hypar_machine *machine, const struct comm_group *group,
                        int *used)
{
    struct arena arena = { 0 };
    const struct comm_model *model = hp_comm_model(&arena, machine, group);
    check_model(machine, group, model, used);
    check_named(&arena, machine, group, model, used);
    hp_arena_free(&arena);
}

/* `n` of the machine's devices: the first, or any, in rising order or (last) in none. */
static void choose(struct random *random, int n_devices, int n, int style, int *device)
{
    int all[MAX_GROUP + 16];
    for (int i = 0; i < n_devices; i++)
        all[i] = i;
    for (int i = 0; i < n_devices && style > 0; i++) {
        int j = i + (int)hp_random_below(random, n_devices - i), swap = all[i];
        all[i] = all[j];
        all[j] = swap;
    }
    for (int i = 0; i < n; i++) {
        int at = i;
        for (; at > 0 && style < 2 && device[at - 1] > all[i]; at--)
            device[at] = device[at - 1];
        device[at] = all[i];
    }
}

static void every_algorithm(void **state)
{
    (void)state;
    static const char *const words[] = {
        "torus:3x6",
        "torus:2x3x3",
        "mesh:3x6",
        "mesh:2x3x3",
        "ring:18",
        "full:18",
        "cluster:3x6,nics=1",
        "cluster:3x6,nics=3",
        "cluster:3x6,nics=6,nvls=on",
        "cluster:6x3,nics=3,sharp=on",
        "cluster:9x2,nvls=on,sharp=on",
        "cluster:18x1,nvls=on,sharp=on",
        "cluster:2x4+cluster:2x5,device=a100",
        "htree:18",
        "htree:32",
        "local:18",
        "explicit",
        "listed cluster:3x6,nics=1",
        "listed mesh:3x6",
    };
    int used[MAX_ROWS] = { 0 }, device[MAX_GROUP], styles = 3;
    const uint64_t seed = 20250;
    struct random random = { seed };
    print_message("seed %llu\n", (unsigned long long)seed);
    for (size_t m = 0; m < sizeof words / sizeof *words; m++) {
        struct hypar_machine *machine = make_machine(words[m]);
        for (int n = 2; n <= MAX_GROUP; n++)
            for (int kind = 0; kind < COMM_KIND_COUNT; kind++) {
                if (kind == COMM_EXCHANGE || (kind == COMM_SEND && n > 2))
                    continue;
                struct comm_group group = { (enum comm_kind)kind, n, device, 0 };
                int style = (n + kind) % styles;
                choose(&random, hypar_machine_device_count(machine), n, style, device);
                group.root = (int)hp_random_below(&random, n);
                check_group(machine, &group, used);
            }
        hypar_machine_free(machine);
    }
    for (int i = 0; hp_comm_algorithm(i); i++)
        if (used[i] == 0)
            fail_msg("%s: '%s' was never used", hp_comm_text(hp_comm_algorithm(i)->kind),
                     hp_comm_algorithm(i)->name);
}

/* --- single facts --- */

static void a_row_for_every_kind(void **state)
{
    (void)state;
    for (int kind = 0; kind < COMM_KIND_COUNT; kind++) {
        int rows = 0;
        for (int i = 0; hp_comm_algorithm(i); i++)
            rows += hp_comm_algorithm(i)->kind == (enum comm_kind)kind &&
                    hp_comm_algorithm(i)->needs == ANY_SIZE &&
                    hp_comm_algorithm(i)->min_devices == 1;
        assert_int_equal(rows, kind != COMM_EXCHANGE);
    }
    assert_null(hp_comm_algorithm(-1));
}

static void alone_there_is_nothing_to_do(void **state)
{
    (void)state;
    struct hypar_machine *machine = machine_of("torus:4x4");
    const int device[] = { 5 };
    for (int kind = 0; kind < COMM_EXCHANGE; kind++) {
        struct arena arena = { 0 };
        struct comm_group group = { (enum comm_kind)kind, 1, device, 0 };
        const struct comm_model *model = hp_comm_model(&arena, machine, &group);
        struct comm_messages messages;
        assert_int_equal(model->n_ways, 1);
        assert_true(model->way->fixed_s == 0 && model->way->s_per_byte == 0);
        assert_int_equal(model->way->n_links, 0);
        hp_comm_messages(&arena, machine, &group, model->way, 100, &messages);
        assert_int_equal(messages.n, 0);
        assert_true(hp_comm_lower_bound_s(machine, &group, 100) == 0);
        hp_arena_free(&arena);
    }
    hypar_machine_free(machine);
}

/* (n-1)/n bytes / bandwidth by one ring both ways; on k dimensions a k-th of that by k rings.
 */
static void tori_have_several_rings(void **state)
{
    (void)state;
    static const struct {
        const char *word;
        int n_devices, n_rings;
    } rows[] = { { "torus:4x4", 16, 2 }, { "torus:3x5", 15, 2 }, { "torus:4x3x5", 60, 3 },
                 { "torus:8", 8, 1 },    { "torus:2x4", 8, 1 },  { "mesh:4x4", 16, 1 },
                 { "torus:4x4", 4, 1 } };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct arena arena = { 0 };
        struct hypar_machine *machine = machine_of(rows[i].word);
        int n = rows[i].n_devices, device[64];
        for (int d = 0; d < n; d++)
            device[d] = d;
        struct comm_group group = { COMM_ALL_REDUCE, n, device, 0 };
        const struct comm_model *model =
            hp_comm_model_named(&arena, machine, &group, "multi-ring");
        double bytes_per_s = hypar_machine_link(machine, 0).bytes_per_s;
        assert_string_equal(model->way[0].algorithm, "multi-ring");
        double bytes = model->way[0].s_per_byte * bytes_per_s * rows[i].n_rings;
        assert_true(fabs(bytes - (n - 1.) / n) < 1e-9);
        hypar_machine_free(machine);
        hp_arena_free(&arena);
    }
}

/* Two nodes of two devices, one card each of 1 GB/s behind links of 10 GB/s: by hand. */
static void cards_are_shared(void **state)
{
    (void)state;
    struct hypar_machine *machine =
        machine_of("cluster:2x2,intra=10GB/s,inter=1GB/s,latency=1us,inter-latency=3us");
    struct arena arena = { 0 };
    const int device[] = { 0, 1, 2, 3 };
    struct comm_group group = { COMM_ALL_REDUCE, 4, device, 0 };
    const struct comm_model *model = hp_comm_model(&arena, machine, &group);
    static const struct {
        const char *algorithm;
        double fixed_us, ns_per_byte;
    } expected[] = {
        { "ring", 6 * 8, 6 * .25 },          /* one of four messages crosses each way */
        { "two-way ring", 6 * 8, 6 * .125 }, /* but both ways round, half each, over one card */
        { "recursive doubling", 2 + 8, .1 + 2 },
        { "halving and doubling", 2 * (2 + 8), 2 * (.05 + 2 * .25) },
        { "tree", 2 * (2 + 8), 2 * (.1 + 1) },
        { "hierarchical", 2 * (2 + 8), 2 * (.05 + 2 * .25) },
        { "node rings", 6 * 8, 6 * 2 * .125 }, /* both rings over one card */
        /* the first of 32 chunks likewise, then the card is never idle */
        { "pipelined hierarchical", 2 * (2 + 8), (2 * (.05 + 2 * .25) + 31 * 1) / 32 },
        { "pipelined trees", 2 * (2 + 8), (2 * (.05 + 2 * .25) + 31 * 1) / 32 },
    };
    assert_int_equal(model->n_ways, sizeof expected / sizeof *expected);
    for (int w = 0; w < model->n_ways; w++) {
        assert_string_equal(model->way[w].algorithm, expected[w].algorithm);
        assert_near(model->way[w].fixed_s, 1e-6 * expected[w].fixed_us);
        if (w != 1)
            assert_near(model->way[w].s_per_byte, 1e-9 * expected[w].ns_per_byte);
    }
    /* Each card carries half a piece from either neighbour: as much as a ring. */
    assert_near(model->way[1].s_per_byte, 1e-9 * 6 * .25);
    assert_string_equal(hp_comm_best_way(model, 8)->algorithm, "recursive doubling");
    assert_int_equal(model->way[5].block, 2);
    hp_arena_free(&arena);
    hypar_machine_free(machine);
}

/* The same machine: what a server takes, and one for which each node adds up before. */
static void servers_are_asked_for(void **state)
{
    (void)state;
    struct hypar_machine *machine =
        machine_of("cluster:2x2,intra=10GB/s,inter=1GB/s,latency=1us,inter-latency=3us");
    struct arena arena = { 0 };
    const int device[] = { 3, 0, 2, 1 }; /* the server is device 3 */
    struct comm_group group = { COMM_ALL_REDUCE, 4, device, 0 };
    const struct comm_model *server = hp_comm_model_named(&arena, machine, &group, "server");
    assert_int_equal(server->n_ways, 1);
    assert_near(server->way->fixed_s, 2 * 8e-6);
    assert_near(server->way->s_per_byte, 2 * 2e-9); /* two over the card */
    const struct comm_way *way = hp_comm_best_way(
        hp_comm_model_named(&arena, machine, &group, "hierarchical server"), 1e6);
    assert_int_equal(way->block, 2);
    assert_near(way->fixed_s, 2 * (2e-6 + 8e-6));
    assert_near(way->s_per_byte, 2 * (.1e-9 + 1e-9));
    group.n_devices = 1;
    assert_string_equal(hp_comm_model_named(&arena, machine, &group, "server")->way->algorithm,
                        "ring");
    hp_arena_free(&arena);
    hypar_machine_free(machine);
}

/* Dashes stand for blanks. */
static void rows_have_words(void **state)
{
    (void)state;
    const struct comm_algorithm *row;
    for (int i = 0; (row = hp_comm_algorithm(i)); i++)
        assert_ptr_equal(hp_find_comm_algorithm(row->kind, row->name), row);
    assert_string_equal(hp_find_comm_algorithm(COMM_ALL_REDUCE, "two-way-ring")->name,
                        "two-way ring");
    assert_null(hp_find_comm_algorithm(COMM_ALL_REDUCE, "two way ring"));
    assert_null(hp_find_comm_algorithm(COMM_ALL_REDUCE, "rin"));
    assert_null(hp_find_comm_algorithm(COMM_ALL_REDUCE, "rings"));
    assert_null(hp_find_comm_algorithm(COMM_ALL_REDUCE, ""));
    assert_null(hp_find_comm_algorithm(COMM_ALL_GATHER, "tree"));
}

static void messages_at_once(void **state)
{
    (void)state;
    struct hypar_machine *machine =
        machine_of("cluster:2x2,intra=10GB/s,inter=1GB/s,latency=1us,inter-latency=3us");
    struct arena arena = { 0 };
    const struct message message[] = {
        { 0, 2, 1e6 }, { 1, 3, 3e6 }, { 0, 1, 5e6 }, { 3, 3, 9 }
    };
    struct comm_way way;
    hp_messages_way(&arena, machine, message, 4, &way);
    assert_near(way.fixed_s, 8e-6);
    assert_near(way.s_per_byte, 4e-3); /* 4 MB over the card */
    static const struct link_share expected[] = {
        { 0, 6e-4 }, { 2, 3e-4 }, { 3, 5e-4 },  { 5, 1e-4 },
        { 7, 3e-4 }, { 8, 4e-3 }, { 11, 4e-3 },
    };
    assert_int_equal(way.n_links, sizeof expected / sizeof *expected);
    for (int l = 0; l < way.n_links; l++) {
        assert_int_equal(way.link[l].link, expected[l].link);
        assert_near(way.link[l].s_per_byte, expected[l].s_per_byte);
    }
    hp_messages_way(&arena, machine, NULL, 0, &way);
    assert_true(way.fixed_s == 0 && way.s_per_byte == 0 && way.n_links == 0);
    hp_arena_free(&arena);
    hypar_machine_free(machine);
}

/* Everyone to both neighbours over shared cards: in this order each card waits for the next,
 * and it takes four messages' time; spread, the two that cross each card. */
static void spread_messages(void **state)
{
    (void)state;
    struct hypar_machine *machine =
        machine_of("cluster:4x4,intra=100GB/s,inter=1GB/s,latency=0s,inter-latency=0s");
    struct message message[32];
    struct comm_message list[2][32] = { { { .n_after = 0 } } };
    int order[32], seen[32] = { 0 };
    for (int i = 0; i < 32; i++)
        message[i] = (struct message){ i / 2, (i / 2 + (i % 2 ? 15 : 1)) % 16, 1e6 };
    hp_spread_messages(machine, message, 32, order);
    for (int i = 0; i < 32; i++) {
        assert_in_range(order[i], 0, 31);
        assert_int_equal(seen[order[i]]++, 0);
        list[0][i].message = message[i];
        list[1][i].message = message[order[i]];
    }
    assert_true(serve_messages(machine, &(struct comm_messages){ .n = 32, .list = list[0] }) >
                3.9e-3);
    assert_true(serve_messages(machine, &(struct comm_messages){ .n = 32, .list = list[1] }) <
                2.1e-3);
    hypar_machine_free(machine);
}

/* Rounds that repeat are counted, not served: large groups cost what their links cost. */
static void large_groups(void **state)
{
    (void)state;
    enum { N = 1024 };
    struct hypar_machine *machine = machine_of("ring:1024,latency=1us,bandwidth=1GB/s");
    struct arena arena = { 0 };
    int *device = NEW(&arena, int, N);
    for (int i = 0; i < N; i++)
        device[i] = i;
    struct comm_group group = { COMM_ALL_REDUCE, N, device, 0 };
    const struct comm_model *model = hp_comm_model(&arena, machine, &group);
    assert_string_equal(model->way[0].algorithm, "ring");
    assert_int_equal(model->way[0].n_messages, 2 * (N - 1) * N);
    assert_near(model->way[0].fixed_s, 2e-6 * (N - 1));
    assert_near(model->way[0].s_per_byte, 2e-9 * (N - 1) / N);
    assert_near(model->way[1].s_per_byte, 1e-9 * (N - 1) / N);
    hp_arena_free(&arena);
    hypar_machine_free(machine);
}

/* --- rings through grids --- */

/* Some rows, columns, ... of a grid: of each dimension n coordinates from `first` on, `apart`;
 * all if n is 0. */
struct sub_grid {
    const char *machine;
    int apart;
    int n[MACHINE_MAX_DIMS], first[MACHINE_MAX_DIMS];
};

static int list_devices(const struct hypar_machine *machine, const struct sub_grid *grid,
                        int *device)
{
    const struct part *part = machine->parts;
    int n = 0;
    for (int i = 0; i < part->n_devices; i++) {
        bool there = true;
        for (int d = part->n_dims - 1, rest = i; d >= 0; rest /= part->dim[d], d--) {
            int size = part->dim[d], at = (rest % size - grid->first[d] + size) % size;
            there &= !grid->n[d] || (at % grid->apart == 0 && at / grid->apart < grid->n[d]);
        }
        if (there)
            device[n++] = i;
    }
    return n;
}

/* A ring from neighbour to neighbour: 2 (n-1) rounds of one message's latency, in which each
 * link carries 1/n of the bytes; half of that where both directions are used. Members that are
 * apart take the links in between and no others. */
static void rings_follow_neighbours(void **state)
{
    (void)state;
    /* clang-format off */
    static const struct sub_grid grids[] = {
        { "mesh:4x4", 1, { 0 }, { 0 } },
        { "mesh:2x8", 1, { 0 }, { 0 } },
        { "mesh:8x2", 1, { 0 }, { 0 } },
        { "mesh:3x4", 1, { 0 }, { 0 } },
        { "mesh:2x2x4", 1, { 0 }, { 0 } },
        { "mesh:3x5x2", 1, { 0 }, { 0 } },
        { "torus:4x4", 1, { 0 }, { 0 } },
        { "torus:3x4", 1, { 0 }, { 0 } },
        { "torus:2x2x2x2", 1, { 0 }, { 0 } },
        { "torus:3x3", 1, { 0 }, { 0 } },
        { "torus:5x3x3", 1, { 0 }, { 0 } },
        { "torus:8", 1, { 0 }, { 0 } },
        { "mesh:4x4", 1, { 2, 2 }, { 1, 2 } },
        { "mesh:4x4", 1, { 2, 4 }, { 2, 0 } },
        { "mesh:4x4", 1, { 3, 2 }, { 0 } },
        { "mesh:4x4x4", 1, { 1, 2, 3 }, { 3 } },
        { "torus:4x4", 1, { 2, 4 }, { 0 } },
        { "torus:4x4", 1, { 4, 2 }, { 0, 3 } }, /* over the edge */
        { "torus:4x4", 1, { 1, 4 }, { 2, 0 } },
        { "torus:4x4", 1, { 4, 1 }, { 0, 1 } },
        { "torus:6x6", 1, { 3, 2 }, { 4, 5 } },
        { "torus:3x6", 1, { 2, 5 }, { 0 } },
        { "mesh:4x4", 2, { 2, 2 }, { 0, 1 } },
        { "mesh:5x4", 2, { 3, 2 }, { 0, 1 } },
        { "torus:6x6", 2, { 3, 3 }, { 1, 0 } },
        { "torus:8x8", 2, { 4, 4 }, { 0, 1 } },
        { "torus:8x8", 2, { 2, 3 }, { 0, 6 } },
    };
    /* clang-format on */
    for (size_t i = 0; i < sizeof grids / sizeof *grids; i++) {
        char word[64];
        int device[64];
        snprintf(word, sizeof word, "%s,bandwidth=1GB/s,latency=1us", grids[i].machine);
        struct hypar_machine *machine = machine_of(word);
        struct arena arena = { 0 };
        int n = list_devices(machine, &grids[i], device);
        print_message("%s, %d devices\n", word, n);
        struct comm_group group = { COMM_ALL_REDUCE, n, device, 0 };
        const struct comm_model *model = hp_comm_model(&arena, machine, &group);
        assert_string_equal(model->way[0].algorithm, "ring");
        assert_string_equal(model->way[1].algorithm, "two-way ring");
        for (int w = 0; w < 2; w++) {
            assert_near(model->way[w].fixed_s, 2e-6 * grids[i].apart * (n - 1));
            assert_near(model->way[w].s_per_byte, (w ? 1e-9 : 2e-9) * (n - 1) / n);
        }
        hp_arena_free(&arena);
        hypar_machine_free(machine);
    }
}

/* On an open line, or an arc of a closed one, and in rows and then columns of a grid, pieces
 * travel from neighbour to neighbour: a ring's way back from the end of a line would take as
 * long as the line. */
static void lines_are_not_gone_back(void **state)
{
    (void)state;
    static const struct {
        const char *machine;
        int block, rounds, n; /* block: of a hierarchical way; 0: of the ring */
    } cases[] = {
        { "mesh:5", 0, 4, 5 },    { "mesh:16", 0, 15, 16 },  { "mesh:4x4", 4, 6, 16 },
        { "mesh:3x5", 5, 6, 15 }, { "mesh:8x8", 8, 14, 64 }, { "mesh:32x32", 32, 62, 1024 },
        { "ring:12", 0, 4, 5 },   { "torus:16", 0, 7, 8 },   { "torus:8x8", 8, 9, 24 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char word[64];
        int device[1024], n = cases[i].n, found = 0;
        snprintf(word, sizeof word, "%s,bandwidth=1GB/s,latency=1us", cases[i].machine);
        print_message("%s\n", word);
        struct hypar_machine *machine = machine_of(word);
        struct arena arena = { 0 };
        for (int d = 0; d < n; d++)
            device[d] = n - 1 - d;
        struct comm_group group = { COMM_ALL_GATHER, n, device, 0 };
        const struct comm_model *model = hp_comm_model(&arena, machine, &group);
        for (int w = 0; w < model->n_ways; w++) {
            const struct comm_way *way = &model->way[w];
            if (strcmp(way->algorithm, cases[i].block ? "hierarchical" : "ring") != 0 ||
                way->block != cases[i].block)
                continue;
            found++;
            assert_near(way->fixed_s, 1e-6 * cases[i].rounds);
            assert_near(way->s_per_byte, 1e-9 * (n - 1) / n);
            assert_int_equal(way->n_messages, (int64_t)n * cases[i].rounds);
        }
        assert_int_equal(found, 1);
        hp_arena_free(&arena);
        hypar_machine_free(machine);
    }
}

/* Some coordinates of each dimension, any of them, or (now and then) devices in a row. */
static int choose_on_grid(struct random *random, const struct part *part, int *device)
{
    bool there[MACHINE_MAX_DIMS][8], in_a_row = hp_random_below(random, 4) == 0;
    int n = 0, first = (int)hp_random_below(random, part->n_devices);
    for (int d = 0; d < part->n_dims; d++)
        for (int c = 0; c < part->dim[d]; c++)
            there[d][c] = hp_random_below(random, 3) > 0;
    for (int i = 0; i < part->n_devices; i++) {
        bool chosen = true;
        for (int d = part->n_dims - 1, rest = i; d >= 0; rest /= part->dim[d], d--)
            chosen &= there[d][rest % part->dim[d]];
        if (in_a_row ? i >= first : chosen)
            device[n++] = i;
    }
    return n;
}

static const struct comm_way *same_way(const struct comm_model *model,
                                       const struct comm_way *way)
{
    for (int w = 0; w < model->n_ways; w++)
        if (strcmp(model->way[w].algorithm, way->algorithm) == 0 &&
            model->way[w].block == way->block)
            return &model->way[w];
    return NULL;
}

/* No ring, of all devices or of a block, is slower than one in the order of numbers. */
static void no_ring_is_slower(void **state)
{
    (void)state;
    static const char *const words[] = { "mesh:4x4",  "mesh:3x5",    "mesh:8x8",
                                         "torus:4x4", "torus:3x5",   "torus:8x8",
                                         "torus:7x4", "torus:4x4x4", "mesh:4x3x2" };
    static const enum comm_kind kinds[] = { COMM_ALL_REDUCE, COMM_REDUCE_SCATTER,
                                            COMM_ALL_GATHER };
    struct random random = { 20251 };
    int device[64], faster = 0;
    for (int trial = 0; trial < 600; trial++) {
        struct hypar_machine *machine = machine_of(words[trial % 9]);
        struct arena arena = { 0 };
        int n = choose_on_grid(&random, machine->parts, device);
        struct comm_group group = { kinds[trial % 3], n, device, 0 };
        const struct topology *topology = machine->topology;
        struct topology by_number = *topology;
        by_number.cycle = NULL;
        by_number.line = NULL;
        const struct comm_model *now = n ? hp_comm_model(&arena, machine, &group) : NULL;
        machine->topology = &by_number;
        const struct comm_model *before = n ? hp_comm_model(&arena, machine, &group) : NULL;
        machine->topology = topology;
        for (int w = 0; now && w < now->n_ways; w++) {
            const struct comm_way *way = &now->way[w], *other = same_way(before, way);
            if (!other) /* levels that divide a group alike count once */
                continue;
            assert_true(way->fixed_s <= other->fixed_s * (1 + 1e-12));
            assert_true(way->s_per_byte <= other->s_per_byte * (1 + 1e-12));
            faster += way->s_per_byte < other->s_per_byte * (1 - 1e-12);
        }
        hp_arena_free(&arena);
        hypar_machine_free(machine);
    }
    assert_true(faster > 100);
}

static int bits_of(unsigned set)
{
    int n = 0;
    for (; set; set &= set - 1)
        n++;
    return n;
}

/* The most others that a device sends to, or receives from, in one round. */
static int most_at_once(const struct comm_rounds *rounds)
{
    int most = 0;
    for (int r = 0; r < rounds->n_rounds; r++) {
        const struct comm_round *round = &rounds->round[r];
        unsigned sent[16] = { 0 }, received[16] = { 0 };
        for (int h = round->first; h < round->first + round->n; h++) {
            int from = rounds->hop[h].from, to = rounds->hop[h].to;
            sent[from] |= 1u << to;
            received[to] |= 1u << from;
            most = bits_of(sent[from]) > most ? bits_of(sent[from]) : most;
            most = bits_of(received[to]) > most ? bits_of(received[to]) : most;
        }
    }
    return most;
}

/* The flags of rows, which the reports ask. */
static void flags_are_true(void **state)
{
    (void)state;
    static const char *const words[] = { "torus:4x4", "full:16",
                                         "cluster:4x4,nvls=on,sharp=on" };
    const struct comm_algorithm *row;
    int device[16];
    for (int d = 0; d < 16; d++)
        device[d] = d;
    for (int i = 0; (row = hp_comm_algorithm(i)); i++) {
        int most[3] = { 0 };
        bool of_nodes = row->needs == ON_NODES || row->needs == BY_SWITCHES;
        for (int m = of_nodes ? 2 : 0; m < 3; m++) {
            struct hypar_machine *machine = machine_of(words[m]);
            struct arena arena = { 0 };
            struct comm_group group = { row->kind, row->kind == COMM_SEND ? 2 : 16, device, 0 };
            struct comm_rounds rounds;
            if (row->needs == NO_POWER_OF_TWO)
                group.n_devices = 15;
            assert_true(hp_comm_algorithm_fits(machine, row, &group, 4));
            hp_comm_rounds(&arena, machine, row, &group, 4, &rounds);
            most[m] = most_at_once(&rounds);
            hp_arena_free(&arena);
            hypar_machine_free(machine);
        }
        if (row->kind == COMM_ALL_REDUCE || row->to_many)
            assert_int_equal(row->to_many, most[of_nodes ? 2 : 0] > 2);
        if (row->kind == COMM_ALL_REDUCE)
            assert_int_equal(row->on_tori, most[0] > most[1]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_row_for_every_kind),
        cmocka_unit_test(alone_there_is_nothing_to_do),
        cmocka_unit_test(tori_have_several_rings),
        cmocka_unit_test(cards_are_shared),
        cmocka_unit_test(messages_at_once),
        cmocka_unit_test(large_groups),
        cmocka_unit_test(spread_messages),
        cmocka_unit_test(every_algorithm),
        cmocka_unit_test(servers_are_asked_for),
        cmocka_unit_test(rows_have_words),
        cmocka_unit_test(flags_are_true),
        cmocka_unit_test(rings_follow_neighbours),
        cmocka_unit_test(no_ring_is_slower),
        cmocka_unit_test(lines_are_not_gone_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
