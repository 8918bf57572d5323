/* Reads the text of a PipeDream profile into structs, checks it, and writes the text again. */
#include "model/pipedream/pipedream.h"

#include <math.h>
#include <string.h>

#include "base/files/file.h"
#include "base/number.h"
#include "base/utf8.h"
#include "base/word.h"

static const size_t max_file_bytes = (size_t)1 << 26;
static const double max_ms = 1e12, max_bytes = 0x1p49;
static const char separator[] = " -- ";

enum { SEPARATOR = sizeof separator - 1, MAX_EDGES = 1 << 22, MAX_STAGE = 1 << 16 };

/* A piece of the text. */
struct span {
    const char *at;
    size_t n;
};

struct reading {
    struct text_profile *profile;
    struct arena *arena; /* the profile's */
    struct arena scratch;
    const char *file;
    int line;
    struct table names; /* name -> node */
    int node_capacity, edge_capacity, line_capacity;
    struct span *ends; /* of edge e: ends[2 * e], ends[2 * e + 1] */
    int n_ends, *edge_line;
    struct hypar_error *err;
};

#define FAIL(r, status, ...) \
    hp_in((r)->err, hp_fail((r)->err, status, __VA_ARGS__), "%s:%d", (r)->file, (r)->line)

/* What a message shows of a piece: its beginning. */
#define SHOWN(span) ((span).n < 60 ? (int)(span).n : 60), (span).at

/* Pieces ------------------------------------------------------------------------------- */

static struct span find(struct span in, const char *what, size_t n)
{
    for (size_t i = 0; i + n <= in.n; i++)
        if (memcmp(in.at + i, what, n) == 0)
            return (struct span){ in.at + i, n };
    return (struct span){ NULL, 0 };
}

static bool begins(struct span in, const char *with)
{
    size_t n = strlen(with);
    return in.n >= n && memcmp(in.at, with, n) == 0;
}

static struct span trim(struct span s)
{
    while (s.n && (*s.at == ' ' || *s.at == '\t'))
        s.at++, s.n--;
    while (s.n && (s.at[s.n - 1] == ' ' || s.at[s.n - 1] == '\t' || s.at[s.n - 1] == '\r'))
        s.n--;
    return s;
}

/* What stands in `s` before the first separator; *rest is what follows it. */
static bool cut(struct span s, struct span *first, struct span *rest)
{
    struct span at = find(s, separator, SEPARATOR);
    if (!at.at)
        return false;
    *first = trim((struct span){ s.at, (size_t)(at.at - s.at) });
    const char *next = at.at + SEPARATOR;
    *rest = (struct span){ next, s.n - (size_t)(next - s.at) };
    return true;
}

/* The same at the last separator; nothing is trimmed, an empty first is one. */
static bool cut_last(struct span s, struct span *first, struct span *rest)
{
    for (size_t i = s.n; i >= SEPARATOR; i--)
        if (memcmp(s.at + i - SEPARATOR, separator, SEPARATOR) == 0) {
            *rest = (struct span){ s.at + i, s.n - i };
            *first = (struct span){ s.at, i - SEPARATOR };
            return true;
        }
    return false;
}

/* Numbers ------------------------------------------------------------------------------ */

static enum hypar_status read_number(struct reading *r, const char *what, struct span text,
                                     double most, double *out)
{
    char copy[64];
    size_t taken = 0;
    text = trim(text);
    bool minus = text.n && *text.at == '-';
    if (text.n > minus && text.n < sizeof copy) {
        memcpy(copy, text.at + minus, text.n - minus);
        copy[text.n - minus] = '\0';
        taken = hp_number_read(copy, out);
    }
    if (taken == 0 || taken != text.n - minus)
        return FAIL(r, HYPAR_SYNTAX, "%s is '%.*s', expected a number", what, SHOWN(text));
    if ((minus && *out != 0) || *out > most)
        return FAIL(r, HYPAR_INVALID, "%s is %.*s, expected 0 to %g", what, SHOWN(text), most);
    return HYPAR_OK;
}

