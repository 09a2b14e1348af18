// SPDX-License-Identifier: BSD-3-Clause
// The conversation with the launcher lasts until the operating-system process ends.
#pragma once

#include <memory>

#include "shim/bootstrap/bootstrap.hpp"
#include "shim/bootstrap/pmi1/connection.hpp"
#include "shim/bootstrap/pmi1/failure_notice.hpp"

namespace shim::bootstrap::pmi1 {

/// The launcher takes a process that goes without a finalize for one that has crashed, and ends the job; and after a finalize it
/// listens no more. So finalize is said at the end of the process, and the MPI library's own is held back before.
class KeptConnection final : public ProcessLife {
 public:
  explicit KeptConnection(Surroundings surroundings) : connection(std::make_shared<Connection>(std::move(surroundings))) {}
  ~KeptConnection() override;

  void before_world_starts(const WorldModel& model) override;
  void after_world_started() override;
  void before_world_ends(double seconds) override;
  void after_world_ended() override;

  const std::shared_ptr<Connection> connection;

 private:
  const FailureNotice notice_;
  WorldModel model_;
  std::unique_ptr<Use> for_the_start_;  ///< while the MPI library sends its init
  std::unique_ptr<Use> for_the_end_;    ///< while the MPI library sends its finalize
};

}  // namespace shim::bootstrap::pmi1
