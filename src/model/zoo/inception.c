/* GoogLeNet (Szegedy et al., CVPR 2015) and Inception-v3 (CVPR 2016), as torchvision has them,
 * without the auxiliary heads. */
#include "model/zoo/zoo.h"

enum { IMAGE, CLASSES };

/* Convolution, batch norm, ReLU. */
static int unit(struct net *net, const char *name, int x, int out, struct window window)
{
    x = hp_net_conv(net, name, x, out, window, false);
    size_t outer = hp_net_enter(net, "%s", name);
    x = relu(net, "relu", batch_norm(net, "bn", x, 1e-3));
    hp_net_leave(net, outer);
    return x;
}

static int pointwise(struct net *net, const char *name, int x, int out)
{
    return unit(net, name, x, out, square(1, 1, 0));
}

/* 1 x n and n x 1, the map's size kept. */
static int across(struct net *net, const char *name, int x, int out, int n)
{
    return unit(net, name, x, out, (struct window){ { 1, n }, 1, { 0, n / 2 } });
}

static int along(struct net *net, const char *name, int x, int out, int n)
{
    return unit(net, name, x, out, (struct window){ { n, 1 }, 1, { n / 2, 0 } });
}

/* GoogLeNet ------------------------------------------------------------------------------ */

static const struct option googlenet_options[] = {
    [IMAGE] = { "image", 224, 32, 4096 },
    [CLASSES] = { "classes", 1000, 1, 1 << 20 },
};

struct branches {
    const char *name;
    int one, reduce3, three, reduce5, five, pool;
    int max_pool; /* after it, 0: none */
};

static int ceil_pool(struct net *net, const char *name, int x, int kernel)
{
    return hp_net_pool(net, OP_MAX_POOL, name, x, square(kernel, 2, 0), true);
}

/* The branch called 5x5 has 3x3 kernels in torchvision. */
static int googlenet_block(struct net *net, int x, const struct branches *b)
{
    size_t outer = hp_net_enter(net, "%s", b->name);
    int one = pointwise(net, "branch1", x, b->one);
    int three = pointwise(net, "branch2.0", x, b->reduce3);
    three = unit(net, "branch2.1", three, b->three, square(3, 1, 1));
    int five = pointwise(net, "branch3.0", x, b->reduce5);
    five = unit(net, "branch3.1", five, b->five, square(3, 1, 1));
    int pool = hp_net_pool(net, OP_MAX_POOL, "branch4.0", x, square(3, 1, 1), true);
    pool = pointwise(net, "branch4.1", pool, b->pool);
    x = hp_net_concat(net, "concat", (const int[]){ one, three, five, pool }, 4, 1);
    hp_net_leave(net, outer);
    return x;
}

static void googlenet(struct net *net, const int *option)
{
    static const struct branches blocks[] = {
        { "inception3a", 64, 96, 128, 16, 32, 32, 0 },
        { "inception3b", 128, 128, 192, 32, 96, 64, 3 },
        { "inception4a", 192, 96, 208, 16, 48, 64, 0 },
        { "inception4b", 160, 112, 224, 24, 64, 64, 0 },
        { "inception4c", 128, 128, 256, 24, 64, 64, 0 },
        { "inception4d", 112, 144, 288, 32, 64, 64, 0 },
        { "inception4e", 256, 160, 320, 32, 128, 128, 2 },
        { "inception5a", 256, 160, 320, 32, 128, 128, 0 },
        { "inception5b", 384, 192, 384, 48, 128, 128, 0 },
    };
    int x = unit(net, "conv1", images(net, 3, option[IMAGE]), 64, square(7, 2, 3));
    x = pointwise(net, "conv2", ceil_pool(net, "maxpool1", x, 3), 64);
    x = ceil_pool(net, "maxpool2", unit(net, "conv3", x, 192, square(3, 1, 1)), 3);
    int pools = 2;
    for (size_t i = 0; i < sizeof blocks / sizeof blocks[0]; i++) {
        x = googlenet_block(net, x, &blocks[i]);
        if (blocks[i].max_pool)
            x = ceil_pool(net, hp_net_label(net, "maxpool%d", ++pools), x, blocks[i].max_pool);
    }
    x = dropout(net, "dropout", apply(net, OP_GLOBAL_AVG_POOL, "avgpool", x), 0.2);
    hp_net_classify(net, linear_bias(net, "fc", x, option[CLASSES]));
}

/* Inception-v3 --------------------------------------------------------------------------- */

static const struct option inception_options[] = {
    [IMAGE] = { "image", 299, 75, 4096 },
    [CLASSES] = { "classes", 1000, 1, 1 << 20 },
};

static int pool_branch(struct net *net, int x, int out)
{
    return pointwise(net, "pool.1", avg_pool(net, "pool.0", x, 3, 1, 1), out);
}

static int inception_a(struct net *net, int x, int pool)
{
    int one = pointwise(net, "1x1", x, 64);
    int five = pointwise(net, "5x5.0", x, 48);
    five = unit(net, "5x5.1", five, 64, square(5, 1, 2));
    int three = pointwise(net, "3x3dbl.0", x, 64);
    three = unit(net, "3x3dbl.1", three, 96, square(3, 1, 1));
    three = unit(net, "3x3dbl.2", three, 96, square(3, 1, 1));
    int pooled = pool_branch(net, x, pool);
    return hp_net_concat(net, "concat", (const int[]){ one, five, three, pooled }, 4, 1);
}

