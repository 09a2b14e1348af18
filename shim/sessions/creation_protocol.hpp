// SPDX-License-Identifier: BSD-3-Clause
// CreationProtocol is a way in which the members of a group agree on a new communicator.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "shim/base/phases.hpp"
#include "shim/base/result.hpp"
#include "shim/sessions/agreement.hpp"
#include "shim/sessions/creation_wire.hpp"
#include "shim/sessions/group.hpp"

namespace shim::sessions {

class Process;

/// A call of this process that creates a communicator.
struct CreationCall {
  std::string scope;  ///< see CreationKey
  std::string tag;
  GroupPtr group;          ///< the caller must be a member
  std::string topology{};  ///< see CreationKey
  base::TracedOperation operation{};
  std::uint32_t vci = 0;  ///< requested; rank 0's request is used
  /// Checked periodically during the wait; an error ends it (for example, the parent is revoked).
  /// May be empty.
  std::function<base::Status()> check_precondition = {};
};

CreationKey key_of(const CreationCall& call);
/// Return the error of a second call with an equal key.
base::Error called_twice(const CreationCall& call);

/// Thread-safe.
class CreationProtocol {
 public:
  CreationProtocol() = default;
  virtual ~CreationProtocol() = default;
  CreationProtocol(const CreationProtocol&) = delete;
  CreationProtocol& operator=(const CreationProtocol&) = delete;

  /// Run the call's creation; the agreed VCI is open. Return nothing if this protocol cannot serve
  /// the call, and the next one must. Errors: those of Creations::agree.
  virtual std::optional<base::Result<Agreement>> agree(const CreationCall& call) = 0;
};

/// Context base that a call offers. The destructor skips it, unless a creation has agreed on it: no
/// message to that base is kept, also if an exception ends the call.
class OfferedBase {
 public:
  OfferedBase(Process& process, std::uint32_t base) : process_(process), base_(base) {}
  ~OfferedBase();
  OfferedBase(const OfferedBase&) = delete;
  OfferedBase& operator=(const OfferedBase&) = delete;

  std::uint32_t value() const { return base_; }
  /// Open the agreed VCI; without an agreement or a VCI, the base is not used.
  base::Result<Agreement> used_by(base::Result<Agreement> agreed);

 private:
  Process& process_;
  const std::uint32_t base_;
  bool is_used_ = false;
};

}  // namespace shim::sessions
