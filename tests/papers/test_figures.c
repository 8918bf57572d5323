/* The figures of papers as tables and pictures: the files that are written, and their names. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "bench/figure_maps.c"
#include "bench/figures.c" /* which only benchmarks link */

static char folder[] = "/tmp/hypar-figures-XXXXXX";

static int make_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
    char command[128];
    (void)state;
    snprintf(command, sizeof command, "rm -rf %s", folder);
    return system(command);
}

static void assert_file(const char *name, const char *begin, const char *within)
{
    char path[256], text[8192] = "";
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    assert_true(fread(text, 1, sizeof text - 1, file) > 0);
    fclose(file);
    assert_memory_equal(text, begin, strlen(begin));
    assert_non_null(strstr(text, within));
}

static void test_figures(void **state)
{
    char *argv[] = { "bench", "--csv", folder, "7", "--svg", folder, NULL };
    int argc = 6;
    struct figures f;
    (void)state;
    figures_begin(&f, "HyPar", &argc, argv);
    assert_int_equal(argc, 2);
    assert_string_equal(argv[1], "7");
    figure(&f, "Figure 6 (a)", "performance, over dp", "x");
    figure_point(&f, "vgg-a <1>", "hypar", 4, 5);
    figure_point(&f, "vgg-b", "hypar", 0, 5);        /* not in the paper */
    figure_point(&f, "vgg-b", "hypar", 4, INFINITY); /* not possible here */
    figure(&f, "Figure 7", "has no points", "");
    figures_end(&f);
    assert_file(
        "hypar-figure-6-a.csv",
        "paper,figure,what,unit,row,series,printed,ours,ratio\n"
        "\"HyPar\",\"Figure 6 (a)\",\"performance, over dp\",\"x\",\"vgg-a <1>\",\"hypar\","
        "4,5,1.25\n",
        "1.25\n");
    assert_file("hypar-figure-6-a.svg", "<svg ", "vgg-a &lt;1&gt;, hypar: paper 4, ours 5");
    assert_int_equal(f.n, 0);
    char path[128];
    snprintf(path, sizeof path, "%s/hypar-figure-7.csv", folder);
    assert_null(fopen(path, "r"));
}

/* The paper's bar and ours have one colour, the paper's paler; the note stands below the title.
 */
static void test_bars(void **state)
{
    char *argv[] = { "bench", "--svg", folder, NULL };
    int argc = 3;
    struct figures f;
    (void)state;
    figures_begin(&f, "HyPar", &argc, argv);
    figure(&f, "Bars", "time", "s");
    figure_bars(&f);
    figure_note(&f, "ours is simulated");
    figure_point(&f, "vgg-a", "mp", 4, 5);
    figure_point(&f, "vgg-a", "hypar", 3, 400);
    figures_end(&f);
    assert_file("hypar-bars.svg", "<svg ", "the paper's bars beside ours; ours is simulated");
    assert_file("hypar-bars.svg", "<svg ", ">time, s, logarithmic scale<");
    assert_file("hypar-bars.svg", "<svg ", ">1</text>"); /* below the least, which is 3 */
    assert_file("hypar-bars.svg", "<svg ", " fill=\"#eebf99\"><title>hypar, paper on");
    assert_file("hypar-bars.svg", "<svg ", " fill=\"#d55e00\"><title>hypar, ours on");
}

/* A picture beside those of points. */
static void test_picture(void **state)
{
    char *argv[] = { "bench", "--svg", folder, NULL };
    int argc = 3;
    struct figures f;
    (void)state;
    figures_begin(&f, "HyPar", &argc, argv);
    FILE *to = figure_picture(&f, "Figure 10");
    fputs("<svg a map", to);
    figure_close(to);
    assert_file("hypar-figure-10.svg", "<svg ", "a map");
    f.svg = NULL;
    assert_null(figure_picture(&f, "Figure 10"));
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_figures),
                                        cmocka_unit_test(test_bars),
                                        cmocka_unit_test(test_picture) };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