static int inception_b(struct net *net, int x, int unused)
{
    (void)unused;
    int three = unit(net, "3x3", x, 384, square(3, 2, 0));
    int twice = pointwise(net, "3x3dbl.0", x, 64);
    twice = unit(net, "3x3dbl.1", twice, 96, square(3, 1, 1));
    twice = unit(net, "3x3dbl.2", twice, 96, square(3, 2, 0));
    int pooled = max_pool(net, "pool", x, 3, 2, 0);
    return hp_net_concat(net, "concat", (const int[]){ three, twice, pooled }, 3, 1);
}

static int inception_c(struct net *net, int x, int width)
{
    int one = pointwise(net, "1x1", x, 192);
    int seven = pointwise(net, "7x7.0", x, width);
    seven = across(net, "7x7.1", seven, width, 7);
    seven = along(net, "7x7.2", seven, 192, 7);
    int twice = pointwise(net, "7x7dbl.0", x, width);
    twice = along(net, "7x7dbl.1", twice, width, 7);
    twice = across(net, "7x7dbl.2", twice, width, 7);
    twice = along(net, "7x7dbl.3", twice, width, 7);
    twice = across(net, "7x7dbl.4", twice, 192, 7);
    int pooled = pool_branch(net, x, 192);
    return hp_net_concat(net, "concat", (const int[]){ one, seven, twice, pooled }, 4, 1);
}

static int inception_d(struct net *net, int x, int unused)
{
    (void)unused;
    int three = pointwise(net, "3x3.0", x, 192);
    three = unit(net, "3x3.1", three, 320, square(3, 2, 0));
    int seven = pointwise(net, "7x7x3.0", x, 192);
    seven = across(net, "7x7x3.1", seven, 192, 7);
    seven = along(net, "7x7x3.2", seven, 192, 7);
    seven = unit(net, "7x7x3.3", seven, 192, square(3, 2, 0));
    int pooled = max_pool(net, "pool", x, 3, 2, 0);
    return hp_net_concat(net, "concat", (const int[]){ three, seven, pooled }, 3, 1);
}

/* Both halves of a 3x3 that is split into 1x3 and 3x1 side by side. */
static int both(struct net *net, const char *name, int x)
{
    size_t outer = hp_net_enter(net, "%s", name);
    int wide = across(net, "a", x, 384, 3), high = along(net, "b", x, 384, 3);
    x = concat(net, "concat", wide, high, 1);
    hp_net_leave(net, outer);
    return x;
}

static int inception_e(struct net *net, int x, int unused)
{
    (void)unused;
    int one = pointwise(net, "1x1", x, 320);
    int three = both(net, "3x3.1", pointwise(net, "3x3.0", x, 384));
    int twice = pointwise(net, "3x3dbl.0", x, 448);
    twice = both(net, "3x3dbl.2", unit(net, "3x3dbl.1", twice, 384, square(3, 1, 1)));
    int pooled = pool_branch(net, x, 192);
    return hp_net_concat(net, "concat", (const int[]){ one, three, twice, pooled }, 4, 1);
}

static void inception_v3(struct net *net, const int *option)
{
    static const struct {
        const char *name;
        int (*build)(struct net *net, int x, int width);
        int width;
    } blocks[] = {
        { "Mixed_5b", inception_a, 32 },  { "Mixed_5c", inception_a, 64 },
        { "Mixed_5d", inception_a, 64 },  { "Mixed_6a", inception_b, 0 },
        { "Mixed_6b", inception_c, 128 }, { "Mixed_6c", inception_c, 160 },
        { "Mixed_6d", inception_c, 160 }, { "Mixed_6e", inception_c, 192 },
        { "Mixed_7a", inception_d, 0 },   { "Mixed_7b", inception_e, 0 },
        { "Mixed_7c", inception_e, 0 },
    };
    int x = unit(net, "Conv2d_1a_3x3", images(net, 3, option[IMAGE]), 32, square(3, 2, 0));
    x = unit(net, "Conv2d_2a_3x3", x, 32, square(3, 1, 0));
    x = unit(net, "Conv2d_2b_3x3", x, 64, square(3, 1, 1));
    x = pointwise(net, "Conv2d_3b_1x1", max_pool(net, "maxpool1", x, 3, 2, 0), 80);
    x = unit(net, "Conv2d_4a_3x3", x, 192, square(3, 1, 0));
    x = max_pool(net, "maxpool2", x, 3, 2, 0);
    for (size_t i = 0; i < sizeof blocks / sizeof blocks[0]; i++) {
        size_t outer = hp_net_enter(net, "%s", blocks[i].name);
        x = blocks[i].build(net, x, blocks[i].width);
        hp_net_leave(net, outer);
    }
    x = dropout(net, "dropout", apply(net, OP_GLOBAL_AVG_POOL, "avgpool", x), 0.5);
    hp_net_classify(net, linear_bias(net, "fc", x, option[CLASSES]));
}

const struct family hp_family_googlenet = FAMILY(googlenet, googlenet_options);
const struct family hp_family_inception_v3 = FAMILY(inception_v3, inception_options);
