/* Any text: a table of measurements, each row of which can be predicted, or one line. */
#include "fit/benchmark_output.h"
#include "fit/predict.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool condition)
{
    if (!condition)
        abort();
}

/* Nothing is read that a table names: plans have a target of their own. */
static enum hypar_status refuse(void *who, const char *path, struct hypar_error *err)
{
    (void)who;
    (void)path;
    if (err)
        strcpy(err->text, "no files here");
    return HYPAR_UNREADABLE;
}

static void predict_all(const struct measured *measured, const struct hypar_machine *machine)
{
    struct predictor predictor;
    hp_predictor_begin(&predictor, measured, &machine->parts[0]);
    for (int i = 0; i < measured->n_rows; i++) {
        double seconds;
        require(hp_predict_row(&predictor, i, &seconds, NULL) == HYPAR_OK);
        require(seconds >= 0 && !isnan(seconds) && *measured->row[i].group &&
                measured->row[i].seconds > 0);
    }
    hp_predictor_end(&predictor);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct hypar_machine *machine;
    struct hypar_error err = { 0 };
    struct measured measured = { 0 };
    struct csv csv;
    struct hypar_fit_options options = { .device = "h200", .reads = refuse };
    struct measured_reading how = {
        .device = "h200", .word = "h200", .folder = "", .options = &options
    };
    require(hypar_machine_read(&machine, "cluster:1x8,device=h200", NULL) == HYPAR_OK);
    enum hypar_status status = hp_measurements_read(&csv, &measured.arena, (const char *)data,
                                                    size, "text", NULL, &err);
    if (status == HYPAR_OK)
        status = hp_measured_add(&measured, &csv, &how, &err);
    require((status == HYPAR_OK) == !*err.text && !strchr(err.text, '\n'));
    if (status == HYPAR_OK)
        predict_all(&measured, machine);
    hp_measured_free(&measured);
    hypar_machine_free(machine);
    return 0;
}
