// SPDX-License-Identifier: BSD-3-Clause
// AtomicFunction is an atomic function pointer in the table of native functions, resolvable later.
#pragma once

#include <atomic>

namespace shim::intercept {

template <class Signature>
class AtomicFunction;

/// Calls the function that it holds. Never null.
template <class R, class... A>
class AtomicFunction<R(A...)> {
 public:
  using Function = R (*)(A...);
  constexpr AtomicFunction(Function function)
      : function_(function) {}  // NOLINT(google-explicit-constructor)
  R operator()(A... arguments) const {
    return function_.load(std::memory_order_relaxed)(arguments...);
  }
  // relaxed: code does not change, and every value ever stored may be called at any time
  void set(Function function) noexcept { function_.store(function, std::memory_order_relaxed); }

 private:
  std::atomic<Function> function_;
};

template <class R, class... A>
class AtomicFunction<R(A..., ...)> {
 public:
  using Function = R (*)(A..., ...);
  constexpr AtomicFunction(Function function)
      : function_(function) {}  // NOLINT(google-explicit-constructor)
  /// Call without the variadic arguments, whose types only the caller knows.
  R operator()(A... arguments) const {
    return function_.load(std::memory_order_relaxed)(arguments...);
  }
  void set(Function function) noexcept { function_.store(function, std::memory_order_relaxed); }

 private:
  std::atomic<Function> function_;
};

}  // namespace shim::intercept
