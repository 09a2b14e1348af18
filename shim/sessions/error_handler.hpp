// SPDX-License-Identifier: BSD-3-Clause
// ErrorHandler is an error handler as a value; only intercept calls it, once per error.
#pragma once

#include <memory>

namespace shim::sessions {

/// MPI object type of a user's handler function (MPI-4.1 §9.3): its first argument's type.
enum class HandlerFor { any, communicator, session, window, file };
enum class HandlerKind { fatal, abort, ret, user };

/// A predefined handler or a user's function, whose exact C type only the interposition layer
/// knows.
struct ErrorHandler {
  HandlerKind kind = HandlerKind::fatal;
  HandlerFor object = HandlerFor::any;
  void (*function)() = nullptr;  ///< user handlers only; cast back by the interposition layer
  bool is_fortran = false;       ///< the function is a Fortran procedure
};
using ErrorHandlerPtr = std::shared_ptr<const ErrorHandler>;

}  // namespace shim::sessions
