// SPDX-License-Identifier: BSD-3-Clause
// The sets of values that a setting may allow; settings.def names one for each setting.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "shim/base/parsing.hpp"

namespace shim::base {

/// Each value that the type of the setting can parse.
struct AnyValue {
  template <typename Value>
  static constexpr bool contains(const Value&) {
    return true;
  }
  static std::string text() { return "another value"; }
};

/// One of some words.
struct OneOf {
  std::string_view words;  ///< separated by single spaces

  constexpr bool contains(std::string_view value) const {
    for (std::string_view rest = words; !rest.empty();)
      if (take_until(rest, ' ') == value) return true;
    return false;
  }
  constexpr std::size_t size() const {
    std::size_t number = words.empty() ? 0 : 1;
    for (const char letter : words) number += letter == ' ' ? 1 : 0;
    return number;
  }
  /// Return e.g. "modex, ring or fence".
  std::string text() const {
    std::string listed(words);
    for (std::size_t at = 0; (at = listed.find(' ', at)) != std::string::npos;) {
      const bool is_last = listed.find(' ', at + 1) == std::string::npos;
      const std::string_view separator = is_last ? " or " : ", ";
      listed.replace(at, 1, separator);
      at += separator.size();
    }
    return listed;
  }
};

/// A whole number from `least` to `most`.
struct Range {
  int least, most;

  constexpr bool contains(int value) const { return value >= least && value <= most; }
  std::string text() const {
    return "a number from " + std::to_string(least) + " to " + std::to_string(most);
  }
};

/// A power of two from 2^least to 2^most, or, if allowed, 0.
struct PowerOfTwo {
  int least, most;
  bool or_zero = false;

  constexpr bool contains(std::uint64_t value) const {
    if (value == 0) return or_zero;
    return std::has_single_bit(value) && value >= std::uint64_t{1} << least &&
           value <= std::uint64_t{1} << most;
  }
  std::string text() const;
};

/// A signal that a program may use freely, by its name with or without "SIG", or the number of a
/// real-time signal. Empty: none.
struct SignalName {
  static bool contains(std::string_view value);
  static std::string text();
};

}  // namespace shim::base
