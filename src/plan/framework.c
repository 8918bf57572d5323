/* Frameworks as words and files: one table of members reads, writes and compares them. */
#include "plan/framework.h"

#include <hypar/tool.h>

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/names.h"
#include "base/number.h"
#include "base/precision.h"
#include "base/word.h"
#include "machine/machine.h"

#define FORMAT "hypar-framework/1"

enum member_kind { CHOICE, TRUTH, AMOUNT, WHOLE, OVERLAP, TEXT };

static const char *const launches[] = { "usual", "eager", "captured" };
static const char *const attentions[] = { "fused", "unfused", "flash1", "flash2", "flash3" };
static const char *const selectives[] = { "attention", "products" };
static const char *const widths[] = { "usual", "fp32", "short" };
static const char *const traffic[] = { "gradients", "gathers", "tensor", "sequence", "stages" };

/* The members of a framework and their possible values. `told`: the member describes the row,
 * and no prediction depends on it. `tried`: a fit to measured steps may try other values,
 * because these change neither the graph nor the plan. */
static const struct member {
    const char *key;
    enum member_kind kind;
    size_t offset;
    const char *const *words;
    int n_words;
    double least, most;
    enum hypar_unit unit;
    bool told, tried, whole; /* whole: an amount that counts something */
    const char *summary;
} members[] = {
#define AT(member)                  offsetof(struct hypar_framework, member)
#define WORDS(member, list)         CHOICE, AT(member), list, (int)(sizeof list / sizeof *list)
#define BYTES(member)               AMOUNT, AT(member), NULL, 0, 0, 1e15, HYPAR_UNIT_BYTES
#define TIME(member)                AMOUNT, AT(member), NULL, 0, 0, 1e3, HYPAR_UNIT_SECONDS
#define NUMBER(member, least, most) AMOUNT, AT(member), NULL, 0, least, most, HYPAR_UNIT_COUNT
    /* clang-format off */
    { "kernels", CHOICE, AT(kernels), hp_kernels_names, HYPAR_KERNELS_COUNT, .summary = "passes as kernels: compiled (fused), eager (operator by operator), none (the roofline)" },
    { "launches", WORDS(launches, launches), .tried = true, .summary = "of kernels: one by one (eager), captured as a graph, or as is usual for the kernels" },
    { "attention", WORDS(attention, attentions), .tried = true, .summary = "fused into the device's best kernel or one of a generation, or unfused: scores lie in memory" },
    { "attention_dropout", NUMBER(attention_dropout, 0, 0.99), .summary = "share of weights dropped where attention is unfused and the model does not say" },
    { "selective", WORDS(selective, selectives), .summary = "what recompute 'selective' computes again: written attention, or all of a layer but attention and every second product" },
    { "keeps_masks", TRUTH, AT(keeps_masks), .summary = "a byte for each element of a dropout is kept for the backward half" },
    { "autocast", TRUTH, AT(autocast), .summary = "beside 16-bit products parameters are in fp32, and norms, softmax and losses run in fp32" },
    { "gradients", WORDS(gradients, widths), .summary = "precision of parameters' gradients: the parameters' (usual), 16 bits beside these (short) or fp32" },
    { "gathers", WORDS(gathers, widths), .tried = true, .summary = "of divided parameters as they are gathered" },
    { "sums", WORDS(sums, widths), .tried = true, .summary = "of the messages that sum gradients: theirs (usual), fp32, or the parameters' (short)" },
    { "loss", WORDS(loss, widths), .tried = true, .summary = "of logits and loss" },
    { "overlap", OVERLAP, AT(waits), .tried = true, .summary = "exchanges during which a device computes: all, none or some of gradients+gathers+tensor+sequence+stages" },
    { "bucket_bytes", BYTES(bucket_bytes), .summary = "bytes of gradients that are summed together (0: each parameter's alone)" },
    { "row_shards", TRUTH, AT(row_shards), .summary = "divided parameters are cut into equal numbers of rows, and messages padded to these" },
    { "replicates", TRUTH, AT(replicates), .summary = "each replica has all parameters, gradients and optimizer state: it cannot shard them" },
    { "prefetch", WHOLE, AT(prefetch), NULL, 0, 0, 1 << 20, .summary = "layers ahead that divided parameters are gathered (0: as the plan says, in operators)" },
    { "gather_copy_bytes", NUMBER(gather_copy_bytes, 0, 1e3), .summary = "bytes that a device reads and writes for each element of a parameter that is gathered, beside messages" },
    { "sum_copy_bytes", NUMBER(sum_copy_bytes, 0, 1e3), .summary = "bytes that a device reads and writes for each element of a gradient that is summed, beside messages" },
    { "gathers_by_piece", TRUTH, AT(gathers_by_piece), .summary = "updated parameters that are gathered are copied piece by piece, a kernel for each replica's" },
    { "layer_s", TIME(layer_s), .tried = true, .summary = "seconds that the host adds for every layer, in each half" },
    { "slot_s", TIME(slot_s), .tried = true, .summary = "seconds that the host adds for every micro-batch of a stage, in each half" },
    { "bucket_s", TIME(bucket_s), .tried = true, .summary = "seconds that the host adds for every sum of gradients and every gather" },
    { "host_waits", TRUTH, AT(host_waits), .summary = "between stages the host launches a slot when its device has ended the one before and has received" },
    { "context_bytes", BYTES(memory.context_bytes), .summary = "bytes of a device for driver and libraries" },
    { "communicator_bytes", BYTES(memory.communicator_bytes), .summary = "bytes for every group of devices that exchange something" },
    { "workspaces", NUMBER(memory.workspaces, 0, 1e6), .whole = true, .summary = "handles and streams with a workspace for products (0: as usual)" },
    { "workspace_bytes", BYTES(memory.workspace_bytes), .summary = "bytes of a workspace (0: as usual for the device)" },
    { "fragmentation", NUMBER(memory.fragmentation, 0, 0.99), .summary = "memory that the allocator holds and no tensor uses, as a share of what it handed out (0: as usual)" },
    { "logits_fp32", NUMBER(memory.logits_fp32, 0, 16), .summary = "tensors in fp32, as large as the logits, at the loss (a half: in 16 bits)" },
    { "deferred_logits", NUMBER(memory.deferred_logits, 0, 1e6), .whole = true, .summary = "micro-batches whose errors of the logits wait for the gradient of the last weights" },
    { "flat_gradients", TRUTH, AT(memory.flat_gradients), .summary = "gradients lie in buffers that last from step to step" },
    { "bucket_copies", TRUTH, AT(memory.bucket_copies), .summary = "gradients that are summed whole are copied to buckets, which last from step to step" },
    { "state_by_stage", TRUTH, AT(memory.state_by_stage), .summary = "each stage that uses a parameter has the optimizer's state of it" },
    { "fused_norms", TRUTH, AT(memory.fused_norms), .summary = "norms and rotary positions are one kernel each, whatever the kernels are" },
    { "bare", TRUTH, AT(memory.bare), .summary = "nothing but tensors is in memory" },
    { "memory_bias", NUMBER(memory.bias, -10, 10), .told = true, .summary = "mean of log(measured / predicted) memory" },
    { "memory_spread", NUMBER(memory.spread, 0, 10), .told = true, .summary = "standard deviation of the log error of memory" },
    { "calibrated_rows", WHOLE, AT(calibration.rows), NULL, 0, 0, 1 << 30, .told = true, .summary = "measured rows that predictions were compared with" },
    { "calibrated_bias", AMOUNT, AT(calibration.bias), NULL, 0, -10, 10, HYPAR_UNIT_COUNT, .told = true, .summary = "mean of log(measured / predicted) on these rows" },
    { "calibrated_spread", AMOUNT, AT(calibration.spread), NULL, 0, 0, 10, HYPAR_UNIT_COUNT, .told = true, .summary = "standard deviation of the log error of these rows" },
    { "calibrated_pair", AMOUNT, AT(calibration.pair), NULL, 0, 0, 10, HYPAR_UNIT_COUNT, .told = true, .summary = "standard deviation of the log error of the ratio of two steps of one network" },
    { "calibrated_on", TEXT, AT(calibration.on), .told = true, .summary = "the names of these rows" },
    /* clang-format on */
};

