#define _XOPEN_SOURCE 700 /* mkdtemp */
/* Devices described in files. */
#include "tests/machine/check.h"

#include <math.h>
#include <unistd.h>

static char folder[64];
static char path[2][96]; /* a device, a machine */

static void write_text(const char *to, const char *text)
{
    FILE *file = fopen(to, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static int make_folder(void **state)
{
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/hypar-device-XXXXXX");
    if (!mkdtemp(folder))
        return 1;
    snprintf(path[0], sizeof path[0], "%s/mine.json", folder);
    snprintf(path[1], sizeof path[1], "%s/machine.json", folder);
    return 0;
}

static int remove_folder(void **state)
{
    (void)state;
    unlink(path[0]);
    unlink(path[1]);
    return rmdir(folder);
}

static struct hypar_machine *with_device(const char *format)
{
    char word[256];
    snprintf(word, sizeof word, format, path[0]);
    return machine_of(word);
}

/* Every figure that is in the file is the machine's, and what a word says goes before it. */
static void a_file_gives_the_figures(void **state)
{
    (void)state;
    write_text(path[0],
               "{\"format\": \"hypar-device/1\", \"name\": \"mine\", \"source\": \"measured\","
               " \"fp32_op_per_s\": 2e12, \"memory_bytes\": 3000000000,"
               " \"memory_bytes_per_s\": 4e11, \"efficiency\": 0.75,"
               " \"intra_bytes_per_s\": 5e10, \"inter_bytes_per_s\": 6e9, \"nics\": 4,"
               " \"latency_s\": 7e-6, \"bytes_per_s\": 8e9}");
    struct hypar_machine *machine = with_device("cluster:2x2,device=%s,inter=7GB/s");
    const struct hypar_device *device = hypar_machine_device(machine, 3);
    assert_string_equal(device->name, "mine");
    assert_true(device->fp32_op_per_s == 2e12);
    assert_true(device->fp64_op_per_s == 1e12);
    assert_true(device->bf16_op_per_s == 2e12);
    assert_true(device->efficiency == 0.75);
    assert_true(machine->parts[0].value[OPTION_INTRA] == 5e10);
    assert_true(machine->parts[0].value[OPTION_INTER] == 7e9);
    assert_true(machine->parts[0].value[OPTION_NICS] == 2);
    assert_true(machine->parts[0].value[OPTION_LATENCY] == 7e-6);
    assert_null(hypar_machine_word(machine)); /* no word says it, but its JSON does */
    char *text = json_of(machine);
    struct hypar_machine *again;
    assert_int_equal(read_json(&again, text, NULL), HYPAR_OK);
    assert_true(hypar_machine_device(again, 0)->efficiency == 0.75);
    test_free(text);
    hypar_machine_free(again);
    hypar_machine_free(machine);

    machine = with_device("full:3,device=%s");
    assert_true(hypar_machine_link(machine, 0).bytes_per_s == 8e9);
    hypar_machine_free(machine);
    machine = with_device("cluster:2x2,device=%s,latency=1us");
    assert_true(machine->parts[0].value[OPTION_INTER_LATENCY] == 1e-6);
    hypar_machine_free(machine);
}

/* A device of the table with some other figures: a word says which. */
static void a_known_name_keeps_its_word(void **state)
{
    (void)state;
    write_text(path[0], "{\"format\": \"hypar-device/1\", \"name\": \"h200\","
                        " \"efficiency\": 0.75}");
    struct hypar_machine *machine = with_device("cluster:2x8,device=%s");
    assert_string_equal(hypar_machine_word(machine), "cluster:2x8,device=h200,efficiency=0.75");
    assert_true(hypar_machine_device(machine, 0)->memory_bytes_per_s == 4800e9);
    hypar_machine_free(machine);
}

/* In a file of a machine the path is meant from where that lies. */
static void machine_files_name_device_files(void **state)
{
    (void)state;
    write_text(path[0], "{\"format\": \"hypar-device/1\", \"name\": \"h200\","
                        " \"efficiency\": 0.75, \"latency_s\": 7e-6}");
    write_text(path[1], "{\"format\": \"hypar-machine/1\", \"topology\": \"cluster\","
                        " \"shape\": [1, 4], \"device\": \"mine.json\"}");
    struct hypar_machine *machine = machine_of(path[1]);
    assert_true(hypar_machine_device(machine, 0)->efficiency == 0.75);
    hypar_machine_free(machine);

    write_text(path[1], "{\"format\": \"hypar-machine/1\", \"devices\": [\"mine.json\","
                        " \"v100\"], \"links\": [{\"from\": 0, \"to\": 1,"
                        " \"bytes_per_s\": 1e9}]}");
    machine = machine_of(path[1]);
    assert_true(hypar_machine_device(machine, 0)->efficiency == 0.75);
    assert_string_equal(hypar_machine_device(machine, 0)->name, "h200");
    assert_true(hypar_machine_link(machine, 0).latency_s == 7e-6);
    hypar_machine_free(machine);
}

static void what_is_written_is_read_back(void **state)
{
    (void)state;
    struct hypar_machine *machine = machine_of("cluster:1x8,device=a100"), *other;
    struct part part = machine->parts[0];
    double value[OPTION_COUNT];
    for (int o = 0; o < OPTION_COUNT; o++)
        value[o] = NAN;
    value[OPTION_EFFICIENCY] = part.value[OPTION_EFFICIENCY] = 0.625;
    FILE *file = fopen(path[0], "w");
    assert_non_null(file);
    hp_part_write_device_file(&part, "mine", "measured: ops.csv", file);
    fclose(file);
    assert_int_equal(hp_machine_with(&other, machine, "a100", value, NULL), HYPAR_OK);
    struct hypar_machine *again = with_device("cluster:1x8,device=%s");
    for (int o = 0; o < OPTION_COUNT; o++)
        if (hp_option_applies(&again->parts[0], (enum option)o))
            assert_true(again->parts[0].value[o] == other->parts[0].value[o]);
    assert_string_equal(hypar_machine_device(again, 0)->name, "mine");
    assert_string_equal(again->parts[0].type.source, "measured: ops.csv");
    hypar_machine_free(again);
    hypar_machine_free(other);
    hypar_machine_free(machine);
}

static void bad_files_are_told(void **state)
{
    (void)state;
    static const struct {
        const char *text, *message;
    } cases[] = {
        { "[]", "expected an object" },
        { "{\"name\": \"x\"}", "format: missing" },
        { "{\"format\": \"hypar-machine/1\"}", "expected \"hypar-device/1\"" },
        { "{\"format\": \"hypar-device/1\"}", "name: missing" },
        { "{\"format\": \"hypar-device/1\", \"name\": \"x\", \"speed\": 1}", "speed" },
        { "{\"format\": \"hypar-device/1\", \"name\": \"h200\", \"efficiency\": 2}",
          "efficiency" },
        { "{\"format\": \"hypar-device/1\", \"name\": \"x\"}",
          "fp32_op_per_s (peak of 32-bit arithmetic) is missing" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct hypar_machine *machine;
        struct hypar_error err = { 0 };
        char word[256];
        snprintf(word, sizeof word, "full:2,device=%s", path[0]);
        write_text(path[0], cases[i].text);
        assert_int_not_equal(hypar_machine_read(&machine, word, &err), HYPAR_OK);
        assert_null(machine);
        if (!strstr(err.text, cases[i].message))
            fail_msg("%s", err.text);
    }
}

/* Peaks that the file leaves out follow from what was said last; and a word reads back. */
static void derived_peaks_follow(void **state)
{
    (void)state;
    write_text(path[0], "{\"format\": \"hypar-device/1\", \"name\": \"mine\","
                        " \"fp32_op_per_s\": 25e12, \"bf16_op_per_s\": 200e12,"
                        " \"memory_bytes\": 3000000000, \"memory_bytes_per_s\": 4e11,"
                        " \"bytes_per_s\": 8e9}");
    static const struct {
        const char *word;
        double fp64, tf32, fp16;
    } row[] = {
        { "full:2,device=%s", 12.5e12, 25e12, 200e12 },
        { "full:2,device=%s,bf16=50TFLOP/s,fp32=5TFLOP/s", 2.5e12, 5e12, 50e12 },
        { "full:2,device=%s,fp32=5TFLOP/s,fp64=12.5TFLOP/s", 12.5e12, 5e12, 200e12 },
    };
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        struct hypar_machine *machine = with_device(row[i].word);
        const char *word = hp_machine_full_word(&machine->arena, machine);
        struct hypar_machine *again = machine_of(word);
        const struct hypar_device *device = hypar_machine_device(machine, 0);
        assert_true(device->fp64_op_per_s == row[i].fp64);
        assert_true(device->tf32_op_per_s == row[i].tf32);
        assert_true(device->fp16_op_per_s == row[i].fp16);
        assert_true(hp_devices_equal(device, hypar_machine_device(again, 0)));
        hypar_machine_free(again);
        hypar_machine_free(machine);
    }
}

/* A file counted, with a figure beside it, or named again and again: one run of devices. */
static void files_are_counted(void **state)
{
    (void)state;
    write_text(path[0], "{\"format\": \"hypar-device/1\", \"name\": \"mine\","
                        " \"fp32_op_per_s\": 25e12, \"memory_bytes\": 3000000000,"
                        " \"memory_bytes_per_s\": 4e11}");
    static const struct {
        const char *devices;
        double memory_bytes;
    } row[] = {
        { "{\"name\": \"mine.json\", \"count\": 2}", 3e9 },
        { "{\"name\": \"mine.json\", \"count\": 2, \"memory_bytes\": 5000000000}", 5e9 },
        { "\"mine.json\", \"mine.json\"", 3e9 },
    };
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        char text[512];
        snprintf(text, sizeof text,
                 "{\"format\": \"hypar-machine/1\", \"devices\": [%s], \"links\": "
                 "[{\"from\": 0, \"to\": 1, \"bytes_per_s\": 1e9}]}",
                 row[i].devices);
        write_text(path[1], text);
        struct hypar_machine *machine = machine_of(path[1]);
        assert_int_equal(hypar_machine_device_count(machine), 2);
        assert_int_equal(machine->n_runs, 1);
        assert_string_equal(hypar_machine_device(machine, 1)->name, "mine");
        assert_true((double)hypar_machine_device(machine, 1)->memory_bytes ==
                    row[i].memory_bytes);
        hypar_machine_free(machine);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_gives_the_figures),
        cmocka_unit_test(a_known_name_keeps_its_word),
        cmocka_unit_test(machine_files_name_device_files),
        cmocka_unit_test(what_is_written_is_read_back),
        cmocka_unit_test(bad_files_are_told),
        cmocka_unit_test(derived_peaks_follow),
        cmocka_unit_test(files_are_counted),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
