// SPDX-License-Identifier: BSD-3-Clause
// Maps error classes to the substrate's numbers and back. Error codes of Intersession are the
// classes themselves (MPI-4.1 §9.4 allows it).
#pragma once

#include <optional>

#include "shim/base/error.hpp"

namespace shim::intercept::abi {

int code_of(base::ErrorClass error_class) noexcept;
/// Return the class of a number; nothing for the substrate's own codes and for codes that a user
/// added.
std::optional<base::ErrorClass> class_of(int code) noexcept;

}  // namespace shim::intercept::abi
