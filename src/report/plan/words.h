/* report/plan/words.h - describes the pieces and rows of a plan in words. Internal. */
#ifndef REPORT_PLAN_WORDS_H
#define REPORT_PLAN_WORDS_H

#include "plan/structure/structure.h"
#include "report/table.h"

/* The split that all pieces of a row share: divided axes, and devices if they are not all
 * devices. */
struct common_split {
    int n;
    char letter[MAX_AXES];
    int degree[MAX_AXES];
    int op; /* the operator whose devices they are; -1: devices are not reported */
};
struct common_split hp_common_split(const struct plan_structure *s, const struct plan_row *row);

/* "n=8", "n=8 on 0-7"; "": nothing. */
char *hp_common_text(struct arena *arena, const struct plan_structure *s,
                     const struct common_split *common);

/* The most important role of an operator's divided axes; HYPAR_INNER: none is divided. The text
 * for this role: "parameters", "samples alone". */
enum hypar_role hp_main_role(const struct hypar_plan *plan, int op);
const char *hp_divided_text(enum hypar_role role);

/* "n=4 k=2" for an operator, without `common` (NULL: all), and " on 0-3" if it is not on all
 * devices of its stage in order. "whole" if nothing is divided, "" if nothing is left. */
char *hp_split_text(struct arena *arena, const struct plan_structure *s, int op,
                    const struct common_split *common);

/* The marks of a row: "recomputed but mlp.add, optimizer sharded"; "". */
char *hp_marks_text(struct arena *arena, const struct plan_structure *s,
                    const struct plan_row *row);

/* "n=8: attn.q .. attn.v k=8, attn a=8; recomputed": the whole row after its name. */
char *hp_plan_row_text(struct arena *arena, const struct plan_structure *s,
                       const struct plan_row *row);

/* The name of a row: "h.0 .. h.95", or operators. */
char *hp_plan_row_name(struct arena *arena, const struct plan_structure *s,
                       const struct plan_row *row);

/* "1" or "1-14". */
char *hp_numbers_text(struct arena *arena, int first, int last);

/* How many of `n` devices, from the first on, have consecutive numbers. */
int hp_run_of_devices(const int *device, int n);

/* "0-3 8 9": runs of consecutive devices, of more than `most` the first ones; usually a few. */
enum { HP_FEW_RUNS = 4 };
char *hp_devices_text(struct arena *arena, const int *device, int n, int most);

/* A group of blocks: its stages "1-14", its layers "h.6 .. h.89", the contents of each block "6
 * layers", its devices "64-959, 64 each", "8" replicas and "8" parts, "-" if they differ. */
struct group_words {
    char *stages, *layers, *each, *devices, *replicas, *tensor;
};
struct group_words hp_group_words(struct arena *arena, const struct plan_structure *s,
                                  int group);

/* Write all groups as a table. */
void hp_group_rows(struct table_writer *table, struct arena *arena,
                   const struct plan_structure *s);

/* "devices 60-63 idle"; "": none. */
char *hp_idle_text(struct arena *arena, const struct plan_structure *s);

#endif /* REPORT_PLAN_WORDS_H */
