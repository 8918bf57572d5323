/* Reads and writes the choices of an operator in hypar-graph/1 (docs/formats-graph.md). */
#include "model/json_choices.h"

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
        for (int i = 0; i < n; i++)
            TRY(hp_json_number(at, 0, HP_MAX_CHOICE_BYTES, &list[i], err));
        return HYPAR_OK;
    }
    TRY(hp_json_array(at, HP_MAX_TENSORS, err));
    if (hp_json_length(at) != n)
        return hp_json_fail(at, err, "%d numbers, expected %d", hp_json_length(at), n);
    for (struct json number = { 0 }; hp_json_each(at, &number);)
        TRY(hp_json_number(&number, 0, HP_MAX_CHOICE_BYTES, &list[number.index], err));
    return HYPAR_OK;
}

/* How many uses the lists of all choices are for: as many as the longest has; one where they
 * are single numbers. */
static int count_uses(const struct json *list)
{
    int n = 1;
    for (struct json at = { 0 }; hp_json_each(list, &at);) {
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
    struct json in_sync, out_sync;
    TRY(HP_JSON_READ(
        at, err, JSON_WHOLE("degree", &out->degree, 1, HP_MAX_DEGREE),
        JSON_BOOL("?recompute", &out->recompute), CHOICE_SECONDS("seconds", &out->seconds),
        CHOICE_BYTES("parameter_bytes", &out->parameter_bytes),
        CHOICE_BYTES("stash_bytes", &out->stash_bytes),
        CHOICE_BYTES("fixed_bytes", &out->fixed_bytes), JSON_ANY("in_sync_bytes", &in_sync),
        JSON_ANY("out_sync_bytes", &out_sync)));
    TRY(read_list(arena, &in_sync, n_inputs, &out->in_sync_bytes, err));
    return read_list(arena, &out_sync, n_uses, &out->out_sync_bytes, err);
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
    for (struct json at = { 0 }; hp_json_each(&list, &at);)
        TRY(read_choice(arena, &at, n_inputs, choices->n_uses, &choice[at.index], err));
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

/* The bytes that are exchanged; left out if there are none. */
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
