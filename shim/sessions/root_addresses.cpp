// SPDX-License-Identifier: BSD-3-Clause
#include "shim/sessions/root_addresses.hpp"

#include <numeric>
#include <string>

#include "shim/sessions/process.hpp"

namespace shim::sessions {
namespace {
constexpr std::string_view kKey = "intersession.fabric";
}

base::Status PublishedAddress::ensure() {
  std::lock_guard guard(mutex_);
  if (published_) return {};
  SHIM_TRY_ASSIGN(transport::Transport * fabric, process_.fabric());
  SHIM_TRY(process_.bootstrap().publish(kKey, fabric->address()));
  published_ = true;
  return {};
}

base::Status AddressSearch::begin() {
  SHIM_TRY(process_.published_address().ensure());
  if (process_.settings().exchange != "fence") return begin_lookup();
  SHIM_TRY_ASSIGN(fence_, process_.bootstrap().fence(roots_));
  stage_ = Stage::in_fence;
  return {};
}

base::Status AddressSearch::begin_lookup() {
  if (!parent_ || process_.knows_address({0, *parent_})) {
    stage_ = Stage::over;
    return {};
  }
  SHIM_TRY_ASSIGN(lookup_, process_.bootstrap().lookup(*parent_, kKey));
  stage_ = Stage::in_lookup;
  return {};
}

base::Result<bool> AddressSearch::poll() {
  if (stage_ == Stage::begin) SHIM_TRY(begin());
  if (stage_ == Stage::in_fence) {
    SHIM_TRY_ASSIGN(auto done, fence_->poll());
    if (!done) return false;
    SHIM_TRY(begin_lookup());
  }
  if (stage_ == Stage::in_lookup) {
    SHIM_TRY_ASSIGN(auto address, lookup_->poll());
    if (!address) return false;
    process_.learn_address({0, *parent_}, *std::move(address));
    stage_ = Stage::over;
  }
  return true;
}

base::Status fence_world(Process& process) {
  // whoever may be a node root: others look its address up after the fence
  if (process.bootstrap().node_map().node_count() > 1) SHIM_TRY(process.published_address().ensure());
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
  if (in_time) return failed;
  return base::Error(base::ErrorClass::other,
                     "not all processes of the job have entered the fence within " + std::to_string(seconds) +
                         " s; with INTERSESSION_EXCHANGE=world_fence every process must call "
                         "MPI_Comm_create_from_group, those outside the group with MPI_GROUP_EMPTY");
}

}  // namespace shim::sessions
