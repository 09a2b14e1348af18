// SPDX-License-Identifier: BSD-3-Clause
// What happens inside a start, for whoever listens: an operation (the first session, a communicator, the end) and its phases.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "shim/base/clock.hpp"

namespace shim::base {

/// The list with their meaning is phases.def.
enum class Phase : std::uint8_t {
#define PHASE(name, operation, meaning) name,
#include "shim/base/phases.def"
#undef PHASE
};
const char* name_of(Phase phase);

/// What phases are of.
enum class OperationKind : std::uint8_t {
  session,       ///< the first MPI_Session_init, or the first after a time without sessions
  communicator,  ///< made from a group
  fabric,        ///< libfabric's start, beside everything else
  end,           ///< of the last session and communicator
};
const char* name_of(OperationKind kind);

struct PhaseEvent {
  enum class What : std::uint8_t { begins, ends, fails };
  OperationKind operation;
  std::uint64_t number;  ///< of the operation, among those of this operating-system process
  const std::string& tag;
  int members;
  Phase phase;
  What what;
  Nanoseconds when;
  std::int64_t peer;     ///< rank in the world of the process that a wait ended with; -1 where there is none
};

/// Who is told. Called from any thread, with locks held: must return soon and call nothing of ours.
class PhaseListener {
 public:
  virtual ~PhaseListener() = default;
  /// Numbers operations from 1.
  virtual std::uint64_t next_number() = 0;
  /// Who this process is, as soon as that is known; nothing is told before of its rank.
  virtual void introduce(std::uint32_t rank, std::uint32_t size, const std::string& host) = 0;
  virtual void hear(const PhaseEvent& event) = 0;
};

/// One operation, as those see it who carry it out; copies are the same operation. Where nobody listens it is a null pointer, and all
/// that its functions do is to look at that. What is still open when the last copy goes has failed.
/// Not thread-safe: whoever carries out an operation with several threads has a lock for it.
class Operation {
 public:
  Operation() = default;
  Operation(PhaseListener* listener, OperationKind kind, std::string_view tag = {}, int members = 0) {
    if (listener != nullptr) [[unlikely]] start(*listener, kind, tag, members);
  }

  void begin(Phase phase) const {
    if (state_) [[unlikely]] begin_heard(phase);
  }
  /// Nothing where the phase is not open.
  void end(Phase phase, std::int64_t peer = -1) const {
    if (state_) [[unlikely]] end_heard(phase, peer);
  }
  /// Ends what is open.
  void end_all() const {
    if (state_) [[unlikely]] close(PhaseEvent::What::ends);
  }
  /// For steps one after the other.
  void next(Phase phase) const {
    end_all();
    begin(phase);
  }
  void fail() const {
    if (state_) [[unlikely]] close(PhaseEvent::What::fails);
  }

 private:
  struct State;
  void start(PhaseListener& listener, OperationKind kind, std::string_view tag, int members);
  void begin_heard(Phase phase) const;
  void end_heard(Phase phase, std::int64_t peer) const;
  void close(PhaseEvent::What what) const;

  std::shared_ptr<State> state_;
};

}  // namespace shim::base