enum {
    N_MEMBERS = sizeof members / sizeof members[0],
    N_TRAFFIC = sizeof traffic / sizeof traffic[0]
};

static void *place_of(const struct member *m, struct hypar_framework *f)
{
    return (char *)f + m->offset;
}

static const void *value_of(const struct member *m, const struct hypar_framework *f)
{
    return (const char *)f + m->offset;
}

const char *hp_framework_name(const struct hypar_framework *framework)
{
    return framework->name ? framework->name : "compiled";
}

const struct hypar_framework *hp_framework_row(const char *name)
{
    const struct hypar_framework *row;
    for (int i = 0; (row = hypar_framework_at(i)); i++)
        if (strcmp(row->name, name) == 0)
            return row;
    return NULL;
}

/* A text that outlives `text`: the equal text of a table's row, else a copy. */
static const char *keep(struct arena *arena, const char *text, const char *of_row)
{
    if (!text || (of_row && strcmp(text, of_row) == 0))
        return text ? of_row : NULL;
    return hp_arena_strdup(arena, text);
}

struct hypar_framework hp_keep_framework(struct arena *arena,
                                         const struct hypar_framework *framework)
{
    static const struct hypar_framework no_row;
    const struct hypar_framework *row = hp_framework_row(hp_framework_name(framework));
    row = row ? row : &no_row;
    struct hypar_framework kept = *framework;
    kept.name = keep(arena, framework->name, row->name);
    kept.summary = keep(arena, framework->summary, row->summary);
    kept.source = keep(arena, framework->source, row->source);
    kept.calibration.on = keep(arena, framework->calibration.on, row->calibration.on);
    return kept;
}

