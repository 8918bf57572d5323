/* report/train/truth.h - reports that compare predicted with measured times. Internal. */
#ifndef REPORT_TRUTH_H
#define REPORT_TRUTH_H

#include "measured/step.h"
#include "report/table.h"

/* A row of the tables (truth_text.c). */
struct truth_line {
    const char *label, *name;
    double predicted_s, measured_s;   /* NAN: not measured */
    double bytes;                     /* of an exchange, else NAN */
    double ratio, longer_s, share;    /* NAN: none */
    const char *predicted, *measured; /* TRUTH_OF_RUN: with their units; NULL: none */
};

/* The tables of text. */
enum {
    TRUTH_OF_RUN = 1,
    TRUTH_OF_PHASES = 2,
    TRUTH_OF_OPERATORS = 4,
    TRUTH_OF_EXCHANGES = 8,
    TRUTH_OF_DIFFERENCES = 16,
    TRUTH_OF_TIMES = 30, /* all but TRUTH_OF_RUN */
};
extern const struct column hp_truth_columns[];

/* A row of a table; hp_truth_texts() adds the texts for TRUTH_OF_RUN. */
struct truth_line hp_truth_line(const char *label, const struct truth_row *row);
void hp_truth_texts(struct truth_line *line, struct arena *arena);

/* Write the rows of phases. */
void hp_phase_rows(struct table_writer *table, struct arena *arena, const struct truth *truth);

/* Print operators and exchanges, the largest (detail: all), each after an empty line. */
void hp_print_truth_rows(FILE *to, struct truth *truth, bool detail);

/* Write members of an open object: "phases", "operators" and "exchanges"; hp_put_measured()
 * also writes the step before them. */
void hp_put_truth(struct json_writer *w, struct truth *truth);
void hp_put_measured(struct json_writer *w, struct truth *truth);

/* As hypar_report_measured(), for a step with `torch`. */
enum hypar_status hp_report_torch(FILE *to, const struct hypar_measured_step *step,
                                  const struct hypar_sim *sim, bool detail,
                                  enum hypar_format format, struct hypar_error *err);

/* Write the comparison as a member of an open object, or as the root; hp_check_torch_rank()
 * must have succeeded. */
void hp_put_torch(struct json_writer *w, const char *key,
                  const struct hypar_measured_step *step, const struct hypar_sim *sim);

#endif /* REPORT_TRUTH_H */
