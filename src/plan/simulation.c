/* How a plan's step is to be simulated: as it was when the plan was searched for. */
#include <float.h>
#include <stddef.h>
#include <string.h>

#include "base/number.h"
#include "plan/read.h"

/* What is on or off: member of the file, option of the command, where it is kept. */
static const struct {
    const char *key, *option;
    size_t offset;
} flags[] = {
    { "local_bn", "--local-bn", offsetof(struct hypar_simulation, local_bn) },
    { "no_overlap", "--no-overlap", offsetof(struct hypar_simulation, no_overlap) },
    { "half_duplex", "--half-duplex", offsetof(struct hypar_simulation, half_duplex) },
    { "one_class", "--one-class", offsetof(struct hypar_simulation, one_class) },
    { "expand_collectives", "--expand-collectives",
      offsetof(struct hypar_simulation, expand_collectives) },
};

enum { N_FLAGS = sizeof flags / sizeof flags[0] };

static bool is_on(const struct hypar_simulation *s, int flag)
{
    return *(const bool *)((const char *)s + flags[flag].offset);
}

bool hp_simulation_same(const struct hypar_simulation *a, const struct hypar_simulation *b)
{
    bool same = strcmp(a->all_reduce, b->all_reduce) == 0 &&
                a->bucket_bytes == b->bucket_bytes && a->framework == b->framework;
    for (int i = 0; i < N_FLAGS; i++)
        same &= is_on(a, i) == is_on(b, i);
    return same;
}

bool hp_simulation_is_default(const struct hypar_simulation *s)
{
    return hp_simulation_same(s, &(struct hypar_simulation){ .bucket_bytes = 0 });
}

static enum hypar_status read_framework(const struct json *at, struct hypar_simulation *out,
                                        struct hypar_error *err)
{
    const char *word;
    TRY(hp_json_name(at, &word, err));
    int value = hypar_name_find(HYPAR_NAME_KERNELS, word);
    if (value < 0)
        return hp_json_fail(at, err, "expected compiled, eager or none, not \"%.40s\"", word);
    out->framework = (enum hypar_kernel_mode)value;
    return HYPAR_OK;
}

/* Whether there is such an all-reduce is the simulator's to say. */
static enum hypar_status read_all_reduce(const struct json *at, struct hypar_simulation *out,
                                         struct hypar_error *err)
{
    const char *word;
    TRY(hp_json_name(at, &word, err));
    if (strlen(word) >= sizeof out->all_reduce)
        return hp_json_fail(at, err, "expected the name of an all-reduce, not \"%.40s\"", word);
    strcpy(out->all_reduce, strcmp(word, "auto") == 0 ? "" : word);
    return HYPAR_OK;
}

enum hypar_status hp_read_simulation(const struct json *root, struct hypar_simulation *out,
                                     struct hypar_error *err)
{
    struct json object = hp_json_member(root, "simulation"), at;
    const char *known[N_FLAGS + 4] = { "all_reduce", "bucket_bytes", "framework" };
    *out = (struct hypar_simulation){ .bucket_bytes = 0 };
    if (!object.value)
        return HYPAR_OK;
    TRY(hp_json_object(&object, err));
    for (int i = 0; i < N_FLAGS; i++)
        known[3 + i] = flags[i].key;
    TRY(hp_json_only(&object, known, err));
    at = hp_json_member(&object, "all_reduce");
    if (at.value)
        TRY(read_all_reduce(&at, out, err));
    at = hp_json_member(&object, "framework");
    if (at.value)
        TRY(read_framework(&at, out, err));
    at = hp_json_member(&object, "bucket_bytes");
    if (at.value)
        TRY(hp_json_number(&at, 0, DBL_MAX, &out->bucket_bytes, err));
    for (int i = 0; i < N_FLAGS; i++) {
        at = hp_json_member(&object, flags[i].key);
        if (at.value)
            TRY(hp_json_bool(&at, (bool *)((char *)out + flags[i].offset), err));
    }
    return HYPAR_OK;
}

void hp_put_simulation(struct json_writer *w, const struct hypar_simulation *s)
{
    if (hp_simulation_is_default(s))
        return;
    hp_json_begin_object(w, "simulation", true);
    if (*s->all_reduce)
        hp_json_put_string(w, "all_reduce", s->all_reduce);
    if (s->bucket_bytes > 0)
        hp_json_put_number(w, "bucket_bytes", s->bucket_bytes);
    if (s->framework != HYPAR_KERNELS_COMPILED)
        hp_json_put_string(w, "framework", hypar_kernel_mode_text(s->framework));
    for (int i = 0; i < N_FLAGS; i++)
        if (is_on(s, i))
            hp_json_put_bool(w, flags[i].key, true);
    hp_json_end_object(w);
}

char *hp_simulation_text(struct arena *arena, const struct hypar_simulation *s)
{
    char *text = hp_arena_strdup(arena, ""), number[NUMBER_TEXT_BYTES];
    if (*s->all_reduce)
        text = hp_arena_printf(arena, "%s --all-reduce %s", text, s->all_reduce);
    if (s->bucket_bytes > 0)
        text = hp_arena_printf(arena, "%s --bucket %s", text,
                               hp_number_text(number, s->bucket_bytes));
    if (s->framework != HYPAR_KERNELS_COMPILED)
        text = hp_arena_printf(arena, "%s --framework %s", text,
                               hypar_kernel_mode_text(s->framework));
    for (int i = 0; i < N_FLAGS; i++)
        if (is_on(s, i))
            text = hp_arena_printf(arena, "%s %s", text, flags[i].option);
    return *text ? text + 1 : text;
}
