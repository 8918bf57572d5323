/* Builders of the networks of HyPar (HPCA 2019), Table 3. They have no biases: the paper
 * counts weights only. */
#include "model/zoo/zoo.h"

/* Fully-connected layers fc1, fc2, ... with ReLU between them. */
static int connected(struct net *net, int x, int n, const int *sizes)
{
    for (int i = 0; i < n; i++) {
        x = linear(net, hp_net_label(net, "fc%d", i + 1), x, sizes[i]);
        if (i + 1 < n)
            x = relu(net, hp_net_label(net, "fc%d.relu", i + 1), x);
    }
    return x;
}

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
    hp_net_classify(net, connected(net, x, 4, (const int[]){ 8192, 8192, 8192, 10 }));
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
    hp_net_classify(net, connected(net, x, 2, (const int[]){ 500, 10 }));
}

static void cifar_c(struct net *net, const int *option)
{
    (void)option;
    int x = images(net, 3, 32);
    x = convolve(net, 1, x, 32, 2, true);
    x = convolve(net, 2, x, 32, 2, true);
    x = convolve(net, 3, x, 64, 2, true);
    x = flatten(net, "flatten", x);
    hp_net_classify(net, connected(net, x, 2, (const int[]){ 64, 10 }));
}

/* AlexNet with its maps as in the paper: 224 -> 55 -> 27 -> 13 -> 13 -> 6, pooling after the
 * second, third and fifth convolution. */
static void alexnet(struct net *net, const int *channels)
{
    const int *sizes = channels + 5;
    static const struct {
        int kernel, stride, pad;
        bool pool;
    } convs[5] = {
        { 11, 4, 2, false }, { 5, 1, 2, true }, { 3, 1, 1, true },
        { 3, 1, 1, false },  { 3, 1, 1, true },
    };
    int x = images(net, 3, 224);
    for (int i = 0; i < 5; i++) {
        x = conv(net, hp_net_label(net, "conv%d", i + 1), x, channels[i], convs[i].kernel,
                 convs[i].stride, convs[i].pad);
        x = relu(net, hp_net_label(net, "relu%d", i + 1), x);
        if (convs[i].pool)
            x = max_pool(net, hp_net_label(net, "pool%d", i + 1), x, 3, 2, 0);
    }
    hp_net_classify(net, connected(net, flatten(net, "flatten", x), 3, sizes));
}

/* Channels of the convolutions, sizes of the layers behind them. */
static const int alexnet_t[] = { 48, 128, 192, 192, 128, 2048, 2048, 1000 };
static const int alexnet_hypar[] = { 96, 256, 384, 384, 256, 4096, 4096, 1000 };

const struct family hp_family_sfc = { .build = sfc };
const struct family hp_family_sconv = { .build = sconv };
const struct family hp_family_lenet_c = { .build = lenet_c };
const struct family hp_family_cifar_c = { .build = cifar_c };
const struct family hp_family_alexnet_t = { .build = alexnet, .fixed = alexnet_t };
const struct family hp_family_alexnet_hypar = { .build = alexnet, .fixed = alexnet_hypar };
