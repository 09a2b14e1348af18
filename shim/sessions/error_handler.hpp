// SPDX-License-Identifier: BSD-3-Clause
// Error handlers as values; they are called in intercept alone, once per error.
#pragma once

#include <memory>

namespace shim::sessions {

/// Which MPI objects a user's handler function was made for (MPI-4.1 §9.3): its first argument's type.
enum class HandlerFor { any, communicator, session, window, file };
enum class HandlerKind { fatal, abort, ret, user };

/// A predefined handler or a user's function, whose exact C type the border knows.
struct ErrorHandler {
  HandlerKind kind = HandlerKind::fatal;
  HandlerFor object = HandlerFor::any;
  void (*function)() = nullptr;  ///< user handlers only; cast back at the border
};
using ErrorHandlerPtr = std::shared_ptr<const ErrorHandler>;

}  // namespace shim::sessions
