// SPDX-License-Identifier: BSD-3-Clause
// Two libraries in one process, each of which moves its messages only while somebody is inside it: they lend each other time.
#pragma once

#include "shim/p2p/p2p.hpp"

namespace shim::intercept {

/// Exists while both the substrate is active and the Process lives; one at a time. The destructor waits until no thread inside
/// the substrate is in our engine any more.
class ProgressSharing {
 public:
  explicit ProgressSharing(p2p::Engine& engine);
  ~ProgressSharing();
  ProgressSharing(const ProgressSharing&) = delete;
  ProgressSharing& operator=(const ProgressSharing&) = delete;

 private:
  p2p::Engine* engine_;
  int number_;
};

}  // namespace shim::intercept
