/* The table of built-in models. */
#include "model/zoo/zoo.h"

#include "base/files/file.h"
#include "base/word.h"
#include "model/word.h"

#include <string.h>

/* clang-format off */
static const char hypar[] = "Song et al., HPCA 2019";
static const char vgg[] = "Simonyan, Zisserman, ICLR 2015";
static const char resnet[] = "He et al., CVPR 2016";
static const char flexflow[] = "Jia et al., MLSys 2019";
static const char llama3[] = "Grattafiori et al. 2024";
static const char t5[] = "Raffel et al., JMLR 2020";
static const char gnmt[] = "Wu et al. 2016; layers as in PipeDream, SOSP 2019";

static const struct model models[] = {
    /* name, family, preset, batch, summary, source */
    { "sfc", &hp_family_sfc, "", 256, "HyPar: four fully-connected layers, MNIST", hypar },
    { "sconv", &hp_family_sconv, "", 256, "HyPar: four convolutions, MNIST", hypar },
    { "lenet-c", &hp_family_lenet_c, "", 256, "HyPar: LeNet without biases, MNIST", hypar },
    { "cifar-c", &hp_family_cifar_c, "", 256, "HyPar: small convolutional network, CIFAR-10", hypar },
    { "alexnet-t", &hp_family_alexnet_t, "", 256, "HyPar: one tower of AlexNet without biases", hypar },
    { "vgg-a", &hp_family_vgg_a, "", 256, "HyPar: VGG configuration A without biases", hypar },
    { "vgg-b", &hp_family_vgg_b, "", 256, "HyPar: VGG configuration B without biases", hypar },
    { "vgg-c", &hp_family_vgg_c, "", 256, "HyPar: VGG configuration C without biases", hypar },
    { "vgg-d", &hp_family_vgg_d, "", 256, "HyPar: VGG configuration D without biases", hypar },
    { "vgg-e", &hp_family_vgg_e, "", 256, "HyPar: VGG configuration E without biases", hypar },
    { "alexnet-hypar", &hp_family_alexnet_hypar, "", 256, "AlexNet as in AccPar's code, without biases", "Song et al., HPCA 2020" },
    { "alexnet-optcnn", &hp_family_alexnet_optcnn, "", 32, "AlexNet as OptCNN counts it, without biases", "Jia et al., ICML 2018" },

    { "mlp", &hp_family_mlp, "784-512-10", 32, "mlp:784-8192-10: layers of these sizes, the input first", "" },
    { "lenet5", &hp_family_lenet5, "", 32, "LeNet-5", "LeCun et al. 1998" },
    { "alexnet", &hp_family_alexnet, "", 32, "AlexNet", "Krizhevsky 2014" },
    { "vgg", &hp_family_vgg, "", 32, "VGG of any depth", vgg },
    { "vgg11", &hp_family_vgg, "depth=11", 32, "VGG-11", vgg },
    { "vgg13", &hp_family_vgg, "depth=13", 32, "VGG-13", vgg },
    { "vgg16", &hp_family_vgg, "depth=16", 32, "VGG-16", vgg },
    { "vgg19", &hp_family_vgg, "depth=19", 32, "VGG-19", vgg },
    { "resnet", &hp_family_resnet, "", 32, "ResNet of any depth", resnet },
    { "resnet18", &hp_family_resnet, "depth=18", 32, "ResNet-18", resnet },
    { "resnet34", &hp_family_resnet, "depth=34", 32, "ResNet-34", resnet },
    { "resnet50", &hp_family_resnet, "depth=50", 32, "ResNet-50", resnet },
    { "resnet101", &hp_family_resnet, "depth=101", 32, "ResNet-101", resnet },
    { "resnet152", &hp_family_resnet, "depth=152", 32, "ResNet-152", resnet },
    { "googlenet", &hp_family_googlenet, "", 32, "GoogLeNet without auxiliary heads", "Szegedy et al., CVPR 2015" },
    { "inception-v3", &hp_family_inception_v3, "", 32, "Inception-v3 without auxiliary head", "Szegedy et al., CVPR 2016" },
    { "densenet121", &hp_family_densenet, "depth=121", 32, "DenseNet-121 (169 and 201 by option)", "Huang et al., CVPR 2017" },
    { "mobilenet-v2", &hp_family_mobilenet_v2, "", 32, "MobileNetV2", "Sandler et al., CVPR 2018" },
    { "vit-b-16", &hp_family_vit, "", 32, "vision transformer, patches of 16", "Dosovitskiy et al., ICLR 2021" },

    { "bert", &hp_family_bert, "", 32, "BERT of any size", "Devlin et al., NAACL 2019" },
    { "bert-base", &hp_family_bert, "positions=512", 32, "BERT base", "Devlin et al., NAACL 2019" },
    { "bert-large", &hp_family_bert, "layers=24,hidden=1024,heads=16,positions=512", 32, "BERT large", "Devlin et al., NAACL 2019" },
    { "gpt", &hp_family_gpt, "", 32, "GPT-2 of any size", "Radford et al. 2019" },
    { "gpt2", &hp_family_gpt, "positions=1024", 32, "GPT-2 small", "Radford et al. 2019" },
    { "gpt2-xl", &hp_family_gpt, "layers=48,hidden=1600,heads=25,positions=1024", 32, "GPT-2 XL", "Radford et al. 2019" },
    { "gpt3-175b", &hp_family_gpt, "layers=96,hidden=12288,heads=96,seq=2048,positions=2048", 32, "GPT-3", "Brown et al., NeurIPS 2020" },
    { "llama", &hp_family_llama, "", 32, "LLaMA 2 or 3 of any size", "Touvron et al. 2023" },
    { "llama2-7b", &hp_family_llama, "", 32, "LLaMA 2, 7 billion", "Touvron et al. 2023" },
    { "llama2-70b", &hp_family_llama, "layers=80,hidden=8192,heads=64,kv_heads=8,ffn=28672", 32, "LLaMA 2, 70 billion", "Touvron et al. 2023" },
    { "llama3-8b", &hp_family_llama, "kv_heads=8,ffn=14336,seq=8192,vocab=128256,rope_theta=500000", 32, "LLaMA 3, 8 billion", llama3 },
    { "llama3-70b", &hp_family_llama, "layers=80,hidden=8192,heads=64,kv_heads=8,ffn=28672,seq=8192,vocab=128256,rope_theta=500000", 32, "LLaMA 3, 70 billion", llama3 },

    { "t5", &hp_family_t5, "", 32, "T5 of any size", t5 },
    { "t5-small", &hp_family_t5, "", 32, "T5 small", t5 },
    { "t5-base", &hp_family_t5, "layers=12,hidden=768,heads=12,ffn=3072", 32, "T5 base", t5 },
    { "t5-large", &hp_family_t5, "layers=24,hidden=1024,heads=16,ffn=4096", 32, "T5 large", t5 },
    { "t5-3b", &hp_family_t5, "layers=24,hidden=1024,heads=32,head_width=128,ffn=16384", 32, "T5, 3 billion", t5 },
    { "t5-11b", &hp_family_t5, "layers=24,hidden=1024,heads=128,head_width=128,ffn=65536", 32, "T5, 11 billion", t5 },

    { "rnntc", &hp_family_rnntc, "", 32, "FlexFlow: text classification, unrolled", flexflow },
    { "rnnlm", &hp_family_rnnlm, "", 32, "FlexFlow: language model, unrolled", flexflow },
    { "nmt", &hp_family_nmt, "", 32, "FlexFlow: translation with attention, unrolled", flexflow },
    { "gnmt8", &hp_family_gnmt, "layers=8", 32, "GNMT with 8 LSTM layers", gnmt },
    { "gnmt16", &hp_family_gnmt, "layers=16", 32, "GNMT with 16 LSTM layers", gnmt },
};
/* clang-format on */

