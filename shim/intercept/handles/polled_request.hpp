// SPDX-License-Identifier: BSD-3-Clause
// PolledRequest is a request that the interposition layer implements. It wraps requests of either
// library or the user's generalised requests.
#pragma once

#include <mpi.h>

#include "shim/p2p/p2p.hpp"

namespace shim::intercept {

/// No engine progresses it: threads that wait for it call advance().
class PolledRequest : public p2p::Request {
 public:
  /// Complete the request if its operation is over. Called in every round of a wait, from any
  /// thread.
  virtual void advance() {}
  /// True if the native library progresses it. Waiting threads then never sleep, and the native
  /// library has called the error handler for the code that describe() returns.
  virtual bool needs_native_progress() const { return false; }
  /// Write the status of a completed request, except MPI_ERROR; return the operation's error code.
  /// @param status may be MPI_STATUS_IGNORE.
  virtual int describe(MPI_Status* status) = 0;
  /// Implement MPI_Cancel; return an error code.
  virtual int cancel() { return MPI_SUCCESS; }
  /// Release a completed request that the user has read; the object may be destroyed on return.
  /// Return an error code.
  virtual int retire() {
    p2p::Engine::release(this);
    return MPI_SUCCESS;
  }
  /// Return the code of a failed start for which the native library has called the error handler.
  virtual int start_code() const { return MPI_SUCCESS; }
  /// True if MPI_Request_free must keep the handle valid until completion, because the program
  /// completes the operation by the handle.
  virtual bool keeps_handle() { return false; }
  /// Implement MPI_Request_free: the operation completes by itself. The object may be destroyed on
  /// return.
  virtual void detach() { p2p::Engine::release(this); }
};

}  // namespace shim::intercept
