// SPDX-License-Identifier: BSD-3-Clause
// Creations runs the creation protocol: members of a group agree on a new communicator, without
// other processes (docs/developer/communicator-creation.md).
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "shim/base/ids.hpp"
#include "shim/base/result.hpp"
#include "shim/sessions/agreement.hpp"
#include "shim/sessions/creation_protocol.hpp"

namespace shim::sessions {

class CallerThreads;
class MessageProtocol;
class Process;
class RendezvousProtocol;

/// All creations of one process. Thread-safe; lock order: a protocol's mutex, then the engine's
/// lock.
class Creations {
 public:
  explicit Creations(Process& process);
  ~Creations();
  Creations(const Creations&) = delete;
  Creations& operator=(const Creations&) = delete;

  /// Run a creation. Collective over the group only. The agreed VCI is open. Errors: not_same,
  /// proc_aborted, other, as in create_from_group.
  base::Result<Agreement> agree(const CreationCall& call);
  /// Prepare for the process's end. Return contributions that wait for a call of this process, now
  /// and later, to their senders, which send them again when this process re-initializes.
  void close();
  void on_control(base::ProcessId from, std::span<const std::byte> bytes);
  /// Return the number of failed creations kept for partners not yet notified.
  std::size_t unnotified_failures() const;

 private:
  Agreement agree_alone(const CreationCall& call);

  Process& process_;
  const std::unique_ptr<CallerThreads> threads_;
  const std::unique_ptr<RendezvousProtocol> rendezvous_;
  const std::unique_ptr<MessageProtocol> messages_;
};

}  // namespace shim::sessions
