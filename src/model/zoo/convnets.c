/* Builders of small and early networks: a multi-layer perceptron, LeNet-5, AlexNet and others.
 */
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

/* The convolutions of "One weird trick" (Krizhevsky 2014), up to the last pooling. */
static int alexnet_features(struct net *net, int x, const int *channels, bool bias)
{
    static const int kernel[5] = { 11, 5, 3, 3, 3 }, pad[5] = { 2, 2, 1, 1, 1 };
    for (int i = 0; i < 5; i++) {
        x = hp_net_conv(net, hp_net_label(net, "conv%d", i + 1), x, channels[i],
                        square(kernel[i], i == 0 ? 4 : 1, pad[i]), bias);
        x = relu(net, hp_net_label(net, "relu%d", i + 1), x);
        if (i < 2)
            x = max_pool(net, hp_net_label(net, "pool%d", i + 1), x, 3, 2, 0);
    }
    return x;
}

static void alexnet(struct net *net, const int *option)
{
    int x = images(net, 3, option[IMAGE]);
    x = alexnet_features(net, x, (const int[]){ 64, 192, 384, 256, 256 }, true);
    x = max_pool(net, "pool5", x, 3, 2, 0);
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
    x = alexnet_features(net, x, (const int[]){ 64, 192, 384, 256, 256 }, false);
    x = flatten(net, "flatten", max_pool(net, "pool5", x, 3, 2, 1));
    x = relu(net, "fc1.relu", linear(net, "fc1", x, 4096));
    x = relu(net, "fc2.relu", linear(net, "fc2", x, 4096));
    hp_net_classify(net, linear(net, "fc3", x, 1000));
}

const struct family hp_family_mlp = { .build = mlp, .sizes = true };
const struct family hp_family_lenet5 = FAMILY(lenet5, lenet5_options);
const struct family hp_family_alexnet = FAMILY(alexnet, alexnet_options);
const struct family hp_family_alexnet_optcnn = { .build = alexnet_optcnn };
