// SPDX-License-Identifier: BSD-3-Clause
// UserException holds a C++ exception of a reduction callback until the collective ends.
#pragma once

#include <exception>
#include <utility>

#include "shim/base/result.hpp"

namespace shim::intercept {

/// Used by one thread at a time: the thread that runs the collective.
class UserException {
 public:
  explicit operator bool() const { return exception_ != nullptr; }
  /// Keep the current exception; only inside a catch block. False if another language's runtime
  /// threw it, and it cannot be kept.
  bool keep_current() {
    exception_ = std::current_exception();
    return exception_ != nullptr;
  }
  void forget() { exception_ = nullptr; }
  /// Throw the kept exception, if any, and forget it.
  void rethrow() {
    if (exception_) [[unlikely]]
      std::rethrow_exception(std::exchange(exception_, nullptr));
  }
  /// Return the kept exception as an error and forget it, for operations that no call waits for.
  /// Errors: other.
  base::Status take_as_error();

 private:
  std::exception_ptr exception_;
};

inline void rethrow(UserException* thrown) {
  if (thrown != nullptr) [[unlikely]]
    thrown->rethrow();
}

}  // namespace shim::intercept
