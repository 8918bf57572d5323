/* machine/machine.h - the inside of a machine. Internal.
 *
 * A structured machine (torus, cluster, ...) is a few numbers: links and routes are computed
 * when asked for, so a million devices cost no more memory than four. Only a machine given by
 * explicit nodes and links (network.c) is stored as arrays. */
#ifndef MACHINE_MACHINE_H
#define MACHINE_MACHINE_H

#include "base/arena.h"
#include "base/error.h"
#include "base/json.h"

#include <hypar/machine.h>
#include <hypar/tool.h>

enum {
    MACHINE_MAX_DEVICES = 1 << 20, /* of a structured machine */
    MACHINE_MAX_LINKS = 1 << 24,   /* what `full` runs into first */
    MACHINE_MAX_NODES = 1 << 16,   /* explicit: devices and switches */
    MACHINE_MAX_DIMS = 6,
    MACHINE_MAX_PARTS = 64,         /* as written */
    MACHINE_MAX_NODE_FIGURES = 256, /* of one part: nodes with figures of their own */
    MACHINE_MAX_RUNS = 1024,        /* parts and runs of such nodes, together */
    MACHINE_MAX_WORD = 4096,
    MACHINE_MAX_NAME = 100, /* of a file of the site, of a class of links */
};

/* Everything a word or a JSON object can set; one row each in option.c. */
enum option {
    OPTION_FP32, /* first: others may follow from it */
    OPTION_FP64,
    OPTION_BF16,
    OPTION_FP16,
    OPTION_TF32,
    OPTION_EFFICIENCY,
    OPTION_MEMORY,
    OPTION_MEMORY_BANDWIDTH,
    OPTION_ADD,
    OPTION_MULTIPLY,
    OPTION_SRAM,
    OPTION_DRAM,
    OPTION_IDLE,
    OPTION_REDUCTION_LENGTH,
    OPTION_OUTPUT_LENGTH,
    OPTION_UNALIGNED,
    OPTION_STREAM,
    OPTION_PRODUCT,
    OPTION_ROW,
    OPTION_COLUMN,
    OPTION_COMPILED_COLUMN,
    OPTION_WINDOW,
    OPTION_SCATTER,
    OPTION_KERNEL,
    OPTION_REDUCTION_TIME,
    OPTION_COLUMN_TIME,
    OPTION_SUMMED_TIME,
    OPTION_VECTOR,
    OPTION_EAGER_LAUNCH,
    OPTION_COMPILED_LAUNCH,
    OPTION_COMM_LATENCY,
    OPTION_COPY,
    OPTION_BANDWIDTH,
    OPTION_INTRA,
    OPTION_INTER,
    OPTION_NICS,
    OPTION_LINK_EFFICIENCY,
    OPTION_INTRA_EFFICIENCY,
    OPTION_INTER_EFFICIENCY,
    OPTION_LATENCY,
    OPTION_INTER_LATENCY,
    OPTION_ENERGY,
    OPTION_COUNT
};

_Static_assert(OPTION_COUNT <= 64, "sets of options are bits of a uint64_t");

/* Which parts an option belongs to. */
enum {
    SCOPE_DEVICE = 1 << 0, /* every part */
    SCOPE_LINK = 1 << 1,   /* every part */
    SCOPE_SIMPLE = 1 << 2, /* parts with one kind of link */
    SCOPE_CLUSTER = 1 << 3 /* parts with links inside nodes and between nodes */
};

/* The text around an option: in a word name=value, in JSON "key": number. */
struct option_row {
    struct hypar_machine_option text;
    const char *key;
    enum hypar_unit unit;
    unsigned scope;
    double low, high; /* inclusive */
    bool whole;       /* an integer */
};

extern const struct option_row hp_machine_options[OPTION_COUNT];

/* Figures of nodes first..last of a cluster, in place of the part's. */
struct node_figures {
    int first, last;
    double value[OPTION_COUNT]; /* NAN: not set */
    double times[OPTION_COUNT]; /* a factor of the part's figure; NAN: not set */
};

/* One topology with one kind of device: a whole machine, one of the joined clusters, or equal
 * nodes in a row of a cluster in which some nodes have figures of their own. */
