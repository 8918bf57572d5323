/* report/put.h - texts and JSON members that several reports share. Internal. */
#ifndef REPORT_PUT_H
#define REPORT_PUT_H

#include <hypar/graph.h>
#include <hypar/machine.h>
#include <hypar/report.h>
#include <hypar/search.h>
#include <hypar/sim.h>

#include "report/table.h"

/* Write "params", "flops_per_sample", "ops" and "layers" of a graph into an open object. */
void hp_put_graph_figures(struct json_writer *w, const struct hypar_graph *graph);

/* The figures of a graph as a line of text: "430,500 parameters, 4.59 MFLOP per sample forward,
 * ...". */
char *hp_graph_figures(struct arena *arena, const struct hypar_graph *graph);

/* A plan's model for a heading: a word of the zoo as it is; for a file the graph's name, and
 * the file's name if it differs: "llama (llama-7b.json)". */
const char *hp_model_words(struct arena *arena, const struct hypar_plan *plan);

/* "v100 and k80": the devices without measured kernels that make all devices of the machine
 * take the times of the roofline; NULL: devices are not of both kinds. */
const char *hp_unmeasured_names(struct arena *arena, const struct hypar_machine *machine);

/* "Run as fsdp on h100": the rows that a prediction is made with, of framework and devices. */
char *hp_run_as_text(struct arena *arena, const struct hypar_machine *machine,
                     const struct hypar_framework *framework);

/* "bf16", "bf16 with fp32 gradients". */
char *hp_precision_words(struct arena *arena, enum hypar_precision precision,
                         enum hypar_precision gradients);

/* ", bf16, adam" for a heading: the settings that are not fp32 and sgd; "". */
char *hp_settings_text(struct arena *arena, enum hypar_precision precision,
                       enum hypar_precision gradients, enum hypar_optimizer optimizer);

/* The tables of devices and topologies, and the files of the site. */
void hp_machine_tables(FILE *to, enum hypar_format format);

/* Write the figures of a device into an open object. */
void hp_put_device(struct json_writer *w, const struct hypar_device *device);

/* Columns of a struct hypar_memory: the contents of a device's memory. */
extern const struct column hp_memory_columns[];

/* Columns of a struct hypar_energy: the consumers of a step's energy, and the keys of CSV. */
extern const struct column hp_energy_columns[];
#define ENERGY_KEYS "arithmetic_j sram_j dram_j link_j idle_j"

/* The contents of a device's memory in words: "parameters 45 MB, gradients 45 MB, activations
 * 1.2 GB". */
char *hp_memory_items(struct arena *arena, const struct hypar_memory *memory);

/* " with 97 %", where the peak is not exact; else "". The second begins with ": fits". */
const char *hp_certainty_text(struct arena *arena, const struct hypar_memory *memory);
const char *hp_fits_text(struct arena *arena, const struct hypar_memory *memory);

/* "Memory of an h100: 80 GB by its name (in GiB), 84.9 GB usable by programs, ...": a device's
 * memory, its usable part and the part that planners keep free; NULL: these are equal, or the
 * user set a limit. */
char *hp_memory_line(struct arena *arena, const struct hypar_plan *plan, int device,
                     double limit_bytes);

/* A warning for a device with less than a tenth of its memory left, if the plan counts no
 * memory for the framework: the framework's need, and ways to save memory. NULL: no warning. */
char *hp_tight_text(struct arena *arena, const struct hypar_memory *memory);

/* The interval of the measured step, as a line: "8 of 10 such steps take 25.9 ms to 30.2 ms (72
 * measured: a100 as fsdp)."; or that nothing like it was measured, and what to expect then. */
char *hp_interval_text(struct arena *arena, const struct hypar_interval *interval);

/* Columns of a struct hypar_interval: its ends, and how many measured rows it is from. */
extern const struct column hp_interval_columns[];

/* "dp, 3d" cannot be told apart from what was named before, and why, as a sentence. */
char *hp_alike_text(struct arena *arena, const struct hypar_calibration *calibration,
                    const char *names);

/* Write the objects "profile", if a profile was used, and "opaque", if there are opaque
 * operators. */
void hp_put_profile(struct json_writer *w, const struct hypar_sim_summary *summary);

/* The profile in words: "12 of 40 passes measured, the others by the roofline". */
char *hp_measured_text(struct arena *arena, const struct hypar_sim_measured *measured);

/* "compiled: 612 kernels, launched in 1.2 ms"; for devices with measured kernels. */
char *hp_kernels_text(struct arena *arena, const struct hypar_sim_summary *summary);

/* Write the lower bound for the step of any plan as object "lower_bound"; null if it is not
 * known. */
void hp_put_bound(struct json_writer *w, const struct hypar_bound *bound);

/* "Lower bound 1.87 s (mostly arithmetic): no plan is faster by this model of the device; gap
 * 23 %.", or "...; this step takes 24 times as long." */
char *hp_bound_text(struct arena *arena, const struct hypar_bound *bound, double step_s);

/* "2 operators, 3.1 % of what is computed, as measured". */
char *hp_opaque_text(struct arena *arena, const struct hypar_sim_summary *summary);

/* How often a plan sends its bytes: "each byte once". NULL: the plan is a program file's. */
const char *hp_sent_text(const struct hypar_plan *plan);

/* "0 -> 1", "3 -> switch 8", or the name that a program file gives the link. */
char *hp_link_name(struct arena *arena, const struct hypar_sim_link *link, int n_devices);

/* "device 3"; in a pipeline with replicated stages "device 3: stage 0, 1 of 12 replicas". The
 * plan may be NULL. */
char *hp_device_name(struct arena *arena, const struct hypar_plan *plan, int device);

#endif /* REPORT_PUT_H */
