// SPDX-License-Identifier: BSD-3-Clause
#include "shim/families/families.hpp"

namespace shim::families {

constexpr Family kOpenMpi = {"Open MPI",
                             "libintersession-openmpi.so",
                             {"libmpi.so.40", "libmpi.so.40"},
                             {"libmpi_mpifh.so.40", "libmpi_mpifh.so.40"},
                             "ompi_mpi_comm_null"};
// The soname of the MPICH ABI Compatibility Initiative, and Debian's soname for MPICH.
constexpr Family kMpich = {"MPICH",
                           "libintersession-mpich.so",
                           {"libmpi.so.12", "libmpich.so.12"},
                           {"libmpifort.so.12", "libmpichfort.so.12"},
                           "MPI_UNWEIGHTED"};

constexpr std::array<const Family*, 2> kFamilies = {&kOpenMpi, &kMpich};

}  // namespace shim::families
