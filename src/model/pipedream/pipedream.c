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

/* An edge as the file has it, kept until all nodes are known. */
struct listed_edge {
    const char *end[2];
    int line;
};

struct reading {
    struct text_profile *profile;
    struct arena *arena; /* the profile's */
    struct arena scratch;
    const char *file;
    int line;
    struct table names; /* name -> node */
    struct listed_edge *edge;
    int n_edges, node_capacity, edge_capacity;
    struct hypar_error *err;
};

#define FAIL(r, status, ...) \
    hp_in((r)->err, hp_fail((r)->err, status, __VA_ARGS__), "%s:%d", (r)->file, (r)->line)

/* Pieces of a line, which is cut up in place ------------------------------------------------
 */

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

static char *trim(char *text)
{
    size_t n;
    text += strspn(text, " \t");
    for (n = strlen(text); n > 0 && is_blank(text[n - 1]); n--)
        ;
    text[n] = '\0';
    return text;
}

static char *last_separator(char *text)
{
    char *last = NULL;
    for (char *p = text; (p = strstr(p, separator)); p++)
        last = p;
    return last;
}

/* The text behind a separator, at which the text before it ends now. */
static char *cut(char *at, size_t n)
{
    *at = '\0';
    return at + n;
}

/* Numbers ------------------------------------------------------------------------------ */

static enum hypar_status read_number(struct reading *r, const char *what, char *text,
                                     double most, double *out)
{
    text = trim(text);
    bool minus = *text == '-';
    size_t n = strlen(text), taken = 0;
    if (n < 64)
        taken = hp_number_read(text + minus, out);
    if (taken == 0 || taken != n - minus)
        return FAIL(r, HYPAR_SYNTAX, "%s is '%.60s', expected a number", what, text);
    if ((minus && *out != 0) || *out > most)
        return FAIL(r, HYPAR_INVALID, "%s is %.60s, expected 0 to %g", what, text, most);
    return HYPAR_OK;
}

/* A number, or the sum of a list "[a; b; c]". */
static enum hypar_status read_sum(struct reading *r, const char *what, char *text, double most,
                                  double *out)
{
    double value;
    text = trim(text);
    size_t n = strlen(text);
    if (*text != '[')
        return read_number(r, what, text, most, out);
    if (n < 2 || text[n - 1] != ']')
        return FAIL(r, HYPAR_SYNTAX, "%s is '%.60s', expected a list to end in ']'", what,
                    text);
    text[n - 1] = '\0';
    *out = 0;
    for (char *p = text + 1, *next; p; p = next) {
        next = strchr(p, ';');
        next = next ? cut(next, 1) : NULL;
        TRY(read_number(r, what, p, most, &value));
        *out += value;
    }
    if (*out > most)
        return FAIL(r, HYPAR_INVALID, "%s is %g in all, expected 0 to %g", what, *out, most);
    return HYPAR_OK;
}

/* Nodes -------------------------------------------------------------------------------- */

enum { FORWARD, BACKWARD, ACTIVATION, PARAMETER, N_FIELDS };

static const char *const fields[N_FIELDS] = { "forward_compute_time", "backward_compute_time",
                                              "activation_size", "parameter_size" };

static enum hypar_status read_field(struct reading *r, char *text, double *value, bool *given)
{
    char *equals = strchr(text, '='), known[128];
    size_t n = equals ? (size_t)(equals - text) : 0;
    while (n > 0 && is_blank(text[n - 1]))
        n--;
    int f = 0;
    while (f < N_FIELDS && (strlen(fields[f]) != n || memcmp(fields[f], text, n) != 0))
        f++;
    if (f == N_FIELDS)
        return FAIL(r, HYPAR_SYNTAX, "'%.60s', expected name=value for each of %s", text,
                    hp_word_list(known, sizeof known, fields, N_FIELDS));
    if (given[f])
        return FAIL(r, HYPAR_SYNTAX, "%s is given twice", fields[f]);
    given[f] = true;
    bool time = f == FORWARD || f == BACKWARD;
    return read_sum(r, fields[f], equals + 1, time ? max_ms : max_bytes, &value[f]);
}

/* "name=value, name=value, ...", all four. */
static enum hypar_status read_fields(struct reading *r, char *text, double *value)
{
    bool given[N_FIELDS] = { false };
    for (char *p = text, *next; p; p = next) {
        next = strchr(p, ',');
        next = next ? cut(next, 1) : NULL;
        TRY(read_field(r, trim(p), value, given));
    }
    for (int f = 0; f < N_FIELDS; f++)
        if (!given[f])
            return FAIL(r, HYPAR_SYNTAX, "%s is missing", fields[f]);
    return HYPAR_OK;
}

static enum hypar_status read_stage(struct reading *r, char *text, int *stage)
{
    double value;
    TRY(read_number(r, "stage_id", text, MAX_STAGE, &value));
    if (value != floor(value))
        return FAIL(r, HYPAR_INVALID, "stage_id is %g, expected a whole number", value);
    *stage = (int)value;
    return HYPAR_OK;
}

