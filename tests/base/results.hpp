// SPDX-License-Identifier: BSD-3-Clause
// Returns values and errors of Results in tests.
#pragma once

#include <gtest/gtest.h>

#include <stdexcept>
#include <type_traits>
#include <utility>

#include "shim/base/result.hpp"

namespace shim::base::testing {

/// Return the value of a Result; the test fails if it holds an error.
template <typename T>
T must(Result<T> result) {
  if (!result) throw std::runtime_error("unexpected error: " + result.error().text());
  if constexpr (!std::is_void_v<T>) return std::move(*result);
}

/// Return the error of a Result; the test fails if it holds a value.
template <typename T>
Error error_of(const Result<T>& result) {
  if (result) {
    ADD_FAILURE() << "an error was expected";
    return Error(ErrorClass::success, "");
  }
  return result.error().clone();
}

}  // namespace shim::base::testing
