// SPDX-License-Identifier: BSD-3-Clause
// How one process finds another's address before there is any link between them: through the launcher.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>

#include "shim/base/clock.hpp"
#include "shim/base/result.hpp"
#include "shim/bootstrap/bootstrap.hpp"
#include "shim/sessions/network_address.hpp"

namespace shim::sessions {

/// The launcher's name for the address of one life of a process. Launchers hand out old values of a key that is published
/// again, so each life has a key of its own.
std::string address_key(std::uint32_t life);
/// What stands there of a life in which nobody was to look for the process.
transport::Bytes no_address();

/// The processes that the launcher has been asked about. Thread-safe.
class Sought {
 public:
  void add(std::uint32_t rank) {
    std::lock_guard guard(mutex_);
    ranks_.insert(rank);
  }
  std::uint64_t count() const {
    std::lock_guard guard(mutex_);
    return ranks_.size();
  }

 private:
  mutable std::mutex mutex_;
  std::set<std::uint32_t> ranks_;
};

/// Looks for the newest life of one process. A lookup of a life that does not exist yet has no answer, so the search begins
/// with the most likely one and goes on from there, forwards, as long as answers come.
class AddressLookup {
 public:
  /// guess: the life to begin with; the caller's own, because processes mostly begin and end their sessions together.
  /// known: the address that the caller has already; then only newer ones are looked for, after a while. sought: is told when the
  /// launcher is asked, and outlives this; null: nobody.
  AddressLookup(bootstrap::Bootstrap& bootstrap, std::uint32_t rank, std::uint32_t guess,
                std::optional<std::uint32_t> known_life, Sought* sought = nullptr);

  /// Does not block. A newer address than all before, or nothing. Worth polling until whoever is looked for has answered: the
  /// address may be one that is no longer in use.
  base::Result<std::optional<NetworkAddress>> poll();
  /// The last address found is known to be out of use.
  void look_for_newer();

 private:
  base::Status ask(std::uint32_t life);
  base::Status widen(base::Nanoseconds silent);
  base::Status take_answers();

  bootstrap::Bootstrap* bootstrap_;
  Sought* sought_;
  std::uint32_t rank_, guess_;
  std::optional<std::uint32_t> newest_;             ///< life of the newest address known
  std::optional<NetworkAddress> to_hand_out_;
  bool newest_has_address_ = true;
  std::map<std::uint32_t, std::unique_ptr<bootstrap::Pending<bootstrap::Bytes>>> asked_;  ///< by life
  base::Nanoseconds last_news_;
};

}  // namespace shim::sessions
