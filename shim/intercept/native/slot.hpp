// SPDX-License-Identifier: BSD-3-Clause
// One place of the table of the library below: a function pointer that may be found out later.
#pragma once

#include <atomic>

namespace shim::intercept {

template <class Signature>
class Slot;

/// Calls like the function it holds. Never null.
template <class R, class... A>
class Slot<R(A...)> {
 public:
  using Function = R (*)(A...);
  constexpr Slot(Function function) : function_(function) {}  // NOLINT(google-explicit-constructor)
  R operator()(A... arguments) const { return function_.load(std::memory_order_relaxed)(arguments...); }
  // relaxed: code does not change, and every value ever stored may be called at any time
  void set(Function function) noexcept { function_.store(function, std::memory_order_relaxed); }

 private:
  std::atomic<Function> function_;
};

template <class R, class... A>
class Slot<R(A..., ...)> {
 public:
  using Function = R (*)(A..., ...);
  constexpr Slot(Function function) : function_(function) {}  // NOLINT(google-explicit-constructor)
  /// What is variadic is not passed on: its types are known to the caller alone.
  R operator()(A... arguments) const { return function_.load(std::memory_order_relaxed)(arguments...); }
  void set(Function function) noexcept { function_.store(function, std::memory_order_relaxed); }

 private:
  std::atomic<Function> function_;
};

}  // namespace shim::intercept
