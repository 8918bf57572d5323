/* Reads and writes the choices of an operator in hypar-graph/1 (docs/formats-graph.md). */
#include "model/json_choices.h"

#include <math.h>

static const double max_seconds = 1e12, max_bytes = 0x1p49;

enum hypar_status hp_choice_seconds(const struct json *at, double *out, struct hypar_error *err)
{
    TRY(hp_json_number(at, 0, max_seconds, out, err));
    *out = fabs(*out); /* -0 is 0 */
    return HYPAR_OK;
}

enum hypar_status hp_choice_bytes(const struct json *at, double *out, struct hypar_error *err)
{
    TRY(hp_json_number(at, 0, max_bytes, out, err));
    *out = fabs(*out);
    return HYPAR_OK;
}

/* A list of `n` numbers, or one that stands for all; NULL where it is missing. */
static enum hypar_status read_list(struct arena *arena, const struct json *at, int n,
                                   const double **out, struct hypar_error *err)
{
    *out = NULL;
    if (!at->value)
        return HYPAR_OK;
    double *list = NEW(arena, double, n);
    *out = list;
    if (hp_json_is_number(at)) {
        double all;
        TRY(hp_choice_bytes(at, &all, err));
        for (int i = 0; i < n; i++)
            list[i] = all;
        return HYPAR_OK;
    }
    TRY(hp_json_array(at, HP_MAX_TENSORS, err));
    if (hp_json_length(at) != n)
        return hp_json_fail(at, err, "%d numbers, expected %d", hp_json_length(at), n);
    for (int i = 0; i < n; i++) {
        struct json number = hp_json_element(at, i);
        TRY(hp_choice_bytes(&number, &list[i], err));
    }
    return HYPAR_OK;
}

/* How many uses the lists of all choices are for: as many as the longest has; one where they
 * are single numbers. */
static int count_uses(const struct json *list)
{
    int n = 1;
    for (int i = 0; i < hp_json_length(list); i++) {
        struct json at = hp_json_element(list, i);
        struct json uses =
            hp_json_is_object(&at) ? hp_json_member(&at, "out_sync_bytes") : (struct json){ 0 };
        if (hp_json_is_array(&uses) && hp_json_length(&uses) != 1)
            n = hp_json_length(&uses);
    }
    return n;
}

static enum hypar_status read_choice(struct arena *arena, const struct json *at, int n_inputs,
                                     int n_uses, struct op_choice *out, struct hypar_error *err)
{
    static const char *const keys[] = { "degree",          "recompute",      "seconds",
                                        "parameter_bytes", "stash_bytes",    "fixed_bytes",
                                        "in_sync_bytes",   "out_sync_bytes", NULL };
    int64_t degree;
    TRY(hp_json_object(at, err));
    TRY(hp_json_only(at, keys, err));
    struct json member = hp_json_member(at, "degree");
    TRY(hp_json_int(&member, 1, HP_MAX_DEGREE, &degree, err));
    out->degree = (int)degree;
    member = hp_json_member(at, "recompute");
    if (member.value)
        TRY(hp_json_bool(&member, &out->recompute, err));
    member = hp_json_member(at, "seconds");
    TRY(hp_choice_seconds(&member, &out->seconds, err));
    struct {
        const char *key;
        double *out;
    } bytes[] = { { "parameter_bytes", &out->parameter_bytes },
                  { "stash_bytes", &out->stash_bytes },
                  { "fixed_bytes", &out->fixed_bytes } };
    for (int i = 0; i < 3; i++) {
        member = hp_json_member(at, bytes[i].key);
        TRY(hp_choice_bytes(&member, bytes[i].out, err));
    }
    member = hp_json_member(at, "in_sync_bytes");
    TRY(read_list(arena, &member, n_inputs, &out->in_sync_bytes, err));
    member = hp_json_member(at, "out_sync_bytes");
    return read_list(arena, &member, n_uses, &out->out_sync_bytes, err);
}

enum hypar_status hp_choices_read(struct arena *arena, const struct json *op, int n_inputs,
                                  const struct op_choices **out, struct hypar_error *err)
{
    struct json list = hp_json_member(op, "choices"), sent = hp_json_member(op, "input_bytes");
    *out = NULL;
    if (!list.value)
        return sent.value ? hp_json_fail(&sent, err, "nothing is chosen, expected choices")
                          : HYPAR_OK;
    TRY(hp_json_array(&list, HP_MAX_CHOICES, err));
    struct op_choices *choices = NEW(arena, struct op_choices, 1);
    struct op_choice *choice = NEW(arena, struct op_choice, hp_json_length(&list));
    *choices = (struct op_choices){ .n = hp_json_length(&list),
                                    .choice = choice,
                                    .n_inputs = n_inputs,
                                    .n_uses = count_uses(&list) };
    for (int i = 0; i < choices->n; i++) {
        struct json at = hp_json_element(&list, i);
        TRY(read_choice(arena, &at, n_inputs, choices->n_uses, &choice[i], err));
    }
    TRY(read_list(arena, &sent, n_inputs, &choices->input_bytes, err));
    *out = choices;
    return HYPAR_OK;
}

static void write_list(struct json_writer *w, const char *key, const double *list, int n)
{
    hp_json_begin_array(w, key, true);
    for (int i = 0; i < n; i++)
        hp_json_put_number(w, NULL, list[i]);
    hp_json_end_array(w);
}

/* What is exchanged; where nothing is, it is left out. */
static void write_sync(struct json_writer *w, const char *key, const double *list, int n)
{
    bool some = false;
    for (int i = 0; i < n; i++)
        some |= list[i] != 0;
    if (some)
        write_list(w, key, list, n);
}

void hp_choices_write(struct json_writer *w, const struct op_choices *choices)
{
    if (!choices)
        return;
    if (choices->input_bytes)
        write_list(w, "input_bytes", choices->input_bytes, choices->n_inputs);
    hp_json_begin_array(w, "choices", true);
    for (int i = 0; i < choices->n; i++) {
        const struct op_choice *c = &choices->choice[i];
        hp_json_begin_object(w, NULL, true);
        hp_json_put_int(w, "degree", c->degree);
        if (c->recompute)
            hp_json_put_bool(w, "recompute", true);
        hp_json_put_number(w, "seconds", c->seconds);
        hp_json_put_number(w, "parameter_bytes", c->parameter_bytes);
        hp_json_put_number(w, "stash_bytes", c->stash_bytes);
        hp_json_put_number(w, "fixed_bytes", c->fixed_bytes);
        write_sync(w, "in_sync_bytes", c->in_sync_bytes, choices->n_inputs);
        write_sync(w, "out_sync_bytes", c->out_sync_bytes, choices->n_uses);
        hp_json_end_object(w);
    }
    hp_json_end_array(w);
}
