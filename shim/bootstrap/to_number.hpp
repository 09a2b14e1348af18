// SPDX-License-Identifier: BSD-3-Clause
// Numbers in what launchers say.
#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>

namespace shim::bootstrap {

/// A number and nothing else, up to INT32_MAX.
inline std::optional<std::uint32_t> to_number(std::string_view text) {
  std::uint32_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number > INT32_MAX) return std::nullopt;
  return number;
}

}  // namespace shim::bootstrap
