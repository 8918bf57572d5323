/* Plans that must be refused, each with its status and its one-line error. */
#include "tests/plan/plans.h"

/* Operators of the model: fc1 relu1 fc2 loss. */
#define HEAD  "{'format':'hypar-plan/1','model':'mlp:8-6-4','batch':12,'machine':'full:4',"
#define REST  "{'name':'*'}"
#define OPS   "'ops':[" REST "]"
#define OP(x) HEAD "'ops':[{'name':'fc1'," x "}," REST "]}"

#define STAGE0       "{'ops':['fc1','relu1'],'devices':[0,1]}"
#define STAGE1       "{'ops':['fc2','loss'],'devices':[2,3]}"
#define STAGES(s, x) HEAD OPS ",'stages':[" s "]" x "}"
#define SAME(d)      "{'ops':['fc1','relu1'],'devices':[" d "]}"
#define SAME1(d)     "{'ops':['fc2','loss'],'devices':[" d "]}"
#define SLOTS(s) \
    STAGES(SAME("0") "," SAME1("1"), ",'schedule':{'name':'slots','slots':[" s "]}")
#define PIPEDREAM ",'schedule':{'name':'pipedream'}"
#define REPLICAS \
    "{'ops':['fc1','relu1'],'devices':[0,1],'replicas':2,'share':'minibatch'}," STAGE1

/* A model with a parameter that two operators use, and products of axes. */
#define GPT                                                                            \
    "{'format':'hypar-plan/1','model':'gpt:layers=1,hidden=8,heads=2,seq=4,vocab=16'," \
    "'batch':4,'machine':'full:4',"
#define GPT_REST                                                                     \
    "'wpe.add','drop','h.0.ln_1','h.0.attn.q','h.0.attn.k','h.0.attn.v','h.0.attn'," \
    "'h.0.attn.c_proj','h.0.attn.dropout','h.0.attn.add','h.0.ln_2','h.0.mlp.c_fc'," \
    "'h.0.mlp.gelu','h.0.mlp.c_proj','h.0.mlp.dropout','h.0.mlp.add','ln_f','lm_head','loss'"

