/* The matcher of operator patterns: pattern.h describes their words. A text is parsed once into
 * a tree. The matcher keeps a list of goals, each a part of the tree and the tensor that it has
 * to describe, and tries every order and every alternative until all goals are met. */
#include "model/onnx/rewrite/pattern.h"

#include <assert.h>
#include <ctype.h>
#include <math.h>
#include <string.h>

#include "base/number.h"

enum { MAX_KINDS = 4, MAX_PARTS = 3, MAX_CHECKED = 2, MAX_PASSED = 3 };

enum form { ANY_TENSOR, OPERATOR, EITHER, BEHIND, CAUSAL };

struct checked_attr {
    enum attr_id id;
    bool last;  /* the value is the last dimension of the input */
    int letter; /* captures the value, -1: compare with */
    double value;
};

struct pattern {
    enum form form;
    int letter; /* that captures the tensor, -1: none */
    int n_kinds, n_parts, n_attrs;
    enum op_kind kind[MAX_KINDS];
    const struct pattern *part[MAX_PARTS]; /* inputs, or alternatives */
    struct checked_attr attr[MAX_CHECKED];
    bool in_order, open, only;
};

/* Parts of several patterns, as exporters write them. */
static const struct {
    const char *name, *text;
} definitions[] = {
    { "Half", "affine{alpha=0.5 beta=0}(_)" },
    { "OnePlus", "affine{alpha=1 beta=1}(_)" },
    { "Square", "<pow{exponent=2}(_) | mul(_ _)>" },
    { "Cube", "<pow{exponent=3}(_) | mul(Square(_) _)>" },
    { "Root", "<sqrt(_) | pow{exponent=0.5}(_)>" },
    { "Mean", "reduce_mean{axes=last keep=1}(_)" },
    { "Centred", "sub[_ Mean(_)]" },
    { "Deviation", "Root(affine{alpha=1 beta=e}(Mean(Square(_))))" },
    { "Normed", "<div[_ Deviation(_)] | mul(_ pow{exponent=-1}(Deviation(_)))>" },
    { "LayerNorm", "Normed(Centred(_))" },
    { "Gate", "OnePlus(erf(affine{alpha=0.70710678118654752 beta=0}(_)))" },
    { "TanhGate", "OnePlus(tanh(affine{alpha=0.79788456080286536 beta=0}("
                  "add(_ affine{alpha=0.044715 beta=0}(Cube(_))))))" },
};

/* Parsing --------------------------------------------------------------------------------- */

struct parsing {
    struct arena *arena;
    const char *p;
    const struct pattern *argument; /* in place of _ */
};

static const struct pattern *parse(struct parsing *s);

static bool accept(struct parsing *s, const char *word)
{
    size_t n = strlen(word);
    s->p += strspn(s->p, " ");
    bool there = strncmp(s->p, word, n) == 0;
    s->p += there ? n : 0;
    return there;
}

/* A name of letters, digits and _ into `name`. */
static void read_name(struct parsing *s, char name[32])
{
    size_t n = 0;
    while (isalnum((unsigned char)s->p[n]) || s->p[n] == '_')
        n++;
    assert(n > 0 && n < 32);
    memcpy(name, s->p, n);
    name[n] = '\0';
    s->p += n;
}

static void parse_kinds(struct parsing *s, struct pattern *p)
{
    char name[32];
    do {
        read_name(s, name);
        assert(p->n_kinds < MAX_KINDS && hp_op_find(name) != OP_KIND_COUNT);
        p->kind[p->n_kinds++] = hp_op_find(name);
    } while (accept(s, "/"));
}

static void parse_attrs(struct parsing *s, struct pattern *p)
{
    char name[32];
    while (!accept(s, "}")) {
        assert(p->n_attrs < MAX_CHECKED);
        struct checked_attr *a = &p->attr[p->n_attrs++];
        read_name(s, name);
        *a = (struct checked_attr){ .id = hp_attr_find(name), .letter = -1 };
        assert(a->id != ATTR_COUNT && *s->p == '=');
        s->p++;
        double sign = accept(s, "-") ? -1 : 1;
        size_t n = hp_number_read(s->p, &a->value);
        a->value *= sign;
        if (n)
            s->p += n;
        else if (accept(s, "last"))
            a->last = true;
        else
            a->letter = *s->p++ - 'a';
        accept(s, " ");
    }
}

