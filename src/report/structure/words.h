/* report/structure/words.h - what is said of the pieces and rows of a plan. Internal. */
#ifndef REPORT_STRUCTURE_WORDS_H
#define REPORT_STRUCTURE_WORDS_H

#include "report/structure/structure.h"

/* What all pieces of a row have alike: axes that are divided so, and devices, where those are
 * not all. */
struct common_split {
    int n;
    char letter[MAX_AXES];
    int degree[MAX_AXES];
    int op; /* whose devices they are; -1: nothing is said of them */
};
struct common_split hp_common_split(const struct plan_structure *s, const struct plan_row *row);

/* "n=8", "n=8 on 0-7"; "" if there is nothing. */
char *hp_common_text(struct arena *arena, const struct plan_structure *s,
                     const struct common_split *common);

/* What tells most of how an operator is divided; HYPAR_INNER: it is not. And what is divided
 * then: "parameters", "samples alone". */
enum hypar_role hp_main_role(const struct hypar_plan *plan, int op);
const char *hp_divided_text(enum hypar_role role);

/* "n=4 k=2" of an operator, but for `common` (NULL: all of it), and " on 0-3" where it is not
 * on all devices of its stage, in order. "whole" if nothing is divided, "" if nothing is left.
 */
char *hp_split_text(struct arena *arena, const struct plan_structure *s, int op,
                    const struct common_split *common);

/* "recomputed but mlp.add, optimizer sharded": what else is said of a row; "". */
char *hp_marks_text(struct arena *arena, const struct plan_structure *s,
                    const struct plan_row *row);

/* "n=8: attn.q .. attn.v k=8, attn a=8; recomputed": all of a row, behind its name. */
char *hp_plan_row_text(struct arena *arena, const struct plan_structure *s,
                       const struct plan_row *row);

/* The name in front of it: "h.0 .. h.95", or operators. */
char *hp_plan_row_name(struct arena *arena, const struct plan_structure *s,
                       const struct plan_row *row);

/* "0-3 8 9": runs of consecutive devices, the first few of them. */
char *hp_devices_text(struct arena *arena, const int *device, int n);

/* Of a group of blocks: its stages "1-14", its layers "h.6 .. h.89", what each block has "6
 * layers", its devices "64-959, 64 each", "8" replicas and "8" parts, "-" where they differ. */
struct group_words {
    char *stages, *layers, *each, *devices, *replicas, *tensor;
};
struct group_words hp_group_words(struct arena *arena, const struct plan_structure *s,
                                  int group);

/* "devices 60-63 idle"; "" if none is. */
char *hp_idle_text(struct arena *arena, const struct plan_structure *s);

#endif /* REPORT_STRUCTURE_WORDS_H */
