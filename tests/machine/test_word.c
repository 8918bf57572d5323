/* Machine words: they are printed back, survive JSON, and bad words say what is wrong. */
#include <math.h>

#include "tests/machine/check.h"

static const struct {
    const char *word;
    const char *canonical; /* NULL: itself */
} good[] = {
    { "htree:16", NULL },
    { "htree:16,device=v100,bandwidth=1GB/s", NULL },
    { "htree:16,device=eyeriss-hmc,bandwidth=1.6Gb/s", "htree:16" },
    { "torus:4x4", NULL },
    { "torus:4x4x4", NULL },
    { "torus:04x4", "torus:4x4" },
    { "mesh:4x4,latency=0s", NULL },
    { "ring:8,efficiency=0.25", NULL },
    { "ring:8,reduction-length=100,output-length=50.5,unaligned-efficiency=0.2,"
      "stream-efficiency=0.85,product-efficiency=0.7,row-efficiency=0.4,column-efficiency=0.3,"
      "compiled-column-efficiency=0.5,window-efficiency=0.1,scatter-efficiency=0.02,"
      "kernel-time=2us,reduction-time=1us,column-time=3us,summed-time=2ns,vector-rate=5.5TFLOP/"
      "s,"
      "eager-launch=7us,compiled-launch=3us",
      NULL },
    { "full:16,bandwidth=1GB/s,device=v100", "full:16,bandwidth=1GB/s" },
    { "full:2,bandwidth=1e+9", "full:2,bandwidth=1GB/s" },
    { "full:2,bandwidth=1234567.890123", "full:2,bandwidth=1234567.890123B/s" },
    { "full:2,idle-power=2000W", "full:2,idle-power=2kW" },
    { "cluster:4x8", NULL },
    { "cluster:4x8,device=h100,intra=450GB/s,inter=50GB/s,latency=2us,memory=80GB",
      "cluster:4x8,device=h100,latency=2us" },
    { "cluster:4x8,latency=1us", "cluster:4x8,inter-latency=1us" },
    { "cluster:4x8,inter-latency=2us,latency=1us", "cluster:4x8" },
    { "cluster:4x8,bandwidth=1GB/s", "cluster:4x8,intra=1GB/s,inter=1GB/s" },
    { "cluster:4x8,nics=8,memory=64GiB", "cluster:4x8,memory=68719476736B,nics=8" },
    { "cluster:2x8,device=h100+cluster:2x8,device=a100", NULL },
    { "cluster:2x8,device=h100,nics=8", "cluster:2x8,device=h100" },
    { "cluster:2x8,device=h100,nics=1", NULL },
    { "cluster:2x8,device=mi250x,nics=4", "cluster:2x8,device=mi250x" },
    { "cluster:2x3,device=mi250x,nics=2", "cluster:2x3,device=mi250x" },
    { "cluster:4x8,comm-latency=30us,copy-bandwidth=2TB/s,comm-share=0.2,intra-efficiency=0.8,"
      "inter-efficiency=0.9",
      NULL },
    { "cluster:4x8,link-efficiency=0.5",
      "cluster:4x8,intra-efficiency=0.5,inter-efficiency=0.5" },
    { "ring:8,device=a100,comm-latency=0s,copy-bandwidth=0B/s,link-efficiency=1", NULL },
    { "cluster:1x2,bandwidth=1e+9+cluster:1x2",
      "cluster:1x2,intra=1GB/s,inter=1GB/s+cluster:1x2" },
    { "ring:4,device=p100,fp64=1T,fp32=2T,bf16=3T,fp16=4T,tf32=5T,memory-bandwidth=100GB/"
      "s,add-energy=1pJ,"
      "multiply-energy=2pJ,sram-energy=3pJ,dram-energy=4nJ,energy=0J",
      "ring:4,device=p100,fp32=2TFLOP/s,fp64=1TFLOP/s,bf16=3TFLOP/s,fp16=4TFLOP/s,"
      "tf32=5TFLOP/s,memory-bandwidth=100GB/s,"
      "add-energy=1pJ,multiply-energy=2pJ,sram-energy=3pJ,dram-energy=4nJ,energy=0J" },
    { "ring:8,usable-memory=15GB,context-memory=400MB,workspace-memory=8MB", NULL },
    { "ring:8,device=h100,memory=80GB", "ring:8,device=h100" },
    { "cluster:32x8,device=h100,node17.peak=0.8x", NULL },
    { "cluster:32x8,node17.peak=0.8x,node17-18.inter=25GB/s",
      "cluster:32x8,node17.peak=0.8x,node17.inter=2x,node18.inter=2x" },
    { "cluster:4x8,node1.bandwidth=1GB/s,node2.memory=0.5x,node3.efficiency=0.45",
      "cluster:4x8,node1.intra=1GB/s,node1.inter=1GB/"
      "s,node2.memory=8GB,node3.efficiency=0.45" },
    { "cluster:4x8,nics=8,node0.nics=7", "cluster:4x8,nics=8,node0.nics=7" },
    { "cluster:4x8,node1.latency=3us", "cluster:4x8,node1.latency=3x" },
    { "cluster:4x8,node1-2.memory=8GB,node3.memory=0.5x", "cluster:4x8,node1-3.memory=8GB" },
    { "cluster:4x8,node2.memory=16GB,node1.peak=1x", "cluster:4x8" },
    { "cluster:2x8,device=a100+cluster:2x8,device=h100,node1.fp32=0.7x,node0.idle-power=9W",
      "cluster:2x8,device=a100+cluster:2x8,device=h100,idle-power=9W,node1.fp32=0.7x,"
      "node1.idle-power=130W" },
    { "cluster:4x8,jitter=3%,nics=8,nvls=on,sharp=on,nccl=on,rails=on,leaf=2,"
      "oversubscription=1.5",
      "cluster:4x8,jitter=0.03,rails=on,nvls=on,sharp=on,nccl=on,leaf=2,"
      "oversubscription=1.5" },
    { "cluster:4x8,nvls=off,leaf=0", "cluster:4x8" },
    { "ring:4,fp8=2TFLOP/s,power-limit=300W,busy-power=90W,fp64-energy=9pJ,fp32-energy=8pJ,"
      "tf32-energy=2pJ,bf16-energy=1pJ,fp8-energy=0.5pJ,vector-energy=20pJ,column-sums=1450,"
      "attention-efficiency=1.25,attention-backward=1,attention-width=64,attention-keys=200,"
      "attention-causal=1.5,flash2-share=0.6",
      NULL },
    { "local:1", NULL },
    { "local:2,memory=1GB,bandwidth=3GB/s", NULL },
};

