// SPDX-License-Identifier: BSD-3-Clause
#include "shim/node/node_hardware.hpp"

#include "shim/node/node_once.hpp"

namespace shim::node {

base::Result<HardwareMap> NodeHardware::discover() {
  has_discovered_ = true;
  return discover_();
}

base::Result<HardwareMap> NodeHardware::find() {
  if (segment_ == nullptr) return discover();
  NodeOnce shared(*segment_, segment_->hardware_storage(), timeout_s_);
  SHIM_TRY_ASSIGN(const auto found, shared.get([this]() -> base::Result<NodeOnce::Bytes> {
    SHIM_TRY_ASSIGN(const HardwareMap map, discover());
    return map.encode();
  }));
  if (auto map = HardwareMap::decode(found.bytes)) return *std::move(map);
  return discover();  // invalid bytes, for example of another version
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

}  // namespace shim::node
