/* machine/machine.h - the inside of a machine. Internal.
 *
 * A structured machine (torus, cluster, ...) is a few numbers: links and routes are computed on
 * demand, so a million devices cost no more memory than four. Only a machine given by explicit
 * nodes and links (network.c) is stored as arrays. */
#ifndef MACHINE_MACHINE_H
#define MACHINE_MACHINE_H

#include "base/arena.h"
#include "base/error.h"
#include "base/files/json.h"

#include <hypar/machine.h>
#include <hypar/tool.h>

enum {
    MACHINE_MAX_DEVICES = 1 << 20, /* of a structured machine */
    MACHINE_MAX_LINKS = 1 << 24,   /* the limit that `full` reaches first */
    MACHINE_MAX_NODES = 1 << 16,   /* explicit: devices and switches */
    MACHINE_MAX_DIMS = 6,
    MACHINE_MAX_PARTS = 64,         /* as written */
    MACHINE_MAX_NODE_FIGURES = 256, /* of one part: nodes with their own figures */
    MACHINE_MAX_RUNS = 1024,        /* parts and runs of such nodes, together */
    MACHINE_MAX_WORD = 4096,
    MACHINE_MAX_NAME = 100, /* of a site's file, of a class of links */
};

/* Everything a word or a JSON object can set. */
enum option {
#define OPTION(name, ...) OPTION_##name,
#include "machine/option_list.h"
#undef OPTION
    OPTION_COUNT
};

/* A set of options, by bit. */
__extension__ typedef unsigned __int128 option_set;
_Static_assert(OPTION_COUNT <= 8 * sizeof(option_set), "every option has a bit");

/* The parts to which an option applies. */
enum {
    SCOPE_DEVICE = 1 << 0, /* every part */
    SCOPE_LINK = 1 << 1,   /* every part */
    SCOPE_SIMPLE = 1 << 2, /* parts with one kind of link */
    SCOPE_CLUSTER = 1 << 3 /* parts with links inside nodes and between nodes */
};

/* An option as text: in a word name=value, in JSON "key": number. */
struct option_row {
    struct hypar_machine_option text;
    const char *key;
    enum hypar_unit unit;
    unsigned scope;
    double low, high; /* inclusive */
    bool whole;       /* an integer */
};

/* "on" or "off". */
static inline bool hp_is_switch(const struct option_row *row)
{
    return row->whole && row->low == 0 && row->high == 1;
}

extern const struct option_row hp_machine_options[OPTION_COUNT];

/* Figures of nodes first..last of a cluster, which replace the part's. */
struct node_figures {
    int first, last;
    double value[OPTION_COUNT]; /* NAN: not set */
    double times[OPTION_COUNT]; /* a factor of the part's figure; NAN: not set */
};

/* One topology with one kind of device: a whole machine, one of several joined clusters, or a
 * run of equal nodes in a cluster where some nodes have their own figures. */
struct part {
    const struct topology *topology;
    int n_dims, dim[MACHINE_MAX_DIMS];
    int n_devices;
    struct hypar_device_type type; /* gives the defaults; the table may not know device.name */
    bool known;                    /* the type has defaults */
    double value[OPTION_COUNT];    /* NAN: not set */
    struct arena *arena;           /* while the machine is read: names, and figures of files */
    const double *row; /* the figures of a device file, which replace the type's; or NULL */
    const char *path;  /* of this file; or NULL */
    /* Bits of options: figures of a device unknown to the table that nobody gave; and those
     * that its file left out. */
    option_set assumed, left_out;
    struct node_figures *nodes; /* while the machine is read */
    int n_nodes, node_capacity;
    bool continued; /* its nodes follow those of the part before, in one cluster as written */
    bool own;       /* its nodes have their own figures in this cluster */
    int first_device, first_node, first_card; /* of the part; cards are counted as links */
};

/* A run of equal devices: from `first` to the next run's first. */
struct device_run {
    int first;
    struct hypar_device device;
    const char *source; /* where its figures come from, if not from the table; or NULL */
    option_set assumed; /* as in a part */
};