/* A number, or the sum of a list "[a; b; c]". */
static enum hypar_status read_sum(struct reading *r, const char *what, struct span text,
                                  double most, double *out)
{
    text = trim(text);
    if (!text.n || *text.at != '[')
        return read_number(r, what, text, most, out);
    if (text.n < 2 || text.at[text.n - 1] != ']')
        return FAIL(r, HYPAR_SYNTAX, "%s is '%.*s', expected a list to end in ']'", what,
                    SHOWN(text));
    struct span rest = { text.at + 1, text.n - 2 };
    double sum = 0, value;
    for (;;) {
        struct span end = find(rest, ";", 1);
        size_t n = end.at ? (size_t)(end.at - rest.at) : rest.n;
        TRY(read_number(r, what, (struct span){ rest.at, n }, most, &value));
        sum += value;
        if (!end.at)
            break;
        rest = (struct span){ end.at + 1, rest.n - n - 1 };
    }
    if (sum > most)
        return FAIL(r, HYPAR_INVALID, "%s is %g in all, expected 0 to %g", what, sum, most);
    *out = sum;
    return HYPAR_OK;
}

/* Nodes -------------------------------------------------------------------------------- */

enum { FORWARD, BACKWARD, ACTIVATION, PARAMETER, N_FIELDS };

static const char *const fields[N_FIELDS] = { "forward_compute_time", "backward_compute_time",
                                              "activation_size", "parameter_size" };

static enum hypar_status read_field(struct reading *r, struct span text, double *value,
                                    bool *given)
{
    struct span equals = find(text, "=", 1);
    struct span name =
        trim((struct span){ text.at, equals.at ? (size_t)(equals.at - text.at) : text.n });
    int f = 0;
    while (f < N_FIELDS &&
           (strlen(fields[f]) != name.n || memcmp(fields[f], name.at, name.n) != 0))
        f++;
    if (f == N_FIELDS || !equals.at) {
        char known[128];
        return FAIL(r, HYPAR_SYNTAX, "'%.*s', expected name=value for each of %s", SHOWN(text),
                    hp_word_list(known, sizeof known, fields, N_FIELDS));
    }
    if (given[f])
        return FAIL(r, HYPAR_SYNTAX, "%s is given twice", fields[f]);
    given[f] = true;
    struct span rest = { equals.at + 1, text.n - (size_t)(equals.at + 1 - text.at) };
    bool time = f == FORWARD || f == BACKWARD;
    return read_sum(r, fields[f], rest, time ? max_ms : max_bytes, &value[f]);
}

/* "name=value, name=value, ...", all four. */
static enum hypar_status read_fields(struct reading *r, struct span text, double *value)
{
    bool given[N_FIELDS] = { false };
    for (;;) {
        struct span comma = find(text, ",", 1);
        size_t n = comma.at ? (size_t)(comma.at - text.at) : text.n;
        TRY(read_field(r, trim((struct span){ text.at, n }), value, given));
        if (!comma.at)
            break;
        text = (struct span){ comma.at + 1, text.n - n - 1 };
    }
    for (int f = 0; f < N_FIELDS; f++)
        if (!given[f])
            return FAIL(r, HYPAR_SYNTAX, "%s is missing", fields[f]);
    return HYPAR_OK;
}

static enum hypar_status read_stage(struct reading *r, struct span text, int *stage)
{
    struct span equals = find(text, "=", 1);
    double value;
    TRY(read_number(r, "stage_id",
                    (struct span){ equals.at + 1, text.n - (size_t)(equals.at + 1 - text.at) },
                    MAX_STAGE, &value));
    if (value != floor(value))
        return FAIL(r, HYPAR_INVALID, "stage_id is %g, expected a whole number", value);
    *stage = (int)value;
    return HYPAR_OK;
}

/* Enter the node under its name, which must be new and fit to name an operator. */
static enum hypar_status add_node(struct reading *r, struct span name, struct profile_node node)
{
    struct text_profile *p = r->profile;
    if (p->n_nodes == HP_MAX_OPS)
        return FAIL(r, HYPAR_INVALID, "more than %d nodes", HP_MAX_OPS);
    if (!name.n || (name.n == 1 && *name.at == '*'))
        return FAIL(r, HYPAR_SYNTAX, "'%.*s' is no name of a node", SHOWN(name));
    char *copy = hp_arena_strndup(r->arena, name.at, name.n);
    if (hp_has_control(copy))
        return FAIL(r, HYPAR_SYNTAX,
                    "node '%.60s', expected a name in UTF-8 without control characters",
                    hp_clean_text(copy, '_'));
    node.name = copy;
    if (hp_table_put(&r->names, &r->scratch, node.name, name.n, p->n_nodes) != p->n_nodes)
        return FAIL(r, HYPAR_INVALID, "node '%.*s' is defined already", SHOWN(name));
    p->node = GROW(r->arena, struct profile_node, p->node, p->n_nodes, &r->node_capacity);
    p->node[p->n_nodes++] = node;
    return HYPAR_OK;
}