struct part {
    const struct topology *topology;
    int n_dims, dim[MACHINE_MAX_DIMS];
    int n_devices;
    struct hypar_device_type
        type;   /* gives the defaults; device.name may be unknown to the table */
    bool known; /* the type has defaults */
    double value[OPTION_COUNT]; /* NAN: not set */
    struct arena *arena; /* holds, while the machine is read, names and figures of files */
    const double *row;   /* what a device file says, in place of the type's; or NULL */
    const char *path;    /* of that file; or NULL */
    /* Bits of options: figures of a device that no row describes, which nobody gave; and those
     * that its file left out. */
    uint64_t assumed, left_out;
    struct node_figures *nodes; /* while the machine is read */
    int n_nodes, node_capacity;
    bool continued; /* its nodes follow those of the part before, in one cluster as written */
    bool own;       /* its nodes have figures of their own in that cluster */
    int first_device, first_node, first_card; /* of the part; cards as links */
};

/* Devices first..next run's first are equal. */
struct device_run {
    int first;
    struct hypar_device device;
    const char *source; /* where its figures come from, if that is not the table; or NULL */
    uint64_t assumed;   /* as of a part */
};

/* What is known of all routes without looking at them. */
enum network_shape {
    NETWORK_ROUTED, /* nothing */
    NETWORK_TREE,   /* a tree of equal links at each level */
    NETWORK_PAIRS,  /* a link for every pair of devices */
    NETWORK_NODES, /* nodes of devices, each behind a switch; a tree if they are equal and leave
                      by one link each */
};

/* A kind of network: the rows of topology.c, and hp_explicit in network.c. */
struct topology {
    struct hypar_topology text;
    int min_dims, max_dims;
    const char *default_device; /* NULL: found out here (local) */
    unsigned scope;             /* SCOPE_SIMPLE or SCOPE_CLUSTER */
    enum network_shape shape;
    bool joins; /* several such parts make one machine */
    /* Count switches, links and the longest route of the machine's parts; int64_t because the
     * caller checks them. */
    void (*count)(const struct hypar_machine *machine, int64_t *switches, int64_t *links,
                  int64_t *longest);
    struct hypar_link (*link)(const struct hypar_machine *machine, int link);
    int (*route)(const struct hypar_machine *machine, int from, int to, int *links, int max);
    /* Fill ways and bytes_per_s of each level, from the top, and return how many there are:
     * primes whose product is the number of devices; latencies follow from routes. */
    int (*levels)(const struct hypar_machine *machine, struct hypar_level *levels);
    /* The order of a ring through `n` devices, as indices of device[], from neighbour to
     * neighbour: in closed form where a word tells the links, searched for where they are
     * listed; false: none is known. NULL where no other order than that of numbers is better.
     */
    bool (*cycle)(struct arena *scratch, const struct hypar_machine *machine, const int *device,
                  int n, int *order);
    /* Several such rings that have no link in common: fills order[] with one after the other
     * and returns how many there are, at most MACHINE_MAX_DIMS; 0: none are known. NULL where
     * there never are. */
    int (*cycles)(struct arena *scratch, const struct hypar_machine *machine, const int *device,
                  int n, int *order);
    /* The order of `n` devices along an open line of links, as indices of device[]: a ring
     * through them would go all the way back from the last to the first. False: they lie on
     * none. NULL where rings close. */
    bool (*line)(struct arena *scratch, const struct hypar_machine *machine, const int *device,
                 int n, int *order);
    /* By device: its place in an order of all in which those that are close follow each other.
     * NULL where that is the order of numbers. */
    const int *(*rank)(const struct hypar_machine *machine);
};

struct hypar_machine {
    struct arena arena; /* holds everything, the machine itself included */
    const struct topology *topology;
    const char *word;
    int n_devices, n_switches, n_links, longest_route;
    int n_runs;
    struct device_run *runs;
    int n_parts; /* 0: explicit */
    struct part *parts;
    struct network *network; /* explicit, else NULL */
};

extern const struct topology *const hp_topologies[]; /* NULL-terminated */

/* machine.c: could `word` name a file? It ends in .json, or has no colon and is no topology;
 * the '/' of "full:8,bandwidth=25GB/s" makes no path, nor the end of
 * "full:8,device=mine.json". */
bool hp_machine_may_be_path(const char *word);
/* A machine of `parts`, whose dims and devices are set; fills in the defaults. */
enum hypar_status hp_machine_from_parts(struct hypar_machine **out, const struct part *parts,
                                        int n_parts, struct hypar_error *err);
bool hp_devices_equal(const struct hypar_device *a, const struct hypar_device *b);
double hp_idle_w(const struct hypar_machine *machine); /* of all devices */
struct hypar_machine *hp_machine_new(const struct topology *topology);
/* The same machine with other figures: of each part whose device is called `device`, options
 * that apply have the values that are not NAN. HYPAR_UNSUPPORTED for explicit nodes and links.
 */
