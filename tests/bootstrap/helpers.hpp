// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "shim/bootstrap/bootstrap.hpp"

namespace shim::bootstrap::testing {

inline std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}
inline std::string text_of(const Bytes& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// Return the value of a Result; the test fails if it holds an error.
template <typename T>
T must(base::Result<T> result) {
  if (!result) throw std::runtime_error("unexpected error: " + result.error().text());
  if constexpr (!std::is_void_v<T>) return std::move(*result);
}

/// Return the error of a Result; the test fails if it holds a value.
template <typename T>
base::Error error_of(const base::Result<T>& result) {
  if (result) {
    ADD_FAILURE() << "an error was expected";
    return base::Error(base::ErrorClass::success, "");
  }
  return result.error().clone();
}

}  // namespace shim::bootstrap::testing