enum { N_GOOD = sizeof good / sizeof good[0] };

static void words_are_printed_back(void **state)
{
    (void)state;
    for (int i = 0; i < N_GOOD; i++) {
        struct hypar_machine *machine = machine_of(good[i].word);
        assert_string_equal(hypar_machine_word(machine),
                            good[i].canonical ? good[i].canonical : good[i].word);
        hypar_machine_free(machine);
    }
}

static void words_survive_json(void **state)
{
    (void)state;
    for (int i = 0; i < N_GOOD; i++) {
        struct hypar_machine *machine = machine_of(good[i].word), *again;
        struct hypar_error err;
        char *text = json_of(machine);
        if (read_json(&again, text, &err) != HYPAR_OK)
            fail_msg("%s: %s", good[i].word, err.text);
        assert_string_equal(hypar_machine_word(again), hypar_machine_word(machine));
        char *text_again = json_of(again);
        assert_string_equal(text_again, text);
        test_free(text_again);
        test_free(text);
        hypar_machine_free(machine);
        hypar_machine_free(again);
    }
}

static void every_option_is_in_a_good_word(void **state)
{
    (void)state;
    for (int o = 0; hypar_machine_option(o); o++) {
        const struct hypar_machine_option *option = hypar_machine_option(o);
        char needle[32], word[100];
        bool found = false;
        snprintf(needle, sizeof needle, ",%s=", option->name);
        for (int i = 0; i < N_GOOD; i++)
            found |= strstr(good[i].word, needle) != NULL;
        if (!found)
            fail_msg("option '%s' is in no word: add one to good in tests/machine/test_word.c",
                     option->name);
        assert_true(strlen(option->summary) > 5);
        /* The example is a value the option can have. */
        snprintf(word, sizeof word, "cluster:2x8,%s=%s", option->name, option->example);
        hypar_machine_free(machine_of(word));
    }
    assert_null(hypar_machine_option(-1));
    for (int o = 0; o < OPTION_COUNT; o++)
        assert_non_null(hp_machine_options[o].key);
}

