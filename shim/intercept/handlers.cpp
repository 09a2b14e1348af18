// SPDX-License-Identifier: BSD-3-Clause
#include "shim/intercept/handlers.hpp"

#include <array>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "shim/intercept/abi/predefined.hpp"
#include "shim/intercept/objects.hpp"

namespace shim::intercept {
namespace {

using sessions::ErrorHandler;
using sessions::ErrorHandlerPtr;
using sessions::HandlerKind;

/// Never destroyed: error handlers may run while the program ends.
struct NativeHandlers {
  std::mutex mutex;
  std::unordered_map<MPI_Errhandler, ErrorHandlerPtr> by_handle;
};
NativeHandlers& native_handlers() {
  static NativeHandlers& handlers = *new NativeHandlers;
  return handlers;
}

}  // namespace

ErrorHandlerPtr predefined_handler(HandlerKind kind) {
  static const auto& handlers = *new std::array<ErrorHandlerPtr, 3>{
      std::make_shared<ErrorHandler>(ErrorHandler{HandlerKind::fatal}),
      std::make_shared<ErrorHandler>(ErrorHandler{HandlerKind::abort}),
      std::make_shared<ErrorHandler>(ErrorHandler{HandlerKind::ret}),
  };
  return handlers[static_cast<std::size_t>(kind)];
}

ErrorHandlerPtr find_handler(MPI_Errhandler handle) {
  if (ErrhandlerObject* object = objects.errhandlers.find(handle)) return object->handler;
  if (abi::is_unset(handle)) return nullptr;
  if (handle == abi::predefined.errors_return) return predefined_handler(HandlerKind::ret);
  if (handle == abi::predefined.errors_are_fatal) return predefined_handler(HandlerKind::fatal);
  if (handle == MPI_ERRORS_ABORT) return predefined_handler(HandlerKind::abort);
  NativeHandlers& known = native_handlers();
  std::lock_guard lock(known.mutex);
  auto at = known.by_handle.find(handle);
  return at != known.by_handle.end() ? at->second : nullptr;
}

base::Result<MPI_Errhandler> handle_of(const ErrorHandlerPtr& handler) {
  switch (handler->kind) {
    case HandlerKind::fatal: return MPI_Errhandler(abi::predefined.errors_are_fatal);
    case HandlerKind::ret: return MPI_Errhandler(abi::predefined.errors_return);
    case HandlerKind::abort: return MPI_ERRORS_ABORT;
    case HandlerKind::user: break;
  }
  ErrhandlerObject object;
  object.handler = handler;
  return objects.errhandlers.insert(std::move(object));
}

void remember_native_handler(MPI_Errhandler handle, ErrorHandler handler) {
  NativeHandlers& known = native_handlers();
  std::lock_guard lock(known.mutex);
  known.by_handle[handle] = std::make_shared<ErrorHandler>(handler);  // an old one of this address is gone
}

}  // namespace shim::intercept
