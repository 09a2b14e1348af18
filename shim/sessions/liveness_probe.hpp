// SPDX-License-Identifier: BSD-3-Clause
// LivenessProbe finds out through the launcher whether an unreachable process died.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "shim/base/clock.hpp"
#include "shim/sessions/address_lookup.hpp"

namespace shim::sessions {

/// Return the launcher key for the regular end of an incarnation that others could look up; another
/// incarnation may follow.
std::string end_key(std::uint32_t incarnation);
/// Return the launcher key for the regular exit of a process after its last incarnation.
std::string exit_key();
/// Value of both keys; only its presence matters.
transport::Bytes presence_value();

/// Checks one incarnation whose address no longer answers. The process died if the launcher has
/// that address and, a moment later, still has no end key of that incarnation; a process publishes
/// that key before others can find it gone. Some launchers do not answer about a process that
/// exited regularly (PMIx 4.2.2 under Open MPI's mpirun), but do about a process between two
/// sessions. An incarnation that published nothing cannot be judged.
class LivenessProbe {
 public:
  enum class Verdict : std::uint8_t { unknown, between_sessions, has_ended };

  /// @param silence seconds after which a launcher that must know of this incarnation, but has not
  /// answered, proves the process ended; 0: the launcher need not know
  LivenessProbe(bootstrap::Bootstrap& bootstrap, std::uint32_t rank, std::uint32_t incarnation,
                double silence);
  std::uint32_t incarnation() const { return incarnation_; }

  /// Query the launcher and return the current verdict. Does not block.
  Verdict poll();
  /// Return the address of a later incarnation, once; the probe is then over.
  std::optional<PublishedAddress> newer_address();
  bool is_between_sessions() const { return incarnation_ended_.value.has_value(); }

 private:
  /// Launcher query; a refusal leaves the result open.
  struct Query {
    std::unique_ptr<bootstrap::Pending<bootstrap::Bytes>> pending;
    std::optional<bootstrap::Bytes> value;
    void poll();
  };
  static Query look_up(bootstrap::Bootstrap& bootstrap, std::uint32_t rank, const std::string& key);

  std::uint32_t incarnation_;
  base::Deadline silence_;
  std::optional<AddressLookup> later_;
  Query published_, incarnation_ended_, process_ended_;
  std::optional<base::Nanoseconds> published_since_;  ///< time of the launcher's answer
};

}  // namespace shim::sessions
