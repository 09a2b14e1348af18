// SPDX-License-Identifier: BSD-3-Clause
// Signals are the program's, for its own threads: those of ours are made while all are blocked.
#pragma once

#include <pthread.h>

#include <csignal>

namespace shim::base {

/// Blocks all signals of the calling thread for its own life; a thread made meanwhile keeps them blocked.
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
