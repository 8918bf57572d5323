/* The notes of an imported network: what the user should know about the file. Initializers that
 * are not parameters of their own are counted by a table, one row for each reason. */
#include "model/onnx/rewrite/rewrite.h"

static bool is_constant(const struct importing *im, int i)
{
    const struct onnx_tensor *t = &im->file->initializer[i];
    return !im->trained[i] && hp_onnx_family(t->type) == ONNX_NUMBERS && t->elements >= 2 &&
           im->folded_as[i] != FOLDED_TABLE;
}

static bool is_tied(const struct importing *im, int i)
{
    return im->copy_of[i] >= 0;
}

static bool is_repeated(const struct importing *im, int i)
{
    return im->folded_as[i] == FOLDED_COPIES;
}

static bool is_computed(const struct importing *im, int i)
{
    return im->folded_as[i] == FOLDED_TABLE;
}

struct initializer_note {
    bool (*counts)(const struct importing *im, int initializer);
    const char *one, *many, *advice;
};

static const struct initializer_note initializer_notes[] = {
    { is_constant, "is not trained: masks, tables, statistics",
      "are not trained: masks, tables, statistics", "" },
    { is_tied, "is tied to others", "are tied to others", "" },
    { is_repeated, "more repeats a parameter for each sample",
      "more repeat a parameter for each sample", ": it is one" },
    { is_computed, "was computed from a parameter by the exporter, and not trained",
      "were computed from a parameter by the exporter, and not trained",
      ": torch.onnx.export(..., optimize=False) keeps the parameter" },
};

static void note_initializers(struct importing *im, const struct initializer_note *note)
{
    const char *first = NULL;
    int n = 0;
    int64_t elements = 0;
    for (int i = 0; i < im->file->n_initializers; i++) {
        const struct onnx_tensor *t = &im->file->initializer[i];
        if (!note->counts(im, i))
            continue;
        first = first ? first : t->label;
        elements += t->elements;
        if (is_repeated(im, i)) /* the parameter itself is not one too many */
            elements -= t->elements / t->shape.dim[0];
        n++;
    }
    if (n)
        hp_onnx_note(im, "%d initializer%s with %lld elements %s ('%.60s'%s)%s", n,
                     n > 1 ? "s" : "", (long long)elements, n > 1 ? note->many : note->one,
                     first, n > 1 ? ", ..." : "", note->advice);
}

/* Parameters that PyTorch's exporter left out of the file, and values that are not there. */
static void note_lost(struct importing *im)
{
    const struct onnx_file *file = im->file;
    if (file->n_lost)
        hp_onnx_note(im,
                     "%d of the model's parameters %s not in the file, folded away or the same "
                     "as others ('%.60s'%s): torch.onnx.export(..., optimize=False) keeps them",
                     file->n_lost, file->n_lost > 1 ? "are" : "is", file->lost,
                     file->n_lost > 1 ? ", ..." : "");
    if (file->n_lost_norms)
        hp_onnx_note(im,
                     "%d batch norm%s folded into other layers by the exporter: "
                     "torch.onnx.export(..., optimize=False) keeps them",
                     file->n_lost_norms, file->n_lost_norms > 1 ? "s were" : " was");
    if (im->n_absent)
        hp_onnx_note(
            im,
            "the values of %d initializer%s are in a file that is not there: enough to "
            "plan with, not to train",
            im->n_absent, im->n_absent > 1 ? "s" : "");
}

void hp_onnx_add_notes(struct rewriting *rw, struct hypar_graph *graph)
{
    struct importing *im = rw->im;
    for (int op = 0; op < graph->n_ops; op++)
        if (graph->ops[op].kind == OP_OPAQUE)
            hp_onnx_note(im, "'%.80s' is opaque: only samples are split, and it is not trained",
                         graph->ops[op].name);
    if (im->n_frozen)
        hp_onnx_note(im,
                     "exported for inference: %d batch norm%s will use the batch's own "
                     "statistics",
                     im->n_frozen, im->n_frozen > 1 ? "s" : "");
    if (rw->n_dropped)
        hp_onnx_note(im, "dropout of attention weights is left out (%d time%s)", rw->n_dropped,
                     rw->n_dropped > 1 ? "s" : "");
    if (im->n_paths)
        hp_onnx_note(im,
                     "a factor drawn for each sample (stochastic depth) is read as dropout (%d "
                     "time%s)",
                     im->n_paths, im->n_paths > 1 ? "s" : "");
    if (im->file->opset < ONNX_FIRST_OPSET || im->file->opset > ONNX_LAST_OPSET)
        hp_onnx_note(im, "opset %d is read as far as it is like %d to %d, which are tested",
                     im->file->opset, ONNX_FIRST_OPSET, ONNX_LAST_OPSET);
    for (size_t i = 0; i < sizeof initializer_notes / sizeof initializer_notes[0]; i++)
        note_initializers(im, &initializer_notes[i]);
    note_lost(im);
    graph->n_notes = im->n_notes;
    graph->notes = NEW(&graph->arena, const char *, im->n_notes);
    for (int i = 0; i < im->n_notes; i++)
        graph->notes[i] = hp_arena_strdup(&graph->arena, im->notes[i]);
}
