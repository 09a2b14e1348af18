// SPDX-License-Identifier: BSD-3-Clause
// What hydra does to the survivors of a process that died.
#pragma once

namespace shim::bootstrap::pmi1 {

/// Told not to end the job with its first dead process (-disable-auto-cleanup), hydra sends SIGUSR1 to all others, which would end
/// them after all (measured, 4.0.2). As long as this lives the signal does nothing, unless the program or the MPI library has said
/// what it does. Of this process's signals, so one at a time: it hangs from the ProcessLife.
class FailureNotice {
 public:
  FailureNotice();
  ~FailureNotice();
  FailureNotice(const FailureNotice&) = delete;
  FailureNotice& operator=(const FailureNotice&) = delete;
};

}  // namespace shim::bootstrap::pmi1
