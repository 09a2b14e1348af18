// SPDX-License-Identifier: BSD-3-Clause
#include "shim/sessions/parent_resolver.hpp"

#include <numeric>
#include <string>

#include "shim/sessions/process.hpp"

namespace shim::sessions {
namespace {
/// 25 ms between checks of the connection: shorter than the 50 ms after which the lookup searches
/// for a newer address (kTrustInterval in address_lookup.cpp), so that a live connection prevents
/// that search.
constexpr base::Nanoseconds kConnectionCheckInterval = 25'000'000;
}  // namespace

ParentResolver::ParentResolver(Process& process, std::vector<std::uint32_t> node_leaders,
                               std::optional<std::uint32_t> parent)
    : process_(process),
      node_leaders_(std::move(node_leaders)),
      parent_(parent),
      fence_done_(process.exchange_strategy().fence != FenceScope::node_leaders) {}

base::Result<bool> ParentResolver::poll_fence() {
  if (fence_done_) return true;
  if (!fence_) {
    SHIM_TRY_ASSIGN(fence_, process_.bootstrap().fence(node_leaders_));
  }
  SHIM_TRY_ASSIGN(auto done, fence_->poll());
  if (!done) return false;
  fence_.reset();
  return fence_done_ = true;
}

/// True if a connection to the parent existed at the last check and the parent has not ended this
/// incarnation. Checks at the first call and then periodically: most creations end before the
/// second check.
bool ParentResolver::has_live_connection() {
  const base::Nanoseconds now = base::now_ns();
  if (now >= next_check_) {
    next_check_ = now + kConnectionCheckInterval;
    has_connection_ = process_.peers().has_live_connection({0, *parent_});
  }
  return has_connection_ && !ended_incarnation_;
}

base::Status ParentResolver::look_up_parent() {
  const base::ProcessId parent{0, *parent_};
  if (!lookup_)
    lookup_.emplace(process_.peers().look_up(parent, process_.peers().known_incarnation(parent)));
  SHIM_TRY_ASSIGN(auto found, lookup_->poll());
  return found ? process_.peers().record_looked_up(parent, *found) : base::Status();
}

base::Result<bool> ParentResolver::poll() {
  SHIM_TRY_ASSIGN(bool over, poll_fence());
  if (!over || !parent_) return over;
  if (!has_live_connection()) SHIM_TRY(look_up_parent());
  const auto known = process_.peers().known_incarnation({0, *parent_});
  if (!known || (ended_incarnation_ && *known <= *ended_incarnation_)) return false;
  incarnation_ = *known;
  return true;
}

void ParentResolver::on_parent_left(std::uint32_t incarnation) {
  ended_incarnation_ = incarnation;
  if (lookup_) lookup_->expect_newer();
}

static constexpr std::string_view kCallersOfFence =
    "with INTERSESSION_EXCHANGE=world_fence every process of the job must call "
    "MPI_Comm_create_from_group for a group of two or more processes, those outside the group with "
    "MPI_GROUP_EMPTY; for a group of one process, only its member calls";

base::Status fence_world(Process& process, const base::TracedOperation& during) {
  // every potential node leader publishes: others look its address up after the fence
  if (process.bootstrap().node_map().node_count() > 1 || process.uses_fabric_only())
    SHIM_TRY(process.peers().publish(during));
  during.begin(base::Phase::world_fence);
  std::vector<std::uint32_t> all(process.bootstrap().job().size);
  std::iota(all.begin(), all.end(), 0u);
  SHIM_TRY_ASSIGN(auto fence, process.bootstrap().fence(all));
  base::Status failed;
  const double report_interval = base::creation_report_interval(process.settings());
  auto next_report = base::Deadline::from_setting(report_interval);
  auto is_over = [&] {
    auto polled = fence->poll();
    if (polled && polled->has_value()) return true;
    if (!polled) {
      failed = std::move(polled).error();
      return true;
    }
    if (next_report.passed()) {
      next_report = base::Deadline::from_setting(report_interval);
      process.log().write(base::LogLevel::warn,
                          "not all processes of the job have entered the fence yet; " +
                              std::string(kCallersOfFence));
    }
    return false;
  };
  const double seconds = process.settings().create_timeout;
  p2p::WaitFor subject("all processes of the job to create (INTERSESSION_EXCHANGE=world_fence)",
                       p2p::WaitFor::Reports::only_on_request);
  SHIM_TRY_ASSIGN(bool in_time, process.engine().wait_until(is_over, subject,
                                                            base::Deadline::from_setting(seconds)));
  if (in_time && failed) during.end(base::Phase::world_fence);
  if (in_time) return failed;
  return base::Error(base::ErrorClass::other,
                     "not all processes of the job have entered the fence within " +
                         std::to_string(seconds) + " s; " + std::string(kCallersOfFence));
}

}  // namespace shim::sessions
