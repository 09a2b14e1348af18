// SPDX-License-Identifier: BSD-3-Clause
// Peers are the records of the processes with which an engine communicates, and of failed ones.
#pragma once

#include <cstddef>
#include <memory>
#include <unordered_map>
#include <vector>

#include "shim/base/ids.hpp"
#include "shim/p2p/context.hpp"
#include "shim/p2p/peer.hpp"

namespace shim::p2p {

class Peers {
 public:
  /// Return the record of a process, which is made at the first call.
  Peer& at(base::ProcessId process);
  [[gnu::hot]] Peer& at(Context& context, int rank);
  /// Return the record of a process; null if there is none.
  Peer* find(base::ProcessId process) const {
    const auto found = by_process_.find(process);
    return found == by_process_.end() ? nullptr : found->second.get();
  }
  /// Visit all but failed peers. `visit` must not add or retire one.
  template <typename Visit>
  void for_each(const Visit& visit) const {
    for (const auto& [process, peer] : by_process_) visit(*peer);
  }
  /// Return the first result of `find_in` that is not null, over all but failed peers.
  template <typename FindIn>
  auto find_first(const FindIn& find_in) const -> decltype(find_in(std::declval<Peer&>())) {
    for (const auto& [process, peer] : by_process_)
      if (auto* found = find_in(*peer)) return found;
    return nullptr;
  }

  /// Keep the record of a failed process apart: contexts may still refer to it. A later
  /// incarnation of the process gets a new record.
  void retire(Peer& failed);
  /// Visit the failed peers in the order of their failure; `visit` may retire others.
  template <typename Visit>
  void for_each_retired(const Visit& visit) const {
    for (std::size_t i = 0; i < retired_.size(); ++i) visit(*retired_[i]);
  }
  /// Return the last failure of this process; null if there is none.
  const base::Error* last_failure(base::ProcessId process) const;

 private:
  std::unordered_map<base::ProcessId, std::unique_ptr<Peer>> by_process_;
  std::vector<std::unique_ptr<Peer>> retired_;
};

}  // namespace shim::p2p
