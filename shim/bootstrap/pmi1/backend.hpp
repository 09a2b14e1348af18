// SPDX-License-Identifier: BSD-3-Clause
// Backend is the Bootstrap over PMI-1.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>

#include "shim/bootstrap/pmi1/connection.hpp"
#include "shim/bootstrap/pmi1/job_query.hpp"
#include "shim/bootstrap/pmi1/kvs_log_store.hpp"
#include "shim/bootstrap/pmi1/search.hpp"

namespace shim::bootstrap::pmi1 {

class Backend final : public Bootstrap {
 public:
  /// Open the Bootstrap. Local. Errors: other, as Connection::use and read_job.
  static base::Result<std::unique_ptr<Bootstrap>> open(const PmiEnv& env, const Options& options);
  ~Backend() override;

  std::string_view name() const override { return "pmi1"; }
  const Job& job() const override { return facts_.job; }
  const NodeMap& node_map() const override { return facts_.node_map; }
  void set_node_map(NodeMap map) override { facts_.node_map = std::move(map); }
  /// Empty: PMI-1 reports only a process's own application number.
  std::span<const std::uint32_t> app_numbers() const override { return {}; }
  LaunchNumbers query_launch_numbers() override { return read_launch_numbers(*use_, seconds_); }
  /// The variables do not identify the job: a process counts only if it descends from this job's
  /// daemon.
  std::optional<LaunchIdentity> launch_identity() const override { return identity_; }
  base::Result<std::vector<NamedSet>> named_sets() override { return std::vector<NamedSet>{}; }
  base::Status publish(std::string_view key, std::span<const std::byte> value) override;
  base::Result<std::unique_ptr<Pending<Bytes>>> lookup(std::uint32_t rank,
                                                       std::string_view key) override;
  base::Result<std::unique_ptr<Pending<Done>>> fence(std::span<const std::uint32_t> ranks) override;
  base::Status append_log(std::span<const std::byte> entry) override {
    return log_.append_log(entry);
  }
  base::Result<std::vector<LogEntry>> read_log() override { return log_.read_log(); }
  bool has_lost_launcher() const override { return use_->has_lost_launcher(); }
  void abort(int exit_code, std::string_view text) override;
  Counts counts() const override;

 private:
  Backend(std::shared_ptr<Connection> own, std::shared_ptr<ProxyLease> use, const JobFacts& facts,
          LaunchIdentity identity, double seconds);
  base::Result<std::string> barrier(std::vector<std::uint32_t> ranks) const;

  /// ends with the Bootstrap; null if a ProcessLifetime owns the connection
  const std::shared_ptr<Connection> own_;
  std::shared_ptr<ProxyLease> use_;
  const std::shared_ptr<SearchContext> context_ = std::make_shared<SearchContext>();
  JobFacts facts_;
  const LaunchIdentity identity_;
  const double seconds_;
  NameServiceLogStore log_store_{use_, facts_, seconds_};
  KvsLog log_{log_store_, facts_.job.rank, facts_.job.size};
  std::atomic<std::uint64_t> publishes_{0}, lookups_{0},
      fences_{0};  // statistics; pair with nothing
};

}  // namespace shim::bootstrap::pmi1
