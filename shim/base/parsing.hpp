// SPDX-License-Identifier: BSD-3-Clause
// Parses words and numbers in settings, files, and texts of launchers and of /proc.
#pragma once

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace shim::base {

/// Return the text before the next separator, or the whole text; remove both from the text.
constexpr std::string_view take_until(std::string_view& text, char separator) {
  const std::string_view part = text.substr(0, text.find(separator));
  text.remove_prefix(std::min(part.size() + 1, text.size()));
  return part;
}

/// Return the next word between blanks (spaces, tabs, carriage returns), and remove it from the
/// line; empty if there is none.
constexpr std::string_view take_word(std::string_view& line) {
  constexpr std::string_view kBlanks = " \t\r";
  line.remove_prefix(std::min(line.find_first_not_of(kBlanks), line.size()));
  const std::string_view word = line.substr(0, line.find_first_of(kBlanks));
  line.remove_prefix(word.size());
  return word;
}

/// Return the parts of a list that are not empty.
inline std::vector<std::string_view> parts_of(std::string_view list, char separator) {
  std::vector<std::string_view> parts;
  while (!list.empty())
    if (const std::string_view part = take_until(list, separator); !part.empty())
      parts.push_back(part);
  return parts;
}

/// Return the whole number at the front of a text, and remove it; return nothing, and leave the
/// text, if there is none or it exceeds its type.
template <typename Number>
std::optional<Number> take_number(std::string_view& text) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc()) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return number;
}

/// Parse the whole word as a whole number; return nothing if it is none.
template <typename Number>
std::optional<Number> number_in(std::string_view word) {
  const auto number = take_number<Number>(word);
  return word.empty() ? number : std::nullopt;
}

/// Parse the whole text as a number; return nothing if it is not a number or exceeds INT32_MAX.
inline std::optional<std::uint32_t> to_number(std::string_view text) {
  const auto number = number_in<std::uint32_t>(text);
  return number && *number <= INT32_MAX ? number : std::nullopt;
}

}  // namespace shim::base