bool hp_waits_for_all(const struct hypar_framework *framework)
{
    bool all = true;
    for (int t = 0; t < HYPAR_TRAFFIC_COUNT; t++)
        all = all && framework->waits[t];
    return all;
}

bool hp_waits_for_any(const struct hypar_framework *framework)
{
    bool any = false;
    for (int t = 0; t < HYPAR_TRAFFIC_COUNT; t++)
        any = any || framework->waits[t];
    return any;
}

void hp_wait_for_all(struct hypar_framework *framework)
{
    for (int t = 0; t < HYPAR_TRAFFIC_COUNT; t++)
        framework->waits[t] = true;
}

bool hp_usual_fp32_gradients(enum hypar_precision precision,
                             const struct hypar_framework *framework)
{
    enum hypar_width usual = framework->autocast ? HYPAR_WIDTH_FP32 : HYPAR_WIDTH_SHORT;
    return (framework->gradients == HYPAR_WIDTH_USUAL ? usual : framework->gradients) ==
               HYPAR_WIDTH_FP32 &&
           hp_precision_bytes(precision) < hp_precision_bytes(HYPAR_FP32);
}

/* Values as texts ---------------------------------------------------------------------- */

static char *overlap_text(struct arena *arena, const bool *waits)
{
    char *text = hp_arena_strdup(arena, "");
    int n = 0;
    for (int t = 0; t < N_TRAFFIC; t++)
        if (!waits[t])
            text = hp_arena_printf(arena, "%s%s%s", text, n++ ? "+" : "", traffic[t]);
    return n == 0           ? hp_arena_strdup(arena, "none")
           : n == N_TRAFFIC ? hp_arena_strdup(arena, "all")
                            : text;
}

static bool read_overlap(const char *text, bool *waits)
{
    bool all = strcmp(text, "all") == 0, none = strcmp(text, "none") == 0;
    for (int t = 0; t < N_TRAFFIC; t++)
        waits[t] = !all;
    for (const char *at = text; !all && !none;) {
        size_t n = strcspn(at, "+");
        int t = 0;
        while (t < N_TRAFFIC && (strlen(traffic[t]) != n || memcmp(traffic[t], at, n) != 0))
            t++;
        if (t == N_TRAFFIC)
            return false;
        waits[t] = false;
        if (!at[n])
            break;
        at += n + 1;
    }
    return true;
}

static const char *text_of(struct arena *arena, const struct member *m,
                           const struct hypar_framework *f)
{
    char number[NUMBER_TEXT_BYTES];
    const void *value = value_of(m, f);
    switch (m->kind) {
    case CHOICE:
        return m->words[*(const int *)value];
    case TRUTH:
        return *(const bool *)value ? "yes" : "no";
    case AMOUNT:
        return hp_arena_strdup(arena, hp_number_text(number, *(const double *)value));
    case WHOLE:
        return hp_arena_printf(arena, "%d", *(const int *)value);
    case OVERLAP:
        return overlap_text(arena, value);
    case TEXT:
        break;
    }
    const char *text = *(const char *const *)value;
    return text ? text : "";
}

