// SPDX-License-Identifier: BSD-3-Clause
// PersistentConnection keeps the PMI-1 connection open until the OS process ends.
#pragma once

#include <memory>

#include "shim/bootstrap/bootstrap.hpp"
#include "shim/bootstrap/pmi1/connection.hpp"
#include "shim/bootstrap/pmi1/failure_notice.hpp"

namespace shim::bootstrap::pmi1 {

/// The launcher treats a process that ends without finalize as crashed and aborts the job; after
/// finalize it accepts no more requests. So this object sends finalize at the end of the process,
/// and the proxy holds back the native library's own finalize.
class PersistentConnection final : public ProcessLifetime {
 public:
  explicit PersistentConnection(PmiEnv env)
      : connection(std::make_shared<Connection>(std::move(env))) {}
  ~PersistentConnection() override { connection->finish(); }

  void before_mpi_init(const WorldModel& model) override { connection->before_world_init(model); }
  void after_mpi_init() override { connection->after_world_init(); }
  void on_mpi_detected(bool speaks_pmi1) override { connection->world_detected(speaks_pmi1); }
  void before_mpi_finalize(double seconds) override { connection->before_world_finalize(seconds); }
  void after_mpi_finalize() override { connection->world_ended(); }

  const std::shared_ptr<Connection> connection;

 private:
  const FailureNotice notice_;
};

}  // namespace shim::bootstrap::pmi1
