/* DenseNet (Huang et al., CVPR 2017) as torchvision has it: growth 32, bottlenecks of 4 x 32.
 */
#include "model/zoo/zoo.h"

enum { DEPTH, IMAGE, CLASSES };
enum { GROWTH = 32 };

static const struct option densenet_options[] = {
    [DEPTH] = { "depth", 121, 121, 201 },
    [IMAGE] = { "image", 224, 32, 4096 },
    [CLASSES] = { "classes", 1000, 1, 1 << 20 },
};

static const struct densenet {
    int depth, layers[4];
} depths[] = {
    { 121, { 6, 12, 24, 16 } },
    { 169, { 6, 12, 32, 32 } },
    { 201, { 6, 12, 48, 32 } },
};

static int norm_relu(struct net *net, int number, int x)
{
    x = batch_norm(net, hp_net_label(net, "norm%d", number), x, 1e-5);
    return relu(net, hp_net_label(net, "relu%d", number), x);
}

/* A layer's output is joined to all outputs before it, by one concatenation per layer. */
static int dense_block(struct net *net, int x, int layers)
{
    for (int i = 1; i <= layers; i++) {
        size_t outer = hp_net_enter(net, "denselayer%d", i);
        int y = conv(net, "conv1", norm_relu(net, 1, x), 4 * GROWTH, 1, 1, 0);
        y = conv(net, "conv2", norm_relu(net, 2, y), GROWTH, 3, 1, 1);
        x = concat(net, "concat", x, y, 1);
        hp_net_leave(net, outer);
    }
    return x;
}

static int transition(struct net *net, int x)
{
    int half = hp_net_dim(net, x, 1) / 2;
    x = relu(net, "relu", batch_norm(net, "norm", x, 1e-5));
    return avg_pool(net, "pool", conv(net, "conv", x, half, 1, 1, 0), 2, 2, 0);
}

static void densenet(struct net *net, const int *option)
{
    const struct densenet *chosen = NULL;
    for (size_t i = 0; i < sizeof depths / sizeof depths[0]; i++)
        if (depths[i].depth == option[DEPTH])
            chosen = &depths[i];
    if (!chosen) {
        hp_net_fail(net, "depth is %d, expected 121, 169 or 201", option[DEPTH]);
        return;
    }
    int x = conv(net, "conv0", images(net, 3, option[IMAGE]), 64, 7, 2, 3);
    x = max_pool(net, "pool0", norm_relu(net, 0, x), 3, 2, 1);
    for (int block = 0; block < 4; block++) {
        size_t outer = hp_net_enter(net, "denseblock%d", block + 1);
        x = dense_block(net, x, chosen->layers[block]);
        hp_net_leave(net, outer);
        if (block == 3)
            break;
        outer = hp_net_enter(net, "transition%d", block + 1);
        x = transition(net, x);
        hp_net_leave(net, outer);
    }
    x = apply(net, OP_GLOBAL_AVG_POOL, "avgpool", norm_relu(net, 5, x));
    hp_net_classify(net, linear_bias(net, "classifier", x, option[CLASSES]));
}

const struct family hp_family_densenet = FAMILY(densenet, densenet_options);