static bool same_member(const struct member *m, const struct hypar_framework *a,
                        const struct hypar_framework *b)
{
    const void *x = value_of(m, a), *y = value_of(m, b);
    switch (m->kind) {
    case CHOICE:
    case WHOLE:
        return *(const int *)x == *(const int *)y;
    case TRUTH:
        return *(const bool *)x == *(const bool *)y;
    case AMOUNT:
        return *(const double *)x == *(const double *)y;
    case OVERLAP:
        return memcmp(x, y, sizeof a->waits) == 0;
    case TEXT:
        break;
    }
    const char *s = *(const char *const *)x, *t = *(const char *const *)y;
    return strcmp(s ? s : "", t ? t : "") == 0;
}

bool hp_framework_same(const struct hypar_framework *a, const struct hypar_framework *b)
{
    bool same = strcmp(hp_framework_name(a), hp_framework_name(b)) == 0;
    for (int i = 0; i < N_MEMBERS; i++)
        same = same && (members[i].told || same_member(&members[i], a, b));
    return same;
}

bool hp_framework_member(struct arena *arena, const struct hypar_framework *framework, int i,
                         struct framework_member *out)
{
    if (i < 0 || i >= N_MEMBERS)
        return false;
    *out = (struct framework_member){ members[i].key, text_of(arena, &members[i], framework),
                                      members[i].summary };
    return true;
}

/* Values to try in a fit to steps --------------------------------------------------------- */

double *hp_framework_time(struct hypar_framework *framework, int i, const char **key)
{
    for (int m = 0; m < N_MEMBERS; m++)
        if (members[m].kind == AMOUNT && members[m].unit == HYPAR_UNIT_SECONDS && i-- == 0) {
            if (key)
                *key = members[m].key;
            return place_of(&members[m], framework);
        }
    return NULL;
}

/* Unfused attention changes the graph, not only the kernel. */
static bool is_another_graph(const struct member *m, int value)
{
    return m->words == attentions && value == HYPAR_ATTENTION_UNFUSED;
}

/* Other value `*i` of a choice; if there are fewer, *i is less by their number. */
static bool take_other_word(const struct member *m, struct hypar_framework *f, int *i)
{
    int *value = place_of(m, f);
    for (int other = 0; other < m->n_words && !is_another_graph(m, *value); other++)
        if (other != *value && !is_another_graph(m, other) && (*i)-- == 0) {
            *value = other;
            return true;
        }
    return false;
}

/* For a time that is 0: half decades from 10 us to 10 ms, as starts of the fit. */
static bool take_time(const struct member *m, struct hypar_framework *f, int *i)
{
    static const double tried[] = { 1e-5, 3e-5, 1e-4, 3e-4, 1e-3, 3e-3, 1e-2 };
    enum { TRIED = sizeof tried / sizeof *tried };
    double *value = place_of(m, f);
    if (*value > 0)
        return false;
    if (*i < TRIED)
        *value = tried[*i];
    *i -= TRIED;
    return *i < 0;
}

static bool take_overlap(struct hypar_framework *f, int *i)
{
    if (*i < N_TRAFFIC)
        f->waits[*i] = !f->waits[*i];
    *i -= N_TRAFFIC;
    return *i < 0;
}

const char *hp_framework_alternative(struct hypar_framework *framework, int i)
{
    for (const struct member *m = members; m < members + N_MEMBERS; m++)
        if (m->tried && (m->kind == CHOICE    ? take_other_word(m, framework, &i)
                         : m->kind == OVERLAP ? take_overlap(framework, &i)
                                              : take_time(m, framework, &i)))
            return m->key;
    return NULL;
}

const char *hp_framework_value(struct arena *arena, const struct hypar_framework *framework,
                               const char *key)
{
    const struct member *m = members;
    while (strcmp(m->key, key) != 0)
        m++;
    return text_of(arena, m, framework);
}

static bool is_in_bounds(const struct member *m, const struct hypar_framework *f)
{
    const void *value = value_of(m, f);
    int whole = m->kind == CHOICE || m->kind == WHOLE ? *(const int *)value : 0;
    double amount = m->kind == AMOUNT ? *(const double *)value : whole;
    if (m->kind == CHOICE)
        return whole >= 0 && whole < m->n_words;
    return (m->kind != AMOUNT && m->kind != WHOLE) || (amount >= m->least && amount <= m->most);
}

