#include "cli/opt.h"

static enum hypar_status write_machine(const struct hypar_machine *machine, const char *path,
                                       struct hypar_error *err)
{
    struct hypar_output out;
    TRY(hypar_output_open(&out, path, err));
    hypar_machine_write(machine, out.file);
    return opt_close(&out, HYPAR_OK, err);
}

static enum hypar_status show_machine(const struct args *args, struct hypar_error *err)
{
    struct hypar_machine *machine;
    enum hypar_status status = hypar_machine_read(&machine, args->operand[0], err);
    if (status == HYPAR_OK && args->output)
        status = write_machine(machine, args->output, err);
    if (status == HYPAR_OK && opt_wants_summary(args))
        hypar_report_machine(stdout, machine, opt_format(args));
    hypar_machine_free(machine);
    return status;
}

static enum hypar_status run(const struct args *args, struct hypar_error *err)
{
    if (args->n_operands == 1)
        return show_machine(args, err);

    struct hypar_output out;
    TRY(hypar_output_open(&out, opt_output(args), err));
    hypar_report_machine(out.file, NULL, opt_format(args));
    return opt_close(&out, HYPAR_OK, err);
}

const struct command cmd_machines = {
    .name = "machines",
    .operands = "[MACHINE]",
    .max_operands = 1,
    .operand_word = opt_topology_word,
    .summary = "list topologies and devices, or describe one machine",
    .doc = "List the topologies and devices that a machine word may name, and the machines and "
           "devices of this site. With MACHINE, a word such as torus:4x4 or "
           "cluster:4x8,device=h100, a name of the site or a JSON file, describe that machine; "
           "then -o writes it as a JSON file, to be edited and read back.",
    .run = run,
};
