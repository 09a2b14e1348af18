// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "shim/bootstrap/bootstrap.hpp"
#include "tests/base/results.hpp"

namespace shim::bootstrap::testing {

using base::testing::error_of;
using base::testing::must;

inline std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}
inline std::string text_of(const Bytes& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace shim::bootstrap::testing
