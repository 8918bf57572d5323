/* model/zoo/zoo.h - the built-in models: families with options, and named presets of them.
 * Internal.
 *
 * A family is one builder with one table of options. A model is a name, a family and a preset
 * in the form that users write after the colon ("layers=24,hidden=1024"); what the user writes
 * comes on top. To add a model: a row in zoo.c, and its figures in tests/model/test_zoo.c. */
#ifndef MODEL_ZOO_ZOO_H
#define MODEL_ZOO_ZOO_H

#include "model/zoo/layers.h"

enum {
    MAX_OPTIONS = 16, /* of one family */
    MAX_SIZES = 256,  /* of a family whose options are a list of sizes */
};

/* Bounds of options of transformers. */
enum { MAX_LAYERS = 4096, MAX_WIDTH = 1 << 20, MAX_LENGTH = 1 << 20, MAX_VOCAB = 1 << 24 };

struct option {
    const char *name;
    int value, least, most;   /* the default, the bounds */
    const char *const *words; /* of the values from 0 on; NULL: they are numbers */
};

struct family {
    /* Write the network down; `option` has the values in the order of the table, or the list
     * of sizes, ended by 0. */
    void (*build)(struct net *net, const int *option);
    int n_options;
    const struct option *options;
    bool sizes;       /* "784-512-10" in place of options */
    const int *fixed; /* no options: what `build` is given for them; may be NULL */
};

struct model {
    const char *name;
    const struct family *family;
    const char *preset;
    int batch;
    const char *summary, *source;
};

/* vgg.c */
extern const struct family hp_family_vgg_a, hp_family_vgg_b, hp_family_vgg_c, hp_family_vgg_d;
extern const struct family hp_family_vgg_e, hp_family_vgg;
/* convnets.c */
extern const struct family hp_family_mlp, hp_family_lenet5, hp_family_alexnet;
extern const struct family hp_family_alexnet_optcnn, hp_family_alexnet_t,
    hp_family_alexnet_hypar;
extern const struct family hp_family_sfc, hp_family_sconv, hp_family_lenet_c, hp_family_cifar_c;
/* one file each */
extern const struct family hp_family_resnet, hp_family_densenet, hp_family_mobilenet_v2;
extern const struct family hp_family_googlenet, hp_family_inception_v3;
extern const struct family hp_family_vit, hp_family_bert, hp_family_gpt, hp_family_llama;
extern const struct family hp_family_t5;
extern const struct family hp_family_rnntc, hp_family_rnnlm, hp_family_nmt, hp_family_gnmt;

/* Whether attention is one operator, or written out: an option of all transformers. */
extern const char *const hp_attention_words[];
#define ATTENTION_OPTION                         \
    {                                            \
        "attention", 0, 0, 1, hp_attention_words \
    }

/* A family with options stands in the source as FAMILY(build, table). */
#define FAMILY(function, table)                                                                \
    {                                                                                          \
        .build = (function), .n_options = sizeof(table) / sizeof(table)[0], .options = (table) \
    }

/* The rows. */
const struct model *hp_model(int i);

/* Build the model of a word such as "resnet18:image=32,classes=10"; `batch` 0: the row's own;
 * `usual`: options
 * for hp_options_usual(), or NULL. */
enum hypar_status hp_zoo_build(struct hypar_graph **out, const char *word, int64_t batch,
                               const char *usual, struct hypar_error *err);

#endif /* MODEL_ZOO_ZOO_H */
