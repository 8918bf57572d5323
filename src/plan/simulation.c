/* The settings with which a plan's step is simulated: those of the search that found it. */
#include <float.h>
#include <stddef.h>
#include <string.h>

#include "base/names.h"
#include "plan/framework.h"
#include "plan/read.h"

/* Settings that are on or off: member of the file, option of the command, member of the struct.
 */
static const struct {
    const char *key, *option;
    size_t offset;
} flags[] = {
    { "local_bn", "--local-bn", offsetof(struct hypar_simulation, local_bn) },
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
                hp_framework_same(&a->framework, &b->framework);
    for (int i = 0; i < N_FLAGS; i++)
        same &= is_on(a, i) == is_on(b, i);
    return same;
}

/* Besides the framework, which is a member of its own. */
static bool is_default(const struct hypar_simulation *s)
{
    bool none = !*s->all_reduce;
    for (int i = 0; i < N_FLAGS; i++)
        none &= !is_on(s, i);
    return none;
}

/* The simulator checks whether such an all-reduce exists. */
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

/* Members of older plans that the framework has now. */
static enum hypar_status read_older(const struct json *object, struct hypar_framework *out,
                                    struct hypar_error *err)
{
    int kernels = -1;
    bool no_overlap = false;
    TRY(HP_JSON_READ(object, err,
                     JSON_CHOICE("?framework", &kernels, hp_kernels_names, HYPAR_KERNELS_COUNT),
                     JSON_NUMBER("?bucket_bytes", &out->bucket_bytes, 0, DBL_MAX),
                     JSON_BOOL("?no_overlap", &no_overlap), JSON_OTHERS));
    if (kernels >= 0 && !out->name)
        out->name = hp_kernels_names[kernels];
    if (kernels >= 0)
        out->kernels = (enum hypar_kernel_mode)kernels;
    if (no_overlap)
        hp_wait_for_all(out);
    return HYPAR_OK;
}

enum hypar_status hp_read_simulation(const struct json *root, struct hypar_simulation *out,
                                     struct hypar_error *err)
{
    struct json object = hp_json_member(root, "simulation"), at;
    const char *known[N_FLAGS + 5] = { "all_reduce", "bucket_bytes", "framework",
                                       "no_overlap" };
    if (!object.value)
        return HYPAR_OK;
    TRY(hp_json_object(&object, err));
    for (int i = 0; i < N_FLAGS; i++)
        known[4 + i] = flags[i].key;
    TRY(hp_json_only(&object, known, err));
    at = hp_json_member(&object, "all_reduce");
    if (at.value)
        TRY(read_all_reduce(&at, out, err));
    TRY(read_older(&object, &out->framework, err));
    for (int i = 0; i < N_FLAGS; i++) {
        at = hp_json_member(&object, flags[i].key);
        if (at.value)
            TRY(hp_json_bool(&at, (bool *)((char *)out + flags[i].offset), err));
    }
    return HYPAR_OK;
}

void hp_put_simulation(struct json_writer *w, const struct hypar_simulation *s)
{
    hp_put_framework(w, "as", &s->framework);
    if (is_default(s))
        return;
    hp_json_begin_object(w, "simulation", true);
    if (*s->all_reduce)
        hp_json_put_string(w, "all_reduce", s->all_reduce);
    for (int i = 0; i < N_FLAGS; i++)
        if (is_on(s, i))
            hp_json_put_bool(w, flags[i].key, true);
    hp_json_end_object(w);
}

char *hp_simulation_text(struct arena *arena, const struct hypar_simulation *s)
{
    static const struct hypar_framework compiled;
    char *text = hp_arena_strdup(arena, "");
    if (!hp_framework_same(&s->framework, &compiled))
        text = hp_arena_printf(arena, " --as %s", hp_framework_word(arena, &s->framework));
    if (*s->all_reduce)
        text = hp_arena_printf(arena, "%s --all-reduce %s", text, s->all_reduce);
    for (int i = 0; i < N_FLAGS; i++)
        if (is_on(s, i))
            text = hp_arena_printf(arena, "%s %s", text, flags[i].option);
    return *text ? text + 1 : text;
}