enum hypar_status hp_check_framework(const struct hypar_framework *framework,
                                     struct hypar_error *err)
{
    for (int i = 0; i < N_MEMBERS; i++)
        if (!is_in_bounds(&members[i], framework))
            return hp_fail(err, HYPAR_INVALID, "framework: %s is out of its bounds",
                           members[i].key);
    return HYPAR_OK;
}

/* Words -------------------------------------------------------------------------------- */

char *hp_framework_word(struct arena *arena, const struct hypar_framework *framework)
{
    const char *name = hp_framework_name(framework);
    const struct hypar_framework *row = hp_framework_row(name);
    char *word = hp_arena_strdup(arena, name);
    for (int i = 0; row && i < N_MEMBERS; i++)
        if (!members[i].told && !same_member(&members[i], framework, row))
            word = hp_arena_printf(arena, "%s,%s=%s", word, members[i].key,
                                   text_of(arena, &members[i], framework));
    return word;
}

static const char *expected(char *text, size_t size, const struct member *m)
{
    char words[160];
    switch (m->kind) {
    case CHOICE:
        snprintf(text, size, "one of %s",
                 hp_word_list(words, sizeof words, m->words, m->n_words));
        return text;
    case TRUTH:
        return "yes or no";
    case OVERLAP:
        return "all, none, or some of gradients+gathers+tensor+sequence+stages";
    case AMOUNT:
        if (m->unit != HYPAR_UNIT_COUNT)
            return hypar_unit_text(m->unit);
        break;
    case WHOLE:
    case TEXT:
        break;
    }
    snprintf(text, size, "a %snumber from %g to %g",
             m->whole || m->kind == WHOLE ? "whole " : "", m->least, m->most);
    return text;
}

static bool read_number(const struct member *m, const char *text, double *out)
{
    size_t n = hp_number_read(text, out);
    if (n == 0 || text[n])
        return hypar_parse_quantity(text, m->unit, out);
    return true;
}

static bool set_member(struct arena *arena, const struct member *m, const char *text,
                       struct hypar_framework *f)
{
    void *to = place_of(m, f);
    double number = 0;
    int i = 0;
    switch (m->kind) {
    case CHOICE:
        while (i < m->n_words && strcmp(m->words[i], text) != 0)
            i++;
        if (i < m->n_words)
            *(int *)to = i;
        return i < m->n_words;
    case TRUTH:
        *(bool *)to = strcmp(text, "yes") == 0;
        return *(bool *)to || strcmp(text, "no") == 0;
    case OVERLAP:
        return read_overlap(text, to);
    case TEXT:
        *(const char **)to = hp_arena_strdup(arena, text);
        return true;
    case AMOUNT:
    case WHOLE:
        break;
    }
    if (!read_number(m, text, &number) || !(number >= m->least && number <= m->most))
        return false;
    if (m->kind == AMOUNT)
        *(double *)to = number;
    else
        *(int *)to = (int)number;
    return (m->kind == AMOUNT && !m->whole) || number == (int)number;
}

/* "member=value", of n characters. `set`: which members were set before. */
static enum hypar_status read_member(struct arena *arena, const char *text, size_t n, bool *set,
                                     struct hypar_framework *out, struct hypar_error *err)
{
    const char *keys[N_MEMBERS], *word = hp_arena_strndup(arena, text, n);
    char known[200];
    size_t length = strcspn(word, "=");
    const char *key = hp_arena_strndup(arena, word, length);
    int i = 0;
    for (int k = 0; k < N_MEMBERS; k++)
        keys[k] = members[k].key;
    while (i < N_MEMBERS && strcmp(keys[i], key) != 0)
        i++;
    if (i == N_MEMBERS)
        return hp_nearest_text(key, keys, N_MEMBERS, known, sizeof known)
                   ? hp_fail(err, HYPAR_SYNTAX,
                             "framework: unknown member '%.40s', did you mean %s?", key, known)
                   : hp_fail(err, HYPAR_SYNTAX,
                             "framework: unknown member '%.40s', expected one that 'hypar "
                             "frameworks NAME' lists",
                             key);
    if (set[i])
        return hp_fail(err, HYPAR_SYNTAX, "framework: %s is set twice", key);
    set[i] = true;
    const char *value = word[length] ? word + length + 1 : "";
    if (set_member(arena, &members[i], value, out))
        return HYPAR_OK;
    return hp_fail(err, HYPAR_INVALID, "framework: %s=%.40s: expected %s", key, value,
                   expected(known, sizeof known, &members[i]));
}