static void parse_inputs(struct parsing *s, struct pattern *p)
{
    p->in_order = accept(s, "[");
    if (!p->in_order && !accept(s, "("))
        assert(!"inputs follow an operator");
    while (!accept(s, p->in_order ? "]" : ")"))
        if (accept(s, "..."))
            p->open = true;
        else {
            assert(p->n_parts < MAX_PARTS);
            p->part[p->n_parts++] = parse(s);
        }
}

static const struct pattern *parse_definition(struct parsing *s)
{
    char name[32];
    size_t i = 0;
    read_name(s, name);
    while (i < sizeof definitions / sizeof definitions[0] &&
           strcmp(definitions[i].name, name) != 0)
        i++;
    assert(i < sizeof definitions / sizeof definitions[0]);
    accept(s, "(");
    struct parsing body = { s->arena, definitions[i].text, parse(s) };
    accept(s, ")");
    return parse(&body);
}

static const struct pattern *parse(struct parsing *s)
{
    s->p += strspn(s->p, " ");
    if (isupper((unsigned char)*s->p))
        return parse_definition(s);
    if (accept(s, "_"))
        return s->argument;
    struct pattern *p = NEW(s->arena, struct pattern, 1);
    p->letter = -1;
    if (islower((unsigned char)s->p[0]) && !isalnum((unsigned char)s->p[1]) && s->p[1] != '_') {
        p->letter = *s->p++ - 'a';
        if (!accept(s, "="))
            return p;
    }
    p->only = accept(s, "!");
    if (accept(s, "<")) {
        p->form = EITHER;
        do
            p->part[p->n_parts++] = parse(s);
        while (accept(s, "|"));
        accept(s, ">");
    } else if (accept(s, "@")) {
        p->form = BEHIND;
        parse_kinds(s, p);
        p->part[0] = parse(s);
    } else if (strncmp(s->p, "causal(", 7) == 0) {
        p->form = CAUSAL;
        s->p += 6;
        parse_inputs(s, p);
    } else {
        p->form = OPERATOR;
        parse_kinds(s, p);
        if (accept(s, "{"))
            parse_attrs(s, p);
        parse_inputs(s, p);
    }
    return p;
}

const struct pattern *hp_pattern(struct rewriting *rw, const char *text)
{
    int at = hp_table_put(&rw->pattern_texts, rw->arena, text, strlen(text), rw->n_patterns);
    if (at == rw->n_patterns) {
        rw->pattern = GROW(rw->arena, const struct pattern *, rw->pattern, rw->n_patterns,
                           &rw->pattern_capacity);
        rw->pattern[rw->n_patterns++] = parse(&(struct parsing){ rw->arena, text, NULL });
    }
    return rw->pattern[at];
}

/* Matching -------------------------------------------------------------------------------- */

struct goal {
    const struct pattern *pattern;
    int t; /* the tensor that it has to describe */
    const struct goal *next;
};

struct matching {
    const struct rewriting *rw;
    pattern_check *check;
    struct match *found;
};

static bool meet(const struct matching *s, const struct goal *goal, struct match m);

static bool has_kind(const struct pattern *p, const struct op *o)
{
    for (int i = 0; i < p->n_kinds; i++)
        if (o->kind == p->kind[i])
            return true;
    return false;
}

static bool has_attrs(const struct rewriting *rw, const struct pattern *p, const struct op *o,
                      struct match *m)
{
    for (int i = 0; i < p->n_attrs; i++) {
        const struct checked_attr *a = &p->attr[i];
        const struct attr *have = hp_attr_get(o->nest->attrs, a->id);
        double wanted = a->last ? rw->g->tensors[o->tensor[0]].shape.n_dims - 1 : a->value;
        if (!have || (a->last && have->n != 1))
            return false;
        if (a->letter >= 0)
            m->number[a->letter] = have->v[0];
        else if (!(fabs(wanted - have->v[0]) <= 1e-6 * fabs(have->v[0])))
            return false;
    }
    return true;
}

