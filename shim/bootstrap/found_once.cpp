// SPDX-License-Identifier: BSD-3-Clause
#include "shim/bootstrap/found_once.hpp"

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "shim/base/clock.hpp"
#include "shim/bootstrap/node_segment.hpp"

namespace shim::bootstrap {
namespace {

FoundOnce::Found kept(Bytes bytes) {
  auto own = std::make_shared<const Bytes>(std::move(bytes));
  return {std::span(*own), own};
}

}  // namespace

/// Nothing while it is not there.
std::optional<FoundOnce::Found> FoundOnce::read() const {
  // acquire: pairs with the release in publish(), so that all bytes are there
  if (place_.control.state.load(std::memory_order_acquire) != FoundControl::kWritten) return std::nullopt;
  const std::size_t bytes = std::min<std::size_t>(place_.control.bytes.load(std::memory_order_relaxed), place_.room.size());
  return Found{place_.room.first(bytes), nullptr};
}

/// Makes this process the one who finds out: if nobody does, or who did is dead.
bool FoundOnce::claim() {
  std::atomic<std::uint32_t>& state = place_.control.state;
  std::uint32_t seen = state.load(std::memory_order_relaxed);
  if (seen == FoundControl::kWritten) return false;
  const bool is_free = seen == FoundControl::kNobody || seen == segment_.own_slot() + 1 || !segment_.is_alive(seen - 1);
  // relaxed: who takes over from a dead one writes all bytes anew and reads none
  return is_free && state.compare_exchange_strong(seen, segment_.own_slot() + 1, std::memory_order_relaxed);
}

/// Answers whether there was room; where there is none, as in a full /dev/shm, it is everybody for himself.
bool FoundOnce::publish(const Bytes& bytes) {
  if (bytes.size() > place_.room.size() || !segment_.back(place_.room.data(), bytes.size())) {
    place_.control.state.store(FoundControl::kNobody, std::memory_order_relaxed);
    return false;
  }
  std::ranges::copy(bytes, place_.room.begin());
  place_.control.bytes.store(static_cast<std::uint32_t>(bytes.size()), std::memory_order_relaxed);
  place_.control.state.store(FoundControl::kWritten, std::memory_order_release);  // release: pairs with the acquire in read()
  return true;
}

base::Result<FoundOnce::Found> FoundOnce::get(const Find& find) {
  const auto patience = base::Deadline::after_seconds(patience_s_);
  bool is_ours = false;
  while (true) {
    if (auto found = read()) return *std::move(found);
    is_ours = claim();
    if (is_ours || patience.passed()) break;
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
  auto bytes = find();
  if (is_ours && !bytes) place_.control.state.store(FoundControl::kNobody, std::memory_order_relaxed);  // others may have more luck
  if (!bytes) return std::move(bytes).error();
  if (is_ours && publish(*bytes)) return Found{place_.room.first(bytes->size()), nullptr};
  return kept(*std::move(bytes));
}

}  // namespace shim::bootstrap
