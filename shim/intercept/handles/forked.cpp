// SPDX-License-Identifier: BSD-3-Clause
#include "shim/intercept/handles/forked.hpp"

#include <pthread.h>

#include <atomic>

#include "shim/intercept/handles/objects.hpp"
#include "shim/intercept/progress/progress_coupling.hpp"

namespace shim::intercept {
namespace {

// Written by the only thread of a new child. Relaxed, because thread creation synchronises with
// later threads.
constinit std::atomic<bool> is_child{false};

/// Run in the child before fork() returns. Takes no lock, because another thread of the parent may
/// have held it.
void on_child() {
  is_child.store(true, std::memory_order_relaxed);
  decouple_engines();
  objects.comms.hide();
  objects.sessions.hide();
  objects.requests.hide();
  objects.messages.hide();
}

}  // namespace

void watch_forks() {
  static const int registered = pthread_atfork(nullptr, nullptr, on_child);
  static_cast<void>(registered);  // fails only without memory
}

bool is_forked_child() noexcept { return is_child.load(std::memory_order_relaxed); }

base::Error forked_error(base::ErrorClass error_class, const std::string& object) {
  return base::Error(error_class, object +
                                      " belongs to the parent of this process, which called "
                                      "fork(); call MPI in the parent only, "
                                      "or execute another program in the child");
}

}  // namespace shim::intercept
