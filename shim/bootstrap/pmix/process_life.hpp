// SPDX-License-Identifier: BSD-3-Clause
// PMIx stays initialised until the operating-system process ends.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>

#include "shim/bootstrap/bootstrap.hpp"
#include "shim/bootstrap/pmix/library.hpp"
#include "shim/bootstrap/pmix/question_gate.hpp"

namespace shim::bootstrap::pmix {

/// Calls of PMIx_Init that nobody undoes before the process ends. Thread-safe.
///
/// The server's view of a process does not end with PMIx_Finalize, and a second beginning is not a new one: with
/// PMIx 4.2.2 under Open MPI 4.1.4 facts of the job are missing then, and MPI_Init fails (docs/measurements.md).
class Held {
 public:
  explicit Held(const Library& library);
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;
  ~Held() { release(0); }

  /// PMIx is initialised: counts once more, which does not talk to the server, unless something is held already.
  void hold();
  /// A Connection has called PMIx_Init.
  void count_open();
  /// A Connection closes. True if it must call PMIx_Finalize: release() has not done so.
  bool count_closed();
  /// A caller of PMIx_Init has given up waiting for it.
  void expect_late();
  /// Such a call has returned, before or after expect_late; takes over what it did.
  void come_late(bool is_initialised);
  /// Undoes all, that of open Connections too, but not in a child made by fork(), where PMIx's
  /// threads are not. Waits for calls that are late, for `seconds` at
  /// most: a process that goes without PMIx_Finalize has crashed, to its launcher.
  void release(double seconds);

 private:
  const Library library_;
  const int owner_;
  std::mutex mutex_;
  std::condition_variable changed_;
  int count_ = 0;
  int open_ = 0;
  int late_ = 0;
};

/// Thread-safe.
///
/// Early in Open MPI 4.1's MPI_Init, where processes are not bound to cores, it asks a question about the whole job. Questions about
/// processes wait meanwhile (QuestionGate): until MPI_Init has returned, or for kWorldStartSeconds. MPI_Init asks its question long
/// before it waits for anybody.
class KeptInitialised final : public ProcessLife {
 public:
  ~KeptInitialised() override;
  /// What keeps PMIx initialised from the first Bootstrap on, which brings the library.
  std::shared_ptr<Held> held_with(const Library& library);
  const std::shared_ptr<QuestionGate>& gate() const { return gate_; }

  /// PMIx has exit handlers and threads of its own.
  bool ends_with_exit_handlers() const override { return true; }
  void before_world_starts(const WorldModel&) override { gate_->close_for(kWorldStartSeconds); }
  void after_world_started() override { gate_->reopen(); }
  /// MPI_Finalize would be PMIx's end where no Bootstrap has been, and there is no second beginning (Held).
  void before_world_ends(double seconds) override;

 private:
  const std::shared_ptr<QuestionGate> gate_ = std::make_shared<QuestionGate>();
  std::mutex mutex_;
  std::shared_ptr<Held> held_;
};

}  // namespace shim::bootstrap::pmix
