/* Profiles: every pass is found again and confused with no other; the file form; bad files. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tests/op_cases.h"

#include "base/random.h"
#include "profile/profile.h"

static const struct nest *last_nest(const struct hypar_graph *graph)
{
    return graph->ops[graph->n_ops - 1].nest;
}

static bool measurable(const struct nest *nest)
{
    return !(hp_op[nest->kind].flags & ROW_OPAQUE);
}

static const int64_t *whole_extents(const struct nest *nest, int64_t extent[MAX_AXES])
{
    for (int a = 0; a < nest->n_axes; a++)
        extent[a] = nest->axis[a].extent;
    return extent;
}

static struct hypar_graph *graph_of(enum op_kind kind, const char *label)
{
    for (int i = 0; i < OP_CASE_COUNT; i++)
        if (op_cases[i].kind == kind && strcmp(op_cases[i].label, label) == 0)
            return op_case_build(&op_cases[i]);
    fail_msg("no case %s (%s)", hp_op[kind].name, label);
    return NULL;
}

/* To be freed with free(). */
static char *text_of(const struct hypar_profile *profile)
{
    char *text;
    size_t n;
    FILE *file = open_memstream(&text, &n);
    assert_non_null(file);
    hypar_profile_write(profile, file);
    fclose(file);
    return text;
}

static struct hypar_profile *profile_from(const char *text)
{
    struct hypar_profile *profile;
    struct hypar_error err = { 0 };
    if (hp_profile_read_text(&profile, text, strlen(text), "p", &err) != HYPAR_OK)
        fail_msg("%s\n%s", err.text, text);
    return profile;
}

/* Texts are written with ' for ". */
static enum hypar_status read_quoted(struct hypar_profile **out, const char *quoted,
                                     struct hypar_error *err)
{
    char *text = strdup(quoted);
    for (char *p = text; *p; p++)
        if (*p == '\'')
            *p = '"';
    enum hypar_status status = hp_profile_read_text(out, text, strlen(text), "f", err);
    free(text);
    return status;
}

/* Every operator ------------------------------------------------------------------------ */

static struct hypar_graph *graphs[OP_CASE_COUNT];

static int build_all(void **state)
{
    (void)state;
    for (int i = 0; i < OP_CASE_COUNT; i++)
        graphs[i] = op_case_build(&op_cases[i]);
    return 0;
}

static int free_all(void **state)
{
    (void)state;
    for (int i = 0; i < OP_CASE_COUNT; i++)
        hypar_graph_free(graphs[i]);
    return 0;
}

/* Seconds that say which pass of which case this is. */
static double stamp(int c, int pass)
{
    return 1e-6 * (1 + c) + 1e-9 * (1 + pass);
}

static struct hypar_profile *measure_all(void)
{
    struct hypar_profile *profile = hypar_profile_new();
    struct hypar_error err = { 0 };
    int64_t extent[MAX_AXES];
    int n = 0;
    hypar_profile_set_efficiency(profile, "v100", 0.43);
    for (int i = 0; i < OP_CASE_COUNT; i++) {
        const struct nest *nest = last_nest(graphs[i]);
        for (int p = 0; p < nest->n_passes; p++) {
            struct measured_pass at = {
                "v100", HYPAR_FP32, nest, p, whole_extents(nest, extent), 0
            };
            enum hypar_status status = hp_profile_add(profile, &at, stamp(i, p), &err);
            assert_int_equal(status, measurable(nest) ? HYPAR_OK : HYPAR_UNSUPPORTED);
            n += measurable(nest);
        }
    }
    assert_int_equal(hypar_profile_info(profile).n_passes, n); /* all different */
    return profile;
}

