// SPDX-License-Identifier: BSD-3-Clause
// Which of two ways to do the same takes less time, where that is up to what nobody tells, and changes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "shim/base/clock.hpp"

namespace shim::base {

/// Tries both now and then, the more seldom the longer it finds the same. Begins with the first.
class TwoWays {
 public:
  struct Next {
    bool is_second;
    bool is_trial;  ///< to be timed, and noted
  };

  /// @param fewest so many are done before the first comparison, and after one that has found something else
  /// @param most so many at most between two
  TwoWays(std::uint32_t fewest, std::uint32_t most) : left_(fewest), between_(fewest), fewest_(fewest), most_(most) {}

  /// How the next one is to be done.
  /// @param worth the second, where it is more than so many times as fast
  Next next(float worth) {
    if (left_ == 0) [[unlikely]] return {tried_ % 2 != 0, true};
    --left_;
    return {gain_ > worth, false};
  }
  /// Would next() answer with the first, and no trial? Does not count.
  bool would_be_first(float worth) const { return left_ != 0 && gain_ <= worth; }
  /// What the trial took, of so many bytes.
  void note(Nanoseconds took, std::size_t length);

 private:
  void compare();

  std::uint32_t left_, between_, fewest_, most_;
  std::uint32_t tried_ = 0;
  float gain_ = 0;                  ///< how many times as fast the second was
  std::array<float, 2> fastest_{};  ///< by way: ns for a byte
};

}  // namespace shim::base
