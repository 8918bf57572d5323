/* Reports frameworks: the table, or the members of one. */
#include <hypar/report.h>

#include "machine/machine.h"
#include "plan/framework.h"
#include "report/put.h"
#include "report/table.h"

static void members(FILE *to, const struct hypar_framework *framework)
{
    struct arena arena = { 0 };
    struct framework_member m;
    struct table_writer table = { .to = to, .texts = "member|value|~" };
    hp_put_line(to, "%s%s%s", hp_framework_word(&arena, framework),
                framework->summary ? ": " : "", framework->summary ? framework->summary : "");
    if (framework->source)
        hp_put_line(to, "%s", framework->source);
    fputc('\n', to);
    hp_table_begin(&table, NULL);
    for (int i = 0; hp_framework_member(&arena, framework, i, &m); i++)
        hp_table_row(&table, (const char *[]){ m.key, m.value, m.summary });
    hp_table_end(&table);
    hp_arena_free(&arena);
}

/* List the site's files by name without reading them; a row of the table with the same name has
 * priority. */
static void site_rows(FILE *to)
{
    struct arena arena = { 0 };
    struct hypar_site_files *files = hypar_site_files(HYPAR_SITE_FRAMEWORKS);
    const struct hypar_site_file *file;
    for (int i = 0; (file = hypar_site_file(files, i)); i++)
        hp_put_line(to, "%s: %s%s", file->name, hp_shown(&arena, file->path),
                    hp_framework_row(file->name)
                        ? ": has the name of a framework of the table, expected another name"
                        : "");
    hypar_site_files_free(files);
    hp_arena_free(&arena);
}

static void list(FILE *to)
{
    const struct hypar_framework *row;
    struct table_writer table = { .to = to, .texts = "framework|~" };
    hp_table_begin(&table, NULL);
    for (int i = 0; (row = hypar_framework_at(i)); i++)
        hp_table_row(&table, (const char *[]){ row->name, row->summary });
    hp_table_end(&table);
    fputc('\n', to);
    site_rows(to);
    fputs("Where the members come from:\n", to);
    for (int i = 0; (row = hypar_framework_at(i)); i++) {
        fprintf(to, "%-15s", row->name);
        hp_wrap(to, row->source, 15);
    }
}

static void list_json(FILE *to)
{
    const struct hypar_framework *row;
    struct json_writer w = { .file = to };
    struct hypar_site_files *files = hypar_site_files(HYPAR_SITE_FRAMEWORKS);
    const struct hypar_site_file *file;
    hp_json_begin_object(&w, NULL, false);
    hp_json_begin_array(&w, "frameworks", false);
    for (int i = 0; (row = hypar_framework_at(i)); i++)
        PUT_OBJECT(&w, NULL, true, TEXT("name", row->name), TEXT("summary", row->summary),
                   TEXT("source", row->source));
    hp_json_end_array(&w);
    hp_json_begin_array(&w, "site_frameworks", false);
    for (int i = 0; (file = hypar_site_file(files, i)); i++)
        PUT_OBJECT(&w, NULL, true, TEXT("name", file->name), TEXT("path", file->path));
    hp_json_end_array(&w);
    hp_json_end_object(&w);
    hypar_site_files_free(files);
}

void hypar_report_frameworks(FILE *to, const struct hypar_framework *framework,
                             enum hypar_format format)
{
    if (framework && format == HYPAR_JSON)
        hypar_framework_write(framework, to);
    else if (framework)
        members(to, framework);
    else if (format == HYPAR_JSON)
        list_json(to);
    else
        list(to);
}
