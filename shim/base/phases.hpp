// SPDX-License-Identifier: BSD-3-Clause
// TracedOperation reports the trace phases of session start, creation and shutdown to a listener.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "shim/base/clock.hpp"

namespace shim::base {

/// Phases; phases.def lists their meaning.
enum class Phase : std::uint8_t {
#define PHASE(name, operation, meaning) name,
#include "shim/base/phases.def"
#undef PHASE
};
const char* name_of(Phase phase);

/// Operation that a phase belongs to.
enum class OperationKind : std::uint8_t {
  session,       ///< the first MPI_Session_init, or the first after all sessions were finalized
  communicator,  ///< creation of a communicator from a group
  fabric,        ///< start of libfabric, concurrent with other phases
  end,           ///< end of the last session and communicator
};
const char* name_of(OperationKind kind);

struct PhaseEvent {
  enum class What : std::uint8_t { begins, ends, fails };
  OperationKind operation;
  std::uint64_t number;    ///< of the operation, counted per OS process over all kinds
  const std::string& tag;  ///< string tag of a communicator creation; else empty
  int members;             ///< number of members of the communicator; else 0
  Phase phase;
  What what;
  Nanoseconds when;
  std::int64_t peer;  ///< at the end of a wait: world rank of the process waited for; -1: none
};

/// Receives phase events. Any thread may call it, with locks held: the functions must return soon
/// and must not call this library.
class PhaseListener {
 public:
  virtual ~PhaseListener() = default;
  /// Return the number of a new operation: 1, 2, 3…
  virtual std::uint64_t next_number() = 0;
  /// Set the world rank, the world's size and the host, as soon as they are known. Earlier events
  /// carry no rank.
  virtual void set_process(std::uint32_t rank, std::uint32_t size, const std::string& host) = 0;
  virtual void on_event(const PhaseEvent& event) = 0;
};

/// One operation, in the code that performs it. Copies share one state; phases that are open when
/// the last copy is destroyed are reported as failed. Without a listener there is no state, and
/// each function only checks a null pointer. Not thread-safe: several threads that perform one
/// operation need a lock.
class TracedOperation {
 public:
  TracedOperation() = default;
  TracedOperation(PhaseListener* listener, OperationKind kind, std::string_view tag = {},
                  int members = 0) {
    if (listener != nullptr) [[unlikely]]
      start(*listener, kind, tag, members);
  }

  void begin(Phase phase) const {
    if (state_) [[unlikely]]
      notify_begin(phase);
  }
  /// End the phase; no effect if it is not open.
  void end(Phase phase, std::int64_t peer = -1) const {
    if (state_) [[unlikely]]
      notify_end(phase, peer);
  }
  /// End all open phases.
  void end_all() const {
    if (state_) [[unlikely]]
      close(PhaseEvent::What::ends);
  }
  /// End all open phases and begin the next one.
  void next(Phase phase) const {
    end_all();
    begin(phase);
  }
  /// Report all open phases as failed.
  void fail() const {
    if (state_) [[unlikely]]
      close(PhaseEvent::What::fails);
  }

 private:
  struct State;
  void start(PhaseListener& listener, OperationKind kind, std::string_view tag, int members);
  void notify_begin(Phase phase) const;
  void notify_end(Phase phase, std::int64_t peer) const;
  void close(PhaseEvent::What what) const;

  std::shared_ptr<State> state_;
};

}  // namespace shim::base
