/* What OptCNN's paper prints (Jia et al., ICML 2018): shared by its test and its benchmark. */
#ifndef TESTS_PAPERS_OPTCNN_PRINTED_H
#define TESTS_PAPERS_OPTCNN_PRINTED_H

/* Fig. 8, AlexNet, numbers moved in a step on g GPUs with 32 images each; the closed forms that
 * the printed values obey. */
enum {
    OPTCNN_WEIGHTS = 74721984,
    OPTCNN_CONV_WEIGHTS = 2468544,
    OPTCNN_FC_INPUT = 12544, /* of a sample */
    OPTCNN_IMAGES = 32,      /* on each GPU */
};

static inline double optcnn_printed_dp(int g)
{
    return 2.0 * g * OPTCNN_WEIGHTS;
}

static inline double optcnn_printed_owt(int g)
{
    return 2.0 * g * OPTCNN_CONV_WEIGHTS + 2.0 * g * OPTCNN_IMAGES * g * OPTCNN_FC_INPUT;
}

static inline double optcnn_printed_layerwise(int g)
{
    return 2.0 * g * OPTCNN_CONV_WEIGHTS + 2.0 * 2 * OPTCNN_IMAGES * g * OPTCNN_FC_INPUT;
}

/* Images per second, measured, on 1, 2, 4, 8 and 16 P100. */
struct optcnn_printed_rates {
    const char *model, *name;
    double dp[5], owt[5], layerwise[5];
};
static const struct optcnn_printed_rates optcnn_printed_rates[] = {
    { "alexnet-optcnn",
      "AlexNet",
      { 745, 1181, 1760, 2484, 3230 },
      { 745, 1400, 2029, 3043, 4260 },
      { 745, 1492, 2741, 4934, 9045 } },
    { "vgg16",
      "VGG-16",
      { 184, 343, 632, 1080, 1660 },
      { 184, 360, 700, 1216, 1990 },
      { 184, 364, 727, 1417, 2715 } },
    { "inception-v3",
      "Inception-v3",
      { 157, 305, 503, 966, 1690 },
      { 157, 310, 522, 992, 1745 },
      { 157, 316, 632, 1248, 2430 } },
};

/* Seconds of the search on 4 GPUs: depth first (0: more than a day) and by elimination. */
struct optcnn_printed_search {
    const char *model, *name;
    int layers;
    double depth_first_s, elimination_s;
};
static const struct optcnn_printed_search optcnn_printed_search[] = {
    { "lenet5", "LeNet-5", 6, 5.6, 0.01 },
    { "alexnet", "AlexNet", 11, 2.1 * 3600, 0.02 },
    { "vgg16", "VGG-16", 21, 0, 0.1 },
    { "inception-v3", "Inception-v3", 102, 0, 0.4 },
};

#endif /* TESTS_PAPERS_OPTCNN_PRINTED_H */
