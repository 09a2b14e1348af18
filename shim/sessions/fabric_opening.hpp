// SPDX-License-Identifier: BSD-3-Clause
// The fabric is opened on a thread of its own, beside the launcher's start and the caller's work: libfabric takes 50 to 200 ms.
#pragma once

#include <sys/types.h>

#include <functional>
#include <memory>
#include <optional>
#include <thread>

#include "shim/base/result.hpp"
#include "shim/transport/transport.hpp"

namespace shim::sessions {

/// One opening. Not thread-safe: its owner's lock guards it.
class FabricOpening {
 public:
  using Opened = base::Result<std::unique_ptr<transport::Transport>>;
  using Open = std::function<Opened()>;

  /// Begins, on a new thread; where none can be made, take() does the work.
  explicit FabricOpening(Open open);
  /// Waits for the end; what nobody has taken is closed.
  ~FabricOpening() { wait(); }
  FabricOpening(const FabricOpening&) = delete;
  FabricOpening& operator=(const FabricOpening&) = delete;

  /// In a child made by fork() there is nothing to wait for: the thread is the parent's.
  void wait();
  /// Waits for the end and answers what open() has, once. Errors: open's.
  Opened take();

 private:
  const pid_t maker_;
  Open open_;
  std::optional<Opened> opened_;  ///< the thread's until it is joined
  std::thread thread_;
};

}  // namespace shim::sessions
