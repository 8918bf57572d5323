/* MobileNetV2 (Sandler et al., CVPR 2018), width 1, as torchvision has it. */
#include "model/zoo/zoo.h"

enum { IMAGE, CLASSES };

static const struct option mobilenet_options[] = {
    [IMAGE] = { "image", 224, 32, 4096 },
    [CLASSES] = { "classes", 1000, 1, 1 << 20 },
};

/* Batch norm and ReLU6. */
static int norm_relu6(struct net *net, const char *name, int x)
{
    size_t outer = hp_net_enter(net, "%s", name);
    x = batch_norm(net, "bn", x, 1e-5);
    x = hp_net_op(net, OP_CLIP, "relu6", 1, &x,
                  ATTRS({ ATTR_MIN, 1, V(0) }, { ATTR_MAX, 1, V(6) }));
    hp_net_leave(net, outer);
    return x;
}

/* Inverted residual: widen, filter each channel by itself, narrow. */
static int bottleneck(struct net *net, int x, int expand, int out, int stride)
{
    int in = hp_net_dim(net, x, 1), y = x;
    if (expand != 1)
        y = norm_relu6(net, "expand", conv(net, "expand", y, expand * in, 1, 1, 0));
    y = hp_net_depthwise(net, "depthwise", y, square(3, stride, 1));
    y = norm_relu6(net, "depthwise", y);
    y = batch_norm(net, "project.bn", conv(net, "project", y, out, 1, 1, 0), 1e-5);
    return stride == 1 && in == out ? add(net, "add", x, y) : y;
}

static void mobilenet_v2(struct net *net, const int *option)
{
    static const struct {
        int expand, out, repeat, stride;
    } rows[] = { { 1, 16, 1, 1 }, { 6, 24, 2, 2 },  { 6, 32, 3, 2 }, { 6, 64, 4, 2 },
                 { 6, 96, 3, 1 }, { 6, 160, 3, 2 }, { 6, 320, 1, 1 } };
    int x = conv(net, "stem", images(net, 3, option[IMAGE]), 32, 3, 2, 1);
    x = norm_relu6(net, "stem", x);
    int number = 1;
    for (size_t r = 0; r < sizeof rows / sizeof rows[0]; r++) {
        for (int i = 0; i < rows[r].repeat; i++) {
            size_t outer = hp_net_enter(net, "block%d", number++);
            x = bottleneck(net, x, rows[r].expand, rows[r].out, i == 0 ? rows[r].stride : 1);
            hp_net_leave(net, outer);
        }
    }
    x = norm_relu6(net, "head", conv(net, "head", x, 1280, 1, 1, 0));
    x = dropout(net, "dropout", apply(net, OP_GLOBAL_AVG_POOL, "avgpool", x), 0.2);
    hp_net_classify(net, linear_bias(net, "classifier", x, option[CLASSES]));
}

const struct family hp_family_mobilenet_v2 = FAMILY(mobilenet_v2, mobilenet_options);
