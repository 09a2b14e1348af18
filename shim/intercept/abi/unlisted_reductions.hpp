// SPDX-License-Identifier: BSD-3-Clause
// Finds reductions that MPI-4.1 §6.9.2 does not list, and that the native libraries compute.
#pragma once

#include <span>
#include <string_view>

#include "shim/types/types.hpp"

namespace shim::intercept::abi {

struct UnlistedReduction {
  std::string_view type;
  types::Operator op;
  std::string_view computed_as;  ///< type that the standard lists, of the same size
};
/// Pairs that Open MPI 4.1.4 and MPICH 4.0.2 both accept on x86_64, where char is signed, with the
/// type that gives this substrate's result.
extern const std::span<const UnlistedReduction> kUnlistedReductions;

/// Return the type on which to compute the operation so that the result is the substrate's; null if
/// a native library refuses the pair. Local.
const types::Type* unlisted_reduction_type(const types::Type& type, types::Operator op);

}  // namespace shim::intercept::abi
