// SPDX-License-Identifier: BSD-3-Clause
#include "shim/bootstrap/pmi1/failure_notice.hpp"

#include <signal.h>

namespace shim::bootstrap::pmi1 {
namespace {

/// Not SIG_IGN, which child processes would inherit.
void ignore_signal(int) {}

/// True if this is the handler of SIGUSR1.
bool does(void (*handler)(int)) {
  struct sigaction now {};
  return ::sigaction(SIGUSR1, nullptr, &now) == 0 && !(now.sa_flags & SA_SIGINFO) &&
         now.sa_handler == handler;
}

void set(void (*handler)(int)) {
  struct sigaction action {};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;
  ::sigaction(SIGUSR1, &action, nullptr);
}

}  // namespace

FailureNotice::FailureNotice() {
  if (does(SIG_DFL)) set(&ignore_signal);
}

FailureNotice::~FailureNotice() {
  if (does(&ignore_signal)) set(SIG_DFL);
}

}  // namespace shim::bootstrap::pmi1
