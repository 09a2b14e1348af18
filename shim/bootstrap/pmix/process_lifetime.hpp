// SPDX-License-Identifier: BSD-3-Clause
// PersistentInit keeps PMIx initialized until the OS process ends.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>

#include "shim/bootstrap/bootstrap.hpp"
#include "shim/bootstrap/pmix/get_interlock.hpp"
#include "shim/bootstrap/pmix/library.hpp"

namespace shim::bootstrap::pmix {

/// Counts calls of PMIx_Init that stay without PMIx_Finalize until the process ends. Thread-safe.
///
/// The server's state of a process survives PMIx_Finalize, and PMIx cannot be re-initialized: with
/// PMIx 4.2.2 under Open MPI 4.1.4 job data is missing then, and MPI_Init fails
/// (docs/decisions/0020-pmix-stays-initialized.md).
class InitCount {
 public:
  explicit InitCount(const PmixLibrary& library);
  InitCount(const InitCount&) = delete;
  InitCount& operator=(const InitCount&) = delete;
  ~InitCount() { release(0); }

  /// Call PMIx_Init once more, unless a count is held already. PMIx must be initialized; the call
  /// then only increments its count and does not communicate with the server.
  void hold();
  /// Record that a Connection has called PMIx_Init.
  void count_open();
  /// Record that a Connection closes. Return true if it must call PMIx_Finalize, because release()
  /// has not.
  bool count_closed();
  /// Record that a caller of PMIx_Init has timed out.
  void expect_late();
  /// Record that this call has returned, and hold its count if it has succeeded. May run before the
  /// matching expect_late().
  void complete_late(bool is_initialised);
  /// Call PMIx_Finalize once for each held count and each open Connection. Does nothing in a child
  /// of fork(), which lacks PMIx's threads. First waits for late calls for at most `seconds`: the
  /// launcher treats a process that ends without PMIx_Finalize as crashed.
  void release(double seconds);

 private:
  const PmixLibrary library_;
  const int owner_;
  std::mutex mutex_;
  std::condition_variable changed_;
  int count_ = 0;
  int open_ = 0;
  int late_ = 0;
};

/// Thread-safe.
///
/// If processes are not bound to cores, Open MPI 4.1's MPI_Init requests data about the whole job
/// early, long before it waits for other processes. Meanwhile requests about processes wait
/// (GetInterlock), until MPI_Init has returned or for kWorldStartSeconds.
class PersistentInit final : public ProcessLifetime {
 public:
  ~PersistentInit() override;
  /// Return the count that keeps PMIx initialized; the first Bootstrap creates it and provides the
  /// library.
  std::shared_ptr<InitCount> init_count_with(const PmixLibrary& library);
  const std::shared_ptr<GetInterlock>& interlock() const { return interlock_; }

  /// PMIx has exit handlers and threads.
  bool ends_with_exit_handlers() const override { return true; }
  void before_mpi_init(const WorldModel&) override { interlock_->close_for(kWorldStartSeconds); }
  void after_mpi_init() override { interlock_->reopen(); }
  /// Hold a count: without a Bootstrap, MPI_Finalize would finalize PMIx, which cannot be
  /// re-initialized (InitCount).
  void before_mpi_finalize(double seconds) override;

 private:
  const std::shared_ptr<GetInterlock> interlock_ = std::make_shared<GetInterlock>();
  std::mutex mutex_;
  std::shared_ptr<InitCount> init_count_;
};

}  // namespace shim::bootstrap::pmix
