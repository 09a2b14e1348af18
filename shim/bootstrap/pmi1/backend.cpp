// SPDX-License-Identifier: BSD-3-Clause
#include "shim/bootstrap/pmi1/backend.hpp"

#include <algorithm>
#include <chrono>
#include <thread>

#include "shim/bootstrap/arguments.hpp"
#include "shim/bootstrap/pending.hpp"
#include "shim/bootstrap/pmi1/process_lifetime.hpp"

namespace shim::bootstrap::pmi1 {
namespace {

constexpr double kAbortSeconds = 5;
constexpr std::size_t kMaxGroup = 16'000;  // of a request, in bytes; hydra reads 64 KiB at once

class FencePending final : public Pending<Done> {
 public:
  FencePending(PendingRequestPtr pending, std::size_t count)
      : pending_(std::move(pending)), count_(count) {}
  base::Result<std::optional<Done>> poll() override {
    auto response = pending_->take();
    if (!response) return std::optional<Done>();
    if (*response && (*response)->is_success()) return std::optional(Done{});
    const std::string what = "a fence over " + std::to_string(count_) +
                             " processes of the job failed";
    if (!*response) return std::move(*response).error().within(what);
    return base::Error(base::ErrorClass::other, what + ": the launcher rejected the barrier");
  }

 private:
  const PendingRequestPtr pending_;
  const std::size_t count_;
};

/// Return a tag that is equal on all members of a barrier and unlikely to be equal for two
/// barriers: a response contains nothing else.
std::uint32_t tag_of(std::string_view group) {
  std::uint32_t hash = 2166136261u;  // FNV-1a
  for (char c : group) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619u;
  return hash >> 1;
}

}  // namespace

Backend::Backend(std::shared_ptr<Connection> own, std::shared_ptr<ProxyLease> use,
                 const JobFacts& facts, LaunchIdentity identity, double seconds)
    : own_(std::move(own)),
      use_(std::move(use)),
      facts_(facts),
      identity_(std::move(identity)),
      seconds_(seconds) {
  context_->use = use_;
}

base::Result<std::unique_ptr<Bootstrap>> Backend::open(const PmiEnv& env, const Options& options) {
  std::shared_ptr<Connection> own, connection;
  if (options.lifetime != nullptr) {
    if (*options.lifetime == nullptr)
      *options.lifetime = std::make_unique<PersistentConnection>(env);
    connection = static_cast<PersistentConnection&>(**options.lifetime).connection;
  } else {
    connection = own = std::make_shared<Connection>(env);
  }
  const double seconds = options.ready_timeout_s;
  SHIM_TRY_ASSIGN(std::shared_ptr<ProxyLease> use, connection->use(seconds));
  SHIM_TRY_ASSIGN(const JobFacts* facts, connection->facts(*use, seconds));
  LaunchIdentity identity{{}, env.id ? "PMI_ID" : "PMI_RANK"};
  return std::unique_ptr<Bootstrap>(
      new Backend(std::move(own), std::move(use), *facts, std::move(identity), seconds));
}

Backend::~Backend() {
  use_.reset();
  if (own_) own_->finish();
}

base::Status Backend::publish(std::string_view key, std::span<const std::byte> value) {
  publishes_.fetch_add(1, std::memory_order_relaxed);
  return publish_value(*use_, facts_, facts_.job.rank, key, value, seconds_);
}

base::Result<std::unique_ptr<Pending<Bytes>>> Backend::lookup(std::uint32_t rank,
                                                              std::string_view key) {
  SHIM_TRY(check_rank(rank, facts_.job.size));
  lookups_.fetch_add(1, std::memory_order_relaxed);
  return std::make_unique<Search>(context_, facts_.job.world_name, rank, std::string(key));
}

/// Return the request for a barrier. PMI 1.1 has one barrier of all processes; 1.2 has barriers of
/// groups, with ranks and a tag.
base::Result<std::string> Backend::barrier(std::vector<std::uint32_t> ranks) const {
  const bool is_world = ranks.size() == facts_.job.size;
  if (!facts_.has_group_barrier) {
    if (is_world) return request("barrier_in");
    return base::Error(
        base::ErrorClass::unsupported_operation,
        "the launcher speaks PMI 1.1, which has no barrier over a subset of the processes; set "
        "INTERSESSION_EXCHANGE=modex (the default) or world_fence (all processes of the job must "
        "call), or use a launcher with PMI 1.2 or PMIx");
  }
  std::sort(ranks.begin(), ranks.end());
  std::string group = is_world ? "WORLD" : "";
  for (std::size_t i = 0; i < ranks.size() && !is_world; ++i)
    group += (i == 0 ? "" : ",") + std::to_string(ranks[i]);
  if (group.size() > kMaxGroup)
    return base::Error(base::ErrorClass::unsupported_operation,
                       "a fence over " + std::to_string(ranks.size()) +
                           " processes does not fit a PMI-1 message; set "
                           "INTERSESSION_EXCHANGE=modex (the default), which needs no fence");
  return request("barrier_in", {{"group", group + ":" + std::to_string(tag_of(group))}});
}

base::Result<std::unique_ptr<Pending<Done>>> Backend::fence(std::span<const std::uint32_t> ranks) {
  SHIM_TRY(check_fence(ranks, facts_.job));
  fences_.fetch_add(1, std::memory_order_relaxed);
  if (ranks.size() == 1) return completed(Done{});
  SHIM_TRY_ASSIGN(std::string text, barrier({ranks.begin(), ranks.end()}));
  auto pending = std::make_shared<PendingRequest>(std::move(text));
  use_->submit(pending);
  return std::make_unique<FencePending>(std::move(pending), ranks.size());
}

void Backend::abort(int exit_code, std::string_view) {
  use_->send_oneway(request("abort", {{"exitcode", std::to_string(exit_code)}}));
  // The launcher ends all processes, including this one. If this process ended first, its peers
  // would report a failed process until they are ended.
  const auto deadline = base::Deadline::after_seconds(kAbortSeconds);
  while (!deadline.passed() && !has_lost_launcher())
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
}

Bootstrap::Counts Backend::counts() const {
  return {1, publishes_.load(), lookups_.load(), context_->retries.load(), fences_.load()};
}

}  // namespace shim::bootstrap::pmi1
