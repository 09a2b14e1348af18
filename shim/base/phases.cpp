// SPDX-License-Identifier: BSD-3-Clause
#include "shim/base/phases.hpp"

#include <array>

namespace shim::base {
namespace {

constexpr std::array kPhases = {
#define PHASE(name, operation, meaning) #name,
#include "shim/base/phases.def"
#undef PHASE
};
static_assert(kPhases.size() <= 32, "open phases are bits of a number");

constexpr std::array kOperations = {"session", "communicator", "fabric", "end"};

constexpr std::uint32_t bit(Phase phase) { return 1u << static_cast<unsigned>(phase); }

}  // namespace

const char* name_of(Phase phase) { return kPhases[static_cast<std::size_t>(phase)]; }
const char* name_of(OperationKind kind) { return kOperations[static_cast<std::size_t>(kind)]; }

struct TracedOperation::State {
  PhaseListener& listener;
  OperationKind kind;
  std::uint64_t number;
  std::string tag;
  int members;
  std::uint32_t open = 0;  ///< one bit for each phase

  State(PhaseListener& listener_of, OperationKind of, std::string_view named, int count)
      : listener(listener_of),
        kind(of),
        number(listener_of.next_number()),
        tag(named),
        members(count) {}
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() { close(PhaseEvent::What::fails); }

  void notify_listener(Phase phase, PhaseEvent::What what, std::int64_t peer) {
    listener.on_event({kind, number, tag, members, phase, what, now_ns(), peer});
  }
  /// Close all open phases, inner phases first: an inner phase comes after its outer phase in
  /// phases.def.
  void close(PhaseEvent::What what) {
    for (std::size_t i = kPhases.size(); i-- > 0;) {
      const auto phase = static_cast<Phase>(i);
      if ((open & bit(phase)) != 0) notify_listener(phase, what, -1);
    }
    open = 0;
  }
};

void TracedOperation::start(PhaseListener& listener, OperationKind kind, std::string_view tag,
                            int members) {
  state_ = std::make_shared<State>(listener, kind, tag, members);
}

void TracedOperation::notify_begin(Phase phase) const {
  state_->open |= bit(phase);
  state_->notify_listener(phase, PhaseEvent::What::begins, -1);
}

void TracedOperation::notify_end(Phase phase, std::int64_t peer) const {
  if ((state_->open & bit(phase)) == 0) return;
  state_->open &= ~bit(phase);
  state_->notify_listener(phase, PhaseEvent::What::ends, peer);
}

void TracedOperation::close(PhaseEvent::What what) const { state_->close(what); }

}  // namespace shim::base
