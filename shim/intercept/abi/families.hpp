// SPDX-License-Identifier: BSD-3-Clause
// Family is a family of MPI libraries that Intersession supports. All members of a family have one
// ABI and are loaded in one way.
#pragma once

#include <array>

namespace shim::intercept::abi {

struct Family {
  const char* name;     ///< for messages
  const char* library;  ///< Intersession's library for this family
  /// Sonames of the members; the array may end with repeated names.
  std::array<const char*, 2> sonames;
  /// Data symbol that every member defines, and no member of another family.
  const char* mark;
};

inline constexpr Family kOpenMpi = {"Open MPI",
                                    "libintersession-openmpi.so",
                                    {"libmpi.so.40", "libmpi.so.40"},
                                    "ompi_mpi_comm_null"};
// The soname of the MPICH ABI Compatibility Initiative, and Debian's soname for MPICH.
inline constexpr Family kMpich = {
    "MPICH", "libintersession-mpich.so", {"libmpi.so.12", "libmpich.so.12"}, "MPI_UNWEIGHTED"};

inline constexpr std::array<const Family*, 2> kFamilies = {&kOpenMpi, &kMpich};

/// Family whose ABI this build implements.
extern const Family& kFamily;

}  // namespace shim::intercept::abi