/* Devices as people write them; what is printed back is the name of the table. */
static void devices_as_people_write_them(void **state)
{
    (void)state;
    static const struct {
        const char *written, *name;
    } cases[] = {
        { "A100", "a100" },
        { "A100-40", "a100-40gb" },
        { "a100_40GB", "a100-40gb" },
        { "a100-80gb", "a100" },
        { "V100-32", "v100-32gb" },
        { "RTX4090", "rtx-4090" },
        { "RTX 4090", "rtx-4090" },
        { "4090", "rtx-4090" },
        { "L40S", "l40s" },
        { "GH200", "gh200" },
        { "GB200", "gb200" },
        { "H100-SXM", "h100" },
        { "H100 PCIe", "h100-pcie" },
        { "TPUv4", "tpu-v4" },
        { "T4", "t4" },
        { "A10", "a10" },
        { "L4", "l4" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct hypar_device_type *type;
        struct hypar_error err;
        if (hp_device_type_get(&type, cases[i].written, &err) != HYPAR_OK)
            fail_msg("%s", err.text);
        assert_string_equal(type->device.name, cases[i].name);
    }
    static const char *const unknown[] = { "", "a", "a100-", "a100-4", "a10040g", "gb", "rtx" };
    for (size_t i = 0; i < sizeof unknown / sizeof unknown[0]; i++) {
        const struct hypar_device_type *type;
        struct hypar_error err;
        assert_int_equal(hp_device_type_get(&type, unknown[i], &err), HYPAR_INVALID);
        assert_non_null(strstr(err.text, "unknown device"));
    }
}

static void every_device_is_usable_and_says_its_source(void **state)
{
    (void)state;
    static const char *const wanted[] = { "eyeriss-hmc", "k80",  "p100", "v100", "a100",
                                          "h100",        "h200", "t4",   "gh200" };
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++)
        assert_non_null(hp_device_type_find(wanted[i]));
    for (int t = 0; hypar_device_type(t); t++) {
        const struct hypar_device_type *type = hypar_device_type(t);
        const struct hypar_device *d = &type->device;
        print_message("%s\n", d->name);
        assert_ptr_equal(hp_device_type_find(d->name), type); /* no name twice */
        assert_true(d->fp64_op_per_s > 0 && d->fp32_op_per_s >= d->fp64_op_per_s);
        assert_true(d->bf16_op_per_s >= d->fp32_op_per_s);
        assert_true(d->fp16_op_per_s >= d->fp32_op_per_s);
        assert_true(d->tf32_op_per_s >= d->fp32_op_per_s);
        assert_true(d->efficiency > 0 && d->efficiency <= 1);
        assert_true(d->memory_bytes >= 1000000000 && d->memory_bytes_per_s > 1e9);
        if (d->power_limit_w > 0) { /* kernels that were measured, or are like such */
            assert_true(d->power_limit_w > fmax(d->busy_w, d->idle_w) && d->busy_w > 0);
            assert_true(d->kernels.kernel_s > 0 && d->kernels.attention_efficiency > 0);
        } else {
            assert_true(d->add_j > 0 && d->multiply_j > 0 && d->sram_access_j > 0);
            assert_true(d->dram_access_j > d->sram_access_j);
        }
        assert_true(type->ports > 0 && type->link_bytes_per_s > 0 && type->nic_bytes_per_s > 0);
        assert_true(type->latency_s >= 0 && type->energy_j_per_bit > 0);
        assert_true(strlen(type->summary) > 10 && strlen(type->source) > 20);
        char word[64];
        snprintf(word, sizeof word, "cluster:2x2,device=%s", d->name);
        struct hypar_machine *machine = machine_of(word);
        assert_string_equal(hypar_machine_device(machine, 3)->name, d->name);
        hypar_machine_free(machine);
    }
    assert_null(hypar_device_type(-1));
}

