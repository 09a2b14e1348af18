// SPDX-License-Identifier: BSD-3-Clause
// Nobody is to be found any more where a process of another node was called: what the launcher knows of it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "shim/base/clock.hpp"
#include "shim/sessions/address_lookup.hpp"

namespace shim::sessions {

/// The launcher's name for the end of a life that others could look up: it ended as it should, and another may follow.
std::string end_key(std::uint32_t life);
/// Of a process that has gone, as it should, after its last life.
std::string exit_key();
/// What stands under either: that it stands there is all it says.
transport::Bytes mark();

/// About one life of one process, whose address is out of use. It has died if the launcher has that address and not, a moment later, the
/// end of that life, which a process publishes before others find it gone. Some launchers say no word of a process that has left them as
/// it should (PMIx 4.2.2 under Open MPI's mpirun), but do of one that is between two sessions. Of a life in which a process published nothing
/// nobody can tell.
class Inquiry {
 public:
  enum class Finding : std::uint8_t { none_yet, between_sessions, has_ended };

  /// @param silence of a launcher that must know of this life, after which the process has ended; 0: the launcher need not know
  Inquiry(bootstrap::Bootstrap& bootstrap, std::uint32_t rank, std::uint32_t life, double silence);
  std::uint32_t life() const { return life_; }

  /// Does not block.
  Finding poll();
  /// The address of a later life, once: then this inquiry is over.
  std::optional<NetworkAddress> newer();
  bool is_between_sessions() const { return life_ended_.value.has_value(); }

 private:
  /// A launcher that refuses to answer leaves it open.
  struct Question {
    std::unique_ptr<bootstrap::Pending<bootstrap::Bytes>> pending;
    std::optional<bootstrap::Bytes> value;
    void poll();
  };
  static Question about(bootstrap::Bootstrap& bootstrap, std::uint32_t rank, const std::string& key);

  std::uint32_t life_;
  base::Deadline silence_;
  std::optional<AddressLookup> later_;
  Question published_, life_ended_, process_ended_;
  std::optional<base::Nanoseconds> published_since_;  ///< when the launcher has said so
};

}  // namespace shim::sessions
