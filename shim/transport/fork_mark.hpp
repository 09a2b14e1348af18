// SPDX-License-Identifier: BSD-3-Clause
// ForkMark detects a forked child with a load instead of a system call.
#pragma once

#include "shim/base/result.hpp"

namespace shim::transport {

/// A page that the kernel zeroes in a forked child (madvise(2), MADV_WIPEONFORK).
class ForkMark {
 public:
  ForkMark();
  ~ForkMark();
  ForkMark(const ForkMark&) = delete;
  ForkMark& operator=(const ForkMark&) = delete;

  /// True in the process that created the mark, and always if the kernel cannot wipe pages (before
  /// 4.14).
  bool is_own_process() const { return !page_ || *page_ != 0; }
  /// Return the error for a transport used in a forked child.
  base::Status check() const {
    if (is_own_process()) [[likely]]
      return {};
    return base::Error(base::ErrorClass::other,
                       "a child made by fork cannot use its parent's network endpoint; communicate "
                       "from the parent");
  }

 private:
  volatile unsigned char* page_ = nullptr;
};

}  // namespace shim::transport
