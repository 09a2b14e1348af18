// SPDX-License-Identifier: BSD-3-Clause
// Backend is the Bootstrap of a one-node job under Open MPI's mpirun. It needs no server.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>

#include "shim/base/process_status.hpp"
#include "shim/bootstrap/mpirun/files.hpp"
#include "shim/bootstrap/mpirun/mpirun_env.hpp"

namespace shim::bootstrap::mpirun {

/// Job data comes from the environment; values and log entries are files in mpirun's directory for
/// the job. PMIx serves only the native library's MPI_Init, and abort().
///
/// All processes of a job must use this backend, or none: mpirun treats a process that ends without
/// PMIx_Init as failed if another process of its job has called it
/// (orte/mca/odls/base/odls_base_default_fns.c of Open MPI 4.1: "this process did not call init
/// before exiting, but others in the job did"). A later switch to PMIx is no alternative: a process
/// that connects while another one ends may wait for mpirun forever
/// (docs/decisions/0054-no-pmix-on-one-node.md).
class Backend final : public Bootstrap {
 public:
  explicit Backend(MpirunEnv env);

  std::string_view name() const override { return "mpirun"; }
  const Job& job() const override { return env_.job; }
  const NodeMap& node_map() const override { return env_.node_map; }
  std::span<const std::uint32_t> app_numbers() const override { return {}; }
  std::optional<LaunchIdentity> launch_identity() const override {
    return LaunchIdentity{{"PMIX_NAMESPACE=" + env_.job.world_name}, "PMIX_RANK"};
  }
  /// Open MPI 4.1's mpirun has no sets ("not found" for PMIX_QUERY_PSET_NAMES).
  base::Result<std::vector<NamedSet>> named_sets() override { return std::vector<NamedSet>(); }
  base::Status publish(std::string_view key, std::span<const std::byte> value) override;
  base::Result<std::unique_ptr<Pending<Bytes>>> lookup(std::uint32_t rank,
                                                       std::string_view key) override;
  base::Result<std::unique_ptr<Pending<Done>>> fence(std::span<const std::uint32_t> ranks) override;
  base::Status append_log(std::span<const std::byte> entry) override;
  base::Result<std::vector<LogEntry>> read_log() override { return log_.read_log(); }
  bool has_lost_launcher() const override;
  void abort(int exit_code, std::string_view text) override;
  Counts counts() const override;

 private:
  const MpirunEnv env_;
  const pid_t parent_;  ///< mpirun, or a process that it has started
  /// unless mpirun is the parent
  const std::optional<base::ProcessIdentity> mpirun_ = parent_ == env_.mpirun
                                                           ? std::nullopt
                                                           : std::optional(
                                                                 base::identity_of(env_.mpirun));
  const std::shared_ptr<Files> files_ = std::make_shared<Files>(env_.folder, env_.job.world_name);
  KvsLog log_{*files_, env_.job.rank, env_.job.size};
  std::mutex fence_mutex_;
  std::atomic<std::uint64_t> publishes_{0}, lookups_{0},
      fences_{0};  // statistics; pair with nothing
};

}  // namespace shim::bootstrap::mpirun
