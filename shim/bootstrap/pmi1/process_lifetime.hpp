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
  ~PersistentConnection() override;

  void before_mpi_init(const WorldModel& model) override;
  void after_mpi_init() override;
  void before_mpi_finalize(double seconds) override;
  void after_mpi_finalize() override;

  const std::shared_ptr<Connection> connection;

 private:
  const FailureNotice notice_;
  WorldModel model_;
  std::unique_ptr<ProxyLease> during_init_;      ///< while the native library sends init
  std::unique_ptr<ProxyLease> during_finalize_;  ///< while the native library sends finalize
};

}  // namespace shim::bootstrap::pmi1
