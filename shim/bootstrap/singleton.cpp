// SPDX-License-Identifier: BSD-3-Clause
#include "shim/bootstrap/singleton.hpp"

#include <unistd.h>

#include <array>
#include <atomic>
#include <mutex>

#include "shim/base/process_status.hpp"
#include "shim/bootstrap/arguments.hpp"
#include "shim/bootstrap/launcher_size.hpp"
#include "shim/bootstrap/value_store.hpp"

namespace shim::bootstrap {
namespace {

std::string host_name() {
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0) return "localhost";
  return name.data();
}

std::string unique_world_name() {
  base::ProcessIdentity identity = base::own_identity();
  return "singleton-" + std::to_string(identity.pid) + "-" + std::to_string(identity.start_time) +
         "-" + std::to_string(identity.pid_namespace);
}

class Singleton final : public Bootstrap {
 public:
  Singleton() : job_{unique_world_name(), 0, 1}, node_map_({host_name()}, {0}) {}

  std::string_view name() const override { return "singleton"; }
  const Job& job() const override { return job_; }
  std::optional<std::string> warning() const override { return warn_of_unusable_launcher(); }
  const NodeMap& node_map() const override { return node_map_; }
  std::span<const std::uint32_t> app_numbers() const override { return {}; }
  base::Result<std::vector<NamedSet>> named_sets() override { return std::vector<NamedSet>{}; }

  base::Status publish(std::string_view key, std::span<const std::byte> value) override {
    publishes_.fetch_add(1, std::memory_order_relaxed);  // a statistic; pairs with nothing
    values_->put(0, key, value);
    return {};
  }

  base::Result<std::unique_ptr<Pending<Bytes>>> lookup(std::uint32_t rank,
                                                       std::string_view key) override {
    SHIM_TRY(check_rank(rank, 1));
    lookups_.fetch_add(1, std::memory_order_relaxed);
    return values_->look_up(rank, key);
  }

  base::Result<std::unique_ptr<Pending<Done>>> fence(
      std::span<const std::uint32_t> ranks) override {
    SHIM_TRY(check_fence(ranks, job_));
    fences_.fetch_add(1, std::memory_order_relaxed);
    return completed(Done{});
  }

  base::Status append_log(std::span<const std::byte> entry) override {
    SHIM_TRY(check_log_entry(entry));
    std::lock_guard lock(mutex_);
    entries_.push_back(
        {0, static_cast<std::uint32_t>(entries_.size()), Bytes(entry.begin(), entry.end())});
    return {};
  }
  base::Result<std::vector<LogEntry>> read_log() override {
    std::lock_guard lock(mutex_);
    return entries_;
  }

  void abort(int, std::string_view) override {}  // there are no peers; the caller ends the process

  Counts counts() const override {
    return {0, publishes_.load(), lookups_.load(), 0, fences_.load()};
  }

 private:
  const Job job_;
  const NodeMap node_map_;
  const std::shared_ptr<ValueStore> values_ = std::make_shared<ValueStore>();
  std::mutex mutex_;  ///< guards entries_
  std::vector<LogEntry> entries_;
  std::atomic<std::uint64_t> publishes_{0}, lookups_{0}, fences_{0};
};

}  // namespace

std::unique_ptr<Bootstrap> open_singleton() { return std::make_unique<Singleton>(); }

}  // namespace shim::bootstrap
