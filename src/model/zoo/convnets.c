/* Builders of small and early networks: a multi-layer perceptron, LeNet-5, AlexNet, and those
 * of HyPar (HPCA 2019) but for its VGGs. */
#include "model/zoo/zoo.h"

enum { IMAGE, CLASSES };

/* Sizes of the input and of each layer; ReLU between the layers. */
static void mlp(struct net *net, const int *size)
{
    int x = hp_net_input(net, "x", 1, size, false);
    for (int i = 1; size[i]; i++) {
        x = linear_bias(net, hp_net_label(net, "fc%d", i), x, size[i]);
        if (size[i + 1])
            x = relu(net, hp_net_label(net, "relu%d", i), x);
    }
    hp_net_classify(net, x);
}

static const struct option lenet5_options[] = {
    [IMAGE] = { "image", 28, 12, 4096 },
    [CLASSES] = { "classes", 10, 1, 1 << 20 },
};

/* LeCun et al. 1998, with full connections between the maps of the second convolution. */
static void lenet5(struct net *net, const int *option)
{
    int x = images(net, 1, option[IMAGE]);
    x = apply(net, OP_TANH, "tanh1", conv_bias(net, "conv1", x, 6, 5, 1, 2));
    x = avg_pool(net, "pool1", x, 2, 2, 0);
    x = apply(net, OP_TANH, "tanh2", conv_bias(net, "conv2", x, 16, 5, 1, 0));
    x = flatten(net, "flatten", avg_pool(net, "pool2", x, 2, 2, 0));
    x = apply(net, OP_TANH, "tanh3", linear_bias(net, "fc1", x, 120));
    x = apply(net, OP_TANH, "tanh4", linear_bias(net, "fc2", x, 84));
    hp_net_classify(net, linear_bias(net, "fc3", x, option[CLASSES]));
}

static const struct option alexnet_options[] = {
    [IMAGE] = { "image", 224, 63, 4096 },
    [CLASSES] = { "classes", 1000, 1, 1 << 20 },
};

/* The convolutions of AlexNet, and poolings behind some of them. */
enum { POOL_1 = 1, POOL_2 = 2, POOL_3 = 4, POOL_5 = 16 };

static int alexnet_features(struct net *net, int x, const int *channels, unsigned pools,
                            bool bias)
{
    static const int kernel[5] = { 11, 5, 3, 3, 3 }, pad[5] = { 2, 2, 1, 1, 1 };
    for (int i = 0; i < 5; i++) {
        x = hp_net_conv(net, hp_net_label(net, "conv%d", i + 1), x, channels[i],
                        square(kernel[i], i == 0 ? 4 : 1, pad[i]), bias);
        x = relu(net, hp_net_label(net, "relu%d", i + 1), x);
        if (pools >> i & 1)
            x = max_pool(net, hp_net_label(net, "pool%d", i + 1), x, 3, 2, 0);
    }
    return x;
}

/* As in "One weird trick" (Krizhevsky 2014). */
static const int alexnet_channels[] = { 64, 192, 384, 256, 256 };

static void alexnet(struct net *net, const int *option)
{
    int x = images(net, 3, option[IMAGE]);
    x = alexnet_features(net, x, alexnet_channels, POOL_1 | POOL_2 | POOL_5, true);
    x = flatten(net, "flatten", hp_net_adaptive_pool(net, "avgpool", x, 6));
    for (int i = 1; i <= 2; i++) {
        x = dropout(net, hp_net_label(net, "fc%d.dropout", i), x, 0.5);
        x = linear_bias(net, hp_net_label(net, "fc%d", i), x, 4096);
        x = relu(net, hp_net_label(net, "fc%d.relu", i), x);
    }
    hp_net_classify(net, linear_bias(net, "fc3", x, option[CLASSES]));
}

/* As OptCNN counts it: no biases, and a last map of 7x7. Of the adaptive pooling from 13 to 7
 * the nearest with equal windows is one of 3 with stride 2 that reaches over the border. */
