// SPDX-License-Identifier: BSD-3-Clause
// Requests that the border makes itself: over requests of either library, or of the user's own (generalised ones).
#pragma once

#include <mpi.h>

#include "shim/p2p/p2p.hpp"

namespace shim::intercept {

/// No engine moves it along: whoever waits for it asks.
class OwnRequest : public p2p::Request {
 public:
  /// Looks whether it is over, and completes it then. Asked in every round of a wait, from any thread.
  virtual void advance() {}
  /// Does the library below move it? Then nobody sleeps while waiting for it, and that library has called the error handler
  /// for what describe() answers.
  virtual bool is_moved_below() const { return false; }
  /// Writes the status of a completed one, all but MPI_ERROR; answers the operation's error code.
  /// @param status may be MPI_STATUS_IGNORE.
  virtual int describe(MPI_Status* status) = 0;
  /// MPI_Cancel; answers an error code.
  virtual int cancel() { return MPI_SUCCESS; }
  /// The user has read a completed one out for good; the object may be gone on return. Answers an error code.
  virtual int retire() {
    p2p::Engine::release(this);
    return MPI_SUCCESS;
  }
  /// Where a start has failed and the library below has called the error handler: the code.
  virtual int start_code() const { return MPI_SUCCESS; }
  /// MPI_Request_free: true if the handle stays valid until the operation completes, for the
  /// program completes it by the handle.
  virtual bool keeps_handle() { return false; }
  /// MPI_Request_free: it finishes by itself. The object may be gone on return.
  virtual void let_go() { p2p::Engine::release(this); }
};

}  // namespace shim::intercept