/* Enter the node under its name, which must be new and fit to name an operator. */
static enum hypar_status add_node(struct reading *r, struct profile_node node)
{
    struct text_profile *p = r->profile;
    if (p->n_nodes == HP_MAX_OPS)
        return FAIL(r, HYPAR_INVALID, "more than %d nodes", HP_MAX_OPS);
    if (!*node.name || strcmp(node.name, "*") == 0)
        return FAIL(r, HYPAR_SYNTAX, "'%.60s' is no name of a node", node.name);
    if (hp_has_control(node.name))
        return FAIL(r, HYPAR_SYNTAX,
                    "node '%.60s', expected a name in UTF-8 without control characters",
                    hp_clean_text(hp_arena_strdup(r->arena, node.name), '_'));
    if (hp_table_put(&r->names, &r->scratch, node.name, strlen(node.name), p->n_nodes) !=
        p->n_nodes)
        return FAIL(r, HYPAR_INVALID, "node '%.60s' is defined already", node.name);
    p->node = GROW(r->arena, struct profile_node, p->node, p->n_nodes, &r->node_capacity);
    p->node[p->n_nodes++] = node;
    return HYPAR_OK;
}

static enum hypar_status read_node(struct reading *r, char *line)
{
    struct profile_node node = { .stage = -1 };
    double value[N_FIELDS];
    char *first = strstr(line, separator),
         *last = first ? last_separator(first + SEPARATOR) : NULL;
    if (!last)
        return FAIL(r, HYPAR_SYNTAX,
                    "'%.60s', expected NODE -- DESCRIPTION -- TIMES AND SIZES, or after a tab "
                    "NODE -- NODE",
                    line);
    char *description = cut(first, SEPARATOR), *times = trim(cut(last, SEPARATOR));
    if (strncmp(times, "stage_id=", 9) == 0) {
        TRY(read_stage(r, times + 9, &node.stage));
        last = last_separator(description);
        if (!last)
            return FAIL(r, HYPAR_SYNTAX, "times and sizes are missing before stage_id");
        times = trim(cut(last, SEPARATOR));
    }
    TRY(read_fields(r, times, value));
    node.name = trim(line);
    node.description = trim(description);
    node.forward_ms = value[FORWARD];
    node.backward_ms = value[BACKWARD];
    node.activation_bytes = value[ACTIVATION];
    node.parameter_bytes = value[PARAMETER];
    return add_node(r, node);
}

/* Edges -------------------------------------------------------------------------------- */

static enum hypar_status read_edge(struct reading *r, char *line)
{
    char *at = strstr(line, separator);
    if (!at)
        return FAIL(r, HYPAR_SYNTAX, "'%.60s', expected NODE -- NODE", trim(line));
    if (r->n_edges == MAX_EDGES)
        return FAIL(r, HYPAR_INVALID, "more than %d edges", MAX_EDGES);
    char *to = trim(cut(at, SEPARATOR));
    r->edge = GROW(&r->scratch, struct listed_edge, r->edge, r->n_edges, &r->edge_capacity);
    r->edge[r->n_edges++] = (struct listed_edge){ { trim(line), to }, r->line };
    return HYPAR_OK;
}

static enum hypar_status resolve_edge(struct reading *r, struct table *known, int e)
{
    struct profile_edge *edge = &r->profile->edge[e];
    const char *const *end = r->edge[e].end;
    int node[2];
    r->line = r->edge[e].line;
    for (int i = 0; i < 2; i++) {
        node[i] = hp_table_get(&r->names, end[i], strlen(end[i]));
        if (node[i] < 0)
            return FAIL(r, HYPAR_INVALID, "edge: there is no node '%.60s'", end[i]);
    }
    *edge = (struct profile_edge){ node[0], node[1] };
    if (edge->from == edge->to)
        return FAIL(r, HYPAR_INVALID, "edge from '%.60s' to itself", end[0]);
    if (hp_table_put(known, &r->scratch, edge, sizeof *edge, e) != e)
        return FAIL(r, HYPAR_INVALID, "edge '%.60s -- %.60s' is there already", end[0], end[1]);
    return HYPAR_OK;
}

static enum hypar_status resolve_edges(struct reading *r)
{
    struct text_profile *p = r->profile;
    struct table known = { 0 };
    p->n_edges = r->n_edges;
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
static enum hypar_status check_text(struct reading *r, const char *line)
{
    struct arena_mark mark = hp_arena_mark(&r->scratch);
    char *text = hp_arena_strdup(&r->scratch, line);
    for (char *p = text; *p; p++)
        *p = is_blank(*p) ? ' ' : *p;
    bool bad = hp_has_control(text);
    if (bad)
        FAIL(r, HYPAR_SYNTAX, "'%.60s', expected text in UTF-8", text);
    hp_arena_release(&r->scratch, mark);
    return bad ? HYPAR_SYNTAX : HYPAR_OK;
}

/* text[0..n), which the profile keeps a copy of. */
static enum hypar_status read_line(struct reading *r, const char *text, size_t n)
{
    bool blank = true;
    for (size_t i = 0; i < n; i++)
        blank &= is_blank(text[i]);
    if (blank)
        return HYPAR_OK;
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)text[i];
        if ((c < ' ' && c != '\t' && !(c == '\r' && i + 1 == n)) || c == 0x7f)
            return FAIL(r, HYPAR_SYNTAX, "control character %d, expected text", c);
    }
    char *line = hp_arena_strndup(r->arena, text, n);
    TRY(check_text(r, line));
    return *line == '\t' ? read_edge(r, line) : read_node(r, line);
}

static enum hypar_status read_lines(struct reading *r, const char *text, size_t length)
{
    for (const char *at = text, *end = text + length; at < end;) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        stop = stop ? stop : end;
        r->line++;
        TRY(read_line(r, at, (size_t)(stop - at)));
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
    hp_arena_free(&profile->arena);
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
