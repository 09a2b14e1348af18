// SPDX-License-Identifier: BSD-3-Clause
// FrameOrder restores the order of one sender's frames if the provider does not keep it.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <utility>

#include "shim/transport/transport.hpp"

namespace shim::transport {

class FrameOrder {
 public:
  /// Call take(bytes) for this frame and for those that waited for it, or keep it for later.
  template <typename Take>
  void add(std::uint32_t number, ConstSpan frame, const Take& take) {
    if (number != next_) {
      waiting_.try_emplace(number, frame.begin(), frame.end());
      return;
    }
    ++next_;
    take(frame);
    for (auto found = waiting_.find(next_); found != waiting_.end(); found = waiting_.find(next_)) {
      const Bytes bytes = std::move(found->second);
      waiting_.erase(found);
      ++next_;
      take(ConstSpan(bytes));
    }
  }

  /// True if frames wait for a missing one.
  bool has_gap() const { return !waiting_.empty(); }
  std::uint32_t next() const { return next_; }

 private:
  std::uint32_t next_ = 0;
  std::unordered_map<std::uint32_t, Bytes> waiting_;
};

}  // namespace shim::transport
