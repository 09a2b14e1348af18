// SPDX-License-Identifier: BSD-3-Clause
// FailureNotice keeps hydra's SIGUSR1 from ending the survivors of a failed process.
#pragma once

namespace shim::bootstrap::pmi1 {

/// With -disable-auto-cleanup, hydra 4.0.2 does not abort the job after a process failure but sends
/// SIGUSR1 to all other processes, which would end them (docs/decisions/0023-pmi1-under-hydra.md).
/// During this object's lifetime the signal is ignored, unless the program or the native library
/// handles it. Signal dispositions are per process, so only one object at a time: the
/// ProcessLifetime owns it.
class FailureNotice {
 public:
  FailureNotice();
  ~FailureNotice();
  FailureNotice(const FailureNotice&) = delete;
  FailureNotice& operator=(const FailureNotice&) = delete;
};

}  // namespace shim::bootstrap::pmi1
