// SPDX-License-Identifier: BSD-3-Clause
// ProgressCoupling implements cross-progress: both MPI libraries make progress only inside their
// own calls, so a thread blocked in one also polls the other.
#pragma once

#include <cstdint>
#include <memory>

#include "shim/intercept/progress/progress_thread.hpp"
#include "shim/p2p/engines.hpp"

namespace shim::intercept {

/// Couples the progress of the substrate and of sessions. If the substrate's progress engine
/// accepts callbacks, threads waiting inside it call Intersession. Otherwise blocking calls use
/// another function table (polling.hpp) while this exists: they become non-blocking calls that are
/// polled, or a progress thread moves Intersession's messages meanwhile.
///
/// Exists while the substrate is active and the Process lives; one at a time. The destructor waits
/// until no thread inside the substrate is in an engine of ours.
class ProgressCoupling {
 public:
  /// @param first engine whose wait rounds poll the substrate; a thread that waits in another
  /// engine runs rounds of this one if no other thread does
  ProgressCoupling(p2p::Engine& first, p2p::Engines& engines, const base::Log& log);
  ~ProgressCoupling();
  ProgressCoupling(const ProgressCoupling&) = delete;
  ProgressCoupling& operator=(const ProgressCoupling&) = delete;

 private:
  p2p::Engine* first_;
  std::uint64_t number_;
  std::unique_ptr<ProgressThread> thread_;  ///< for a substrate without callbacks
};

/// While this exists, the calling thread is inside a substrate call that may block without calling
/// back.
class BlockingNativeCall {
 public:
  BlockingNativeCall() noexcept;
  ~BlockingNativeCall();
  BlockingNativeCall(const BlockingNativeCall&) = delete;
  BlockingNativeCall& operator=(const BlockingNativeCall&) = delete;
};

/// In a child of fork(): stop moving the parent's messages during waits in the substrate. Takes no
/// lock.
void decouple_engines() noexcept;

/// Never poll the substrate on the calling thread, a progress thread, because the substrate's
/// thread level may not permit it.
void disable_native_polling() noexcept;

/// Run one progress round of sessions on a thread that waits for the substrate. Do nothing without
/// coupling.
void progress_sessions();

}  // namespace shim::intercept
