// SPDX-License-Identifier: BSD-3-Clause
#include "shim/sessions/parent_search.hpp"

#include <numeric>
#include <string>

#include "shim/sessions/process.hpp"

namespace shim::sessions {
namespace {
/// Sooner than an address that has been found is no longer trusted (address_lookup.cpp).
constexpr base::Nanoseconds kCheckEvery = 25'000'000;
}  // namespace

ParentSearch::ParentSearch(Process& process, std::vector<std::uint32_t> roots, std::optional<std::uint32_t> parent)
    : process_(process), roots_(std::move(roots)), parent_(parent), fence_over_(process.exchange().meeting != Meeting::roots) {}

base::Result<bool> ParentSearch::fence_is_over() {
  if (fence_over_) return true;
  if (!fence_) {
    SHIM_TRY_ASSIGN(fence_, process_.bootstrap().fence(roots_));
  }
  SHIM_TRY_ASSIGN(auto done, fence_->poll());
  if (!done) return false;
  fence_.reset();
  return fence_over_ = true;
}

/// Looked at now and then: most creations are over sooner.
bool ParentSearch::is_in_touch() {
  const base::Nanoseconds now = base::now_ns();
  if (now >= next_check_) {
    next_check_ = now + kCheckEvery;
    in_touch_ = process_.is_in_touch({0, *parent_});
  }
  return in_touch_ && !ended_life_;
}

base::Status ParentSearch::look_for_parent() {
  const base::ProcessId parent{0, *parent_};
  if (!lookup_) lookup_.emplace(process_.look_for(parent, process_.known_life(parent)));
  SHIM_TRY_ASSIGN(auto found, lookup_->poll());
  return found ? process_.learn_found(parent, *found) : base::Status();
}

base::Result<bool> ParentSearch::poll() {
  SHIM_TRY_ASSIGN(bool over, fence_is_over());
  if (!over || !parent_) return over;
  if (!is_in_touch()) SHIM_TRY(look_for_parent());
  const auto known = process_.known_life({0, *parent_});
  if (!known || (ended_life_ && *known <= *ended_life_)) return false;
  life_ = *known;
  return true;
}

void ParentSearch::parent_has_left(std::uint32_t life) {
  ended_life_ = life;
  if (lookup_) lookup_->look_for_newer();
}

base::Status fence_world(Process& process, const base::Operation& during) {
  // whoever may be a node root: others look its address up after the fence
  if (process.bootstrap().node_map().node_count() > 1 || process.everything_over_fabric()) SHIM_TRY(process.publish_address(during));
  during.begin(base::Phase::world_fence);
  std::vector<std::uint32_t> all(process.bootstrap().job().size);
  std::iota(all.begin(), all.end(), 0u);
  SHIM_TRY_ASSIGN(auto fence, process.bootstrap().fence(all));
  base::Status failed;
  auto is_over = [&] {
    auto polled = fence->poll();
    if (!polled) failed = std::move(polled).error();
    return !failed || polled->has_value();
  };
  const double seconds = process.settings().create_timeout;
  SHIM_TRY_ASSIGN(bool in_time, process.engine().wait_until(is_over, base::Deadline::from_setting(seconds)));
  if (in_time && failed) during.end(base::Phase::world_fence);
  if (in_time) return failed;
  return base::Error(base::ErrorClass::other,
                     "not all processes of the job have entered the fence within " + std::to_string(seconds) +
                         " s; with INTERSESSION_EXCHANGE=world_fence every process must call "
                         "MPI_Comm_create_from_group, those outside the group with MPI_GROUP_EMPTY");
}

}  // namespace shim::sessions