static void alexnet_optcnn(struct net *net, const int *option)
{
    (void)option;
    int x = images(net, 3, 224);
    x = alexnet_features(net, x, alexnet_channels, POOL_1 | POOL_2, false);
    x = flatten(net, "flatten", max_pool(net, "pool5", x, 3, 2, 1));
    hp_net_classify(net, hp_net_connected(net, x, INPUTS(4096, 4096, 1000)));
}

/* HyPar's networks (HPCA 2019, Table 3) have no biases: the paper counts weights only. */

/* Convolution `number` with ReLU and, if `pool`, a pooling by 2. */
static int convolve(struct net *net, int number, int x, int out, int pad, bool pool)
{
    x = conv(net, hp_net_label(net, "conv%d", number), x, out, 5, 1, pad);
    x = relu(net, hp_net_label(net, "relu%d", number), x);
    return pool ? max_pool(net, hp_net_label(net, "pool%d", number), x, 2, 2, 0) : x;
}

static void sfc(struct net *net, const int *option)
{
    (void)option;
    int x = hp_net_input(net, "x", 1, (const int[]){ 784 }, false);
    hp_net_classify(net, hp_net_connected(net, x, INPUTS(8192, 8192, 8192, 10)));
}

static void sconv(struct net *net, const int *option)
{
    (void)option;
    int x = images(net, 1, 28);
    x = convolve(net, 1, x, 20, 0, false);
    x = convolve(net, 2, x, 50, 0, true);
    x = convolve(net, 3, x, 50, 0, false);
    x = conv(net, "conv4", x, 10, 5, 1, 0);
    x = max_pool(net, "pool4", x, 2, 2, 0);
    hp_net_classify(net, flatten(net, "flatten", x));
}

static void lenet_c(struct net *net, const int *option)
{
    (void)option;
    int x = images(net, 1, 28);
    x = convolve(net, 1, x, 20, 0, true);
    x = convolve(net, 2, x, 50, 0, true);
    x = flatten(net, "flatten", x);
    hp_net_classify(net, hp_net_connected(net, x, INPUTS(500, 10)));
}

static void cifar_c(struct net *net, const int *option)
{
    (void)option;
    int x = images(net, 3, 32);
    x = convolve(net, 1, x, 32, 2, true);
    x = convolve(net, 2, x, 32, 2, true);
    x = convolve(net, 3, x, 64, 2, true);
    x = flatten(net, "flatten", x);
    hp_net_classify(net, hp_net_connected(net, x, INPUTS(64, 10)));
}

/* Channels of the convolutions, sizes of the layers behind them. */
static const int alexnet_t[] = { 48, 128, 192, 192, 128, 2048, 2048, 1000 };
static const int alexnet_hypar[] = { 96, 256, 384, 384, 256, 4096, 4096, 1000 };

/* The maps are as in the paper: 224 -> 55 -> 27 -> 13 -> 13 -> 6. */
static void hypar_alexnet(struct net *net, const int *sizes)
{
    int x = images(net, 3, 224);
    x = alexnet_features(net, x, sizes, POOL_2 | POOL_3 | POOL_5, false);
    hp_net_classify(net, hp_net_connected(net, flatten(net, "flatten", x), 3, sizes + 5));
}

const struct family hp_family_mlp = { .build = mlp, .sizes = true };
const struct family hp_family_lenet5 = FAMILY(lenet5, lenet5_options);
const struct family hp_family_alexnet = FAMILY(alexnet, alexnet_options);
const struct family hp_family_alexnet_optcnn = { .build = alexnet_optcnn };
const struct family hp_family_sfc = { .build = sfc };
const struct family hp_family_sconv = { .build = sconv };
const struct family hp_family_lenet_c = { .build = lenet_c };
const struct family hp_family_cifar_c = { .build = cifar_c };
const struct family hp_family_alexnet_t = { .build = hypar_alexnet, .fixed = alexnet_t };
const struct family hp_family_alexnet_hypar = { .build = hypar_alexnet,
                                                .fixed = alexnet_hypar };