static void hypar_s_array_is_the_paper_s(void **state)
{
    (void)state;
    struct hypar_machine *machine = machine_of("htree:16");
    const struct hypar_device *d = hypar_machine_device(machine, 15);
    assert_true(d->fp32_op_per_s == 84e9 && d->efficiency == 1);
    assert_true(d->memory_bytes == 8000000000 && d->memory_bytes_per_s == 320e9);
    assert_true(d->add_j == 0.9e-12 && d->multiply_j == 3.7e-12);
    assert_true(d->sram_access_j == 5e-12 && d->dram_access_j == 640e-12);
    hypar_machine_free(machine);
}

static void joined_clusters_differ_by_device(void **state)
{
    (void)state;
    struct hypar_machine *machine =
        machine_of("cluster:2x8,device=h100+cluster:1x4,device=a100+cluster:1x2,device=k80");
    assert_int_equal(hypar_machine_device_count(machine), 22);
    assert_string_equal(hypar_machine_device(machine, 0)->name, "h100");
    assert_string_equal(hypar_machine_device(machine, 15)->name, "h100");
    assert_string_equal(hypar_machine_device(machine, 16)->name, "a100");
    assert_string_equal(hypar_machine_device(machine, 19)->name, "a100");
    assert_string_equal(hypar_machine_device(machine, 20)->name, "k80");
    assert_false(hypar_machine_is_uniform(machine));
    assert_string_equal(hypar_machine_topology(machine), "cluster");
    for (int a = 0; a < 22; a++)
        for (int b = 0; b < 22; b++)
            check_route(machine, a, b);
    check_links(machine);
    check_levels(machine);
    hypar_machine_free(machine);

    machine = machine_of("cluster:1x2+cluster:3x5");
    assert_true(hypar_machine_is_uniform(machine));
    hypar_machine_free(machine);
}

/* A cluster with a slow node is what joined clusters are, one of them the slow node. */
static void slow_nodes_are_parts(void **state)
{
    (void)state;
    struct hypar_machine *slow = machine_of(
        "cluster:8x4,device=h100,node5.peak=0.5x,node5.memory=40GB,node5.inter=1GB/s,"
        "node7.nics=2");
    struct hypar_machine *parts = machine_of(
        "cluster:5x4,device=h100+cluster:1x4,device=h100,fp32=33.5T,fp64=33.5T,tf32=247.25T,"
        "fp16=494.5T,bf16=494.5T,fp8=989.5T,vector-rate=2.75T,power-limit=350W,"
        "busy-power=150.5W,idle-power=65W,memory=40GB,inter=1GB/s+"
        "cluster:1x4,device=h100+cluster:1x4,device=h100,nics=2");
    struct hypar_level a[HYPAR_MAX_LEVELS], b[HYPAR_MAX_LEVELS];
    assert_false(hypar_machine_is_uniform(slow));
    assert_int_equal(hypar_machine_link_count(slow), hypar_machine_link_count(parts));
    for (int d = 0; d < 32; d++)
        assert_true(
            hp_devices_equal(hypar_machine_device(slow, d), hypar_machine_device(parts, d)));
    for (int l = 0; l < hypar_machine_link_count(slow); l++) {
        struct hypar_link x = hypar_machine_link(slow, l), y = hypar_machine_link(parts, l);
        assert_true(x.from == y.from && x.to == y.to && x.bytes_per_s == y.bytes_per_s &&
                    x.latency_s == y.latency_s && x.energy_j_per_bit == y.energy_j_per_bit);
    }
    int n = hypar_machine_levels(slow, a);
    assert_int_equal(hypar_machine_levels(parts, b), n);
    for (int h = 0; h < n; h++)
        assert_true(a[h].ways == b[h].ways && a[h].bytes_per_s == b[h].bytes_per_s);
    assert_int_equal(hp_machine_node(slow, 23), 5);
    assert_int_equal(hp_machine_fewer_rows(slow, 8), 4); /* as of eight equal nodes */
    for (int from = 0; from < 32; from++)
        for (int to = 0; to < 32; to++)
            check_route(slow, from, to);
    check_links(slow);
    check_levels(slow);
    hypar_machine_free(slow);
    hypar_machine_free(parts);
}

