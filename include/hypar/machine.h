/* hypar/machine.h - the machine: devices, switches, links, and a route for every pair.
 *
 * A machine is written as one shell word ("cluster:4x8,device=h100", docs/formats-machine.md)
 * or as a JSON file, and is read-only once made. Nodes are numbered: devices 0..device_count-1,
 * then switches. Links are full duplex. One direction of a link can be busy while the other is
 * free, so routes name directed links: 2*link + 0 goes from `from` to `to`, 2*link + 1 back. */
#ifndef HYPAR_MACHINE_H
#define HYPAR_MACHINE_H

#include <hypar/framework.h>

#ifdef __cplusplus
extern "C" {
#endif

struct hypar_machine; /* opaque; made by hypar_machine_read() */

/* How fast kernels run relative to the peaks, as measured; 0: unknown, and not counted. A
 * product of an M by K and a K by N matrix runs at the share efficiency / (1 + reduction_length
 * / K + output_length (1 / M + 1 / N)) of the peak. */
struct hypar_kernel_figures {
    double reduction_length, output_length;
    double unaligned_efficiency; /* factor of this rate if rows of operands are no multiples of
                                    4 bytes; its square root if of 4, but not of 16 */
    /* shares of the memory's bandwidth: of element-wise kernels, ... */
    double stream_efficiency;
    double product_efficiency; /* ... of products, ... */
    double row_efficiency;     /* ... of reductions along other dimensions than samples, ... */
    /* ... of reductions along samples to few sums (with many they stream), in eager mode and
     * compiled: of one tensor, whatever else they read, ... */
    double column_efficiency, compiled_column_efficiency;
    double
        window_efficiency; /* ... of kernels that slide a window or exchange dimensions, ... */
    double scatter_efficiency; /* ... of kernels that add to looked-up rows */
    double column_sums; /* with so many sums half of this share of few sums is gone; 0: none */
    /* The kernel of fused attention, by its best generation on the device: the shares of dense
     * products' rate in the forward and in the backward half, at endless heads and sequences.
     * Heads of width d run at 1 / (1 + attention_width / d) of it; each query costs as much as
     * attention_keys more keys, and if it is causal attention_causal times what it sees.
     * flash2_share: the share of FlashAttention 2 in this; 0: 1. */
    double attention_efficiency, attention_backward, attention_width, attention_keys,
        attention_causal, flash2_share;
    /* seconds of each kernel besides; more for one that multiplies or reduces; more for one
     * that reduces along samples; and of a product for each of up to 2,048 elements that it
     * sums one after another */
    double kernel_s, reduction_s, column_s, summed_s;
    /* operations per second of element-wise kernels; 0: at the share `efficiency` of the peak
     */
    double vector_op_per_s;
    /* seconds of the host to launch a kernel, ahead of the device: one by one from a framework,
     * or captured by a compiling one */
    double eager_launch_s, compiled_launch_s;
    /* for every comm of the device: a fixed time in addition to its messages, and the rate at
     * which the device reads sent data and writes received data; the share of the time of a
     * collective's bytes on the device's own links, and of its latencies, that kernels beside
     * it lose */
    double comm_latency_s, copy_bytes_per_s, comm_share;
    double jitter; /* standard deviation of the times of such devices, relative to the mean */
};

/* The figures of one device. Energies are those of one 32-bit operation or access, and those of
 * an operation of products with all that belongs to it. */
struct hypar_device {
    const char *name; /* of its type, "v100" */
    /* peaks; a multiply-add is two operations. For a type without a unit: the fp32 peak */
    double fp64_op_per_s, fp32_op_per_s, tf32_op_per_s, fp16_op_per_s, bf16_op_per_s,
        fp8_op_per_s;  /* 0: it has no unit */
    double efficiency; /* the share of the peak that large products reach, above 0, at most 1 */
    int64_t memory_bytes;
    double memory_bytes_per_s;
    double add_j, multiply_j, sram_access_j, dram_access_j;
    double idle_w; /* all the time, computing or waiting; 0: not counted */
    /* A kernel that would need more power than the limit takes longer; 0: no limit. With a
     * limit, running kernels take at least busy_w, and an operation takes this energy (of 16
     * bits: bf16), or with 0 as much as brings large products to the limit; without one, adds,
     * multiplications and SRAM do. */
    double power_limit_w, busy_w, fp64_op_j, fp32_op_j, tf32_op_j, bf16_op_j, fp8_op_j;
    double vector_op_j; /* of operations outside products; 0: as in fp32 */
    struct hypar_kernel_figures kernels;
    /* Memory that the driver reports to programs (0: all); the part that the driver's context
     * and a program's kernels take (0: no framework runs here); the workspace of products, for
     * each library handle and stream. */
    double usable_bytes, context_bytes, workspace_bytes;
    /* 1: passes take the roofline's times although kernel figures are known. Set for all
     * devices of a machine if some of them have no kernel figures, because the roofline's times
     * are shorter than those of measured kernels on any device. */
    int64_t roofline;
};

/* Figure `i` of a device: its name, as in JSON, and its value; NULL past the last. */
HYPAR_API const char *hypar_device_figure(const struct hypar_device *device, int i,
                                          double *value);

/* A link between two nodes; figures are those of one direction. */
struct hypar_link {
    int from, to;       /* nodes */
    double bytes_per_s; /* the bandwidth that messages reach */
    double latency_s, energy_j_per_bit;
};

/* Read the machine that `word` describes. A word that ends in ".json", is "-", or has no colon
 * and is the path of a file, names a JSON file. A name without a colon that is neither a
 * topology nor a file may be a machine of the site (hypar_site_files()). On success *out is
 * new, to be released with hypar_machine_free(). On failure *out is NULL. */
HYPAR_API enum hypar_status hypar_machine_read(struct hypar_machine **out, const char *word,
                                               struct hypar_error *err);

/* Release a machine and everything that its getters returned. NULL is allowed. */
HYPAR_API void hypar_machine_free(struct hypar_machine *machine);

/* Write the machine as "hypar-machine/1" JSON with every figure spelled out. */
HYPAR_API void hypar_machine_write(const struct hypar_machine *machine, FILE *to);

/* The shortest word that describes this machine; owned by the machine. NULL: only JSON can. */
HYPAR_API const char *hypar_machine_word(const struct hypar_machine *machine);

/* "torus", "cluster", ...; "explicit" if nodes and links were listed. */
HYPAR_API const char *hypar_machine_topology(const struct hypar_machine *machine);

HYPAR_API int hypar_machine_device_count(const struct hypar_machine *machine);
HYPAR_API int hypar_machine_switch_count(const struct hypar_machine *machine);
HYPAR_API int hypar_machine_link_count(const struct hypar_machine *machine);

/* Device `i`; owned by the machine. Equal devices may share one struct. */
HYPAR_API const struct hypar_device *hypar_machine_device(const struct hypar_machine *machine,
                                                          int i);
HYPAR_API struct hypar_link hypar_machine_link(const struct hypar_machine *machine, int link);

/* Are all devices of one kind? */
HYPAR_API bool hypar_machine_is_uniform(const struct hypar_machine *machine);

/* The route between two devices as directed links, in order. Returns their number (0 from a
 * device to itself) and writes the first `max` of them into links[]. A pair always has the same
 * route. Safe to call from several threads. */
HYPAR_API int hypar_machine_route(const struct hypar_machine *machine, int from, int to,
                                  int *links, int max);

/* No route has more links than this. */
HYPAR_API int hypar_machine_longest_route(const struct hypar_machine *machine);

/* The machine as a hierarchy, from the top: each level divides every group of devices
 * (consecutive numbers) into `ways` groups; after the last level, each group is one device. */
struct hypar_level {
    int ways;
    double bytes_per_s; /* from one group to the others of its level, all links together */
    double latency_s;   /* of a message between the first devices of two such groups */
};

enum { HYPAR_MAX_LEVELS = 32 };

/* Fill levels[HYPAR_MAX_LEVELS]; returns their number, 0 for one device. */
HYPAR_API int hypar_machine_levels(const struct hypar_machine *machine,
                                   struct hypar_level *levels);

/* Files of this site, which users name without path and ".json": machines ("--on NAME") and
 * devices ("device=NAME"). NAME has letters, digits, '.', '_' and '-', and begins with a letter
 * or a digit. Folders, in this order; of two files of one name the first counts:
 *   $XDG_CONFIG_HOME/hypar/machines (default: ~/.config/hypar/machines)
 *   FOLDER/hypar/machines, for each FOLDER of $XDG_CONFIG_DIRS (default: /etc/xdg)
 *   /etc/hypar/machines
 * and likewise hypar/devices and hypar/frameworks ("--as NAME"). Names of topologies, and of
 * rows of tables, go first. */
enum hypar_site_kind { HYPAR_SITE_MACHINES, HYPAR_SITE_DEVICES, HYPAR_SITE_FRAMEWORKS };

struct hypar_site_file {
    const char *name, *path;
};

struct hypar_site_files; /* opaque */

/* All of them, by name; to be released with hypar_site_files_free(). They are not read. */
HYPAR_API struct hypar_site_files *hypar_site_files(enum hypar_site_kind kind);
/* File `i`, owned by the list; NULL past the last. */
HYPAR_API const struct hypar_site_file *hypar_site_file(const struct hypar_site_files *files,
                                                        int i);
HYPAR_API void hypar_site_files_free(struct hypar_site_files *files);

/* The tables of device types, of topologies, and of the options of a word. */
struct hypar_device_type {
    struct hypar_device device;
    int ports;               /* links of one device to others like it */
    double link_bytes_per_s; /* of one link, per direction */
    double nic_bytes_per_s;  /* of a usual network card beside such devices */
    double latency_s;        /* of one link */
    double energy_j_per_bit; /* of one link */
    const char *summary;
    const char *source;   /* where the figures come from */
    int devices_per_card; /* devices of a node that share a network card; 0: all of them */
    double
        link_efficiency;   /* the share of their bandwidth that messages reach: links between */
    double nic_efficiency; /* devices and of network cards; 0: 1 */
    bool hypar_array;      /* HyPar's accelerator: explorations use the paper's array model */
    struct hypar_calibration calibration; /* of predictions with this row */
};

struct hypar_topology {
    const char *name, *syntax, *summary;
};

struct hypar_machine_option {
    const char *name, *example, *summary;
};

/* Row `i`, or NULL past the last. */
HYPAR_API const struct hypar_device_type *hypar_device_type(int i);
HYPAR_API const struct hypar_topology *hypar_topology(int i);
HYPAR_API const struct hypar_machine_option *hypar_machine_option(int i);

#ifdef __cplusplus
}
#endif

#endif /* HYPAR_MACHINE_H */
