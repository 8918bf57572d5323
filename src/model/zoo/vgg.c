/* VGG (Simonyan, Zisserman, ICLR 2015), as HyPar counts it (configurations A to E, no biases)
 * and as torchvision has it (biases, dropout). */
#include "model/zoo/zoo.h"

/* Convolutions of each block; then 1 if the third of a block is 1x1. */
enum { BLOCKS = 5, POINTWISE = BLOCKS };
static const int vgg_a[] = { 1, 1, 2, 2, 2, 0 };
static const int vgg_b[] = { 2, 2, 2, 2, 2, 0 };
static const int vgg_c[] = { 2, 2, 3, 3, 3, 1 };
static const int vgg_d[] = { 2, 2, 3, 3, 3, 0 };
static const int vgg_e[] = { 2, 2, 4, 4, 4, 0 };

static int features(struct net *net, const int *convs, int x, bool bias)
{
    static const int channels[BLOCKS] = { 64, 128, 256, 512, 512 };
    for (int block = 0; block < BLOCKS; block++) {
        for (int i = 0; i < convs[block]; i++) {
            struct window window =
                convs[POINTWISE] && i == 2 ? square(1, 1, 0) : square(3, 1, 1);
            x = hp_net_conv(net, hp_net_label(net, "conv%d_%d", block + 1, i + 1), x,
                            channels[block], window, bias);
            x = relu(net, hp_net_label(net, "relu%d_%d", block + 1, i + 1), x);
        }
        x = max_pool(net, hp_net_label(net, "pool%d", block + 1), x, 2, 2, 0);
    }
    return x;
}

static void hypar_vgg(struct net *net, const int *convs)
{
    int x = flatten(net, "flatten", features(net, convs, images(net, 3, 224), false));
    hp_net_classify(net, hp_net_connected(net, x, INPUTS(4096, 4096, 1000)));
}

enum { DEPTH, IMAGE, CLASSES };

static const struct option vgg_options[] = {
    [DEPTH] = { "depth", 16, 11, 19 },
    [IMAGE] = { "image", 224, 32, 4096 },
    [CLASSES] = { "classes", 1000, 1, 1 << 20 },
};

static void vgg(struct net *net, const int *option)
{
    static const int *const by_depth[] = {
        [11] = vgg_a, [13] = vgg_b, [16] = vgg_d, [19] = vgg_e
    };
    const int *chosen = by_depth[option[DEPTH]];
    if (!chosen) {
        hp_net_fail(net, "depth is %d, expected 11, 13, 16 or 19", option[DEPTH]);
        return;
    }
    int x = features(net, chosen, images(net, 3, option[IMAGE]), true);
    x = flatten(net, "flatten", hp_net_adaptive_pool(net, "avgpool", x, 7));
    for (int i = 1; i <= 2; i++) {
        x = linear_bias(net, hp_net_label(net, "fc%d", i), x, 4096);
        x = relu(net, hp_net_label(net, "fc%d.relu", i), x);
        x = dropout(net, hp_net_label(net, "fc%d.dropout", i), x, 0.5);
    }
    hp_net_classify(net, linear_bias(net, "fc3", x, option[CLASSES]));
}

const struct family hp_family_vgg_a = { .build = hypar_vgg, .fixed = vgg_a };
const struct family hp_family_vgg_b = { .build = hypar_vgg, .fixed = vgg_b };
const struct family hp_family_vgg_c = { .build = hypar_vgg, .fixed = vgg_c };
const struct family hp_family_vgg_d = { .build = hypar_vgg, .fixed = vgg_d };
const struct family hp_family_vgg_e = { .build = hypar_vgg, .fixed = vgg_e };
const struct family hp_family_vgg = FAMILY(vgg, vgg_options);