/* Nodes that differ in links alone have devices of one kind. */
static void nodes_with_slow_cards_are_uniform(void **state)
{
    (void)state;
    struct hypar_machine *machine = machine_of("cluster:4x2,device=h100,node2.inter=0.5x");
    assert_true(hypar_machine_is_uniform(machine));
    assert_ptr_equal(hypar_machine_device(machine, 0), hypar_machine_device(machine, 7));
    hypar_machine_free(machine);
}

#define TOPOLOGIES "htree, torus, mesh, ring, full, cluster, local"

static const struct {
    const char *word, *message;
} bad[] = {
    { "", "machine '': empty, expected a word such as cluster:4x8" },
    { "tours:4x4", "machine 'tours:4x4': unknown topology 'tours', did you mean torus?" },
    { "machine.txt",
      "machine 'machine.txt': unknown topology 'machine.txt', expected one of " TOPOLOGIES },
    { ":4", "machine ':4': unknown topology '', expected one of " TOPOLOGIES },
    { "torus", "machine 'torus': torus has no size, expected torus:4x4 or torus:4x4x4" },
    { "ring:", "machine 'ring:': no size at '', expected ring:8" },
    { "torus:4x", "machine 'torus:4x': no size at '', expected torus:4x4 or torus:4x4x4" },
    { "torus:x4", "machine 'torus:x4': no size at 'x4', expected torus:4x4 or torus:4x4x4" },
    { "torus:-4x4",
      "machine 'torus:-4x4': no size at '-4x4', expected torus:4x4 or torus:4x4x4" },
    { "torus:1x1x1x1x1x1x1", "machine 'torus:1x1x1x1x1x1x1': more than 6 sizes" },
    { "ring:4x4", "machine 'ring:4x4': ring has 2 sizes, expected ring:8" },
    { "cluster:8", "machine 'cluster:8': cluster has 1 size, expected cluster:4x8" },
    { "full:0", "machine 'full:0': size 0, expected 1..1048576" },
    { "ring:1048577", "machine 'ring:1048577': size 1048577, expected 1..1048576" },
    { "ring:99999999999999999999999",
      "machine 'ring:99999999999999999999999': size 99999999999999999999999, "
      "expected 1..1048576" },
    { "torus:2048x2048", "machine 'torus:2048x2048': more than 1048576 devices" },
    { "cluster:131072x8+cluster:1x1",
      "machine 'cluster:131072x8+cluster:1x1': more than 1048576 devices" },
    { "full:8192", "machine 'full:8192': 33550336 links, expected at most 16777216" },
    { "ring:4;", "machine 'ring:4;': ';' follows, expected ',' or the end" },
    { "ring:4 ", "machine 'ring:4 ': ' ' follows, expected ',' or the end" },
    { "ring:4,", "machine 'ring:4,': '' is no option, expected name=value" },
    { "ring:4,latency",
      "machine 'ring:4,latency': 'latency' is no option, expected name=value" },
    { "ring:4,latency=",
      "machine 'ring:4,latency=': 'latency=' is no option, expected name=value" },
    { "ring:4,=2us", "machine 'ring:4,=2us': '=2us' is no option, expected name=value" },
    { "cluster:4x8,node4.peak=0.5x",
      "machine 'cluster:4x8,node4.peak=0.5x': node 4, expected one of 0 to 3" },
    { "cluster:4x8,node2-1.peak=0.5x",
      "machine 'cluster:4x8,node2-1.peak=0.5x': node 1, expected one of 2 to 3" },
    { "cluster:4x8,node1.peak=1T", "machine 'cluster:4x8,node1.peak=1T': node1: peak is '1T', "
                                   "expected a factor such as 0.8x" },
    { "cluster:4x8,node1.memory=8", "machine 'cluster:4x8,node1.memory=8': node1: memory is "
                                    "'8', expected a size such as 80GB or 80GiB, or a factor "
                                    "such as 0.8x" },
    { "cluster:4x8,node1-2.inter=0.5x,node2.inter=1GB/s",
      "machine 'cluster:4x8,node1-2.inter=0.5x,node2.inter=1GB/s': node 2: inter is given "
      "twice" },
    { "cluster:4x8,node1.nics=0.5x", "machine 'cluster:4x8,node1.nics=0.5x': node 1: nics is "
                                     "0.5, expected a whole number in 1..8" },
    { "cluster:4x8,node1.device=k80",
      "machine 'cluster:4x8,node1.device=k80': node1: device: nodes of another device are a "
      "cluster of their own, joined with '+'" },
    { "cluster:4x8,node1=3", "machine 'cluster:4x8,node1=3': unknown option 'node1', expected "
                             "one such as node17.fp32 or node16-31.fp32" },
    { "ring:4,node1.fp32=0.5x",
      "machine 'ring:4,node1.fp32=0.5x': ring has no nodes, expected a cluster" },
    { "ring:4,speed=3", "machine 'ring:4,speed=3': unknown option 'speed', expected one that "
                        "'hypar machines' lists" },
    { "ring:4,latncy=3us",
      "machine 'ring:4,latncy=3us': unknown option 'latncy', did you mean latency?" },
    { "ring:4,device=rtx-409", "machine 'ring:4,device=rtx-409': unknown device 'rtx-409', did "
                               "you mean rtx-4090?" },
    { "ring:4,device=quantum",
      "machine 'ring:4,device=quantum': unknown device 'quantum', expected one of "
      "eyeriss-hmc, k80, titan-x, p100, v100, v100-32gb, t4, rtx-3090, rtx-4090, a10, a10g, "
      "a40, a6000, l4, l40s, a100, a100-40gb, h100, h100-pcie, h100-nvl, h200, gh200, b200, "
      "gb200, mi250x, mi300x, mi325x, tpu-v3, tpu-v4, tpu-v5e, tpu-v5p, trainium2, cpu-core" },
    { "ring:4,device=v100,device=v100",
      "machine 'ring:4,device=v100,device=v100': device is given twice" },
    { "ring:4,latency=1us,latency=1us",
      "machine 'ring:4,latency=1us,latency=1us': latency is given twice" },
    { "cluster:2x2,intra=1GB/s,bandwidth=1GB/s",
      "machine 'cluster:2x2,intra=1GB/s,bandwidth=1GB/s': intra is given twice" },
    { "ring:4,intra=1GB/s", "machine 'ring:4,intra=1GB/s': intra is no option of ring" },
    { "htree:4,nics=2", "machine 'htree:4,nics=2': nics is no option of htree" },
    { "ring:4,bandwidth=1GB", "machine 'ring:4,bandwidth=1GB': bandwidth is '1GB', expected a "
                              "bandwidth such as 450GB/s or 100Gb/s" },
    { "ring:4,bandwidth=nan", "machine 'ring:4,bandwidth=nan': bandwidth is 'nan', expected a "
                              "bandwidth such as 450GB/s or 100Gb/s" },
    { "ring:4,bandwidth=-1GB/s", "machine 'ring:4,bandwidth=-1GB/s': bandwidth is '-1GB/s', "
                                 "expected a bandwidth such as 450GB/s or 100Gb/s" },
    { "ring:4,memory=40gb",
      "machine 'ring:4,memory=40gb': memory is '40gb', expected a size such as 80GB or 80GiB" },
    { "htree:99999999999",
      "machine 'htree:99999999999': size 99999999999, expected 1..1048576" },
    { "ring:4,bandwidth=0", "machine 'ring:4,bandwidth=0': bandwidth is 0, expected 1..1e+18" },
    { "ring:4,bandwidth=1e300",
      "machine 'ring:4,bandwidth=1e300': bandwidth is 1e+300, expected 1..1e+18" },
    { "ring:4,memory=0",
      "machine 'ring:4,memory=0': memory is 0, expected a whole number in 1..1e+15" },
    { "ring:4,memory=1.5",
      "machine 'ring:4,memory=1.5': memory is '1.5', expected a size such as 80GB or 80GiB" },
    { "ring:4,memory=8",
      "machine 'ring:4,memory=8': memory is '8', expected a size such as 80GB or 80GiB" },
    { "ring:4,memory=1.5B",
      "machine 'ring:4,memory=1.5B': memory is 1.5, expected a whole number in 1..1e+15" },
    { "ring:4,latency=2",
      "machine 'ring:4,latency=2': latency is '2', expected a time such as 2us or 1.5ms" },
    { "ring:4,efficiency=2",
      "machine 'ring:4,efficiency=2': efficiency is 2, expected 1e-06..1" },
    { "cluster:2x4,nics=5",
      "machine 'cluster:2x4,nics=5': nics is 5, expected a whole number in 1..4" },
    { "local:2,device=v100",
      "machine 'local:2,device=v100': local takes no device: it is this computer's own" },
    { "cluster:2x2+ring:4",
      "machine 'cluster:2x2+ring:4': ring cannot be joined, only clusters can" },
    { "cluster:2x2+", "machine 'cluster:2x2+': '+' follows, expected ',' or the end" },
    { "cluster:2x2+x",
      "machine 'cluster:2x2+x': unknown topology 'x', expected one of " TOPOLOGIES },
    { "cluster:2x2\n", "machine 'cluster:2x2?': '?' follows, expected ',' or the end" },
};

