// SPDX-License-Identifier: BSD-3-Clause
// How node roots come to know each other's fabric addresses, before any link between them is open: through the launcher.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "shim/base/result.hpp"
#include "shim/bootstrap/bootstrap.hpp"

namespace shim::sessions {

class Process;

/// The search of one node root, in one creation, for the address of its parent. Which way is the setting `exchange`:
///   modex        a direct get of the parent's address; needs nobody else
///   fence        a fence over the node roots, then the get
///   world_fence  the get alone: all processes have met in a fence before (MPICH 2025 §3.3)
class AddressSearch {
 public:
  /// roots: world ranks of all node roots of the creation; parent: one of them, or nothing for the leader.
  AddressSearch(Process& process, std::vector<std::uint32_t> roots, std::optional<std::uint32_t> parent)
      : process_(process), roots_(std::move(roots)), parent_(parent) {}

  /// Does not block. True once the parent's address is learned (and the fence, if one is asked for, is over).
  base::Result<bool> poll();

 private:
  enum class Stage : std::uint8_t { begin, in_fence, in_lookup, over };
  base::Status begin();
  base::Status begin_lookup();

  Process& process_;
  std::vector<std::uint32_t> roots_;
  std::optional<std::uint32_t> parent_;
  Stage stage_ = Stage::begin;
  std::unique_ptr<bootstrap::Pending<bootstrap::Done>> fence_;
  std::unique_ptr<bootstrap::Pending<bootstrap::Bytes>> lookup_;
};

/// Publishes this process's fabric address once, whoever asks first; part of a Process.
class PublishedAddress {
 public:
  explicit PublishedAddress(Process& process) : process_(process) {}
  /// Local.
  base::Status ensure();

 private:
  Process& process_;
  std::mutex mutex_;
  bool published_ = false;
};

/// With exchange=world_fence: the fence that every creation begins with, also for those who are not in its group and call with
/// the empty one. Collective over the job; blocks, making progress.
base::Status fence_world(Process& process);

}  // namespace shim::sessions