/* The operator's inputs become goals: in order, then the first two exchanged. */
static bool meet_inputs(const struct matching *s, const struct goal *goal, struct match m,
                        const struct op *o)
{
    const struct pattern *p = goal->pattern;
    struct goal part[MAX_PARTS];
    int given = 0;
    bool either = !p->in_order && p->n_parts == 2 && (o->kind == OP_ADD || o->kind == OP_MUL);
    for (int i = 0; i < o->nest->n_inputs; i++)
        given += o->tensor[i] >= 0;
    if (p->open ? given < p->n_parts : given != p->n_parts)
        return false;
    for (int turn = 0; turn <= either; turn++) {
        for (int i = 0; i < p->n_parts; i++)
            part[i] = (struct goal){ p->part[i], o->tensor[either ? i ^ turn : i],
                                     i + 1 < p->n_parts ? &part[i + 1] : goal->next };
        if (meet(s, p->n_parts ? part : goal->next, m))
            return true;
    }
    return false;
}

static bool meet_operator(const struct matching *s, const struct goal *goal, struct match m)
{
    const struct pattern *p = goal->pattern;
    const struct rewriting *rw = s->rw;
    int op = rw->g->tensors[goal->t].producer;
    if (op < 0 || !has_kind(p, &rw->g->ops[op]) || (p->only && hp_readers(rw, goal->t) != 1) ||
        !has_attrs(rw, p, &rw->g->ops[op], &m))
        return false;
    return meet_inputs(s, goal, m, &rw->g->ops[op]);
}

/* The part itself, or the same behind one more operator. */
static bool meet_behind(const struct matching *s, const struct goal *goal, struct match m)
{
    const struct hypar_graph *g = s->rw->g;
    int t = goal->t;
    for (int passed = 0; passed <= MAX_PASSED; passed++) {
        struct goal part = { goal->pattern->part[0], t, goal->next };
        int op = g->tensors[t].producer;
        if (meet(s, &part, m))
            return true;
        if (op < 0 || !has_kind(goal->pattern, &g->ops[op]))
            return false;
        m.dropout |= g->ops[op].kind == OP_DROPOUT;
        t = g->ops[op].tensor[0];
    }
    return false;
}

static bool meet(const struct matching *s, const struct goal *goal, struct match m)
{
    if (!goal) {
        *s->found = m;
        return !s->check || s->check(s->rw, &m);
    }
    const struct pattern *p = goal->pattern;
    if (goal->t < 0)
        return false;
    if (p->letter >= 0) {
        if (m.tensor[p->letter] >= 0 && m.tensor[p->letter] != goal->t)
            return false;
        m.tensor[p->letter] = goal->t;
    }
    struct goal part = *goal;
    switch (p->form) {
    case ANY_TENSOR:
        return meet(s, goal->next, m);
    case OPERATOR:
        return meet_operator(s, goal, m);
    case BEHIND:
        return meet_behind(s, goal, m);
    case CAUSAL:
        part.pattern = p->part[0];
        part.t = hp_causal_scores(s->rw, goal->t);
        return meet(s, &part, m);
    default:
        for (int i = 0; i < p->n_parts; i++) {
            part.pattern = p->part[i];
            if (meet(s, &part, m))
                return true;
        }
        return false;
    }
}

bool hp_match(const struct rewriting *rw, const struct pattern *pattern, int t,
              pattern_check *check, struct match *m)
{
    struct matching s = { rw, check, m };
    struct match none = { .op = t >= 0 ? rw->g->tensors[t].producer : -1 };
    for (int i = 0; i < 26; i++)
        none.tensor[i] = -1;
    return meet(&s, &(struct goal){ pattern, t, NULL }, none);
}
