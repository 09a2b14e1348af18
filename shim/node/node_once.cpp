// SPDX-License-Identifier: BSD-3-Clause
#include "shim/node/node_once.hpp"

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "shim/base/clock.hpp"
#include "shim/node/shared_area.hpp"

namespace shim::node {
namespace {

NodeOnce::Value kept_locally(NodeOnce::Bytes bytes) {
  auto own = std::make_shared<const NodeOnce::Bytes>(std::move(bytes));
  return {std::span(*own), own};
}

}  // namespace

/// Return the published value; nothing before.
std::optional<NodeOnce::Value> NodeOnce::read() const {
  // acquire: pairs with the release in publish(), so that all bytes are visible
  if (storage_.control.state.load(std::memory_order_acquire) != NodeOnceControl::kPublished)
    return std::nullopt;
  const std::size_t bytes = std::min<std::size_t>(
      storage_.control.bytes.load(std::memory_order_relaxed), storage_.bytes.size());
  return Value{storage_.bytes.first(bytes), nullptr};
}

/// Claim the computation if no process has claimed it, or the claiming process is dead.
bool NodeOnce::claim() {
  std::atomic<std::uint32_t>& state = storage_.control.state;
  std::uint32_t seen = state.load(std::memory_order_relaxed);
  if (seen == NodeOnceControl::kPublished) return false;
  const bool is_free = seen == NodeOnceControl::kUnclaimed || seen == segment_.own_slot() + 1 ||
                       !segment_.is_alive(seen - 1);
  // relaxed: a process that replaces a dead one writes all bytes anew and reads none
  return is_free &&
         state.compare_exchange_strong(seen, segment_.own_slot() + 1, std::memory_order_relaxed);
}

/// Publish the value. Return false if the segment has no memory for it, for example because
/// /dev/shm is full; then each process computes it for itself.
bool NodeOnce::publish(const Bytes& bytes) {
  if (bytes.size() > storage_.bytes.size() || !segment_.back(storage_.bytes.data(), bytes.size())) {
    storage_.control.state.store(NodeOnceControl::kUnclaimed, std::memory_order_relaxed);
    return false;
  }
  std::ranges::copy(bytes, storage_.bytes.begin());
  storage_.control.bytes.store(static_cast<std::uint32_t>(bytes.size()), std::memory_order_relaxed);
  storage_.control.state.store(
      NodeOnceControl::kPublished,
      std::memory_order_release);  // release: pairs with the acquire in read()
  return true;
}

base::Result<NodeOnce::Value> NodeOnce::get(const Compute& compute) {
  const auto deadline = base::Deadline::from_setting(timeout_s_);
  bool is_ours = false;
  while (true) {
    if (auto value = read()) return *std::move(value);
    is_ours = claim();
    if (is_ours || deadline.passed()) break;
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
  auto bytes = compute();
  if (is_ours && !bytes)
    storage_.control.state.store(NodeOnceControl::kUnclaimed,
                                 std::memory_order_relaxed);  // another process may succeed
  if (!bytes) return std::move(bytes).error();
  if (is_ours && publish(*bytes)) return Value{storage_.bytes.first(bytes->size()), nullptr};
  return kept_locally(*std::move(bytes));
}

}  // namespace shim::node
