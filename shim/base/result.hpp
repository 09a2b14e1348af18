// SPDX-License-Identifier: BSD-3-Clause
// Result<T>: a value or an Error. Errors are values everywhere below the border.
#pragma once

#include <tl/expected.hpp>
#include <utility>

#include "shim/base/error.hpp"

namespace shim::base {

template <typename T>
class [[nodiscard]] Result : public tl::expected<T, Error> {
 public:
  using tl::expected<T, Error>::expected;
  Result(Error error) : tl::expected<T, Error>(tl::unexpect, std::move(error)) {}  // NOLINT(google-explicit-constructor)
};

/// For functions that either work or say why not.
using Status = Result<void>;

}  // namespace shim::base

// Hand an error on to the caller. Two forms, because C++ has no operator for it: the value form names the variable it makes.
#define SHIM_CONCAT_(a, b) a##b
#define SHIM_CONCAT(a, b) SHIM_CONCAT_(a, b)
// A loop that is over at its first step, because an `if` would take an `else` behind the macro for its own.
#define SHIM_TRY(expression) \
  for (auto shim_result_ = (expression); !shim_result_;) [[unlikely]] return std::move(shim_result_).error()
#define SHIM_TRY_ASSIGN(declaration, expression)                                                                          \
  auto SHIM_CONCAT(shim_result_, __LINE__) = (expression);                                                                \
  if (!SHIM_CONCAT(shim_result_, __LINE__)) [[unlikely]] return std::move(SHIM_CONCAT(shim_result_, __LINE__)).error();   \
  declaration = *std::move(SHIM_CONCAT(shim_result_, __LINE__))
