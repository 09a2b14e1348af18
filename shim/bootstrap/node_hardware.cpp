// SPDX-License-Identifier: BSD-3-Clause
#include "shim/bootstrap/node_hardware.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <span>
#include <thread>

#include "shim/base/clock.hpp"
#include "shim/bootstrap/hardware_control.hpp"

namespace shim::bootstrap {

base::Result<HardwareMap> NodeHardware::discover() {
  has_discovered_ = true;
  return discover_();
}

/// Nothing while it is not there; nothing too where the bytes make no sense, as another version's would not.
std::optional<HardwareMap> NodeHardware::read() const {
  const HardwareControl& control = segment_->hardware_control();
  // acquire: pairs with the release in publish(), so that all bytes are there
  if (control.state.load(std::memory_order_acquire) != HardwareControl::kWritten) return std::nullopt;
  const std::size_t bytes = std::min<std::size_t>(control.bytes.load(std::memory_order_relaxed), HardwareMap::kMostBytes);
  return HardwareMap::decode(std::span(segment_->hardware_bytes(), bytes));
}

/// Makes this process the one who finds out: if nobody does, or who did is dead.
bool NodeHardware::claim() {
  std::atomic<std::uint32_t>& state = segment_->hardware_control().state;
  std::uint32_t seen = state.load(std::memory_order_relaxed);
  if (seen == HardwareControl::kWritten) return false;
  const bool is_free = seen == HardwareControl::kNobody || seen == segment_->own_slot() + 1 || !segment_->is_alive(seen - 1);
  // relaxed: who takes over from a dead one writes all bytes anew and reads none
  return is_free && state.compare_exchange_strong(seen, segment_->own_slot() + 1, std::memory_order_relaxed);
}

void NodeHardware::publish(const HardwareMap& map) {
  const std::vector<std::byte> bytes = map.encode();
  HardwareControl& control = segment_->hardware_control();
  if (auto backed = segment_->back(segment_->hardware_bytes(), bytes.size()); !backed) {
    control.state.store(HardwareControl::kNobody, std::memory_order_relaxed);  // a full /dev/shm: everybody for himself
    return;
  }
  std::memcpy(segment_->hardware_bytes(), bytes.data(), bytes.size());
  control.bytes.store(static_cast<std::uint32_t>(bytes.size()), std::memory_order_relaxed);
  control.state.store(HardwareControl::kWritten, std::memory_order_release);  // release: pairs with the acquire in read()
}

base::Result<HardwareMap> NodeHardware::find() {
  if (segment_ == nullptr) return discover();
  const auto patience = base::Deadline::after_seconds(patience_s_);
  while (true) {
    if (auto map = read()) return *std::move(map);
    if (claim()) break;
    if (patience.passed()) return discover();
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
  auto map = discover();
  if (map) publish(*map);
  else segment_->hardware_control().state.store(HardwareControl::kNobody, std::memory_order_relaxed);  // others may have hwloc
  return map;
}

base::Result<const HardwareMap*> NodeHardware::map() {
  std::lock_guard guard(mutex_);
  if (!found_) found_.emplace(find());
  if (!*found_) return found_->error().clone();
  return &**found_;
}

std::optional<std::vector<CoreSet>> NodeHardware::first_cores() const {
  if (segment_ == nullptr) return std::vector<CoreSet>{own_};
  std::vector<CoreSet> all;
  for (std::uint32_t slot = 0; slot < segment_->slot_count(); ++slot) {
    const auto cores = segment_->first_cores(slot);
    if (!cores) return std::nullopt;
    all.push_back(*cores);
  }
  return all;
}

}  // namespace shim::bootstrap
