/* Any text, as a file: a framework that is written, read back and written the same, or one
 * line. */
#include "plan/framework.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static enum hypar_status read_text(struct arena *arena, const char *text, size_t n,
                                   struct hypar_framework *out, struct hypar_error *err)
{
    struct json_document *document;
    TRY(hp_json_read_text(&document, text, n, "text", err));
    struct json root = hp_json_root(document);
    enum hypar_status status = hp_read_framework(arena, &root, out, err);
    hp_json_free(document);
    return status;
}

static void check_written(const struct hypar_framework *framework)
{
    struct arena arena = { 0 };
    struct hypar_framework back;
    char *text = NULL;
    size_t n;
    FILE *file = open_memstream(&text, &n);
    if (!file)
        abort();
    hypar_framework_write(framework, file);
    fclose(file);
    if (read_text(&arena, text, n, &back, NULL) != HYPAR_OK ||
        !hp_framework_same(framework, &back))
        abort();
    free(text);
    hp_arena_free(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena arena = { 0 };
    struct hypar_framework framework;
    struct hypar_error err = { 0 };
    enum hypar_status status = read_text(&arena, (const char *)data, size, &framework, &err);
    if ((status != HYPAR_OK && !*err.text) || strchr(err.text, '\n'))
        abort();
    if (status == HYPAR_OK)
        check_written(&framework);
    hp_arena_free(&arena);
    return 0;
}
