/* Reads the metadata that PyTorch's exporter writes. The signature lists the parameters of
 * the model, a line each: "p_fc_weight: PARAMETER target='fc.weight'". Another entry lists
 * the names from which the exporter computed a tensor: "['fc.weight', 'val_3']". */
#include <string.h>

#include "base/table.h"
#include "base/utf8.h"
#include "model/onnx/file/file.h"

static const char *const keys[] = {
    [ONNX_FOLDED_FROM] = "pkg.onnxscript.optimizer.folded_from",
    [ONNX_SCOPES] = "pkg.torch.onnx.name_scopes",
    [ONNX_SIGNATURE] = "pkg.torch.export.ExportedProgram.graph_signature",
};

enum { KEY_COUNT = sizeof keys / sizeof keys[0] };

const char *hp_onnx_metadata_key(int which)
{
    return keys[which];
}

bool hp_onnx_is_metadata(const char *key, size_t length)
{
    for (int i = 0; i < KEY_COUNT; i++)
        if (strlen(keys[i]) == length && memcmp(keys[i], key, length) == 0)
            return true;
    return false;
}

/* The next text in quotes from *p on, its length in *n; NULL: none. */
static const char *next_quoted(const char **p, size_t *n)
{
    const char *from = strchr(*p, '\''), *to = from ? strchr(from + 1, '\'') : NULL;
    if (!to)
        return NULL;
    *n = (size_t)(to - from - 1);
    *p = to + 1;
    return from + 1;
}

const char *hp_onnx_scoped_name(struct arena *arena, const char *scopes)
{
    const char *p = scopes, *at, *module = NULL, *last = NULL;
    size_t n, n_module = 0, n_last = 0;
    while ((at = next_quoted(&p, &n))) {
        module = last;
        n_module = n_last;
        last = at;
        n_last = n;
    }
    if (!n_last)
        return NULL;
    return n_module
               ? hp_arena_printf(arena, "%.*s/%.*s", (int)n_module, module, (int)n_last, last)
               : hp_arena_strndup(arena, last, n_last);
}

/* The signature --------------------------------------------------------------------------- */

struct told {
    const char *name;
    bool trained, found;
};

struct signature {
    struct table names;
    struct told *told;
    int n, capacity;
};

static bool ends_with(const char *text, const char *end)
{
    size_t n = strlen(text), m = strlen(end);
    return n >= m && strcmp(text + n - m, end) == 0;
}

static void add_line(struct onnx_file *file, struct signature *s, const char *line, size_t n)
{
    const char *text = hp_arena_strndup(&file->arena, line, n);
    const char *target = strstr(text, " target='"), *name;
    bool trained = strstr(text, ": PARAMETER target=") != NULL;
    size_t length;
    if (!target || !(name = next_quoted(&target, &length)))
        return;
    name = hp_clean_text(hp_arena_strndup(&file->arena, name, length), '_');
    length = strlen(name);
    if (!length || hp_table_put(&s->names, &file->arena, name, length, s->n) != s->n)
        return; /* again */
    s->told = GROW(&file->arena, struct told, s->told, s->n, &s->capacity);
    s->told[s->n++] = (struct told){ name, trained, false };
}

static struct signature read_lines(struct onnx_file *file)
{
    struct signature s = { 0 };
    for (const char *p = file->signature; *p;) {
        size_t n = strcspn(p, "\n");
        if (n >= 9 && memcmp(p, "# outputs", 9) == 0)
            break;
        add_line(file, &s, p, n);
        p += n + (p[n] == '\n');
    }
    return s;
}

static int find(const struct signature *s, const char *name, size_t n)
{
    return n ? hp_table_get(&s->names, name, n) : -1;
}

/* An initializer that the exporter computed: trained if a parameter went into it, and called
 * like that if it was one. */
static void tell_folded(struct signature *s, struct onnx_tensor *t, const char *from)
{
    size_t n;
    int trained = 0, names = 0;
    for (const char *name; (name = next_quoted(&from, &n)); names++) {
        int i = find(s, name, n);
        t->buffered |= i >= 0 && !s->told[i].trained;
        if (i < 0 || !s->told[i].trained)
            continue;
        s->told[i].found = true;
        trained++;
        t->label = s->told[i].name;
    }
    t->role = trained ? ROLE_TRAINED : ROLE_CONSTANT;
    t->mixed = trained && names > 1;
    if (trained != 1)
        t->label = t->name;
}

/* Parameters that are not there. Of a file that was not optimized these are tied ones, under
 * their other name. */
static void tell_lost(struct onnx_file *file, const struct signature *s)
{
    int norms = 0;
    bool optimized = false;
    for (int i = 0; i < file->n_infos; i++)
        optimized |= file->info[i].folded_from != NULL;
    for (int i = 0; i < s->n; i++) {
        norms += ends_with(s->told[i].name, "running_mean");
        if (!s->told[i].trained || s->told[i].found)
            continue;
        file->lost = file->lost ? file->lost : s->told[i].name;
        file->n_lost++;
    }
    for (int i = 0; i < file->n_nodes; i++)
        norms -= strcmp(file->node[i].op, "BatchNormalization") == 0;
    file->n_lost_norms = norms > 0 ? norms : 0;
    if (!optimized && !file->n_lost_norms)
        file->n_lost = 0;
}

void hp_onnx_read_signature(struct onnx_file *file)
{
    struct table infos = { 0 };
    if (!file->signature)
        return;
    struct signature s = read_lines(file);
    for (int i = 0; i < file->n_infos; i++)
        hp_table_put(&infos, &file->arena, file->info[i].name, strlen(file->info[i].name), i);
    for (int i = 0; i < file->n_initializers; i++) {
        struct onnx_tensor *t = &file->initializer[i];
        int at = find(&s, t->name, strlen(t->name));
        int info = hp_table_get(&infos, t->name, strlen(t->name));
        if (at >= 0) {
            t->role = s.told[at].trained ? ROLE_TRAINED : ROLE_CONSTANT;
            s.told[at].found = true;
        } else if (info >= 0 && file->info[info].folded_from) {
            tell_folded(&s, t, file->info[info].folded_from);
        }
    }
    tell_lost(file, &s);
}