/* clang-format off */
static const struct {
    const char *plan;
    enum hypar_status status;
    const char *message;
} cases[] = {
    /* not JSON, not a plan */
    { "", HYPAR_SYNTAX, "?" },
    { "{", HYPAR_SYNTAX, "?" },
    { HEAD OPS ",'seed':1,'seed':2}", HYPAR_SYNTAX, "?" },
    { "[]", HYPAR_INVALID, "plan: expected an object, not an array" },
    { "{}", HYPAR_INVALID, "plan: format: missing, expected a string" },
    { "{'format':'hypar-plan/2'}", HYPAR_INVALID,
      "plan: format: expected \"hypar-plan/1\", not \"hypar-plan/2\"" },
    { HEAD OPS ",'stage':[]}", HYPAR_INVALID,
      "plan: unknown member 'stage', did you mean stages?" },
    { "{'format':'hypar-plan/1','machine':'full:4'," OPS "}", HYPAR_INVALID,
      "plan: model: missing, expected a string" },
    { "{'format':'hypar-plan/1','model':'-','machine':'full:4'," OPS "}", HYPAR_INVALID,
      "plan: model: expected a word or the path of a file, not \"-\"" },
    { "{'format':'hypar-plan/1','model':7,'machine':'full:4'," OPS "}", HYPAR_INVALID,
      "plan: model: expected a string, not 7" },
    { "{'format':'hypar-plan/1','model':'mlp:8-6-4'," OPS "}", HYPAR_INVALID,
      "plan: machine: missing, expected a string" },
    { "{'format':'hypar-plan/1','model':'mlp:8-6-4','machine':'full:0'," OPS "}", HYPAR_INVALID, "?" },
    { "{'format':'hypar-plan/1','model':'mlp:8-6-4','machine':{'format':'x'}," OPS "}", HYPAR_INVALID, "?" },
    { "{'format':'hypar-plan/1','model':'no-such-model','machine':'full:4'," OPS "}", HYPAR_INVALID, "?" },
    { HEAD OPS ",'precision':'fp8'}", HYPAR_INVALID,
      "plan: precision: expected one of fp32, bf16, fp64, fp16, tf32, not \"fp8\"" },
    { HEAD OPS ",'gradient_precision':'bf16'}", HYPAR_INVALID,
      "plan: gradient_precision: gradients of fp32 parameters cannot be bf16" },
    { HEAD OPS ",'precision':'bf16','gradient_precision':'fp16'}", HYPAR_INVALID,
      "plan: gradient_precision: gradients of bf16 parameters cannot be fp16" },
    { HEAD OPS ",'precision':'fp64','gradient_precision':'fp32'}", HYPAR_INVALID,
      "plan: gradient_precision: gradients of fp64 parameters cannot be fp32" },
    { HEAD OPS ",'gradient_precision':32}", HYPAR_INVALID, "?" },
    { HEAD OPS ",'dropout_masks':true}", HYPAR_INVALID, "?" },
    { HEAD OPS ",'dropout_masks':'yes'}", HYPAR_INVALID,
      "plan: dropout_masks: expected one of drawn, kept, not \"yes\"" },
    { HEAD OPS ",'framework_memory_bytes':-1}", HYPAR_INVALID, "?" },
    { HEAD OPS ",'framework_memory_bytes':'2GB'}", HYPAR_INVALID, "?" },
    { HEAD OPS ",'memory_limit_bytes':0}", HYPAR_INVALID,
      "plan: memory_limit_bytes: expected a number in 1..1e+15, not 0" },
    { HEAD OPS ",'memory_limit_bytes':-1e9}", HYPAR_INVALID, "?" },
    { HEAD OPS ",'memory_limit_bytes':1e16}", HYPAR_INVALID, "?" },
    { HEAD OPS ",'memory_limit_bytes':'20GB'}", HYPAR_INVALID, "?" },
    { HEAD OPS ",'optimizer':'lamb'}", HYPAR_INVALID,
      "plan: optimizer: expected one of sgd, momentum, adam, adamw, not \"lamb\"" },
    { HEAD OPS ",'simulation':true}", HYPAR_INVALID, "plan: simulation: expected an object, not true" },
    { HEAD OPS ",'simulation':{'overlap':true}}", HYPAR_INVALID,
      "plan: simulation: unknown member 'overlap', did you mean no_overlap?" },
    { HEAD OPS ",'simulation':{'no_overlap':1}}", HYPAR_INVALID,
      "plan: simulation.no_overlap: expected true or false, not 1" },
    { HEAD OPS ",'simulation':{'bucket_bytes':-1}}", HYPAR_INVALID, "?" },
    { HEAD OPS ",'simulation':{'all_reduce':''}}", HYPAR_INVALID, "?" },
    { HEAD OPS ",'simulation':{'all_reduce':'a-ring-of-more-than-thirty-one-letters'}}", HYPAR_INVALID,
      "plan: simulation.all_reduce: expected the name of an all-reduce, not "
      "\"a-ring-of-more-than-thirty-one-letters\"" },
    { HEAD OPS ",'seed':-1}", HYPAR_INVALID, "plan: seed: expected an integer in 0..9007199254740992, not -1" },
    { HEAD OPS ",'freeze':'fc9.*'}", HYPAR_INVALID, "?" },
    { HEAD OPS ",'freeze':'*'}", HYPAR_INVALID, "?" },
    { HEAD OPS ",'freeze':['fc1.*']}", HYPAR_INVALID, "?" },
    { HEAD OPS ",'clip':-1}", HYPAR_INVALID, "plan: clip: expected a number in 0..1.79769e+308, not -1" },
    { HEAD OPS ",'clip':'1'}", HYPAR_INVALID, "plan: clip: expected a number in 0..1.79769e+308, not \"1\"" },
    { HEAD OPS ",'seed':1.5}", HYPAR_INVALID, "plan: seed: expected an integer in 0..9007199254740992, not 1.5" },
    { "{'format':'hypar-plan/1','model':'mlp:8-6-4','batch':0,'machine':'full:4'," OPS "}", HYPAR_INVALID,
      "plan: batch: expected an integer >= 1, not 0" },
    { HEAD OPS ",'graph_hash':'12'}", HYPAR_INVALID,
      "plan: graph_hash: expected 16 hexadecimal digits, not \"12\"" },
    { HEAD OPS ",'graph_hash':'0123456789abcdef'}", HYPAR_INFEASIBLE, "?" },

    /* operators */
    { HEAD "'seed':1}", HYPAR_INVALID, "plan: ops: missing, expected an array" },
    { HEAD "'ops':{}}", HYPAR_INVALID, "plan: ops: expected an array, not an object" },
    { HEAD "'ops':[3]}", HYPAR_INVALID, "plan: ops[0]: expected an object, not 3" },
    { HEAD "'ops':[{}]}", HYPAR_INVALID, "plan: ops[0].name: missing, expected a string" },
    { HEAD "'ops':[" REST "," REST "," REST "," REST "," REST "," REST "]}", HYPAR_INVALID,
      "plan: ops: has 6 elements, expected at most 5" },
    { HEAD "'ops':[" REST "," REST "]}", HYPAR_INVALID, "plan: ops[1]: '*' is listed twice" },
    { HEAD "'ops':[{'name':'*','devices':[0]}]}", HYPAR_INVALID,
      "plan: ops[0]: unknown member 'devices', expected one of name, split, recompute, resend, "
      "shard, shard_over, shard_state" },
    { HEAD "'ops':[{'name':'*','split':{'N':4}}]}", HYPAR_INFEASIBLE,
      "plan: op '*': no operator has an axis 'N'" },
    { HEAD "'ops':[{'name':'*','split':{'n':4,'nk':4}}]}", HYPAR_INFEASIBLE,
      "plan: op '*': no operator has an axis 'nk'" },
    { HEAD "'ops':[{'name':'fc1'}]}", HYPAR_INFEASIBLE,
      "plan: op 'relu1' is not listed, nor is '*', which stands for the rest" },
    { HEAD "'ops':[{'name':'fc3'}]}", HYPAR_INFEASIBLE,
      "plan: op 'fc3' is not in the model; perhaps 'fc1'" },
    { HEAD "'ops':[{'name':'convolution'}]}", HYPAR_INFEASIBLE,
      "plan: op 'convolution' is not in the model" },
    { HEAD "'ops':[{'name':'fc1'},{'name':'fc1'}]}", HYPAR_INVALID,
      "plan: ops[1]: op 'fc1' is listed twice" },
    { OP("'kind':'conv'"), HYPAR_INFEASIBLE,
      "plan: op 'fc1': kind 'conv', expected 'linear' as in the model" },
    { OP("'kind':1"), HYPAR_INVALID, "plan: ops[0].kind: expected a string, not 1" },
    { OP("'splits':{'n':2}"), HYPAR_INVALID,
      "plan: ops[0]: unknown member 'splits', did you mean split?" },
    { OP("'recompute':1"), HYPAR_INVALID, "plan: ops[0].recompute: expected true or false, not 1" },

    /* splits */
    { OP("'split':[2]"), HYPAR_INVALID, "plan: ops[0].split: expected an object, not an array" },
    { OP("'split':{'n':0}"), HYPAR_INVALID,
      "plan: ops[0].split.n: expected an integer in 1..1048576, not 0" },
    { OP("'split':{'n':-2}"), HYPAR_INVALID,
      "plan: ops[0].split.n: expected an integer in 1..1048576, not -2" },
    { OP("'split':{'n':2000000}"), HYPAR_INVALID,
      "plan: ops[0].split.n: expected an integer in 1..1048576, not 2000000" },
    { OP("'split':{'n':'2'}"), HYPAR_INVALID,
      "plan: ops[0].split.n: expected an integer in 1..1048576, not \"2\"" },
    { OP("'split':{'q':2}"), HYPAR_INFEASIBLE,
      "plan: op 'fc1': axis 'q' is unknown, expected one of n, k, c, r" },
    { OP("'split':{'nk':2}"), HYPAR_INFEASIBLE,
      "plan: op 'fc1': axis 'nk' is unknown, expected one of n, k, c, r" },
    { OP("'split':{'n':4096,'k':4096}"), HYPAR_INFEASIBLE, "plan: op 'fc1': more than 1048576 parts" },
    { OP("'split':{'n':2},'sizes':{'n':[5,5]}"), HYPAR_INFEASIBLE,
      "plan: op 'fc1': axis 'n': sizes sum to 10, expected its extent 12" },
    { OP("'split':{'n':2},'sizes':{'n':[4,4,4]}"), HYPAR_INFEASIBLE,
      "plan: op 'fc1': axis 'n': 3 sizes, expected its degree 2" },
    { OP("'sizes':{'n':[6,6]}"), HYPAR_INFEASIBLE,
      "plan: op 'fc1': axis 'n': 2 sizes, expected its degree 1" },
    { OP("'split':{'n':2},'sizes':{'n':[13,-1]}"), HYPAR_INVALID,
      "plan: ops[0].sizes.n[1]: expected an integer >= 0, not -1" },
    { OP("'split':{'n':2},'sizes':{'n':[9223372036854775807,13]}"), HYPAR_INFEASIBLE,
      "plan: op 'fc1': axis 'n': size 0 is 9223372036854775807, expected 0 to 12" },
    { OP("'split':{'r':2},'sizes':{'r':[1,1]}"), HYPAR_INFEASIBLE,
      "plan: op 'fc1': axis 'r': copies have no sizes" },
    { OP("'sizes':{'q':[1]}"), HYPAR_INFEASIBLE,
      "plan: op 'fc1': axis 'q' is unknown, expected one of n, k, c, r" },
    { GPT "'ops':[{'name':'h.0.attn','split':{'d':2}}," REST "]}", HYPAR_INFEASIBLE,
      "plan: op 'h.0.attn': axis 'd': cannot be split: it is inner; expected one of n, a, q, s, r" },
    { "{'format':'hypar-plan/1','model':'lenet5','batch':4,'machine':'full:4',"
      "'ops':[{'name':'flatten','split':{'h':5}}," REST "]}", HYPAR_INFEASIBLE,
      "plan: op 'flatten': axis 'h': cannot be split: it is not the outermost factor of a dimension, "
      "so a part of it is no box; expected one of n, c, r" },

    /* devices */
    { OP("'devices':[0,1]"), HYPAR_INFEASIBLE,
      "plan: op 'fc1': 2 devices, expected one for each of its 1 parts" },
    { OP("'split':{'n':2},'devices':[0]"), HYPAR_INFEASIBLE,
      "plan: op 'fc1': 1 devices, expected one for each of its 2 parts" },
    { OP("'split':{'n':2},'devices':[0,4]"), HYPAR_INFEASIBLE,
      "plan: op 'fc1': device 4 is not in the machine, expected 0 to 3" },
    { OP("'devices':[-1]"), HYPAR_INVALID,
      "plan: ops[0].devices[0]: expected an integer in 0..2147483647, not -1" },
    { OP("'devices':[0.5]"), HYPAR_INVALID,
      "plan: ops[0].devices[0]: expected an integer in 0..2147483647, not 0.5" },
    { OP("'devices':0"), HYPAR_INVALID, "plan: ops[0].devices: expected an array, not 0" },
    { OP("'split':{'n':5}"), HYPAR_INFEASIBLE,
      "plan: op 'fc1': its 5 parts need devices to be listed: there are 4" },

    { "{'format':'hypar-plan/1','model':'mlp:8-6-4','machine':'full:1',"
      "'ops':[{'name':'fc1','devices':[1]}," REST "]}", HYPAR_INFEASIBLE,
      "plan: op 'fc1': device 1 is not in the machine, expected 0" },

    /* stages */
    { HEAD OPS ",'stages':{}}", HYPAR_INVALID, "plan: stages: expected an array, not an object" },
    { STAGES("{'ops':['fc1']}", ""), HYPAR_INVALID,
      "plan: stages[0].devices: missing, expected an array" },
    { STAGES("{'ops':[],'devices':[0]}", ""), HYPAR_INFEASIBLE,
      "plan: op 'fc1' is in no stage" },
    { STAGES("{'ops':['fc1'],'devices':[]}", ""), HYPAR_INFEASIBLE,
      "plan: stage 0: no devices, expected at least one" },
    { STAGES("{'ops':['fc1'],'devices':[0],'replica':1}", ""), HYPAR_INVALID,
      "plan: stages[0]: unknown member 'replica', did you mean replicas?" },
    { STAGES("{'ops':['fc1','fc9'],'devices':[0]}", ""), HYPAR_INFEASIBLE,
      "plan: stage 0: op 'fc9' is not in the model; perhaps 'fc1'" },
    { STAGES("{'ops':['fc1'],'devices':[0,1,2],'replicas':2}", ""), HYPAR_INFEASIBLE,
      "plan: stage 0: 3 devices do not make 2 equal replicas" },
    { STAGES("{'ops':['fc1'],'devices':[0],'replicas':0}", ""), HYPAR_INVALID,
      "plan: stages[0].replicas: expected an integer in 1..1048576, not 0" },
    { STAGES("{'ops':['fc1'],'devices':[0],'share':'all'}", ""), HYPAR_INVALID,
      "plan: stages[0].share: expected one of batch, minibatch, not \"all\"" },
    { STAGES(STAGE0, ""), HYPAR_INFEASIBLE, "plan: op 'fc2' is in no stage" },
    { STAGES(STAGE0 ",{'ops':['fc1','fc2','loss'],'devices':[2]}", ""), HYPAR_INFEASIBLE,
      "plan: stage 0: op 'fc1' is in stage 1 too" },
    { STAGES(STAGE0 ",{'ops':['fc2','fc2','loss'],'devices':[2]}", ""), HYPAR_INFEASIBLE,
      "plan: stage 1: op 'fc2' is listed twice" },
    { STAGES(STAGE0 ",{'ops':['fc2','loss'],'devices':[1]}", ""), HYPAR_INFEASIBLE,
      "plan: stage 1: device 1 is in stage 0 too" },
    { STAGES(STAGE0 ",{'ops':['fc2','loss'],'devices':[2,2]}", ""), HYPAR_INFEASIBLE,
      "plan: stage 1: device 2 is listed twice" },
    { STAGES(STAGE0 ",{'ops':['fc2','loss'],'devices':[7]}", ""), HYPAR_INFEASIBLE,
      "plan: stage 1: device 7 is not in the machine, expected 0 to 3" },
    { STAGES("{'ops':['fc1','fc2'],'devices':[0]},{'ops':['relu1','loss'],'devices':[1]}", ""), HYPAR_INFEASIBLE,
      "plan: op 'fc2' in stage 0 reads 'relu1', which a later stage, 1, writes" },
    { HEAD "'ops':[{'name':'fc2','devices':[1]}," REST "],'stages':[" STAGE0 "," STAGE1 "]}", HYPAR_INFEASIBLE,
      "plan: op 'fc2': device 1 is not in its stage 1" },
    { HEAD "'ops':[{'name':'fc2','split':{'n':3}}," REST "],'stages':[" STAGE0 "," STAGE1 "]}", HYPAR_INFEASIBLE,
      "plan: op 'fc2': its 3 parts need devices to be listed: there are 2" },
    { STAGES("{'ops':['fc1','relu1'],'devices':[0,1],'replicas':2}," STAGE1, ""), HYPAR_INFEASIBLE,
      "plan: op 'fc1': axis 'n': degree 1, expected a multiple of the 2 replicas of its stage 0" },

    /* schedules */
    { HEAD OPS ",'schedule':'gpipe'}", HYPAR_INVALID,
      "plan: schedule: expected an object, not \"gpipe\"" },
    { HEAD OPS ",'schedule':{}}", HYPAR_INVALID, "plan: schedule.name: missing, expected a string" },
    { HEAD OPS ",'schedule':{'name':'zigzag'}}", HYPAR_INVALID,
      "plan: schedule.name: expected one of none, ..." },
    { HEAD OPS ",'schedule':{'name':'none','micro_batches':0}}", HYPAR_INVALID,
      "plan: schedule.micro_batches: expected an integer >= 1, not 0" },
    { HEAD OPS ",'schedule':{'name':'none','micro_batches':13}}", HYPAR_INFEASIBLE,
      "plan: schedule: 13 micro-batches of a batch of 12, expected 1 to 12" },
    { HEAD OPS ",'schedule':{'name':'gpipe','micro_batches':4}}", HYPAR_INFEASIBLE,
      "plan: schedule 'gpipe' needs stages, the plan has none" },
    { HEAD OPS ",'schedule':{'name':'pipedream','micro_batches':4}}", HYPAR_INFEASIBLE,
      "plan: schedule 'pipedream' needs stages, the plan has none" },
    { STAGES(STAGE0 "," STAGE1, ",'schedule':{'name':'1f1b','stash':true}"), HYPAR_INFEASIBLE,
      "plan: schedule '1f1b' has one version of the weights: stash needs 'pipedream'" },
    { STAGES(STAGE0 "," STAGE1, ",'schedule':{'name':'pipedream','stash':false,'vertical_sync':true}"),
      HYPAR_INFEASIBLE, "plan: schedule 'pipedream': vertical_sync needs stash" },

    /* schedules that put several stages on a device, or take gradients apart */
    { STAGES(STAGE0 "," STAGE1, ",'schedule':{'name':'zb-h1','stash':true}"), HYPAR_INFEASIBLE,
      "plan: schedule 'zb-h1' has one version of the weights: stash needs 'pipedream'" },
    { STAGES(STAGE0 "," STAGE1, ",'schedule':{'name':'zb-h2','chunks':2}"), HYPAR_INFEASIBLE,
      "plan: schedule 'zb-h2' has one stage on a device: chunks needs 'interleaved'" },
    { STAGES(STAGE0 "," STAGE1, ",'schedule':{'name':'zb-h1','slots':[['F0.0']]}"),
      HYPAR_INFEASIBLE, "plan: schedule 'zb-h1' has an order of its own: slots needs 'slots'" },
    { STAGES(SAME("0") "," SAME1("0"), ",'schedule':{'name':'zb-h1'}"), HYPAR_INFEASIBLE,
      "plan: stage 1: device 0 is in stage 0 too" },
    { STAGES(SAME("0") "," SAME1("0"), ",'schedule':{'name':'interleaved'}"), HYPAR_INVALID,
      "plan: schedule.chunks: missing, expected an integer in 1..65536" },
    { STAGES(SAME("0") "," SAME1("0"), ",'schedule':{'name':'interleaved','chunks':3}"),
      HYPAR_INFEASIBLE, "plan: schedule 'interleaved': 3 chunks do not divide 2 stages" },
    { STAGES(SAME("0") "," SAME1("1"), ",'schedule':{'name':'interleaved','chunks':2}"),
      HYPAR_INFEASIBLE,
      "plan: schedule 'interleaved' with 2 chunks: stage 1 is on the devices of stage 1, "
      "expected those of stage 0" },
    { STAGES(SAME("0") "," SAME1("0"), ",'schedule':{'name':'interleaved','chunks':1}"),
      HYPAR_INFEASIBLE,
      "plan: schedule 'interleaved' with 1 chunks: stage 1 is on the devices of stage 0, "
      "expected devices of its own" },
    { STAGES(SAME("0,1") "," SAME1("0"), ",'schedule':{'name':'interleaved','chunks':2}"),
      HYPAR_INFEASIBLE,
      "plan: stage 1: 1 of the 2 devices of stage 0: stages have the same devices or none in "
      "common" },
    { STAGES(SAME("0,1") "," SAME1("1,2"), ",'schedule':{'name':'interleaved','chunks':2}"),
      HYPAR_INFEASIBLE,
      "plan: stage 1: device 2 is not in stage 0, which device 1 is in too: stages have the "
      "same devices or none in common" },
    { STAGES(SAME("0") "," SAME1("1"),
             ",'schedule':{'name':'interleaved','chunks':1,'micro_batches':3}"),
      HYPAR_INFEASIBLE,
      "plan: schedule 'interleaved': 3 micro-batches, expected a multiple of the 2 groups of "
      "devices" },

    /* slots by hand */
    { STAGES(SAME("0") "," SAME1("1"), ",'schedule':{'name':'slots'}"), HYPAR_INVALID,
      "plan: schedule.slots: missing, expected an array" },
    { SLOTS("['F0.0','G0.0'],['F1.0','B1.0']"), HYPAR_INVALID,
      "plan: schedule.slots[0][1]: expected a slot such as F0.3, B0.3 or W0.3 (phase, stage, "
      "micro-batch), not 'G0.0'" },
    { SLOTS("['F0.0','B0.0']"), HYPAR_INFEASIBLE,
      "plan: 1 lists of slots, expected 2: one for the devices of each stage, or of stages on "
      "the same devices" },
    { SLOTS("['F0.0','B0.0'],['F1.0']"), HYPAR_INFEASIBLE, "plan: slots[1]: B1.0 is missing" },
    { SLOTS("['F0.0','B0.0','W0.0'],['F1.0','B1.0']"), HYPAR_INFEASIBLE,
      "plan: slots[1]: W1.0 is missing" },
    { SLOTS("['F0.0','B0.0','F0.0'],['F1.0','B1.0']"), HYPAR_INFEASIBLE,
      "plan: slots[0][2]: F0.0: it is listed twice" },
    { SLOTS("['F0.0','B0.1'],['F1.0','B1.0']"), HYPAR_INFEASIBLE,
      "plan: slots[0][1]: B0.1: there are 1 micro-batches" },
    { SLOTS("['F0.0','B1.0'],['F1.0','B1.0']"), HYPAR_INFEASIBLE,
      "plan: slots[0][1]: B1.0: stage 1 is not on its devices" },
    { SLOTS("['B0.0','F0.0'],['F1.0','B1.0']"), HYPAR_INFEASIBLE,
      "plan: slots[0][1]: F0.0: it comes after B0.0, expected forward by stage, then "
      "backward" },
    { SLOTS("['F0.0','W0.0','B0.0'],['F1.0','B1.0','W1.0']"), HYPAR_INFEASIBLE,
      "plan: the slots deadlock: device 0 waits in slots[0][1], W0.0, for B0.0" },
    { STAGES(SAME("0") "," SAME1("1"),
             ",'schedule':{'name':'slots','micro_batches':2,'slots':["
             "['F0.0','B0.0','F0.1','B0.1'],['F1.0','F1.1','B1.0','B1.1']]}"),
      HYPAR_INFEASIBLE, "plan: the slots deadlock: device 0 waits in slots[0][1], B0.0, for B1.0" },
    { STAGES(REPLICAS, ",'schedule':{'name':'1f1b'}"), HYPAR_INFEASIBLE,
      "plan: stage 0: share 'minibatch' needs schedule 'pipedream', not '1f1b'" },
    { HEAD "'ops':[{'name':'fc1','devices':[0]}," REST "],'stages':[" REPLICAS "]" PIPEDREAM "}", HYPAR_INFEASIBLE,
      "plan: op 'fc1': 1 devices, expected 2: its 1 parts on each of 2 replicas" },
    { HEAD "'ops':[{'name':'fc1','devices':[1,0]}," REST "],'stages':[" REPLICAS "]" PIPEDREAM "}", HYPAR_INFEASIBLE,
      "plan: op 'fc1': device 1 belongs to replica 1 of stage 0, not to replica 0" },
    { GPT OPS ",'stages':[{'ops':['wte'],'devices':[0]},{'ops':[" GPT_REST "],'devices':[1]}]" PIPEDREAM "}",
      HYPAR_INFEASIBLE,
      "plan: parameter 'wte.w' is used in stages 0 and 1, expected one under schedule 'pipedream'" },
};
/* clang-format on */

/* The message that is expected, or the beginning of it before "...". */
static bool is_message(const char *text, const char *expected)
{
    size_t n = strlen(expected);
    if (expected[0] == '?')
        return strlen(text) > 8;
    return n > 3 && strcmp(expected + n - 3, "...") == 0 ? strncmp(text, expected, n - 3) == 0
                                                         : strcmp(text, expected) == 0;
}

static void test_bad_plans(void **state)
{
    (void)state;
    int wrong = 0;
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        struct hypar_plan *plan = NULL;
        struct hypar_error err = { 0 };
        enum hypar_status status = plan_from(&plan, cases[c].plan, &err);
        bool same = is_message(err.text, cases[c].message);
        if (status == cases[c].status && same && !plan && !strchr(err.text, '\n'))
            continue;
        print_message("case %zu: %s\n  got  %d %s\n  want %d %s\n", c, cases[c].plan, status,
                      err.text, cases[c].status, cases[c].message);
        hypar_plan_free(plan);
        wrong++;
    }
    assert_int_equal(wrong, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bad_plans),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
