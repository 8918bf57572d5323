/* Rows of tables, folded: "layers.*.mlp" for "layers.0.mlp", "layers.1.mlp", ... */
#include <assert.h>
#include <string.h>

#include "base/word.h"
#include "emit/torch.h"

void hp_add_row(struct arena *arena, struct table_rows *rows, const char *name,
                const char *text)
{
    rows->row = GROW(arena, struct table_row, rows->row, rows->n, &rows->capacity);
    rows->row[rows->n++] = (struct table_row){ name, text };
}

const char *hp_python_text(struct arena *arena, const char *text)
{
    char *out = NEW(arena, char, 2 * strlen(text) + 1), *to = out;
    for (; *text; text++) {
        if (*text == '"' || *text == '\\')
            *to++ = '\\';
        *to++ = *text;
    }
    return out;
}

void hp_fold_rows(struct arena *arena, struct table_rows *rows)
{
    struct table_rows out = { 0 };
    struct table first = { 0 }; /* from a folded name to its first row */
    struct table written = { 0 };
    const char **form = NEW(arena, const char *, rows->n);
    bool *differ = NEW(arena, bool, rows->n); /* by first row: texts differ */
    int *of = NEW(arena, int, rows->n);
    for (int i = 0; i < rows->n; i++) {
        form[i] = hp_without_numbers(arena, rows->row[i].name);
        of[i] = hp_table_put(&first, arena, form[i], strlen(form[i]), i);
        differ[of[i]] |= strcmp(rows->row[of[i]].text, rows->row[i].text) != 0;
    }
    for (int i = 0; i < rows->n; i++) {
        const struct table_row *row = &rows->row[i];
        if (!row->text[0] || (!differ[of[i]] && of[i] != i))
            continue;
        const char *name = differ[of[i]] ? row->name : form[i];
        int at = hp_table_put(&written, arena, name, strlen(name), out.n);
        if (at == out.n)
            hp_add_row(arena, &out, name, row->text);
        assert(strcmp(out.row[at].text, row->text) == 0); /* a name has one row */
    }
    *rows = out;
}
