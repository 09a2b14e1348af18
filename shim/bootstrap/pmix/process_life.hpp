// SPDX-License-Identifier: BSD-3-Clause
// PMIx stays initialised until the operating-system process ends.
#pragma once

#include <memory>
#include <mutex>

#include "shim/bootstrap/bootstrap.hpp"
#include "shim/bootstrap/pmix/library.hpp"

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
  /// Undoes them, but not in a child made by fork(), where PMIx's threads are not.
  ~Held();

  /// PMIx is initialised: counts once more, which does not talk to the server, unless something is held already.
  void hold();
  /// Takes over a PMIx_Init that has succeeded after its caller had given up.
  void adopt();

 private:
  const Library library_;
  const int owner_;
  std::mutex mutex_;
  int count_ = 0;
};

class KeptInitialised final : public ProcessLife {
 public:
  explicit KeptInitialised(const Library& library) : held(std::make_shared<Held>(library)) {}
  const std::shared_ptr<Held> held;
};

}  // namespace shim::bootstrap::pmix