static enum hypar_status read_node(struct reading *r, struct span line)
{
    struct profile_node node = { .stage = -1 };
    struct span name, rest, description, last;
    double value[N_FIELDS];
    if (!cut(line, &name, &rest) || !cut_last(rest, &description, &last))
        return FAIL(r, HYPAR_SYNTAX,
                    "'%.*s', expected NODE -- DESCRIPTION -- TIMES AND SIZES, or after a tab "
                    "NODE -- NODE",
                    SHOWN(line));
    last = trim(last);
    if (begins(last, "stage_id=")) {
        TRY(read_stage(r, last, &node.stage));
        if (!cut_last(description, &description, &last))
            return FAIL(r, HYPAR_SYNTAX, "times and sizes are missing before stage_id");
    }
    TRY(read_fields(r, last, value));
    description = trim(description);
    node.description = hp_arena_strndup(r->arena, description.at, description.n);
    node.forward_ms = value[FORWARD];
    node.backward_ms = value[BACKWARD];
    node.activation_bytes = value[ACTIVATION];
    node.parameter_bytes = value[PARAMETER];
    return add_node(r, name, node);
}

/* Edges -------------------------------------------------------------------------------- */

/* Kept until all nodes are known. */
static enum hypar_status read_edge(struct reading *r, struct span line)
{
    struct span from, to;
    if (!cut(line, &from, &to))
        return FAIL(r, HYPAR_SYNTAX, "'%.*s', expected NODE -- NODE", SHOWN(trim(line)));
    if (r->n_ends == MAX_EDGES)
        return FAIL(r, HYPAR_INVALID, "more than %d edges", MAX_EDGES);
    struct span pair[2] = { trim(from), trim(to) };
    r->edge_line = GROW(&r->scratch, int, r->edge_line, r->n_ends, &r->line_capacity);
    r->edge_line[r->n_ends] = r->line;
    if (r->n_ends == r->edge_capacity) {
        int pairs = r->edge_capacity;
        r->ends = hp_arena_grow(&r->scratch, r->ends, (size_t)r->n_ends, &pairs, sizeof pair,
                                alignof(struct span));
        r->edge_capacity = pairs;
    }
    memcpy(r->ends + 2 * (size_t)r->n_ends, pair, sizeof pair);
    r->n_ends++;
    return HYPAR_OK;
}

static enum hypar_status resolve_edge(struct reading *r, struct table *known, int e)
{
    struct text_profile *p = r->profile;
    struct profile_edge *edge = &p->edge[e];
    const struct span *end = r->ends + 2 * (size_t)e;
    r->line = r->edge_line[e];
    edge->from = hp_table_get(&r->names, end[0].at, end[0].n);
    edge->to = hp_table_get(&r->names, end[1].at, end[1].n);
    for (int i = 0; i < 2; i++)
        if ((i ? edge->to : edge->from) < 0)
            return FAIL(r, HYPAR_INVALID, "edge: there is no node '%.*s'", SHOWN(end[i]));
    if (edge->from == edge->to)
        return FAIL(r, HYPAR_INVALID, "edge from '%.*s' to itself", SHOWN(end[0]));
    if (hp_table_put(known, &r->scratch, edge, sizeof *edge, e) != e)
        return FAIL(r, HYPAR_INVALID, "edge '%.*s -- %.*s' is there already", SHOWN(end[0]),
                    SHOWN(end[1]));
    return HYPAR_OK;
}

static enum hypar_status resolve_edges(struct reading *r)
{
    struct text_profile *p = r->profile;
    struct table known = { 0 };
    p->n_edges = r->n_ends;
    p->edge = NEW(r->arena, struct profile_edge, p->n_edges);
    for (int e = 0; e < p->n_edges; e++)
        TRY(resolve_edge(r, &known, e));
    if (p->n_nodes == 0)
        return hp_fail(r->err, HYPAR_INVALID, "%s: no nodes, expected a PipeDream profile",
                       r->file);
    if (p->n_nodes > 1 && p->n_edges == 0)
        return hp_fail(r->err, HYPAR_INVALID, "%s: %d nodes and no edges between them", r->file,
                       p->n_nodes);
    return HYPAR_OK;
}

