// SPDX-License-Identifier: BSD-3-Clause
#include "shim/intercept/tool_listener.hpp"

#include <dlfcn.h>

#include <atomic>

#include "shim/intercept/phases.h"

namespace shim::intercept {
namespace {

using Tool = decltype(&intersession_phase);

class ToolListener final : public base::PhaseListener {
 public:
  explicit ToolListener(Tool tool) : tool_(tool) {}

  std::uint64_t next_number() override {
    return last_number_.fetch_add(1, std::memory_order_relaxed) + 1;
  }

  /// Store the process's rank; only the first call has an effect, because the rank never changes.
  void set_process(std::uint32_t rank, std::uint32_t size, const std::string& host) override {
    if (who_.load(std::memory_order_relaxed) != nullptr) return;
    who_.store(new Who{static_cast<int>(rank), static_cast<int>(size), host},
               std::memory_order_release);
  }

  void on_event(const base::PhaseEvent& event) override {
    const Who* who = who_.load(std::memory_order_acquire);
    const intersession_phase_event event_of{
        .size = sizeof event_of,
        .what = static_cast<int>(event.what),
        .phase = base::name_of(event.phase),
        .operation = base::name_of(event.operation),
        .number = event.number,
        .when_ns = event.when,
        .rank = who ? who->rank : -1,
        .world_size = who ? who->world_size : -1,
        .host = who ? who->host.c_str() : "",
        .tag = event.tag.c_str(),
        .members = event.members,
        .peer = event.peer,
    };
    tool_(&event_of);
  }

 private:
  struct Who {
    int rank, world_size;
    std::string host;
  };
  static_assert(static_cast<int>(base::PhaseEvent::What::begins) == INTERSESSION_PHASE_BEGINS &&
                static_cast<int>(base::PhaseEvent::What::ends) == INTERSESSION_PHASE_ENDS &&
                static_cast<int>(base::PhaseEvent::What::fails) == INTERSESSION_PHASE_FAILS);

  const Tool tool_;
  std::atomic<std::uint64_t> last_number_{0};  ///< a plain count, pairs with nothing
  /// Released by set_process(), acquired by on_event(). Never freed, because a tool may keep the
  /// strings. One process starts at a time.
  std::atomic<const Who*> who_{nullptr};
};

}  // namespace

base::PhaseListener* tool_listener() {
  // Never destroyed: sessions may end during exit.
  static base::PhaseListener* const listener = []() -> base::PhaseListener* {
    void* found = ::dlsym(RTLD_DEFAULT, "intersession_phase");
    return found != nullptr ? new ToolListener(reinterpret_cast<Tool>(found)) : nullptr;
  }();
  return listener;
}

}  // namespace shim::intercept
