// SPDX-License-Identifier: BSD-3-Clause
// SignalsBlocked keeps the program's signal handlers off this library's threads.
#pragma once

#include <pthread.h>

#include <csignal>

namespace shim::base {

/// Blocks all signals of the calling thread during this object's lifetime; a thread created
/// meanwhile inherits the mask.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_;
};

}  // namespace shim::base
