// SPDX-License-Identifier: BSD-3-Clause
// Parses words and numbers in texts of launchers and of /proc.
#pragma once

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>

namespace shim::base {

/// Return the next word of a line, and remove it from the line.
inline std::string_view take_word(std::string_view& line) {
  const auto end = std::min(line.find(' '), line.size());
  const std::string_view word = line.substr(0, end);
  line.remove_prefix(std::min(end + 1, line.size()));
  return word;
}

/// Parse the whole word as a whole number; return nothing if it is none.
template <typename Number>
std::optional<Number> number_in(std::string_view word) {
  Number number{};
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
  if (error != std::errc() || end != word.data() + word.size()) return std::nullopt;
  return number;
}

/// Parse the whole text as a number; return nothing if it is not a number or exceeds INT32_MAX.
inline std::optional<std::uint32_t> to_number(std::string_view text) {
  const auto number = number_in<std::uint32_t>(text);
  return number && *number <= INT32_MAX ? number : std::nullopt;
}

}  // namespace shim::base
