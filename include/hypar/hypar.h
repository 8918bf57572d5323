/* hypar/hypar.h - includes all public headers. */
#ifndef HYPAR_HYPAR_H
#define HYPAR_HYPAR_H

#include <hypar/base.h>
#include <hypar/emit.h>
#include <hypar/explain.h>
#include <hypar/explore.h>
#include <hypar/fit.h>
#include <hypar/framework.h>
#include <hypar/graph.h>
#include <hypar/machine.h>
#include <hypar/plan.h>
#include <hypar/profile.h>
#include <hypar/program.h>
#include <hypar/report.h>
#include <hypar/run.h>
#include <hypar/search.h>
#include <hypar/sim.h>
#include <hypar/tool.h>

#endif /* HYPAR_HYPAR_H */