static void bad_words_say_what_is_wrong(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct hypar_machine *machine = (void *)"unset";
        struct hypar_error err = { 0 };
        enum hypar_status status = hypar_machine_read(&machine, bad[i].word, &err);
        assert_null(machine);
        assert_int_equal(hypar_status_exit_code(status), 3);
        assert_string_equal(err.text, bad[i].message);
        assert_int_equal(hypar_machine_read(&machine, bad[i].word, NULL), status);
    }
}

static void too_long_words_are_refused(void **state)
{
    (void)state;
    enum { N = 65, PART = 12 };
    char many[N * PART + 1], longest[5000];
    for (int i = 0; i < N; i++)
        memcpy(many + i * PART, "+cluster:1x1", PART);
    many[N * PART] = '\0';
    struct hypar_machine *machine;
    struct hypar_error err;
    assert_int_equal(hypar_machine_read(&machine, many + 1, &err), HYPAR_UNSUPPORTED);
    assert_non_null(strstr(err.text, "more than 64 parts"));
    machine = machine_of(many + 1 + PART);
    assert_int_equal(hypar_machine_device_count(machine), 64);
    hypar_machine_free(machine);

    memset(longest, '1', sizeof longest);
    longest[sizeof longest - 1] = '\0';
    assert_int_equal(hypar_machine_read(&machine, longest, &err), HYPAR_UNSUPPORTED);
    assert_non_null(strstr(err.text, "longer than 4096 characters"));
}

