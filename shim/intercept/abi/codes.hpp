// SPDX-License-Identifier: BSD-3-Clause
// The substrate's numbers of the error classes, both ways. Our error codes are the classes themselves (MPI-4.1 §9.4 allows it).
#pragma once

#include <optional>

#include "shim/base/error.hpp"

namespace shim::intercept::abi {

int code_of(base::ErrorClass error_class) noexcept;
/// Nothing for numbers that are no class of ours: the substrate's own codes and those a user added.
std::optional<base::ErrorClass> class_of(int code) noexcept;

}  // namespace shim::intercept::abi
