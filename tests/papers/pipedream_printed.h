/* What PipeDream's published optimizer computes from its published profiles, and Table 1 of the
 * paper (Narayanan et al., SOSP 2019). */
#ifndef TESTS_PAPERS_PIPEDREAM_PRINTED_H
#define TESTS_PAPERS_PIPEDREAM_PRINTED_H

#include <glob.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include <hypar/search.h>

struct pipedream_row {
    const char *profile, *machine;
    bool straight, free_transfers;
    int states;
    double one_worker_s, bottleneck_s; /* seconds for one minibatch */
    double dp_speedup, over_dp; /* of data parallel; of the plan over it; 0: not printed */
    const char *replicas;
    bool unique;  /* no other plan is as fast, as far as is known */
    double cpu_s; /* of the published optimizer */
};

enum { N_PIPEDREAM_ROWS = 12 };

/* clang-format off */
static const struct pipedream_row pipedream_rows[N_PIPEDREAM_ROWS] = {
    { "vgg16", "cluster:1x4,intra=1GB/s", false, false, 40, .672535, .205521, 1.153, 2.838, "3-1", true, .18 },
    { "vgg16", "cluster:1x8,intra=1GB/s", false, false, 40, .672535, .103833, 2.062, 3.142, "7-1", true, .16 },
    { "vgg16", "cluster:1x16,intra=1GB/s", false, false, 40, .672535, .056530, 3.916, 3.038, "13-2-1", true, .24 },
    { "vgg16", "cluster:1x4,intra=5GB/s", false, false, 40, .672535, .170796, 2.678, 1.470, "3-1", true, .14 },
    { "vgg16", "cluster:1x4,intra=1GB/s", false, true, 40, .672535, .175733, 1.153, 3.319, "3-1", true, .14 },
    { "vgg16", "cluster:1x16,intra=1GB/s", true, false, 40, .672535, .411042, 0, 0, "16x1", true, .14 },
    { "vgg16", "cluster:4x4,intra=10GB/s,inter=1.25GB/s", false, false, 40, .672535, .067134, 4.966, 2.017, "12-1-1-1-1", false, .26 },
    { "alexnet", "cluster:1x4,intra=1GB/s", false, false, 22, .085321, .034217, .417, 5.980, "3-1", true, .13 },
    { "alexnet", "cluster:1x16,intra=1GB/s", false, false, 22, .085321, .018874, 1.363, 3.317, "15-1", true, .16 },
    { "gnmt", "cluster:1x4,intra=1GB/s", false, false, 99, .089416, .025868, .148, 23.336, "4x1", true, .17 },
    { "gnmt", "cluster:1x16,intra=1GB/s", false, false, 99, .089416, .019285, .478, 9.709, "1-1-7-7x1", false, .67 },
    { "gnmt", "cluster:4x4,intra=10GB/s,inter=1.25GB/s", false, false, 99, .089416, .011081, .656, 12.308, "4x1-4-4x1-3-1", false, 1.20 },
};

/* Table 1: what the authors' cluster chose and gained over data parallel, in time to accuracy.
 * Cluster A: 4 V100 per server on PCIe, 10 Gb/s between; B: 8 V100 on NVLink, 25 Gb/s. */
struct pipedream_printed {
    const char *model, *cluster, *config;
    double speedup;
    const char *profile, *machine; /* where a profile, or a stand-in, allows a comparison */
};

static const struct pipedream_printed pipedream_table1[] = {
    { "VGG-16", "4x4 A", "15-1", 5.28, "vgg16", "cluster:4x4,intra=10GB/s,inter=1.25GB/s" },
    { "VGG-16", "2x8 B", "15-1", 2.46, "vgg16", "cluster:2x8,intra=30GB/s,inter=3.125GB/s" },
    { "ResNet-50", "4x4 A", "16", 1, "resnet50", "cluster:4x4,intra=10GB/s,inter=1.25GB/s" },
    { "AlexNet", "4x4 A", "15-1", 4.92, "alexnet", "cluster:4x4,intra=10GB/s,inter=1.25GB/s" },
    { "GNMT-8", "4x4 A", "straight", 2.95, "gnmt", "cluster:4x4,intra=10GB/s,inter=1.25GB/s" },
    { "GNMT-8", "2x8 B", "straight", 1.5, "gnmt", "cluster:2x8,intra=30GB/s,inter=3.125GB/s" },
    { "AWD LM", "1x4 A", "straight", 4.25, NULL, NULL },
    { "S2VT", "4x1 C", "2-1-1", 3.01, NULL, NULL },
};
/* clang-format on */

/* Networks of the zoo that stand in for profiles which are not at hand, and their minibatch:
 * the simulator predicts the times of their operators on a V100. */
static const struct pipedream_stand_in {
    const char *profile, *model;
    int64_t batch;
    const char *batch_from;
} pipedream_stand_ins[] = {
    { "vgg16", "vgg16", 128, "the profile's" },
    { "alexnet", "alexnet", 256, "the profile's" },
    { "gnmt", "gnmt8", 64, "ours, the profile does not say" },
    { "resnet50", "resnet50", 128, "ours, no profile was published" },
};

/* The replicas of stages as they are printed: "13-2-1", runs of equal ones as "7x1". */
static inline const char *pipedream_replicas(const struct hypar_pipeline_view *view,
                                             char text[200])
{
    size_t n = 0;
    *text = '\0';
    for (int s = 0; s < view->n_stages && n < 180;) {
        int run = 1, r = view->stage[s].replicas;
        while (s + run < view->n_stages && view->stage[s + run].replicas == r)
            run++;
        const char *dash = s ? "-" : "";
        n += (size_t)(run > 3 ? snprintf(text + n, 200 - n, "%s%dx%d", dash, run, r)
                              : snprintf(text + n, 200 - n, "%s%d", dash, r));
        s += run > 3 ? run : 1;
    }
    return text;
}

/* Writes the folder where the published profiles are: the one that HYPAR_PIPEDREAM_PROFILES
 * names, else data/pipedream in a folder beside the repository. */
static inline void pipedream_profiles(char *path, size_t size)
{
    const char *folder = getenv("HYPAR_PIPEDREAM_PROFILES");
    glob_t beside = { 0 };
    if (!folder && glob("../*/data/pipedream", 0, NULL, &beside) == 0)
        folder = beside.gl_pathv[0];
    snprintf(path, size, "%s", folder ? folder : "data/pipedream");
    globfree(&beside);
}

/* Writes the path of profile `name`. */
static inline void pipedream_profile(char *path, size_t size, const char *name)
{
    char folder[200];
    pipedream_profiles(folder, sizeof folder);
    snprintf(path, size, "%s/%s.txt", folder, name);
}

#endif /* TESTS_PAPERS_PIPEDREAM_PRINTED_H */
