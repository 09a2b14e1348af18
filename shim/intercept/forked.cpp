// SPDX-License-Identifier: BSD-3-Clause
#include "shim/intercept/forked.hpp"

#include <pthread.h>

#include <atomic>

#include "shim/intercept/objects.hpp"
#include "shim/intercept/sharing.hpp"

namespace shim::intercept {
namespace {

// Written by the only thread of a new child; relaxed, because threads that it starts later see what came before.
constinit std::atomic<bool> is_child{false};

/// Runs in the child before fork() returns: takes no lock, since other threads of the parent may have held any.
void on_child() {
  is_child.store(true, std::memory_order_relaxed);
  forget_engines();
  objects.comms.hide();
  objects.sessions.hide();
  objects.requests.hide();
  objects.messages.hide();
}

}  // namespace

void watch_forks() {
  static const int registered = pthread_atfork(nullptr, nullptr, on_child);
  static_cast<void>(registered);  // fails without memory only
}

bool is_forked_child() noexcept { return is_child.load(std::memory_order_relaxed); }

base::Error forked_error(base::ErrorClass error_class, const std::string& object) {
  return base::Error(error_class, object + " belongs to the parent of this process, which called fork(); call MPI in the parent only, "
                                           "or execute another program in the child");
}

}  // namespace shim::intercept
