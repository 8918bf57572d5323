/* Which optional libraries this build of the library has, and which cards the machine has, for
 * `hypar version` and for users' reports. */
#include <hypar/run.h>
#include <hypar/tool.h>
#include <string.h>

#include "base/files/library.h"
#include "run/backend/cuda/cuda.h"

/* One line for each optional library: its presence, and the features that need it. */
#ifdef HYPAR_WITH_HWLOC
#define HWLOC_LINE "hwloc: yes (local:N describes this machine)\n"
#else
#define HWLOC_LINE "hwloc: no (local:N describes this machine less well)\n"
#endif

#ifdef HYPAR_WITH_BLAS
#define BLAS_LINE "openblas: yes (fast kernels)\n"
#else
#define BLAS_LINE "openblas: no (reference kernels alone)\n"
#endif

#ifdef HYPAR_WITH_MPI
#define MPI_LINE "mpi: yes (training on several processes)\n"
#else
#define MPI_LINE "mpi: no (training in one process alone)\n"
#endif

#ifdef HYPAR_WITH_PROTOBUF_C
#define PROTOBUF_C_LINE "protobuf-c: yes (ONNX files are read)\n"
#else
#define PROTOBUF_C_LINE "protobuf-c: no (ONNX files are not read)\n"
#endif

/* Every build can load CUDA: it needs none of its files to build. */
#define CUDA_LINE "cuda: yes (training on cards of NVIDIA)\n"

const char *hypar_features(void)
{
    return HWLOC_LINE BLAS_LINE MPI_LINE CUDA_LINE PROTOBUF_C_LINE;
}

/* Optional libraries that are loaded when they are first needed. */
static const struct {
    const char *feature, *library;
} loaded[] = {
#ifdef HYPAR_WITH_BLAS
    { "openblas", HYPAR_BLAS_LIBRARY },
#endif
#ifdef HYPAR_WITH_MPI
    { "mpi", HYPAR_MPI_LIBRARY },
#endif
    { "", "" },
};

enum hypar_status hypar_feature_loads(const char *feature, struct hypar_error *err)
{
    void *stays; /* neither library supports being unloaded */
    if (strcmp(feature, "cuda") == 0)
        return hp_cuda_loads(err);
    for (size_t i = 0; i < sizeof loaded / sizeof *loaded; i++)
        if (strcmp(loaded[i].feature, feature) == 0)
            return hp_library_load(&stays, loaded[i].library, LIBRARY_SEEN, NULL, 0, err);
    return HYPAR_OK;
}

int hypar_cards(struct hypar_card *card, int most)
{
    int n = hp_cuda_count(NULL, NULL);
    for (int i = 0; i < n && i < most; i++)
        if (!hp_cuda_describe(i, &card[i]))
            return i;
    return n;
}
