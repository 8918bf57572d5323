/* Vision transformer (Dosovitskiy et al., ICLR 2021) as torchvision has it. */
#include "model/zoo/zoo.h"

enum { IMAGE, PATCH, LAYERS, HIDDEN, HEADS, FFN, CLASSES, ATTENTION };

static const struct option vit_options[] = {
    [IMAGE] = { "image", 224, 1, 4096 },         [PATCH] = { "patch", 16, 1, 4096 },
    [LAYERS] = { "layers", 12, 1, 4096 },        [HIDDEN] = { "hidden", 768, 1, 1 << 20 },
    [HEADS] = { "heads", 12, 1, 1 << 20 },       [FFN] = { "ffn", 3072, 1, 1 << 22 },
    [CLASSES] = { "classes", 1000, 1, 1 << 20 }, [ATTENTION] = ATTENTION_OPTION,
};

static int layer(struct net *net, int x, const int *option)
{
    int hidden = option[HIDDEN], y = layer_norm(net, "ln_1", x, 1e-6);
    int q = linear_bias(net, "attn.q", y, hidden);
    int k = linear_bias(net, "attn.k", y, hidden);
    int v = linear_bias(net, "attn.v", y, hidden);
    struct heads how = { .heads = option[HEADS],
                         .kv_heads = option[HEADS],
                         .unfused = option[ATTENTION] };
    y = hp_net_attention(net, "attn", q, k, v, how);
    x = add(net, "attn.add", x, linear_bias(net, "attn.out", y, hidden));

    y = linear_bias(net, "mlp.0", layer_norm(net, "ln_2", x, 1e-6), option[FFN]);
    y = linear_bias(net, "mlp.3", apply(net, OP_GELU, "mlp.gelu", y), hidden);
    return add(net, "mlp.add", x, y);
}

/* Patches as tokens [n, class token and patches, hidden], positions added. */
static int embed_patches(struct net *net, const int *option)
{
    int hidden = option[HIDDEN], patch = option[PATCH], side = option[IMAGE] / patch;
    int x = conv_bias(net, "conv_proj", images(net, 3, option[IMAGE]), hidden, patch, patch, 0);
    x = hp_net_op(net, OP_RESHAPE, "patches", 1, &x,
                  ATTRS({ ATTR_SHAPE, 3, V(0, hidden, side * side) }));
    x = hp_net_op(net, OP_TRANSPOSE, "tokens", 1, &x, ATTRS({ ATTR_PERM, 3, V(0, 2, 1) }));
    int token = hp_net_param(net, "class_token", 3, (const int[]){ 1, 1, hidden });
    x = concat(net, "with_class", token, x, 1);
    int shape[] = { 1, side * side + 1, hidden };
    return add(net, "with_position", x, hp_net_param(net, "pos_embedding", 3, shape));
}

static void vit(struct net *net, const int *option)
{
    if (option[IMAGE] % option[PATCH])
        hp_net_fail(net, "image is %d, expected a multiple of patch, which is %d",
                    option[IMAGE], option[PATCH]);
    hp_net_check_heads(net, option[HIDDEN], option[HEADS], option[HEADS]);
    int x = embed_patches(net, option);
    for (int i = 0; i < option[LAYERS]; i++) {
        size_t outer = hp_net_enter(net, "layers.%d", i);
        x = layer(net, x, option);
        hp_net_leave(net, outer);
    }
    x = slice(net, "class", layer_norm(net, "ln", x, 1e-6), 1, 0, 1);
    x = squeeze(net, "class.squeeze", x, 1);
    hp_net_classify(net, linear_bias(net, "head", x, option[CLASSES]));
}

const struct family hp_family_vit = FAMILY(vit, vit_options);
