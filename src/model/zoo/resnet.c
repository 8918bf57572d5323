/* ResNet (He et al., CVPR 2016) as torchvision has it: the stride of a bottleneck lies on its
 * 3x3 convolution. */
#include "model/zoo/zoo.h"

enum { DEPTH, IMAGE, CLASSES };

static const struct option resnet_options[] = {
    [DEPTH] = { "depth", 50, 18, 152 },
    [IMAGE] = { "image", 224, 32, 4096 },
    [CLASSES] = { "classes", 1000, 1, 1 << 20 },
};

static const struct resnet {
    int depth, blocks[4];
    bool bottleneck;
} depths[] = {
    { 18, { 2, 2, 2, 2 }, false },  { 34, { 3, 4, 6, 3 }, false },
    { 50, { 3, 4, 6, 3 }, true },   { 101, { 3, 4, 23, 3 }, true },
    { 152, { 3, 8, 36, 3 }, true },
};

/* Convolution `number` of a block with its batch norm. */
static int conv_norm(struct net *net, int number, int x, int out, int kernel, int stride)
{
    x = conv(net, hp_net_label(net, "conv%d", number), x, out, kernel, stride, kernel / 2);
    return batch_norm(net, hp_net_label(net, "bn%d", number), x, 1e-5);
}

static int block(struct net *net, int x, int width, int stride, bool bottleneck)
{
    int out = bottleneck ? 4 * width : width, skip = x;
    if (bottleneck) {
        x = relu(net, "relu1", conv_norm(net, 1, x, width, 1, 1));
        x = relu(net, "relu2", conv_norm(net, 2, x, width, 3, stride));
        x = conv_norm(net, 3, x, out, 1, 1);
    } else {
        x = relu(net, "relu1", conv_norm(net, 1, x, width, 3, stride));
        x = conv_norm(net, 2, x, out, 3, 1);
    }
    if (stride != 1 || hp_net_dim(net, skip, 1) != out) {
        skip = conv(net, "downsample.conv", skip, out, 1, stride, 0);
        skip = batch_norm(net, "downsample.bn", skip, 1e-5);
    }
    return relu(net, "relu", add(net, "add", x, skip));
}

static void resnet(struct net *net, const int *option)
{
    const struct resnet *chosen = NULL;
    for (size_t i = 0; i < sizeof depths / sizeof depths[0]; i++)
        if (depths[i].depth == option[DEPTH])
            chosen = &depths[i];
    if (!chosen) {
        hp_net_fail(net, "depth is %d, expected 18, 34, 50, 101 or 152", option[DEPTH]);
        return;
    }
    int x = images(net, 3, option[IMAGE]);
    x = batch_norm(net, "bn1", conv(net, "conv1", x, 64, 7, 2, 3), 1e-5);
    x = max_pool(net, "maxpool", relu(net, "relu", x), 3, 2, 1);
    for (int layer = 0; layer < 4; layer++) {
        for (int i = 0; i < chosen->blocks[layer]; i++) {
            size_t outer = hp_net_enter(net, "layer%d.%d", layer + 1, i);
            x = block(net, x, 64 << layer, layer > 0 && i == 0 ? 2 : 1, chosen->bottleneck);
            hp_net_leave(net, outer);
        }
    }
    x = apply(net, OP_GLOBAL_AVG_POOL, "avgpool", x);
    hp_net_classify(net, linear_bias(net, "fc", x, option[CLASSES]));
}

const struct family hp_family_resnet = FAMILY(resnet, resnet_options);
