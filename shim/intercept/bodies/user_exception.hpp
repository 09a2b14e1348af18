// SPDX-License-Identifier: BSD-3-Clause
// A C++ exception that the function of an operation has thrown inside a collective, kept until the
// collective has ended.
#pragma once

#include <exception>
#include <utility>

#include "shim/base/result.hpp"

namespace shim::intercept {

/// One thread at a time uses it: the thread that moves the collective.
class UserException {
 public:
  explicit operator bool() const { return exception_ != nullptr; }
  /// Only inside a catch block. False if the exception is of another language's runtime and cannot
  /// be kept.
  bool keep_current() {
    exception_ = std::current_exception();
    return exception_ != nullptr;
  }
  void forget() { exception_ = nullptr; }
  /// Throw what was kept, if anything was. Nothing is kept afterwards.
  void rethrow() {
    if (exception_) [[unlikely]] std::rethrow_exception(std::exchange(exception_, nullptr));
  }
  /// Return what was kept as an error, for operations that no call waits for. Nothing is kept
  /// afterwards. Errors: other.
  base::Status take_as_error();

 private:
  std::exception_ptr exception_;
};

inline void rethrow(UserException* thrown) {
  if (thrown != nullptr) [[unlikely]] thrown->rethrow();
}

}  // namespace shim::intercept