enum { MODEL_COUNT = sizeof models / sizeof models[0] };

const struct model *hp_model(int i)
{
    return &models[i];
}

int hypar_model_count(void)
{
    return MODEL_COUNT;
}

struct hypar_model_info hypar_model_at(int model)
{
    if (model < 0 || model >= hypar_model_count())
        return (struct hypar_model_info){ 0 };
    const struct model *m = &models[model];
    struct hypar_model_info info = {
        .name = m->name, .summary = m->summary, .source = m->source, .batch = m->batch
    };
    int values[MAX_SIZES];
    hp_options_start(m->family, values);
    hp_options_read(m->family, m->preset, values, NULL);
    hp_options_write(m->family, values, info.options, sizeof info.options);
    return info;
}

bool hypar_model_option(int model, int i, struct hypar_model_option *out)
{
    if (model < 0 || model >= hypar_model_count())
        return false;
    const struct model *m = &models[model];
    int values[MAX_SIZES];
    if (i < 0 || i >= m->family->n_options)
        return false;
    const struct option *option = &m->family->options[i];
    hp_options_start(m->family, values);
    hp_options_read(m->family, m->preset, values, NULL);
    *out = (struct hypar_model_option){ option->name, values[i], option->least, option->most,
                                        option->words };
    return true;
}

