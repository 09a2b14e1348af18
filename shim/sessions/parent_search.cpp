// SPDX-License-Identifier: BSD-3-Clause
#include "shim/sessions/parent_search.hpp"

#include <numeric>
#include <string>

#include "shim/sessions/process.hpp"

namespace shim::sessions {

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

base::Result<bool> ParentSearch::poll() {
  SHIM_TRY_ASSIGN(bool over, fence_is_over());
  if (!over || !parent_) return over;
  const base::ProcessId parent{0, *parent_};
  if (!lookup_) lookup_.emplace(process_.bootstrap(), *parent_, process_.own_life(), process_.known_life(parent));
  SHIM_TRY_ASSIGN(auto found, lookup_->poll());
  if (found) SHIM_TRY(process_.learn_found(parent, *found));
  const auto known = process_.known_life(parent);
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
