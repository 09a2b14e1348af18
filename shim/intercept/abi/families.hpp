// SPDX-License-Identifier: BSD-3-Clause
// The families of MPI libraries that Intersession knows: all members of one are loaded in the same way, whoever made them.
#pragma once

#include <array>

namespace shim::intercept::abi {

struct Family {
  const char* name;      ///< for people
  const char* library;   ///< ours for this family
  /// Names under which its members are loaded; the last ones may repeat.
  std::array<const char*, 2> sonames;
  const char* mark;      ///< a data symbol that every member has, and no member of another family
};

inline constexpr Family kOpenMpi = {"Open MPI", "libintersession-openmpi.so", {"libmpi.so.40", "libmpi.so.40"}, "ompi_mpi_comm_null"};
// The name that the members of the ABI initiative have agreed on, and Debian's for MPICH.
inline constexpr Family kMpich = {"MPICH", "libintersession-mpich.so", {"libmpi.so.12", "libmpich.so.12"}, "MPI_UNWEIGHTED"};

inline constexpr std::array<const Family*, 2> kFamilies = {&kOpenMpi, &kMpich};

/// Whose ABI this library speaks.
extern const Family& kFamily;

}  // namespace shim::intercept::abi