static void check_all(const struct hypar_profile *profile)
{
    int64_t extent[MAX_AXES];
    for (int i = 0; i < OP_CASE_COUNT; i++) {
        const struct nest *nest = last_nest(graphs[i]);
        for (int p = 0; p < nest->n_passes; p++) {
            struct measured_pass at = {
                "v100", HYPAR_FP32, nest, p, whole_extents(nest, extent), 0
            };
            double expected = measurable(nest) ? stamp(i, p) : 0;
            if (hp_profile_find(profile, &at) != expected)
                fail_msg("%s (%s) pass %d: %g, expected %g", hp_op[nest->kind].name,
                         op_cases[i].label, p, hp_profile_find(profile, &at), expected);
            at.device = "v10";
            assert_true(hp_profile_find(profile, &at) == 0);
            at.device = "v100";
            at.precision = HYPAR_BF16;
            assert_true(hp_profile_find(profile, &at) == 0);
            at.precision = HYPAR_FP32;
            for (int a = 0; a < nest->n_axes; a++) { /* r is not looked at */
                extent[a] += 100;
                assert_true(hp_profile_find(profile, &at) ==
                            (nest->axis[a].role == HYPAR_COPY ? expected : 0));
                extent[a] -= 100;
            }
        }
    }
}

static void every_pass_is_found(void **state)
{
    (void)state;
    struct hypar_profile *profile = measure_all();
    check_all(profile);
    char *text = text_of(profile);
    struct hypar_profile *again = profile_from(text);
    check_all(again);
    assert_true(hypar_profile_device(again, "v100").efficiency == 0.43);
    char *same = text_of(again);
    assert_string_equal(same, text);
    free(text);
    free(same);
    hypar_profile_free(again);
    hypar_profile_free(profile);
}

/* Random measurements against a plain list; the last one of a pass counts. */
static void against_a_list(void **state)
{
    (void)state;
    enum { N = 2000 };
    static struct {
        int graph, device;
        enum hypar_precision precision;
        int pass;
        int64_t extent[MAX_AXES];
        double seconds;
    } list[N];
    static const char *const devices[] = { "v100", "k80", "my device", "a", "b", "c" };
    uint64_t seed = 20250118;
    printf("seed %llu\n", (unsigned long long)seed);
    struct random random = { seed };
    struct hypar_profile *profile = hypar_profile_new();
    struct hypar_error err = { 0 };
    for (int i = 0; i < N; i++) {
        const struct nest *nest;
        do {
            list[i].graph = (int)hp_random_below(&random, 8);
            nest = last_nest(graphs[list[i].graph]);
        } while (!measurable(nest));
        list[i].device = (int)hp_random_below(&random, 6);
        list[i].precision = (enum hypar_precision)hp_random_below(&random, 3);
        list[i].pass = (int)hp_random_below(&random, nest->n_passes);
        for (int a = 0; a < nest->n_axes; a++)
            list[i].extent[a] = a + 1 == nest->n_axes ? 1 : 1 + hp_random_below(&random, 2);
        list[i].seconds = hp_random_unit(&random) + 1e-9;
        struct measured_pass at = {
            devices[list[i].device], list[i].precision, nest, list[i].pass, list[i].extent, 0
        };
        assert_int_equal(hp_profile_add(profile, &at, list[i].seconds, &err), HYPAR_OK);
    }
    for (int i = 0; i < N; i++) {
        int last = i;
        for (int k = i; k < N; k++)
            if (list[k].graph == list[i].graph && list[k].device == list[i].device &&
                list[k].precision == list[i].precision && list[k].pass == list[i].pass &&
                memcmp(list[k].extent, list[i].extent, sizeof list[i].extent) == 0)
                last = k;
        struct measured_pass at = { devices[list[i].device],
                                    list[i].precision,
                                    last_nest(graphs[list[i].graph]),
                                    list[i].pass,
                                    list[i].extent,
                                    0 };
        assert_true(hp_profile_find(profile, &at) == list[last].seconds);
    }
    hypar_profile_free(profile);
}

/* What is the same pass, and what is not ------------------------------------------------- */

/* Half of a layer with 14 outputs is a layer with 7. */
static void parts_of_wide_layers(void **state)
{
    (void)state;
    struct hypar_graph *graph = graph_of(OP_LINEAR, "n c"); /* [6,9] to 7 */
    const struct nest *nest = last_nest(graph);
    struct hypar_profile *profile;
    struct hypar_error err = { 0 };
    const char *text = "{'format':'hypar-profile/1','passes':[{'device':'a','precision':'fp32',"
                       "'kind':'linear','attrs':{'out':14},'operands':'x[c,n] w[c,k] b[k]',"
                       "'pass':0,'extents':{'c':9,'k':7,'n':6},'seconds':0.5}]}";
    assert_int_equal(read_quoted(&profile, text, &err), HYPAR_OK);
    int64_t extent[MAX_AXES];
    struct measured_pass at = { "a", HYPAR_FP32, nest, 0, whole_extents(nest, extent), 0 };
    assert_true(hp_profile_find(profile, &at) == 0.5);
    assert_int_equal(hp_profile_add(profile, &at, 0.25, &err), HYPAR_OK); /* replaces */
    assert_int_equal(hypar_profile_info(profile).n_passes, 1);
    assert_true(hp_profile_find(profile, &at) == 0.25);
    hypar_profile_free(profile);
    hypar_graph_free(graph);
}

