// SPDX-License-Identifier: BSD-3-Clause
// The Bootstrap over PMI-1.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>

#include "shim/bootstrap/pmi1/connection.hpp"
#include "shim/bootstrap/pmi1/notice_store.hpp"
#include "shim/bootstrap/pmi1/search.hpp"

namespace shim::bootstrap::pmi1 {

class Backend final : public Bootstrap {
 public:
  /// Local. Errors: other, as Connection::use and read_job.
  static base::Result<std::unique_ptr<Bootstrap>> open(const Surroundings& surroundings, const Options& options);
  ~Backend() override;

  std::string_view name() const override { return "pmi1"; }
  const Job& job() const override { return facts_.job; }
  const NodeMap& node_map() const override { return facts_.node_map; }
  void settle_node_map(NodeMap map) override { facts_.node_map = std::move(map); }
  /// PMI-1 tells a process the number of its own application and no other.
  std::span<const std::uint32_t> app_numbers() const override { return {}; }
  /// The variables do not name the job: a process counts only if it descends from the daemon of
  /// this one.
  std::optional<LaunchIdentity> launch_identity() const override { return identity_; }
  base::Result<std::vector<NamedSet>> named_sets() override { return std::vector<NamedSet>{}; }
  base::Status publish(std::string_view key, std::span<const std::byte> value) override;
  base::Result<std::unique_ptr<Pending<Bytes>>> lookup(std::uint32_t rank, std::string_view key) override;
  base::Result<std::unique_ptr<Pending<Done>>> fence(std::span<const std::uint32_t> ranks) override;
  base::Status post(std::span<const std::byte> notice) override { return board_.post(notice); }
  base::Result<std::vector<Notice>> notices() override { return board_.notices(); }
  bool has_lost_launcher() const override { return use_->has_lost_launcher(); }
  void abort(int exit_code, std::string_view text) override;
  Counts counts() const override;

 private:
  Backend(std::shared_ptr<Connection> own, std::shared_ptr<Use> use, const JobFacts& facts,
          LaunchIdentity identity, double seconds);
  base::Result<std::string> barrier(std::vector<std::uint32_t> ranks) const;

  const std::shared_ptr<Connection> own_;  ///< ends with the Bootstrap; null where a ProcessLife keeps it
  std::shared_ptr<Use> use_;
  const std::shared_ptr<SearchGround> ground_ = std::make_shared<SearchGround>();
  JobFacts facts_;
  const LaunchIdentity identity_;
  const double seconds_;
  NamedNotices notice_store_{use_, facts_, seconds_};
  NoticeBoard board_{notice_store_, facts_.job.rank, facts_.job.size};
  std::atomic<std::uint64_t> publishes_{0}, lookups_{0}, fences_{0};  // statistics: they pair with nothing
};

}  // namespace shim::bootstrap::pmi1