/* Cut good words anywhere and change single characters: an error or a machine, never a crash.
 */
static void damaged_words_do_no_harm(void **state)
{
    (void)state;
    struct random random = { 17 };
    print_message("seed 17\n");
    for (int i = 0; i < 20000; i++) {
        char word[300];
        snprintf(word, sizeof word, "%s", good[hp_random_below(&random, N_GOOD - 2)].word);
        size_t n = strlen(word);
        word[hp_random_below(&random, (int64_t)n)] =
            ",=+:x0123456789eGB/s."[hp_random_below(&random, 21)];
        if (hp_random_below(&random, 4) == 0)
            word[hp_random_below(&random, (int64_t)n)] = '\0';
        struct hypar_machine *machine;
        struct hypar_error err;
        if (hypar_machine_read(&machine, word, &err) != HYPAR_OK)
            continue;
        const char *canonical = hypar_machine_word(machine);
        struct hypar_machine *again = machine_of(canonical);
        assert_string_equal(hypar_machine_word(again), canonical);
        hypar_machine_free(again);
        hypar_machine_free(machine);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_are_printed_back),
        cmocka_unit_test(words_survive_json),
        cmocka_unit_test(every_option_is_in_a_good_word),
        cmocka_unit_test(every_device_is_usable_and_says_its_source),
        cmocka_unit_test(devices_as_people_write_them),
        cmocka_unit_test(hypar_s_array_is_the_paper_s),
        cmocka_unit_test(joined_clusters_differ_by_device),
        cmocka_unit_test(slow_nodes_are_parts),
        cmocka_unit_test(nodes_with_slow_cards_are_uniform),
        cmocka_unit_test(bad_words_say_what_is_wrong),
        cmocka_unit_test(too_long_words_are_refused),
        cmocka_unit_test(damaged_words_do_no_harm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