/* Left-out operands stand for any; left-out attributes for the defaults. */
static void short_forms(void **state)
{
    (void)state;
    static const struct {
        enum op_kind kind;
        const char *label, *pass;
    } rows[] = {
        { OP_LINEAR, "n c", "'kind':'linear','extents':{'n':6,'k':7,'c':9}" },
        { OP_LINEAR, "n t c, no bias", "'kind':'linear','extents':{'n':5,'t':3,'k':10,'c':4}" },
        { OP_CONV, "same, odd kernel",
          "'kind':'conv','attrs':{'kernel':3,'pad':1},"
          "'extents':{'n':4,'k':5,'c':3,'h':9,'w':8,'i':3,'j':3}" },
        { OP_CONV, "1D",
          "'kind':'conv','attrs':{'kernel':3,'pad':1},"
          "'extents':{'n':5,'k':4,'c':3,'h':11,'i':3}" },
        { OP_ADD, "one row for all samples", "'kind':'add','extents':{'n':5,'t':3,'c':7}" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char text[400];
        struct hypar_profile *profile;
        struct hypar_error err = { 0 };
        int64_t extent[MAX_AXES];
        struct hypar_graph *graph = graph_of(rows[i].kind, rows[i].label);
        snprintf(text, sizeof text,
                 "{'format':'hypar-profile/1','passes':[{'device':'a','precision':'bf16',"
                 "'pass':0,'seconds':2,%s}]}",
                 rows[i].pass);
        if (read_quoted(&profile, text, &err) != HYPAR_OK)
            fail_msg("%s: %s", text, err.text);
        const struct nest *nest = last_nest(graph);
        struct measured_pass at = { "a", HYPAR_BF16, nest, 0, whole_extents(nest, extent), 0 };
        if (hp_profile_find(profile, &at) != 2)
            fail_msg("not found: %s", text);
        assert_int_equal(hp_profile_add(profile, &at, 3, &err), HYPAR_OK); /* nearer */
        assert_true(hp_profile_find(profile, &at) == 3);
        hypar_profile_free(profile);
        hypar_graph_free(graph);
    }
}

/* A cell without a state has other passes under the same numbers. */
static void absent_operands(void **state)
{
    (void)state;
    struct hypar_graph *with = graph_of(OP_LSTM_CELL, "with states and biases");
    struct hypar_graph *without = graph_of(OP_LSTM_CELL, "first step");
    struct hypar_profile *profile = hypar_profile_new();
    struct hypar_error err = { 0 };
    int64_t extent[MAX_AXES];
    struct measured_pass at = {
        "a", HYPAR_FP32, last_nest(with), 2, whole_extents(last_nest(with), extent), 0
    };
    assert_int_equal(hp_profile_add(profile, &at, 1, &err), HYPAR_OK);
    at.nest = last_nest(without);
    assert_int_equal(at.nest->n_axes, last_nest(with)->n_axes);
    assert_true(hp_profile_find(profile, &at) == 0); /* the same extents */
    hypar_profile_free(profile);
    hypar_graph_free(with);
    hypar_graph_free(without);
}

static void made_by_others(void **state)
{
    (void)state;
    struct hypar_profile *profile = hypar_profile_new();
    hypar_profile_set_made_by(profile, "a stopwatch");
    assert_string_equal(hypar_profile_info(profile).made_by, "a stopwatch");
    hypar_profile_free(profile);
}

static void refused(void **state)
{
    (void)state;
    struct hypar_graph *graph = graph_of(OP_LINEAR, "n c");
    struct hypar_profile *profile = hypar_profile_new();
    int64_t extent[MAX_AXES];
    const struct nest *nest = last_nest(graph);
    struct measured_pass at = { "a", HYPAR_FP32, nest, 0, whole_extents(nest, extent), 0 };
    const double bad[] = { 0, -1, NAN, INFINITY };
    for (int i = 0; i < 4; i++) {
        struct hypar_error err = { 0 };
        assert_int_equal(hp_profile_add(profile, &at, bad[i], &err), HYPAR_INVALID);
        assert_true(*err.text);
    }
    at.device = "";
    assert_int_equal(hp_profile_add(profile, &at, 1, NULL), HYPAR_INVALID);
    at.device = "a\n";
    assert_int_equal(hp_profile_add(profile, &at, 1, NULL), HYPAR_INVALID);
    assert_int_equal(hypar_profile_info(profile).n_passes, 0);
    assert_true(hp_profile_find(NULL, &at) == 0);
    assert_true(hypar_profile_device(profile, "a").efficiency == 0);
    hypar_profile_free(profile);
    hypar_profile_free(NULL);
    hypar_graph_free(graph);
}

/* Files --------------------------------------------------------------------------------- */

static void file_form(void **state)
{
    (void)state;
    const char *text =
        "{\n"
        "  \"format\": \"hypar-profile/1\",\n"
        "  \"made_by\": \"by hand\",\n"
        "  \"devices\": {\n"
        "    \"v100\": {\"efficiency\": 0.43},\n"
        "    \"k80\": {\"efficiency\": 1}\n"
        "  },\n"
        "  \"passes\": [\n"
        "    {\"device\": \"v100\", \"precision\": \"fp32\", \"kind\": \"conv\", \"attrs\": "
        "{\"kernel\": [3, 3], \"stride\": [1, 1], \"pad\": [1, 1, 1, 1], \"dilation\": [1, 1], "
        "\"out\": 64}, \"operands\": \"x[n,c,h,w] w[k,c,i,j]\", \"pass\": 0, \"extents\": "
        "{\"n\": 8, \"k\": 64, \"c\": 3, \"h\": 224, \"w\": 224, \"i\": 3, \"j\": 3}, "
        "\"seconds\": 0.00125},\n"
        "    {\"device\": \"other\", \"precision\": \"bf16\", \"kind\": \"relu\", "
        "\"operands\": "
        "\"x[n,c]\", \"pass\": 1, \"extents\": {\"n\": 8, \"c\": 1000}, \"seconds\": 1e-06}\n"
        "  ]\n"
        "}\n";
    struct hypar_profile *profile = profile_from(text);
    assert_string_equal(hypar_profile_info(profile).made_by, "by hand");
    assert_int_equal(hypar_profile_info(profile).n_passes, 2);
    assert_true(hypar_profile_device(profile, "k80").efficiency == 1);
    assert_true(hypar_profile_device(profile, "other").efficiency == 0);
    char *again = text_of(profile);
    assert_string_equal(again, text);
    free(again);
    hypar_profile_free(profile);
}

/* The parts that most cases have in common. */
#define HEAD      "{'format':'hypar-profile/1',"
#define PASS(...) HEAD "'passes':[{" __VA_ARGS__ "}]}"
#define WHERE     "'device':'a','precision':'fp32',"
#define LINEAR    WHERE "'kind':'linear',"
#define EXTENTS   "'extents':{'n':2,'k':3,'c':4},"

static const struct {
    const char *text, *message;
} bad[] = {
    { "[]", "f: expected an object, not an array" },
    { "{}", "f: format: missing, expected a string" },
    { "{'format':'hypar-plan/1'}",
      "f: format: expected \"hypar-profile/1\", not \"hypar-plan/1\"" },
    { HEAD "'pases':[]}", "f: unknown member 'pases', did you mean passes?" },
    { HEAD "'made_by':''}", "f: made_by: empty, expected a name" },
    { HEAD "'devices':[]}", "f: devices: expected an object, not an array" },
    { HEAD "'devices':{'':{'efficiency':1}}}", "f: devices.: '' is no name of a device" },
    { HEAD "'devices':{'a':1}}", "f: devices.a: expected an object, not 1" },
    { HEAD "'devices':{'a':{}}}",
      "f: devices.a.efficiency: missing, expected a number in 0..1" },
    { HEAD "'devices':{'a':{'efficiency':0}}}",
      "f: devices.a.efficiency: expected a number above 0, at most 1" },
    { HEAD "'devices':{'a':{'efficiency':1.01}}}",
      "f: devices.a.efficiency: expected a number in 0..1, not 1.01" },
    { HEAD "'devices':{'a':{'speed':1}}}",
      "f: devices.a: unknown member 'speed', expected one of efficiency" },
    { HEAD "'passes':{}}", "f: passes: expected an array, not an object" },
    { HEAD "'passes':[1]}", "f: passes[0]: expected an object, not 1" },
    { PASS("'op':1"), "f: passes[0]: unknown member 'op', expected one of device, precision, "
                      "kind, attrs, operands, pass, with, extents, seconds, spread" },
    { PASS("'precision':'fp32'"), "f: passes[0].device: missing, expected a string" },
    { PASS("'device':''"), "f: passes[0].device: empty, expected a name" },
    { PASS("'device':'a','precision':'fp8'"),
      "f: passes[0].precision: expected one of fp32, bf16, fp64, fp16, tf32, not \"fp8\"" },
    { PASS(WHERE "'kind':'liner'"), "f: passes[0].kind: unknown operator kind 'liner', did you "
                                    "mean linear? See 'hypar ops'" },
    { PASS(WHERE "'kind':'opaque'"),
      "f: passes[0].kind: an opaque operator has no kernel to measure" },
    { PASS(LINEAR "'pass':0"), "f: passes[0].extents: missing, expected an object" },
    { PASS(LINEAR "'extents':{'n':0}"), "f: passes[0].extents.n: expected an integer in "
                                        "1..1125899906842624, not 0" },
    { PASS(LINEAR "'extents':{'h':1}"),
      "f: passes[0].extents.h: linear has no such axis; see 'hypar ops linear'" },
    { PASS(LINEAR "'extents':{'r':1}"),
      "f: passes[0].extents.r: linear has no such axis; see 'hypar ops linear'" },
    { PASS(LINEAR "'extents':{'nk':1}"),
      "f: passes[0].extents.nk: linear has no such axis; see 'hypar ops linear'" },
    { PASS(WHERE "'kind':'relu','extents':{'a':1,'b':1,'c':1,'d':1,'e':1,'f':1,'g':1,'h':1,"
                 "'i':1,'j':1,'k':1,'l':1}"),
      "f: passes[0].extents: expected at most 11 axes" },
    { PASS(LINEAR EXTENTS "'attrs':{'kernel':3}"),
      "f: passes[0].attrs: unknown attribute 'kernel', expected one of out, transposed" },
    { PASS(LINEAR EXTENTS "'attrs':{'sharp':3}"),
      "f: passes[0].attrs.sharp: unknown attribute, expected one of out, transposed" },
    { PASS(WHERE "'kind':'conv','extents':{'n':1}"),
      "f: passes[0].attrs: missing attribute 'kernel'" },
    { PASS(WHERE "'kind':'concat','extents':{'n':1},'attrs':{'axis':-1}"),
      "f: passes[0].attrs: attribute 'axis' is -1, expected a count from 0" },
    { PASS(LINEAR EXTENTS "'operands':'x'"),
      "f: passes[0].operands: 'x', expected operands with axes of \"extents\", such as "
      "\"x[n,c] w[c,k]\"" },
    { PASS(LINEAR EXTENTS "'operands':'x[n,c'"),
      "f: passes[0].operands: 'x[n,c', expected operands with axes of \"extents\", such as "
      "\"x[n,c] w[c,k]\"" },
    { PASS(LINEAR EXTENTS "'operands':'x[n,] w[c,k]'"),
      "f: passes[0].operands: 'x[n,] w[c,k]', expected operands with axes of \"extents\", such "
      "as \"x[n,c] w[c,k]\"" },
    { PASS(LINEAR EXTENTS "'operands':'x[n,t,c] w[c,k]'"),
      "f: passes[0].operands: 'x[n,t,c] w[c,k]', expected operands with axes of \"extents\", "
      "such as \"x[n,c] w[c,k]\"" },
    { PASS(LINEAR EXTENTS "'operands':'x[n,c] w[c,k] '"),
      "f: passes[0].operands: 'x[n,c] w[c,k] ', expected operands with axes of \"extents\", "
      "such as \"x[n,c] w[c,k]\"" },
    { PASS(LINEAR EXTENTS "'operands':''"),
      "f: passes[0].operands: '' is not what linear is given: x[n,t?,u?,c] | "
      "w[c,k]@transposed b?[k] -> y[n,t?,u?,k]" },
    { PASS(LINEAR EXTENTS "'operands':'w[c,k] x[n,c]'"),
      "f: passes[0].operands: 'w[c,k] x[n,c]' is not what linear is given: x[n,t?,u?,c] | "
      "w[c,k]@transposed b?[k] -> y[n,t?,u?,k]" },
    { PASS(LINEAR EXTENTS "'seconds':1"),
      "f: passes[0].pass: missing, expected an integer in 0..3" },
    { PASS(LINEAR EXTENTS "'pass':4"),
      "f: passes[0].pass: expected an integer in 0..3, not 4" },
    { PASS(LINEAR EXTENTS "'pass':0,'seconds':0"),
      "f: passes[0].seconds: expected a number above 0" },
    { PASS(LINEAR EXTENTS "'pass':0,'seconds':1},{" LINEAR
                          "'extents':{'c':4,'k':3,'n':2},'pass':0,'seconds':2"),
      "f: passes[1]: this pass is there already, expected each once" },
    { PASS(LINEAR EXTENTS "'pass':1,'with':[1]"),
      "f: passes[0].with[0]: expected an integer in 2..3, not 1" },
    { PASS(LINEAR EXTENTS "'pass':1,'with':[3,2]"),
      "f: passes[0].with[1]: expected none, not 2" },
    { PASS(LINEAR EXTENTS "'pass':0,'seconds':1,'spread':-1"),
      "f: passes[0].spread: expected a number in 0..1.79769e+308, not -1" },
    { HEAD "'machine':{'processor':'p','kernels':'k','cores':2,'ranks':0,'threads':1}}",
      "f: machine.ranks: expected an integer in 1..1048576, not 0" },
    { HEAD "'curves':[{'device':'a','of':'sum','points':[[1,1],[1,2]]}]}",
      "f: curves[0].points[1][0]: expected more than the size before" },
    { HEAD "'curves':[{'device':'a','of':'sum','points':[[1,0]]}]}",
      "f: curves[0].points[0][1]: expected a number above 0" },
    { HEAD "'curves':[{'device':'a','of':'sum','points':[[1]]}]}",
      "f: curves[0].points[0]: expected a size and its seconds" },
    { HEAD "'curves':[{'device':'a','of':'sum','points':[[1,1]]},"
           "{'device':'a','of':'sum','points':[[2,1]]}]}",
      "f: curves[1]: this curve is there already, expected each once" },
};

/* What is measured at once, between, and besides --------------------------------------- */

static const struct hypar_profile_machine some_machine = { "p", "k", 2, 2, 1 };

/* Of several passes in one call the first has the time; by itself a pass is another thing. */
static void joint_calls(void **state)
{
    (void)state;
    struct hypar_graph *graph = graph_of(OP_LINEAR, "n c");
    const struct nest *nest = last_nest(graph);
    struct hypar_profile *profile = hypar_profile_new();
    int64_t extent[MAX_AXES];
    double seconds = -1;
    struct measured_pass both = { "a", HYPAR_FP32, nest, 1, whole_extents(nest, extent), 4 };
    struct measured_pass one = both;
    assert_int_equal(hp_profile_add(profile, &both, 3, NULL), HYPAR_OK);
    one.with = 0;
    assert_true(hp_profile_find(profile, &one) == 0);
    assert_int_equal(hp_profile_time(profile, &one, &seconds), TIME_MEASURED);
    assert_true(seconds == 3);
    one.pass = 2;
    assert_int_equal(hp_profile_time(profile, &one, &seconds), TIME_MEASURED);
    assert_true(seconds == 0);
    one.pass = 0;
    assert_int_equal(hp_profile_time(profile, &one, &seconds), TIME_UNKNOWN);
    one.pass = 2; /* also by itself */
    assert_int_equal(hp_profile_add(profile, &one, 5, NULL), HYPAR_OK);
    assert_int_equal(hp_profile_time(profile, &one, &seconds), TIME_MEASURED);
    assert_true(seconds == 5);
    assert_int_equal(hypar_profile_info(profile).n_passes, 2);
    hypar_profile_free(profile);
    hypar_graph_free(graph);
}

/* Between neighbours along an extent; never from another operator's, nor from a profile that
 * does not say where it was measured. */
static void interpolated(void **state)
{
    (void)state;
    struct hypar_graph *graph = graph_of(OP_LINEAR, "n c");
    const struct nest *nest = last_nest(graph);
    struct hypar_profile *profile = hypar_profile_new();
    int64_t extent[MAX_AXES];
    double seconds;
    whole_extents(nest, extent);
    struct measured_pass at = { "a", HYPAR_FP32, nest, 0, extent, 0 };
    int n = hp_nest_axis(nest, 'n');
    extent[n] = 8; /* 1 s for each sample */
    assert_int_equal(hp_profile_add(profile, &at, 8, NULL), HYPAR_OK);
    extent[n] = 32; /* 0.25 s */
    assert_int_equal(hp_profile_add(profile, &at, 8, NULL), HYPAR_OK);
    extent[n] = 16;
    assert_int_equal(hp_profile_time(profile, &at, &seconds), TIME_UNKNOWN);
    hypar_profile_set_machine(profile, &some_machine);
    assert_int_equal(hp_profile_time(profile, &at, &seconds), TIME_INTERPOLATED);
    assert_true(fabs(seconds - 16 * 0.5) < 1e-9); /* the middle of both, in logarithms */
    extent[n] = 9;
    hp_profile_time(profile, &at, &seconds);
    assert_true(seconds > 9 * 0.9 && seconds < 9);
    extent[n] = 8;
    assert_int_equal(hp_profile_time(profile, &at, &seconds), TIME_MEASURED);
    assert_true(seconds == 8);
    extent[n] = 16;
    at.pass = 1;
    assert_int_equal(hp_profile_time(profile, &at, &seconds), TIME_UNKNOWN);
    at.pass = 0;
    at.precision = HYPAR_FP64;
    assert_int_equal(hp_profile_time(profile, &at, &seconds), TIME_UNKNOWN);
    hypar_profile_free(profile);
    hypar_graph_free(graph);
}

static void curves(void **state)
{
    (void)state;
    struct hypar_profile *profile = hypar_profile_new();
    assert_true(hp_profile_curve(profile, "a", "sum", 5) == 0);
    hp_profile_add_point(profile, "a", "sum", 30, 5);
    hp_profile_add_point(profile, "a", "sum", 10, 2);
    assert_true(hp_profile_curve(profile, "a", "sum", 1) == 2);
    hp_profile_add_point(profile, "a", "sum", 20, 9);
    hp_profile_add_point(profile, "a", "sum", 20, 3); /* replaces */
    assert_true(hp_profile_curve(profile, "a", "sum", 15) == 2.5);
    assert_true(hp_profile_curve(profile, "a", "sum", 30) == 5);
    assert_true(hp_profile_curve(profile, "a", "sum", 40) == 7);
    hp_profile_add_point(profile, "a", "sum", 50, 4); /* noise: never less than that */
    assert_true(hp_profile_curve(profile, "a", "sum", 1000) == 4);
    assert_true(hp_profile_curve(profile, "b", "sum", 30) == 0);
    assert_true(hp_profile_curve(profile, "a", "message", 30) == 0);
    assert_false(hypar_profile_device(profile, "a").links);
    hypar_profile_free(profile);
}

static void measured_file(void **state)
{
    (void)state;
    struct hypar_graph *graph = graph_of(OP_LINEAR, "n c");
    const struct nest *nest = last_nest(graph);
    struct hypar_profile *profile = hypar_profile_new(), *again;
    int64_t extent[MAX_AXES];
    struct measured_pass at = { "a", HYPAR_FP32, nest, 1, whole_extents(nest, extent), 12 };
    assert_null(hypar_profile_info(profile).machine);
    hypar_profile_set_machine(profile, &some_machine);
    assert_int_equal(hp_profile_add(profile, &at, 0.5, NULL), HYPAR_OK);
    hp_profile_set_spread(profile, &at, 0.125);
    hp_profile_add_point(profile, "a", "message", 64, 1e-6);
    hp_profile_add_point(profile, "a", "message", 128, 2e-6);
    char *first = text_of(profile), *second;
    again = profile_from(first);
    second = text_of(again);
    assert_string_equal(first, second);
    assert_int_equal(hypar_profile_info(again).machine->cores, 2);
    assert_true(hypar_profile_info(again).spread == 0.125);
    assert_true(hp_profile_find(again, &at) == 0.5);
    assert_true(hypar_profile_device(again, "a").links);
    free(first);
    free(second);
    hypar_profile_free(profile);
    hypar_profile_free(again);
    hypar_graph_free(graph);
}

static void bad_files(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct hypar_profile *profile;
        struct hypar_error err = { 0 };
        enum hypar_status status = read_quoted(&profile, bad[i].text, &err);
        assert_null(profile);
        assert_int_not_equal(status, HYPAR_OK);
        if (strcmp(err.text, bad[i].message) != 0)
            fail_msg("%s\n  says: %s\n  expected: %s", bad[i].text, err.text, bad[i].message);
    }
    struct hypar_profile *profile;
    struct hypar_error err = { 0 };
    assert_int_equal(hypar_profile_read(&profile, "no/such/file", &err), HYPAR_UNREADABLE);
    assert_null(profile);
}

