// SPDX-License-Identifier: BSD-3-Clause
// Family is a family of MPI libraries that Intersession supports. All members of a family have one
// ABI and are loaded in one way.
#pragma once

#include <array>

namespace shim::families {

struct Family {
  const char* name;     ///< for messages
  const char* library;  ///< Intersession's library for this family
  /// Sonames of the members; the array may end with repeated names.
  std::array<const char*, 2> sonames;
  /// Sonames of the members' Fortran libraries, as in `sonames`.
  std::array<const char*, 2> fortran_sonames;
  /// Data symbol that every member defines, and no member of another family.
  const char* mark;
};

extern const Family kOpenMpi, kMpich;

extern const std::array<const Family*, 2> kFamilies;

}  // namespace shim::families
