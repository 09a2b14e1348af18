// SPDX-License-Identifier: BSD-3-Clause
// The Bootstrap of a job on one node under Open MPI's mpirun, which needs nobody's server.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>

#include "shim/bootstrap/mpirun/files.hpp"
#include "shim/bootstrap/mpirun/surroundings.hpp"

namespace shim::bootstrap::mpirun {

/// The facts are in the environment; what processes tell each other are files in mpirun's folder for the job. PMIx is for MPI_Init of the
/// library below, and to end the job.
///
/// Either all processes of a job go without PMIx or none: mpirun takes it for a failure when a process ends that has never been in
/// PMIx_Init while another one of its job has (orte/mca/odls/base/odls_base_default_fns.c of Open MPI 4.1; its message says that "this
/// process did not call init before exiting, but others in the job did"). And to go there later is no way out: a process that connects
/// while another one ends may wait for mpirun for ever (docs/measurements.md).
class Backend final : public Bootstrap {
 public:
  explicit Backend(Surroundings surroundings);

  std::string_view name() const override { return "mpirun"; }
  const Job& job() const override { return surroundings_.job; }
  const NodeMap& node_map() const override { return surroundings_.node_map; }
  std::span<const std::uint32_t> app_numbers() const override { return {}; }
  std::optional<LaunchIdentity> launch_identity() const override {
    return LaunchIdentity{{"PMIX_NAMESPACE=" + surroundings_.job.world_name}, "PMIX_RANK"};
  }
  /// This mpirun has none (it answers "not found" to PMIX_QUERY_PSET_NAMES).
  base::Result<std::vector<NamedSet>> named_sets() override { return std::vector<NamedSet>(); }
  base::Status publish(std::string_view key, std::span<const std::byte> value) override;
  base::Result<std::unique_ptr<Pending<Bytes>>> lookup(std::uint32_t rank, std::string_view key) override;
  base::Result<std::unique_ptr<Pending<Done>>> fence(std::span<const std::uint32_t> ranks) override;
  base::Status post(std::span<const std::byte> notice) override;
  base::Result<std::vector<Notice>> notices() override { return board_.notices(); }
  bool has_lost_launcher() const override;
  void abort(int exit_code, std::string_view text) override;
  Counts counts() const override;

 private:
  const Surroundings surroundings_;
  const pid_t parent_;  ///< mpirun, or somebody that it has started
  const std::shared_ptr<Files> files_ = std::make_shared<Files>(surroundings_.folder, surroundings_.job.world_name);
  NoticeBoard board_{*files_, surroundings_.job.rank, surroundings_.job.size};
  std::mutex fencing_;
  std::atomic<std::uint64_t> publishes_{0}, lookups_{0}, fences_{0};  // statistics: they pair with nothing
};

}  // namespace shim::bootstrap::mpirun