enum hypar_status hp_machine_with(struct hypar_machine **out,
                                  const struct hypar_machine *machine, const char *device,
                                  const double value[OPTION_COUNT], struct hypar_error *err);
/* like.c: a machine like this one, with the first `rows` of its rows (below) and links that are
 * `links` times as fast; devices keep their numbers. HYPAR_UNSUPPORTED for explicit nodes and
 * links, and for this computer. */
enum hypar_status hp_machine_like(struct hypar_machine **out,
                                  const struct hypar_machine *machine, int rows, double links,
                                  struct hypar_error *err);
/* ... with figures that are factor[option] times as large, of the parts whose device is called
 * `device`; NULL: of all. Of explicit links, with a bandwidth that is, all of them.
 * HYPAR_UNSUPPORTED for this computer. */
enum hypar_status hp_machine_scaled(struct hypar_machine **out,
                                    const struct hypar_machine *machine, const char *device,
                                    const double factor[OPTION_COUNT], struct hypar_error *err);
/* A figure of the listed links of one class. */
struct class_figure {
    const char *class;
    enum option option;
    bool times; /* a factor of what each link has */
    double value;
};
/* What changes of a machine of explicit nodes and links; one after the other. */
struct network_changes {
    double value[OPTION_COUNT];       /* of all devices and links; NAN: as they are */
    const struct class_figure *class; /* then of some links */
    int n_classes;
    double links; /* then all bandwidths are so many times as high */
};
/* ... changed so. HYPAR_INVALID for a class that there is not, and for a figure of links that
 * they differ in, or that they do not have. */
enum hypar_status hp_network_with(struct hypar_machine **out,
                                  const struct hypar_machine *machine,
                                  const struct network_changes *changes,
                                  struct hypar_error *err);
/* A part whose links are so many times as fast. */
enum hypar_status hp_part_scale_links(struct part *part, double links, struct hypar_error *err);
/* Rows: nodes of all clusters, lines of a grid, leaves of a tree; 0 of explicit nodes. */
int hp_machine_rows(const struct hypar_machine *machine);
/* The node of a device; of a machine that has none, all are on one. */
int hp_machine_node(const struct hypar_machine *machine, int device);
/* Fewer than so many, to be tried next: of the last part the largest power of two, or none of
 * it; 0: there are none. */
int hp_machine_fewer_rows(const struct hypar_machine *machine, int rows);
/* The prime factors of n, rising; returns their number. factors[] holds HYPAR_MAX_LEVELS. */
int hp_prime_factors(int n, int *factors);

/* A route as it is made: counts all links, keeps the first `max`. */
struct path {
    int *links;
    int max, count;
};

static inline void hp_path_add(struct path *path, int link, bool backwards)
{
    if (path->count < path->max)
        path->links[path->count] = 2 * link + backwards;
    path->count++;
}

/* Whose figures a device has that no row describes, but those that must be given. */
#define MACHINE_ASSUMED_DEVICE "v100"

/* device.c: the row of exactly that name, or NULL; and what a person calls so. */
const struct hypar_device_type *hp_device_type_find(const char *name);
enum hypar_status hp_device_type_get(const struct hypar_device_type **out, const char *name,
                                     struct hypar_error *err);

/* local.c: the device that one of `n` equal shares of this computer is. */
struct hypar_device_type hp_local_device(int n);

/* topology.c */
const struct topology *hp_topology_find(const char *name, size_t length);
enum hypar_status hp_topology_get(const struct topology **out, const char *name, size_t length,
                                  struct hypar_error *err);
/* Check dims against the topology and the limits; sets n_devices. */
enum hypar_status hp_part_set_shape(struct part *part, const int64_t *dim, int n_dims,
                                    struct hypar_error *err);

/* option.c: a part's figures. */
void hp_part_begin(struct part *part, const struct topology *topology, struct arena *arena);
bool hp_option_applies(const struct part *part, enum option option);
/* The value the option has when nothing sets it; NAN when there is none. */
double hp_option_default(const struct part *part, enum option option);
/* "0.8x": a factor above 0. */
bool hp_factor_read(const char *text, double *value);
/* What an option is said to be; false: that is no such quantity, or it lacks its unit. */
bool hp_option_read(enum option option, const char *text, double *value);
/* A figure of a device, which is one of its own. */
double hp_device_get(const struct hypar_device *device, enum option option);
void hp_device_set(struct hypar_device *device, enum option option, double value);
/* Is `value` one the option can have? Else say which. */
enum hypar_status hp_option_check(const struct part *part, enum option option, double value,
                                  struct hypar_error *err);