static enum hypar_status unknown_name(const char *name, struct hypar_error *err)
{
    struct arena scratch = { 0 };
    const struct hypar_framework *row;
    const char *table[64];
    char list[300];
    int n = 0;
    for (int i = 0; n < 64 && (row = hypar_framework_at(i)); i++)
        table[n++] = row->name;
    const char *const *names = hp_site_names(&scratch, HYPAR_SITE_FRAMEWORKS, table, &n);
    enum hypar_status status =
        hp_fail(err, HYPAR_INVALID, "unknown framework '%.40s', %s", name,
                hp_expected(list, sizeof list, name, names, n, "hypar frameworks"));
    hp_arena_free(&scratch);
    return status;
}

/* Files -------------------------------------------------------------------------------- */

static enum hypar_status read_overlaps(const struct json *at, bool *waits,
                                       struct hypar_error *err)
{
    const char *text;
    TRY(hp_json_string(at, &text, err));
    if (!read_overlap(text, waits))
        return hp_json_fail(at, err,
                            "expected all, none, or some of "
                            "gradients+gathers+tensor+sequence+stages, not \"%.60s\"",
                            text);
    return HYPAR_OK;
}

static enum hypar_status read_value(struct arena *arena, const struct json *at,
                                    const struct member *m, struct hypar_framework *out,
                                    struct hypar_error *err)
{
    const char *text = NULL;
    int64_t whole = 0;
    void *to = place_of(m, out);
    switch (m->kind) {
    case CHOICE:
        return hp_json_choice(at, m->words, m->n_words, to, err);
    case TRUTH:
        return hp_json_bool(at, to, err);
    case AMOUNT:
        return (m->whole ? hp_json_whole : hp_json_number)(at, m->least, m->most, to, err);
    case OVERLAP:
        return read_overlaps(at, to, err);
    case WHOLE:
        TRY(hp_json_int(at, (int64_t)m->least, (int64_t)m->most, &whole, err));
        *(int *)to = (int)whole;
        return HYPAR_OK;
    case TEXT:
        break;
    }
    TRY(hp_json_string(at, &text, err));
    *(const char **)to = hp_arena_strdup(arena, text);
    return HYPAR_OK;
}

static enum hypar_status read_like(const struct json *at, struct hypar_framework *out,
                                   struct hypar_error *err)
{
    const char *name;
    if (!at->value)
        return HYPAR_OK;
    TRY(hp_json_name(at, &name, err));
    const struct hypar_framework *row = hp_framework_row(name);
    if (!row)
        return hp_json_fail(at, err, "'%.40s' is no row of the table of frameworks", name);
    *out = *row;
    out->calibration = (struct hypar_calibration){ .rows = 0 };
    return HYPAR_OK;
}

enum hypar_status hp_read_framework(struct arena *arena, const struct json *at,
                                    struct hypar_framework *out, struct hypar_error *err)
{
    const char *word, *known[N_MEMBERS + 6] = { "format", "name", "like", "summary", "source" };
    *out = (struct hypar_framework){ .name = NULL };
    if (hp_json_is_string(at)) {
        TRY(hp_json_name(at, &word, err));
        struct hypar_error why;
        if (hp_framework_read(arena, word, out, &why) != HYPAR_OK)
            return hp_json_fail(at, err, "%s", why.text);
        return HYPAR_OK;
    }
    TRY(hp_json_format(at, FORMAT, err));
    for (int i = 0; i < N_MEMBERS; i++)
        known[5 + i] = members[i].key;
    TRY(hp_json_only(at, known, err));
    struct json like = hp_json_member(at, "like"), name = hp_json_member(at, "name");
    TRY(read_like(&like, out, err));
    TRY(hp_json_name(&name, &out->name, err));
    if (strpbrk(out->name, ",="))
        return hp_json_fail(&name, err, "'%.40s', expected a name without ',' and '='",
                            out->name);
    for (int i = 0; i < N_MEMBERS; i++) {
        struct json value = hp_json_member(at, members[i].key);
        if (value.value)
            TRY(read_value(arena, &value, &members[i], out, err));
    }
    TRY(HP_JSON_READ(at, err, JSON_STRING("?summary", &out->summary),
                     JSON_STRING("?source", &out->source), JSON_OTHERS));
    *out = hp_keep_framework(arena, out);
    return HYPAR_OK;
}

