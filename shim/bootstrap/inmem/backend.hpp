// SPDX-License-Identifier: BSD-3-Clause
// Backend is one process's view of the in-memory launcher.
#pragma once

#include <atomic>
#include <memory>

#include "shim/bootstrap/inmem/inmem.hpp"

namespace shim::bootstrap::inmem {

class Backend final : public Bootstrap {
 public:
  Backend(std::shared_ptr<Launcher> launcher, std::uint32_t rank);

  std::string_view name() const override { return "inmem"; }
  const Job& job() const override { return job_; }
  NodeLocation location() const override {
    return location_in(launcher_->world_.node_map, job_.rank);
  }
  const NodeMap& node_map() const override { return node_map_; }
  base::Result<NodeMap> query_node_map() override;
  void set_node_map(NodeMap map) override { node_map_ = std::move(map); }
  std::span<const std::uint32_t> app_numbers() const override {
    return launcher_->world_.app_numbers;
  }
  base::Result<std::vector<NamedSet>> named_sets() override;
  base::Status publish(std::string_view key, std::span<const std::byte> value) override;
  base::Result<std::unique_ptr<Pending<Bytes>>> lookup(std::uint32_t rank,
                                                       std::string_view key) override;
  base::Result<std::unique_ptr<Pending<Done>>> fence(std::span<const std::uint32_t> ranks) override;
  base::Status append_log(std::span<const std::byte> entry) override;
  base::Result<std::vector<LogEntry>> read_log() override;
  void abort(int exit_code, std::string_view text) override;
  Counts counts() const override;

 private:
  class FencePending;
  const std::shared_ptr<Launcher> launcher_;
  const Job job_;
  NodeMap node_map_;
  std::atomic<std::uint64_t> publishes_{0}, lookups_{0},
      fences_{0};  // statistics; pair with nothing
};

}  // namespace shim::bootstrap::inmem