/* Does a name begin with the word's letters before its first hyphen: "gpt2" of "gpt2-medium"?
 */
static bool is_of_family(const char *name, const char *word)
{
    size_t stem = strcspn(word, "-");
    return word[stem] && stem > 2 && strncmp(name, word, stem) == 0 &&
           (!name[stem] || name[stem] == '-');
}

/* Those of a family, where one of them is named that there is not. */
static bool family_text(const char *word, const char *near, char *text, size_t size)
{
    size_t used = 0;
    for (int i = 0; i < MODEL_COUNT && used < size; i++) {
        const char *name = models[i].name;
        if (!is_of_family(name, word))
            continue;
        if (strstr(near, name)) /* nearer than the others */
            return false;
        used += (size_t)snprintf(text + used, size - used, "%s%s", used ? " or " : "", name);
    }
    return used > 0;
}

static enum hypar_status unknown_model(const char *word, const char *expected,
                                       struct hypar_error *err)
{
    TRY(hp_file_refuse_python(word, err));
    size_t length = strcspn(word, ":");
    const char *names[MODEL_COUNT];
    char nearest[120], family[120], wrong[64];
    for (int i = 0; i < MODEL_COUNT; i++)
        names[i] = models[i].name;
    snprintf(wrong, sizeof wrong, "%.*s", (int)(length < 60 ? length : 60), word);
    bool near = hp_nearest_text(wrong, names, MODEL_COUNT, nearest, sizeof nearest);
    if (family_text(wrong, nearest, family, sizeof family))
        return hp_fail(err, HYPAR_INVALID, "unknown model '%s', did you mean %s?", wrong,
                       family);
    if (near)
        return hp_fail(err, HYPAR_INVALID, "unknown model '%s', did you mean %s?", wrong,
                       nearest);
    return hp_fail(err, HYPAR_INVALID, "unknown model '%s', expected %s", wrong, expected);
}

/* The row whose name stands before the colon, or NULL. */
static const struct model *find_model(const char *word)
{
    size_t length = strcspn(word, ":");
    for (int i = 0; i < MODEL_COUNT; i++)
        if (strlen(models[i].name) == length && memcmp(models[i].name, word, length) == 0)
            return &models[i];
    return NULL;
}

enum hypar_status hypar_model_find(int *out, const char *word, struct hypar_error *err)
{
    const struct model *model = find_model(word);
    *out = model ? (int)(model - models) : -1;
    return model ? HYPAR_OK : unknown_model(word, "one that 'hypar models' lists", err);
}

static enum hypar_status build(struct hypar_graph **out, const struct model *model,
                               const char *word, int64_t batch, const char *usual,
                               struct hypar_error *err)
{
    int values[MAX_SIZES];
    const char *text = word + strlen(model->name);
    hp_options_start(model->family, values);
    TRY(hp_options_read(model->family, model->preset, values, err));
    if (*text && !text[1])
        return hp_fail(err, HYPAR_INVALID, "nothing follows the colon, expected options");
    if (*text)
        TRY(hp_options_read(model->family, text + 1, values, err));
    TRY(hp_options_usual(model->family, usual, *text ? text + 1 : "", values, err));

    struct net net = { .builder = hp_build(word, batch ? batch : model->batch),
                       .batch = batch ? batch : model->batch,
                       .err = err };
    model->family->build(&net, model->family->fixed ? model->family->fixed : values);
    if (net.status == HYPAR_OK)
        return hp_build_finish(net.builder, out, err);
    hp_build_abandon(net.builder);
    return net.status;
}

enum hypar_status hp_zoo_build(struct hypar_graph **out, const char *word, int64_t batch,
                               const char *usual, struct hypar_error *err)
{
    const struct model *model = find_model(word);
    *out = NULL;
    if (!model)
        return unknown_model(
            word, "one that 'hypar models' lists, or a path (with a '/', or ending in .json)",
            err);
    return hp_in(err, build(out, model, word, batch, usual, err), "%.100s", word);
}