/* The shape of a network, from which its routes are known in advance. */
enum network_shape {
    NETWORK_ROUTED, /* nothing */
    NETWORK_TREE,   /* a tree of equal links at each level */
    NETWORK_PAIRS,  /* a link for every pair of devices */
    NETWORK_NODES, /* nodes of devices, each behind a switch; a tree if nodes are equal and have
                      one card each */
};

/* A kind of network: the rows of topology.c, and hp_explicit in network.c. */
struct topology {
    struct hypar_topology text;
    int min_dims, max_dims;
    const char *default_device; /* NULL: determined at run time (local) */
    unsigned scope;             /* SCOPE_SIMPLE or SCOPE_CLUSTER */
    enum network_shape shape;   /* lets costs take shortcuts; NETWORK_ROUTED is right for any */
    bool joins;                 /* several such parts can be joined to one machine */
    /* Count switches, links and the longest route of the machine's parts; int64_t because the
     * caller checks the limits. */
    void (*count)(const struct hypar_machine *machine, int64_t *switches, int64_t *links,
                  int64_t *longest);
    struct hypar_link (*link)(const struct hypar_machine *machine, int link);
    int (*route)(const struct hypar_machine *machine, int from, int to, int *links, int max);
    /* Fill `ways` and `bytes_per_s` of each level, from the top; returns the number of levels.
     * Ways are primes (hp_prime_factors()) whose product is the number of devices, also without
     * a hierarchy; one device has no level. A level divides consecutive device numbers;
     * bytes_per_s is what one of its groups can send to the others by all its links.
     * Latencies follow from routes. */
    int (*levels)(const struct hypar_machine *machine, struct hypar_level *levels);
    /* The order of a ring through `n` devices, from neighbour to neighbour, as indices of
     * device[]. Closed form for machine words, a search for listed links; false: none is known.
     * NULL if the order of numbers is best. */
    bool (*cycle)(struct arena *scratch, const struct hypar_machine *machine, const int *device,
                  int n, int *order);
    /* Several such rings without a common link: fills order[] with one after the other and
     * returns their number, at most MACHINE_MAX_DIMS; 0: none are known. NULL if there never
     * are any. */
    int (*cycles)(struct arena *scratch, const struct hypar_machine *machine, const int *device,
                  int n, int *order);
    /* The order of `n` devices along an open line of links, as indices of device[]; a ring
     * would go back all the way from the last to the first. False: they are not on a line. NULL
     * if rings close. */
    bool (*line)(struct arena *scratch, const struct hypar_machine *machine, const int *device,
                 int n, int *order);
    /* By device: its position in an order of all devices that keeps close ones together. NULL:
     * the order of numbers does. */
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

/* machine.c: could `word` name a file? It does if it ends in .json, or has no colon and is no
 * topology. The '/' of "full:8,bandwidth=25GB/s" makes no path, nor does the end of
 * "full:8,device=mine.json". */
bool hp_machine_may_be_path(const char *word);
/* Make a machine of `parts`, whose dims and devices are set; fills in the defaults. */
enum hypar_status hp_machine_from_parts(struct hypar_machine **out, const struct part *parts,
                                        int n_parts, struct hypar_error *err);
bool hp_devices_equal(const struct hypar_device *a, const struct hypar_device *b);
/* Are the rates of the device's kernels known? */
bool hp_kernels_known(const struct hypar_device *device);
/* Where the kernels of some devices are known and those of others are not, all take the times
 * of the roofline (hypar_device.roofline); so do the devices of machines made from this one. */
void hp_settle_rooflines(struct hypar_machine *machine);
double hp_idle_w(const struct hypar_machine *machine); /* of all devices */
struct hypar_machine *hp_machine_new(const struct topology *topology);
/* The same machine with other figures: in each part whose device is called `device`, values
 * that are not NAN replace the options that apply. The machine has no word: a fit makes
 * thousands of such machines, and the shortest text of a figure takes long. HYPAR_UNSUPPORTED
 * for explicit nodes and links. */
enum hypar_status hp_machine_with(struct hypar_machine **out,
                                  const struct hypar_machine *machine, const char *device,
                                  const double value[OPTION_COUNT], struct hypar_error *err);
/* like.c: a machine with the first `rows` rows (below) of this one, and with links `links`
 * times as fast; devices keep their numbers. HYPAR_UNSUPPORTED for explicit nodes and links,
 * and for this computer. */
enum hypar_status hp_machine_like(struct hypar_machine **out,
                                  const struct hypar_machine *machine, int rows, double links,
                                  struct hypar_error *err);
/* subset.c: a machine with `n` of this one's devices: its device i is device[i] here. Devices
 * of a node of a cluster follow each other; else any order. Such a node has its share of the
 * cards (at least one), and nodes move up behind leaf switches. HYPAR_UNSUPPORTED for
 * topologies other than clusters and listed links. */
enum hypar_status hp_machine_subset(struct hypar_machine **out,
                                    const struct hypar_machine *machine, const int *device,
                                    int n, struct hypar_error *err);
/* The same machine with figures multiplied by factor[option], in the parts whose device is
 * called `device` (NULL: in all). Of explicit links, all bandwidths. HYPAR_UNSUPPORTED for this
 * computer. */
enum hypar_status hp_machine_scaled(struct hypar_machine **out,
                                    const struct hypar_machine *machine, const char *device,
                                    const double factor[OPTION_COUNT], struct hypar_error *err);
/* A figure of the listed links of one class. */
struct class_figure {
    const char *class;
    enum option option;
    bool times; /* a factor of each link's figure */
    double value;
};
/* Changes of a machine of explicit nodes and links, made in this order. */
struct network_changes {
    double value[OPTION_COUNT];       /* of all devices and links; NAN: unchanged */
    const struct class_figure *class; /* then of classes of links */
    int n_classes;
    double links; /* then a factor of all bandwidths */
};
/* The machine with these changes. HYPAR_INVALID for an unknown class, for a figure in which
 * links differ, and for a figure that links lack. */
enum hypar_status hp_network_with(struct hypar_machine **out,
                                  const struct hypar_machine *machine,
                                  const struct network_changes *changes,
                                  struct hypar_error *err);
/* Make the links of a part `links` times as fast. */
enum hypar_status hp_part_scale_links(struct part *part, double links, struct hypar_error *err);
/* The rows of a machine: nodes of all clusters, lines of a grid, leaves of a tree; 0 for
 * explicit nodes. */
int hp_machine_rows(const struct hypar_machine *machine);
/* Devices of a node of a cluster of several nodes, if all nodes have as many; else 0. */
int hp_machine_node_size(const struct hypar_machine *machine);
/* Is the option on in all parts? */
bool hp_machine_has(const struct hypar_machine *machine, enum option option);
/* The node of a device; a machine without nodes counts as one. */
int hp_machine_node(const struct hypar_machine *machine, int device);
/* Are the nodes of two parts of clusters of several nodes equal? */
bool hp_nodes_alike(const struct part *a, const struct part *b);
/* The first device from which on `n` devices are as those from `first` on: equal devices, of
 * equal nodes, at the same places in them. Only places within a part are compared. */
int hp_machine_like_place(const struct hypar_machine *machine, int first, int n);
/* The next smaller number of rows to try: the last part has a power of two of them, or none; 0:
 * there is none. */
int hp_machine_fewer_rows(const struct hypar_machine *machine, int rows);
/* The prime factors of n, ascending; returns their number. factors[] holds HYPAR_MAX_LEVELS. */
int hp_prime_factors(int n, int *factors);

/* A route under construction: counts all links, keeps the first `max`. */
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

/* The device whose figures are assumed for a device unknown to the table, except those that
 * must be given. */
#define MACHINE_ASSUMED_DEVICE "v100"

/* device.c: the row of exactly this name, or NULL; and the row that people call so. */
const struct hypar_device_type *hp_device_type_find(const char *name);
/* Forget all figures but the name; energies become those of HyPar's array. */
void hp_device_unmeasured(struct hypar_device *device);
enum hypar_status hp_device_type_get(const struct hypar_device_type **out, const char *name,
                                     struct hypar_error *err);

/* local.c: the device that is one of `n` equal shares of this computer. */
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
/* The value of an option that nothing sets; NAN: none. */
double hp_option_default(const struct part *part, enum option option);
/* "0.8x": a factor above 0. */
bool hp_factor_read(const char *text, double *value);
/* Parse the value of an option; false: the text is no such quantity, or lacks its unit. */
bool hp_option_read(enum option option, const char *text, double *value);
/* A figure of a device, by option. */
double hp_device_get(const struct hypar_device *device, enum option option);
void hp_device_set(struct hypar_device *device, enum option option, double value);
/* Is `value` allowed for the option? If not, the error says which values are. */
enum hypar_status hp_option_check(const struct part *part, enum option option, double value,
                                  struct hypar_error *err);
/* Set the part's options that are not set to their defaults. */
enum hypar_status hp_part_finish(struct part *part, struct hypar_error *err);
struct hypar_device hp_part_device(const struct part *part);
/* The bandwidth that messages reach on the links at the devices (the only kind, or those inside
 * a node), and on a network card. */
double hp_part_link_bytes_per_s(const struct part *part);
double hp_part_card_bytes_per_s(const struct part *part);

/* node.c: nodes of a cluster with their own figures ("node 17 is slow"). Such a cluster becomes
 * several parts in a row, so that all code for parts handles these nodes. */
/* The figures of nodes first..last, to be set; fails if the part has no such nodes. */
enum hypar_status hp_part_node_figures(struct part *part, int64_t first, int64_t last,
                                       struct node_figures **out, struct hypar_error *err);
/* Set one figure, once; as a factor or as a value. */
enum hypar_status hp_node_set(const struct part *part, struct node_figures *figures,
                              enum option option, bool times, double value,
                              struct hypar_error *err);
/* The options that `peak` sets, always as a factor: every peak, the rate of element-wise
 * arithmetic, and the power, so that kernels at the limit are slower by this factor, too. */
enum { N_PEAK_OPTIONS = 10 };
extern const enum option hp_peak_options[N_PEAK_OPTIONS];
/* The parts, with a separate part for each run of equal nodes. */
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
/* NULL if no word describes the machine. */
const char *hp_machine_make_word(struct arena *arena, const struct hypar_machine *machine);
/* A word that reads back with the same figures, for any machine of parts. For devices unknown
 * to the table it names their file, or else all figures that differ from the assumed ones. */
const char *hp_machine_full_word(struct arena *arena, const struct hypar_machine *machine);

/* site.c: does the name consist of letters, digits, '.', '_' and '-', with a letter or a digit
 * first? */
bool hp_is_plain_name(const char *name, size_t length);
/* The path of the site's file of this name; false: there is none. */
bool hp_site_find(enum hypar_site_kind kind, const char *name, char path[HYPAR_PLACE_BYTES]);
/* The *n names of before[], then those of the site's files. */
const char *const *hp_site_names(struct arena *arena, enum hypar_site_kind kind,
                                 const char *const *before, int *n);

/* device_file.c: a device that a file describes, "hypar-device/1". */
bool hp_device_is_file(const char *name);
/* Set the part's device from the file at `path`; its figures become the part's defaults. */
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
/* Does the part's device have a source other than the table of devices? */
bool hp_part_own_source(const struct part *part);
/* Read a device by name, by its file, or as an object with figures, which become the part's. */
enum hypar_status hp_part_read_device(struct part *part, const struct json *at,
                                      struct hypar_error *err);
/* Set the part's device by name; a device unknown to the table only if `may_be_new`. */
enum hypar_status hp_part_choose_type(struct part *part, const struct json *at,
                                      const char *name, bool may_be_new,
                                      struct hypar_error *err);
/* Read an option's value: within its row's bounds, and whole where it counts something. */
enum hypar_status hp_option_json(const struct json *at, enum option option, double *value,
                                 struct hypar_error *err);
/* Read the option's member of `object`, if it is present. */
enum hypar_status hp_part_read_option(struct part *part, const struct json *object,
                                      enum option option, struct hypar_error *err);

/* network_json.c: the explicit form. */
enum hypar_status hp_network_read(struct hypar_machine **out, const struct json *at,
                                  struct hypar_error *err);
void hp_network_write(struct json_writer *w, const struct hypar_machine *machine);

#endif /* MACHINE_MACHINE_H */
