// SPDX-License-Identifier: BSD-3-Clause
// Result<T> is a value or an Error. Functions below the interposition layer return errors this way.
#pragma once

#include <tl/expected.hpp>
#include <utility>

#include "shim/base/error.hpp"

namespace shim::base {

template <typename T>
class [[nodiscard]] Result : public tl::expected<T, Error> {
 public:
  using tl::expected<T, Error>::expected;
  Result(Error error)
      : tl::expected<T, Error>(tl::unexpect, std::move(error)) {
  }  // NOLINT(google-explicit-constructor)
};

/// Result of a function that returns no value.
using Status = Result<void>;

}  // namespace shim::base

// Both macros evaluate an expression of type Result and return its error, if any, from the calling
// function. SHIM_TRY discards the value; SHIM_TRY_ASSIGN initializes a declared variable with it.
#define SHIM_CONCAT_(a, b) a##b
#define SHIM_CONCAT(a, b) SHIM_CONCAT_(a, b)
// A loop, whose body returns, instead of an `if`, which would capture an `else` after the macro.
#define SHIM_TRY(expression)                             \
  for (auto shim_result_ = (expression); !shim_result_;) \
  [[unlikely]] return std::move(shim_result_).error()
#define SHIM_TRY_ASSIGN(declaration, expression)                   \
  auto SHIM_CONCAT(shim_result_, __LINE__) = (expression);         \
  if (!SHIM_CONCAT(shim_result_, __LINE__)) [[unlikely]]           \
    return std::move(SHIM_CONCAT(shim_result_, __LINE__)).error(); \
  declaration = *std::move(SHIM_CONCAT(shim_result_, __LINE__))