static enum hypar_status read_file(struct arena *arena, const char *path,
                                   struct hypar_framework *out, struct hypar_error *err)
{
    struct json_document *document;
    TRY(hp_json_read_file(&document, path, err));
    struct json root = hp_json_root(document);
    enum hypar_status status =
        hp_json_is_object(&root)
            ? hp_read_framework(arena, &root, out, err)
            : hp_json_fail(&root, err, "expected an object of format \"" FORMAT "\"");
    hp_json_free(document);
    return status;
}

enum hypar_status hp_framework_read(struct arena *arena, const char *word,
                                    struct hypar_framework *out, struct hypar_error *err)
{
    size_t n = strcspn(word, ",");
    const char *name = hp_arena_strndup(arena, word, n);
    char path[HYPAR_PLACE_BYTES];
    bool set[N_MEMBERS] = { false };
    const struct hypar_framework *row = hp_framework_row(name);
    *out = (struct hypar_framework){ .name = NULL };
    if (row)
        *out = hp_keep_framework(arena, row);
    else if (n > 5 && strcmp(name + n - 5, ".json") == 0)
        TRY(read_file(arena, name, out, err));
    else if (hp_site_find(HYPAR_SITE_FRAMEWORKS, name, path))
        TRY(read_file(arena, path, out, err));
    else
        return unknown_name(name, err);
    for (const char *at = word + n; *at; at += n) {
        at++;
        n = strcspn(at, ",");
        TRY(read_member(arena, at, n, set, out, err));
    }
    return HYPAR_OK;
}

/* A framework with its own arena. */
struct own_framework {
    struct hypar_framework framework;
    struct arena arena;
};

enum hypar_status hypar_framework_read(struct hypar_framework **out, const char *word,
                                       struct hypar_error *err)
{
    struct arena arena = { 0 };
    struct own_framework *own = NEW(&arena, struct own_framework, 1);
    enum hypar_status status = hp_framework_read(&arena, word, &own->framework, err);
    own->arena = arena;
    *out = &own->framework;
    if (status != HYPAR_OK) {
        hypar_framework_free(*out);
        *out = NULL;
    }
    return status;
}

void hypar_framework_free(struct hypar_framework *framework)
{
    if (!framework)
        return;
    struct arena arena = ((struct own_framework *)framework)->arena; /* it lives in it */
    hp_arena_free(&arena);
}

static void put_member(struct json_writer *w, const struct member *m,
                       const struct hypar_framework *f)
{
    struct arena scratch = { 0 };
    const void *value = value_of(m, f);
    if (m->kind == TRUTH)
        hp_json_put_bool(w, m->key, *(const bool *)value);
    else if (m->kind == AMOUNT)
        hp_json_put_number(w, m->key, *(const double *)value);
    else if (m->kind == WHOLE)
        hp_json_put_int(w, m->key, *(const int *)value);
    else
        hp_json_put_string(w, m->key, text_of(&scratch, m, f));
    hp_arena_free(&scratch);
}

/* `all`: also members with the values of the row "compiled". */
static void put_object(struct json_writer *w, const char *key, const struct hypar_framework *f,
                       bool all)
{
    static const struct hypar_framework compiled;
    hp_json_begin_object(w, key, !all);
    hp_json_put_string(w, "format", FORMAT);
    hp_json_put_string(w, "name", hp_framework_name(f));
    if (f->summary)
        hp_json_put_string(w, "summary", f->summary);
    if (f->source)
        hp_json_put_string(w, "source", f->source);
    for (int i = 0; i < N_MEMBERS; i++)
        if (all || !same_member(&members[i], f, &compiled))
            put_member(w, &members[i], f);
    hp_json_end_object(w);
}

void hp_put_framework(struct json_writer *w, const char *key,
                      const struct hypar_framework *framework)
{
    static const struct hypar_framework compiled;
    struct arena scratch = { 0 };
    if (hp_framework_same(framework, &compiled))
        return;
    if (hp_framework_row(hp_framework_name(framework)))
        hp_json_put_string(w, key, hp_framework_word(&scratch, framework));
    else
        put_object(w, key, framework, false);
    hp_arena_free(&scratch);
}

void hypar_framework_write(const struct hypar_framework *framework, FILE *to)
{
    struct json_writer w = { .file = to };
    put_object(&w, NULL, framework, true);
}
