// SPDX-License-Identifier: BSD-3-Clause
// AddressLookup finds a process's address through the launcher, before any link to it exists.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>

#include "shim/base/clock.hpp"
#include "shim/base/result.hpp"
#include "shim/bootstrap/bootstrap.hpp"
#include "shim/sessions/network_address.hpp"

namespace shim::sessions {

/// Return the launcher key for the address of one incarnation. Launchers may return old values of a
/// key that is published again, so each incarnation has its own key.
std::string address_key(std::uint32_t incarnation);
/// Return the value for an incarnation without an address.
transport::Bytes no_address();
/// Return the value that a process publishes instead of its address if it cannot communicate with
/// other nodes.
transport::Bytes reason_without_address(std::string_view reason);

/// A value under an address key.
struct PublishedAddress {
  enum class Kind : std::uint8_t { address, no_address, reason };

  NetworkAddress address;  ///< valid if kind is address
  Kind kind = Kind::address;
  std::string reason{};  ///< of reason_without_address(), if kind is reason
};
PublishedAddress decode_address(std::uint32_t incarnation, transport::Bytes value);

/// Counts the processes looked up at the launcher. Thread-safe.
class LookupCounter {
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

/// Looks for the newest incarnation of one process. A lookup of an incarnation that does not exist
/// yet stays unanswered, so the search starts at the most likely incarnation and continues upwards
/// while answers arrive.
class AddressLookup {
 public:
  /// guess: first incarnation to look up; usually the caller's own, because processes tend to begin
  /// and end sessions together. known_incarnation: of an address that the caller has; only newer
  /// ones are then looked up, after 50 ms. counter: counts lookups and outlives this object; may be
  /// null.
  AddressLookup(bootstrap::Bootstrap& bootstrap, std::uint32_t rank, std::uint32_t guess,
                std::optional<std::uint32_t> known_incarnation, LookupCounter* counter = nullptr);

  /// Return a newer address than all before, or the reason why there is none, or nothing. Does not
  /// block. Keep polling until the process has answered a message, because the address found may be
  /// out of use.
  base::Result<std::optional<PublishedAddress>> poll();
  /// Look for a newer address now, because the last one found is out of use.
  void expect_newer();

 private:
  base::Status request_address(std::uint32_t incarnation);
  base::Status extend_lookup(base::Nanoseconds silent);
  base::Status collect_responses();

  bootstrap::Bootstrap* bootstrap_;
  LookupCounter* lookup_counter_;
  std::uint32_t rank_, guess_;
  std::optional<std::uint32_t> newest_;  ///< incarnation of the newest known address
  std::optional<PublishedAddress> undelivered_;
  bool newest_has_address_ = true;
  /// open requests by incarnation
  std::map<std::uint32_t, std::unique_ptr<bootstrap::Pending<bootstrap::Bytes>>> requested_;
  base::Nanoseconds last_update_ns_;
};

}  // namespace shim::sessions