static void negative_seconds_and_too_many(void **state)
{
    (void)state;
    struct hypar_profile *profile;
    struct hypar_error err = { 0 };
    assert_int_equal(read_quoted(&profile, PASS(LINEAR EXTENTS "'pass':0,'seconds':-1"), &err),
                     HYPAR_INVALID);
    assert_non_null(strstr(err.text, "f: passes[0].seconds: expected a number"));
    assert_int_equal(
        read_quoted(&profile, PASS(LINEAR EXTENTS "'pass':0,'seconds':1e999"), &err),
        HYPAR_SYNTAX);
    size_t n = HP_MAX_MEASURED + 1, head = strlen(HEAD "'passes':[");
    char *text = malloc(head + 2 * n + 2);
    memcpy(text, HEAD "'passes':[", head);
    for (size_t i = 0; i < n; i++)
        memcpy(text + head + 2 * i, "1,", 2);
    memcpy(text + head + 2 * n - 1, "]}", 3);
    assert_int_equal(read_quoted(&profile, text, &err), HYPAR_INVALID);
    assert_string_equal(err.text, "f: passes: has 1000001 elements, expected at most 1000000");
    free(text);
}

/* Not a test of speed, but it shows it: looked up with what is not there. */
static void misses(void **state)
{
    (void)state;
    enum { ROUNDS = 200000 };
    struct hypar_profile *profile = measure_all();
    static const enum op_kind kinds[] = { OP_LINEAR, OP_CONV, OP_RELU, OP_ATTENTION };
    for (int k = 0; k < 4; k++) {
        int i = 0;
        while (op_cases[i].kind != kinds[k])
            i++;
        int64_t extent[MAX_AXES];
        const struct nest *nest = last_nest(graphs[i]);
        struct measured_pass at = {
            "v100", HYPAR_FP32, nest, 0, whole_extents(nest, extent), 0
        };
        double sum = 0;
        clock_t begin = clock();
        for (int round = 0; round < ROUNDS; round++) {
            extent[0] = 1000 + round;
            sum += hp_profile_find(profile, &at);
        }
        printf("%s: %.0f ns a miss\n", hp_op[kinds[k]].name,
               1e9 * (double)(clock() - begin) / CLOCKS_PER_SEC / ROUNDS);
        assert_true(sum == 0);
    }
    hypar_profile_free(profile);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_pass_is_found),
        cmocka_unit_test(against_a_list),
        cmocka_unit_test(parts_of_wide_layers),
        cmocka_unit_test(short_forms),
        cmocka_unit_test(absent_operands),
        cmocka_unit_test(made_by_others),
        cmocka_unit_test(refused),
        cmocka_unit_test(file_form),
        cmocka_unit_test(joint_calls),
        cmocka_unit_test(interpolated),
        cmocka_unit_test(curves),
        cmocka_unit_test(measured_file),
        cmocka_unit_test(bad_files),
        cmocka_unit_test(negative_seconds_and_too_many),
        cmocka_unit_test(misses),
    };
    return cmocka_run_group_tests(tests, build_all, free_all);
}
