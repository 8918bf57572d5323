/* Writes CSV. */
#include "report/csv.h"

#include <string.h>

#include "base/files/csv.h"
#include "base/number.h"
#include "report/text.h"

static void begin_field(struct csv_writer *csv)
{
    if (csv->begun)
        fputc(',', csv->file);
    csv->begun = true;
}

/* Write a text in quotes: reasons contain commas and quotes around names; paths may contain
 * anything. */
void hp_csv_text(struct csv_writer *csv, const char *text)
{
    struct arena arena = { 0 };
    begin_field(csv);
    fputs(hp_csv_is_formula(text) ? "\"'" : "\"", csv->file);
    for (text = hp_shown(&arena, text); *text; text++)
        fprintf(csv->file, "%s%c", *text == '"' ? "\"" : "", *text);
    fputc('"', csv->file);
    hp_arena_free(&arena);
}

void hp_csv_known(struct csv_writer *csv, bool known, double value)
{
    char text[NUMBER_TEXT_BYTES];
    begin_field(csv);
    if (known)
        fputs(hp_number_text(text, value), csv->file);
}

void hp_csv_number(struct csv_writer *csv, double value)
{
    hp_csv_known(csv, true, value);
}

void hp_csv_plain(struct csv_writer *csv, const char *text)
{
    if (hp_csv_is_formula(text)) { /* loaded planners may have any name */
        hp_csv_text(csv, text);
        return;
    }
    begin_field(csv);
    fputs(text, csv->file);
}

void hp_csv_words(struct csv_writer *csv, const char *words)
{
    while (*words) {
        int n = (int)strcspn(words, " ");
        begin_field(csv);
        fprintf(csv->file, "%.*s", n, words);
        words += n + (words[n] == ' ');
    }
}

void hp_csv_end(struct csv_writer *csv)
{
    fputc('\n', csv->file);
    csv->begun = false;
}
