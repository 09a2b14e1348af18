// SPDX-License-Identifier: BSD-3-Clause
#include "shim/bootstrap/inmem/backend.hpp"

#include <algorithm>

#include "shim/bootstrap/arguments.hpp"
#include "shim/bootstrap/pending.hpp"

namespace shim::bootstrap::inmem {
namespace {

base::Error injected(std::string_view what) {
  return base::Error(base::ErrorClass::other,
                     "the in-memory launcher was told to fail this " + std::string(what));
}

/// Delays a response by a number of polls.
template <typename T>
class Slow final : public Pending<T> {
 public:
  Slow(std::unique_ptr<Pending<T>> inner, int polls) : inner_(std::move(inner)), polls_(polls) {}
  base::Result<std::optional<T>> poll() override {
    if (polls_ > 0) {
      --polls_;
      return std::optional<T>();
    }
    return inner_->poll();
  }

 private:
  std::unique_ptr<Pending<T>> inner_;
  int polls_;
};

template <typename T>
class Failing final : public Pending<T> {
 public:
  explicit Failing(std::string what) : what_(std::move(what)) {}
  base::Result<std::optional<T>> poll() override { return injected(what_); }

 private:
  std::string what_;
};

template <typename T>
std::unique_ptr<Pending<T>> spoil(std::unique_ptr<Pending<T>> inner, Fault fault,
                                  std::string what) {
  switch (fault.kind) {
    case Fault::Type::none:
      return inner;
    case Fault::Type::slow:
      return std::make_unique<Slow<T>>(std::move(inner), fault.slow_polls);
    case Fault::Type::failing:
      return std::make_unique<Failing<T>>(std::move(what));
    case Fault::Type::never:
      return std::make_unique<NeverCompleted<T>>();
  }
  return inner;
}

}  // namespace

class Backend::FencePending final : public Pending<Done> {
 public:
  FencePending(std::shared_ptr<Launcher> launcher, std::vector<std::uint32_t> ranks,
               std::uint64_t number)
      : launcher_(std::move(launcher)), ranks_(std::move(ranks)), number_(number) {}
  base::Result<std::optional<Done>> poll() override {
    return launcher_->fence_is_done(ranks_, number_) ? std::optional(Done{}) : std::nullopt;
  }

 private:
  std::shared_ptr<Launcher> launcher_;
  std::vector<std::uint32_t> ranks_;
  std::uint64_t number_;
};

Backend::Backend(std::shared_ptr<Launcher> launcher, std::uint32_t rank)
    : launcher_(std::move(launcher)),
      job_{launcher_->world_.name, rank, launcher_->world_.node_map.size()} {}

base::Result<NodeMap> Backend::query_node_map() {
  const auto fault = launcher_->fault_for({LauncherCall::Type::node_map, job_.rank, job_.rank, {}});
  if (fault.kind == Fault::Type::failing) return injected("question for the map of the nodes");
  return launcher_->world_.node_map;
}

base::Result<std::vector<NamedSet>> Backend::named_sets() {
  auto fault = launcher_->fault_for({LauncherCall::Type::named_sets, job_.rank, job_.rank, {}});
  if (fault.kind == Fault::Type::failing) return injected("query of process sets");
  std::lock_guard lock(launcher_->mutex_);
  return launcher_->world_.named_sets;
}

base::Status Backend::publish(std::string_view key, std::span<const std::byte> value) {
  auto fault = launcher_->fault_for(
      {LauncherCall::Type::publish, job_.rank, job_.rank, std::string(key)});
  if (fault.kind == Fault::Type::failing)
    return injected("publication of \"" + std::string(key) + "\"");
  publishes_.fetch_add(1, std::memory_order_relaxed);
  if (fault.kind != Fault::Type::never) launcher_->values_->put(job_.rank, key, value);
  return {};
}

base::Result<std::unique_ptr<Pending<Bytes>>> Backend::lookup(std::uint32_t rank,
                                                              std::string_view key) {
  SHIM_TRY(check_rank(rank, job_.size));
  lookups_.fetch_add(1, std::memory_order_relaxed);
  auto fault = launcher_->fault_for(
      {LauncherCall::Type::lookup, job_.rank, rank, std::string(key)});
  return spoil(launcher_->values_->look_up(rank, key), fault,
               "lookup of \"" + std::string(key) + "\" of process " + std::to_string(rank));
}

base::Result<std::unique_ptr<Pending<Done>>> Backend::fence(std::span<const std::uint32_t> ranks) {
  SHIM_TRY(check_fence(ranks, job_));
  fences_.fetch_add(1, std::memory_order_relaxed);
  auto fault = launcher_->fault_for({LauncherCall::Type::fence, job_.rank, job_.rank, {}});
  std::vector<std::uint32_t> sorted(ranks.begin(), ranks.end());
  std::sort(sorted.begin(), sorted.end());
  if (fault.kind == Fault::Type::failing) return spoil(completed(Done{}), fault, "fence");
  auto number = launcher_->enter_fence(job_.rank, sorted);
  return spoil<Done>(std::make_unique<FencePending>(launcher_, std::move(sorted), number), fault,
                     "fence");
}

base::Status Backend::append_log(std::span<const std::byte> entry) {
  SHIM_TRY(check_log_entry(entry));
  auto fault = launcher_->fault_for({LauncherCall::Type::append_log, job_.rank, job_.rank, {}});
  if (fault.kind == Fault::Type::failing) return injected("append to the log");
  std::lock_guard lock(launcher_->mutex_);
  const auto index = static_cast<std::uint32_t>(
      std::ranges::count(launcher_->entries_, job_.rank, &LogEntry::writer));
  launcher_->entries_.push_back({job_.rank, index, Bytes(entry.begin(), entry.end())});
  return {};
}

base::Result<std::vector<LogEntry>> Backend::read_log() {
  auto fault = launcher_->fault_for({LauncherCall::Type::read_log, job_.rank, job_.rank, {}});
  if (fault.kind == Fault::Type::failing) return injected("read of the log");
  std::lock_guard lock(launcher_->mutex_);
  return launcher_->entries_;
}

void Backend::abort(int exit_code, std::string_view text) {
  std::lock_guard lock(launcher_->mutex_);
  launcher_->aborts_.push_back({job_.rank, exit_code, std::string(text)});
}

Bootstrap::Counts Backend::counts() const {
  return {1, publishes_.load(), lookups_.load(), 0, fences_.load()};
}

}  // namespace shim::bootstrap::inmem
