// SPDX-License-Identifier: BSD-3-Clause
// Backend is the Bootstrap over PMIx.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <utility>

#include "shim/bootstrap/pmix/connection.hpp"
#include "shim/bootstrap/pmix/job_query.hpp"
#include "shim/bootstrap/pmix/kvs_log_store.hpp"
#include "shim/bootstrap/pmix/search.hpp"

namespace shim::bootstrap::pmix {

class Backend final : public Bootstrap {
 public:
  /// Open the Bootstrap. Local. Errors: other, as Connection::open and read_job.
  static base::Result<std::unique_ptr<Bootstrap>> open(const PmixLibrary& library,
                                                       const Options& options);
  ~Backend() override;

  std::string_view name() const override { return "pmix"; }
  const Job& job() const override { return facts_.job; }
  NodeLocation location() const override { return *facts_.location; }
  const NodeMap& node_map() const override { return node_map_; }
  base::Result<NodeMap> query_node_map() override;
  void set_node_map(NodeMap map) override { node_map_ = std::move(map); }
  std::span<const std::uint32_t> app_numbers() const override { return facts_.app_numbers; }
  LaunchNumbers query_launch_numbers() override {
    return read_launch_numbers(context_->library, connection_->self());
  }
  std::optional<LaunchIdentity> launch_identity() const override {
    return LaunchIdentity{{"PMIX_NAMESPACE=" + facts_.job.world_name}, "PMIX_RANK"};
  }
  base::Result<std::vector<NamedSet>> named_sets() override;
  base::Status publish(std::string_view key, std::span<const std::byte> value) override;
  base::Result<std::unique_ptr<Pending<Bytes>>> lookup(std::uint32_t rank,
                                                       std::string_view key) override;
  base::Result<std::unique_ptr<Pending<Done>>> fence(std::span<const std::uint32_t> ranks) override;
  base::Status append_log(std::span<const std::byte> entry) override {
    return log_.append_log(entry);
  }
  base::Result<std::vector<LogEntry>> read_log() override { return log_.read_log(); }
  bool has_lost_launcher() const override;
  void abort(int exit_code, std::string_view text) override;
  Counts counts() const override;

 private:
  Backend(const PmixLibrary& library, std::shared_ptr<GetInterlock> interlock, double seconds,
          std::unique_ptr<Connection> connection, JobFacts facts);
  pmix_proc_t process(std::uint32_t rank) const;
  base::Status put(std::string_view key, std::span<const std::byte> value);
  base::Status commit(std::string_view what);

  const std::shared_ptr<SearchContext> context_;
  const double seconds_;
  const std::unique_ptr<Connection> connection_;
  const JobFacts facts_;  ///< location is set
  NodeMap node_map_;
  PublishedLogStore log_store_{context_->library, context_->requests, facts_.job.world_name,
                               seconds_};
  KvsLog log_{log_store_, facts_.job.rank, facts_.job.size};
  std::mutex publishing_;  // held from a value's PMIx_Put to its commit
  std::atomic<std::uint64_t> publishes_{0}, lookups_{0},
      fences_{0};  // statistics; pair with nothing
};

}  // namespace shim::bootstrap::pmix
