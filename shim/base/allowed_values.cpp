// SPDX-License-Identifier: BSD-3-Clause
#include "shim/base/allowed_values.hpp"

#include <csignal>

#include "shim/base/settings.hpp"

namespace shim::base {
namespace {

/// Return 2^exponent with the largest suffix: "4k".
std::string size_text(int exponent) {
  constexpr std::string_view kSuffixes = "kmg";
  if (exponent < 10) return std::to_string(1 << exponent);
  return std::to_string(1 << exponent % 10) +
         kSuffixes.at(static_cast<std::size_t>(exponent / 10 - 1));
}

}  // namespace

std::string PowerOfTwo::text() const {
  return (or_zero ? "0, or " : "") + std::string("a power of two from ") + size_text(least) +
         " to " + size_text(most);
}

bool SignalName::contains(std::string_view value) { return signal_named(value).has_value(); }

std::string SignalName::text() {
  return "USR1, USR2, HUP, URG, WINCH, or a number from " + std::to_string(SIGRTMIN) + " to " +
         std::to_string(SIGRTMAX);
}

}  // namespace shim::base
