/* VGG (Simonyan, Zisserman, ICLR 2015), as HyPar counts it (configurations A to E, no biases)
 * and as torchvision has it (biases, dropout). */
#include "model/zoo/zoo.h"

struct vgg {
    int depth;      /* weighted layers */
    int convs[5];   /* of each block */
    bool pointwise; /* configuration C: the third of a block is 1x1 */
};

static const struct vgg a = { 11, { 1, 1, 2, 2, 2 }, false };
static const struct vgg b = { 13, { 2, 2, 2, 2, 2 }, false };
static const struct vgg c = { 16, { 2, 2, 3, 3, 3 }, true };
static const struct vgg d = { 16, { 2, 2, 3, 3, 3 }, false };
static const struct vgg e = { 19, { 2, 2, 4, 4, 4 }, false };

static int features(struct net *net, const struct vgg *vgg, int x, bool bias)
{
    static const int channels[5] = { 64, 128, 256, 512, 512 };
    for (int block = 0; block < 5; block++) {
        for (int i = 0; i < vgg->convs[block]; i++) {
            struct window window = vgg->pointwise && i == 2 ? square(1, 1, 0) : square(3, 1, 1);
            x = hp_net_conv(net, hp_net_label(net, "conv%d_%d", block + 1, i + 1), x,
                            channels[block], window, bias);
            x = relu(net, hp_net_label(net, "relu%d_%d", block + 1, i + 1), x);
        }
        x = max_pool(net, hp_net_label(net, "pool%d", block + 1), x, 2, 2, 0);
    }
    return x;
}

static void hypar_vgg(struct net *net, const struct vgg *vgg)
{
    int x = flatten(net, "flatten", features(net, vgg, images(net, 3, 224), false));
    x = relu(net, "fc1.relu", linear(net, "fc1", x, 4096));
    x = relu(net, "fc2.relu", linear(net, "fc2", x, 4096));
    hp_net_classify(net, linear(net, "fc3", x, 1000));
}

static void vgg_a(struct net *net, const int *option)
{
    (void)option;
    hypar_vgg(net, &a);
}

static void vgg_b(struct net *net, const int *option)
{
    (void)option;
    hypar_vgg(net, &b);
}

static void vgg_c(struct net *net, const int *option)
{
    (void)option;
    hypar_vgg(net, &c);
}

static void vgg_d(struct net *net, const int *option)
{
    (void)option;
    hypar_vgg(net, &d);
}

static void vgg_e(struct net *net, const int *option)
{
    (void)option;
    hypar_vgg(net, &e);
}

enum { DEPTH, IMAGE, CLASSES };

static const struct option vgg_options[] = {
    [DEPTH] = { "depth", 16, 11, 19 },
    [IMAGE] = { "image", 224, 32, 4096 },
    [CLASSES] = { "classes", 1000, 1, 1 << 20 },
};

static void vgg(struct net *net, const int *option)
{
    static const struct vgg *const configurations[] = { &a, &b, &d, &e };
    const struct vgg *chosen = NULL;
    for (int i = 0; i < 4; i++)
        if (configurations[i]->depth == option[DEPTH])
            chosen = configurations[i];
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

const struct family hp_family_vgg_a = { .build = vgg_a };
const struct family hp_family_vgg_b = { .build = vgg_b };
const struct family hp_family_vgg_c = { .build = vgg_c };
const struct family hp_family_vgg_d = { .build = vgg_d };
const struct family hp_family_vgg_e = { .build = vgg_e };
const struct family hp_family_vgg = FAMILY(vgg, vgg_options);