/* Give the part's options that are not set their defaults. */
enum hypar_status hp_part_finish(struct part *part, struct hypar_error *err);
struct hypar_device hp_part_device(const struct part *part);
/* What messages reach on the links at the devices (the only kind, or those inside a node), and
 * on a network card. */
double hp_part_link_bytes_per_s(const struct part *part);
double hp_part_card_bytes_per_s(const struct part *part);

/* node.c: the nodes of a cluster that have figures of their own ("node 17 is slow"). Such a
 * cluster becomes several parts in a row, so that all that knows parts knows these nodes. */
/* The figures of nodes first..last, to be set; fails where the part has no such nodes. */
enum hypar_status hp_part_node_figures(struct part *part, int64_t first, int64_t last,
                                       struct node_figures **out, struct hypar_error *err);
/* Set one of them, once; as a factor or as a value. */
enum hypar_status hp_node_set(const struct part *part, struct node_figures *figures,
                              enum option option, bool times, double value,
                              struct hypar_error *err);
/* What `peak` sets, always as a factor: every peak, and the rate of element-wise arithmetic. */
enum { N_PEAK_OPTIONS = 6 };
extern const enum option hp_peak_options[N_PEAK_OPTIONS];
/* The parts with a part for each run of equal nodes. */
enum hypar_status hp_parts_expand(struct arena *arena, const struct part *parts, int n,
                                  struct part **out, int *n_out, struct hypar_error *err);
/* The cluster as written that begins with part `p`: its figures, with the number of all its
 * nodes. Returns the part after its last one. */
int hp_part_whole(const struct hypar_machine *machine, int p, struct part *whole);
/* Do parts of one topology have the same figures? */
bool hp_parts_alike(const struct part *a, const struct part *b);
/* The part of a device. */
const struct part *hp_part_of(const struct hypar_machine *machine, int device);

/* word.c */
enum hypar_status hp_machine_read_word(struct hypar_machine **out, const char *word,
                                       struct hypar_error *err);
/* NULL where no word says it. */
const char *hp_machine_make_word(struct arena *arena, const struct hypar_machine *machine);
/* A word that reads back with the same figures, of any machine of parts: of devices that no row
 * describes it names their file, or else all figures that are not the assumed ones. */
const char *hp_machine_full_word(struct arena *arena, const struct hypar_machine *machine);

/* site.c: letters, digits, '.', '_' and '-', a letter or a digit first? */
bool hp_is_plain_name(const char *name, size_t length);
/* The path of the site's file of that name; false: there is none. */
bool hp_site_find(enum hypar_site_kind kind, const char *name, char path[HYPAR_PLACE_BYTES]);
/* The *n names of before[], then those of the site's files. */
const char *const *hp_site_names(struct arena *arena, enum hypar_site_kind kind,
                                 const char *const *before, int *n);

/* device_file.c: a device that a file describes, "hypar-device/1". */
bool hp_device_is_file(const char *name);
/* Make the device of the file at `path` the part's, its figures the part's defaults. */
enum hypar_status hp_part_read_device_file(struct part *part, const char *path,
                                           struct hypar_error *err);
/* Write the part's device as such a file, called `name`; `source` says where its figures come
 * from. */
void hp_part_write_device_file(const struct part *part, const char *name, const char *source,
                               FILE *to);

/* machine_json.c: a string (word) or an object. */
enum hypar_status hp_machine_read_json(struct hypar_machine **out, const struct json *at,
                                       struct hypar_error *err);
void hp_machine_write_json(struct json_writer *w, const char *key,
                           const struct hypar_machine *machine);
/* Does the part's device have a source of its own, not that of the table of devices? */
bool hp_part_own_source(const struct part *part);
/* A device by name, by its file, or as an object with figures, which become a part's. */
enum hypar_status hp_part_read_device(struct part *part, const struct json *at,
                                      struct hypar_error *err);
/* The part's device is the one of this name; one that no row describes only if it may be new.
 */
enum hypar_status hp_part_choose_type(struct part *part, const struct json *at,
                                      const char *name, bool may_be_new,
                                      struct hypar_error *err);
/* Read the option's member of `object`, if it is there. */
enum hypar_status hp_part_read_option(struct part *part, const struct json *object,
                                      enum option option, struct hypar_error *err);

/* network_json.c: the explicit form. */
enum hypar_status hp_network_read(struct hypar_machine **out, const struct json *at,
                                  struct hypar_error *err);
void hp_network_write(struct json_writer *w, const struct hypar_machine *machine);

#endif /* MACHINE_MACHINE_H */
