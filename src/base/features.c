/* What this build of the library was made with. */
#include <hypar/base.h>

/* One line for each optional library: is it there, and what is lost without it. */
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

#ifdef HYPAR_WITH_DNNL
#define DNNL_LINE "onednn: yes (products in single precision, x86-64)\n"
#else
#define DNNL_LINE "onednn: no (all products by OpenBLAS)\n"
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

const char *hypar_features(void)
{
    return HWLOC_LINE BLAS_LINE DNNL_LINE MPI_LINE PROTOBUF_C_LINE;
}
