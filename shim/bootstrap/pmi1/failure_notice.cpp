// SPDX-License-Identifier: BSD-3-Clause
#include "shim/bootstrap/pmi1/failure_notice.hpp"

#include <signal.h>

namespace shim::bootstrap::pmi1 {
namespace {

/// Not SIG_IGN, which the children of the process would inherit.
void pass_over(int) {}

bool does(void (*handler)(int)) {
  struct sigaction now {};
  return ::sigaction(SIGUSR1, nullptr, &now) == 0 && !(now.sa_flags & SA_SIGINFO) && now.sa_handler == handler;
}

void set(void (*handler)(int)) {
  struct sigaction action {};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;
  ::sigaction(SIGUSR1, &action, nullptr);
}

}  // namespace

FailureNotice::FailureNotice() {
  if (does(SIG_DFL)) set(&pass_over);
}

FailureNotice::~FailureNotice() {
  if (does(&pass_over)) set(SIG_DFL);
}

}  // namespace shim::bootstrap::pmi1