/* The first node, in the order of the file, that no order can hold. */
static enum hypar_status check_cycles(struct reading *r)
{
    const struct text_profile *p = r->profile;
    int *order = NEW(&r->scratch, int, p->n_nodes);
    bool *placed = NEW(&r->scratch, bool, p->n_nodes);
    int n = hp_text_profile_order(p, order), node = 0;
    if (n == p->n_nodes)
        return HYPAR_OK;
    for (int i = 0; i < n; i++)
        placed[order[i]] = true;
    while (placed[node])
        node++;
    return hp_fail(r->err, HYPAR_INVALID,
                   "%s: edges make a cycle that '%.60s' is on or behind, expected none",
                   r->file, p->node[node].name);
}

/* The whole ---------------------------------------------------------------------------- */

/* Names are shown, and written to files that must be UTF-8. */
static enum hypar_status check_text(struct reading *r, struct span line)
{
    struct arena_mark mark = hp_arena_mark(&r->scratch);
    char *text = hp_arena_strndup(&r->scratch, line.at, line.n);
    for (char *p = text; *p; p++)
        *p = *p == '\t' || *p == '\r' ? ' ' : *p;
    bool bad = hp_has_control(text);
    if (bad)
        FAIL(r, HYPAR_SYNTAX, "'%.60s', expected text in UTF-8", text);
    hp_arena_release(&r->scratch, mark);
    return bad ? HYPAR_SYNTAX : HYPAR_OK;
}

static enum hypar_status read_line(struct reading *r, struct span line)
{
    if (!trim(line).n)
        return HYPAR_OK;
    for (size_t i = 0; i < line.n; i++) {
        unsigned char c = (unsigned char)line.at[i];
        if ((c < ' ' && c != '\t' && !(c == '\r' && i + 1 == line.n)) || c == 0x7f)
            return FAIL(r, HYPAR_SYNTAX, "control character %d, expected text", c);
    }
    TRY(check_text(r, line));
    return *line.at == '\t' ? read_edge(r, line) : read_node(r, line);
}

static enum hypar_status read_lines(struct reading *r, const char *text, size_t length)
{
    for (const char *at = text, *end = text + length; at < end;) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        stop = stop ? stop : end;
        r->line++;
        TRY(read_line(r, (struct span){ at, (size_t)(stop - at) }));
        at = stop + 1;
    }
    TRY(resolve_edges(r));
    return check_cycles(r);
}

enum hypar_status hp_text_profile_read_text(struct text_profile **out, const char *text,
                                            size_t length, const char *name,
                                            struct hypar_error *err)
{
    struct arena arena = { 0 };
    struct text_profile *profile = NEW(&arena, struct text_profile, 1);
    profile->arena = arena;
    struct reading r = {
        .profile = profile, .arena = &profile->arena, .file = name, .err = err
    };
    enum hypar_status status =
        length > max_file_bytes
            ? hp_fail(err, HYPAR_INVALID, "%s: a file of more than 64 MiB", name)
            : read_lines(&r, text, length);
    hp_arena_free(&r.scratch);
    if (status != HYPAR_OK) {
        hp_text_profile_free(profile);
        profile = NULL;
    }
    *out = profile;
    return status;
}

enum hypar_status hp_text_profile_read_file(struct text_profile **out, const char *path,
                                            struct hypar_error *err)
{
    struct arena arena = { 0 };
    *out = NULL;
    const char *text;
    size_t length;
    enum hypar_status status = hp_file_read(&arena, path, max_file_bytes, &text, &length, err);
    if (status == HYPAR_OK)
        status = hp_text_profile_read_text(out, text, length, path, err);
    hp_arena_free(&arena);
    return status;
}

void hp_text_profile_free(struct text_profile *profile)
{
    if (!profile)
        return;
    struct arena arena = profile->arena; /* it lives in it */
    hp_arena_free(&arena);
}

void hp_text_profile_write(const struct text_profile *profile, FILE *to)
{
    for (int i = 0; i < profile->n_nodes; i++) {
        const struct profile_node *n = &profile->node[i];
        const double value[N_FIELDS] = { n->forward_ms, n->backward_ms, n->activation_bytes,
                                         n->parameter_bytes };
        char text[NUMBER_TEXT_BYTES];
        fprintf(to, "%s%s%s%s", n->name, separator, n->description, separator);
        for (int f = 0; f < N_FIELDS; f++)
            fprintf(to, "%s%s=%s", f ? ", " : "", fields[f], hp_number_text(text, value[f]));
        if (n->stage >= 0)
            fprintf(to, "%sstage_id=%d", separator, n->stage);
        fputc('\n', to);
    }
    for (int e = 0; e < profile->n_edges; e++)
        fprintf(to, "\t%s%s%s\n", profile->node[profile->edge[e].from].name, separator,
                profile->node[profile->edge[e].to].name);
}
