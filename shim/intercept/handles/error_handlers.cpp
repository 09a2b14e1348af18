// SPDX-License-Identifier: BSD-3-Clause
#include "shim/intercept/handles/error_handlers.hpp"

#include <array>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "shim/intercept/abi/predefined.hpp"
#include "shim/intercept/handles/objects.hpp"
#include "shim/intercept/native/activity.hpp"

namespace shim::intercept {
namespace {

using sessions::ErrorHandler;
using sessions::ErrorHandlerPtr;
using sessions::HandlerKind;

/// Never destroyed: error handlers may run during exit.
struct NativeHandlers {
  std::mutex mutex;
  std::unordered_map<MPI_Errhandler, ErrorHandlerPtr> by_handle;
};

/// Handle of a user's handler, and the references that the user may free.
struct KnownHandle {
  MPI_Errhandler handle{};
  unsigned references = 0;  ///< for the substrate's: in addition to its own count
};
struct KnownHandlers {
  std::mutex mutex;
  std::unordered_map<const ErrorHandler*, KnownHandle> by_handler;
};
KnownHandlers& known_handlers() {
  static KnownHandlers& handlers = *new KnownHandlers;
  return handlers;
}

/// Add a reference to the handler's handle, if it has a live one.
bool add_reference(const ErrorHandler* handler, MPI_Errhandler* handle) {
  KnownHandlers& known = known_handlers();
  std::lock_guard lock(known.mutex);
  auto at = known.by_handler.find(handler);
  if (at == known.by_handler.end() || (!abi::is_ours(at->second.handle) && !is_active()))
    return false;
  ++at->second.references;
  *handle = at->second.handle;
  return true;
}

void record_handle(const ErrorHandler* handler, const KnownHandle& as) {
  KnownHandlers& known = known_handlers();
  std::lock_guard lock(known.mutex);
  known.by_handler[handler] = as;
}

void forget(const ErrorHandler* handler) {
  KnownHandlers& known = known_handlers();
  std::lock_guard lock(known.mutex);
  known.by_handler.erase(handler);
}

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
    case HandlerKind::fatal:
      return MPI_Errhandler(abi::predefined.errors_are_fatal);
    case HandlerKind::ret:
      return MPI_Errhandler(abi::predefined.errors_return);
    case HandlerKind::abort:
      return MPI_ERRORS_ABORT;
    case HandlerKind::user:
      break;
  }
  MPI_Errhandler handle{};
  if (add_reference(handler.get(), &handle)) return handle;
  ErrhandlerObject object;
  object.handler = handler;
  SHIM_TRY_ASSIGN(handle, objects.errhandlers.insert(std::move(object)));
  record_handle(handler.get(), {handle, 1});
  return handle;
}

LastReference free_reference(MPI_Errhandler handle) {
  const bool is_ours = abi::is_ours(handle);
  const LastReference last = is_ours ? LastReference::of_ours : LastReference::of_the_substrate;
  ErrorHandlerPtr handler = find_handler(handle);
  KnownHandlers& known = known_handlers();
  std::lock_guard lock(known.mutex);
  auto at = known.by_handler.find(handler.get());
  if (at == known.by_handler.end() || at->second.handle != handle) return last;
  if (at->second.references > (is_ours ? 1 : 0)) {
    --at->second.references;
    return LastReference::no;
  }
  known.by_handler.erase(at);
  return last;
}

void remember_native_handler(MPI_Errhandler handle, ErrorHandler handler) {
  NativeHandlers& known = native_handlers();
  auto made = std::make_shared<ErrorHandler>(handler);
  std::lock_guard lock(known.mutex);
  ErrorHandlerPtr& known_handler = known.by_handle[handle];
  if (known_handler) forget(known_handler.get());  // a previous handler of this handle was freed
  record_handle(made.get(), {handle, 0});
  known_handler = std::move(made);
}

void forget_native_handler(MPI_Errhandler handle) {
  NativeHandlers& known = native_handlers();
  std::lock_guard lock(known.mutex);
  const auto at = known.by_handle.find(handle);
  if (at == known.by_handle.end()) return;
  forget(at->second.get());
  known.by_handle.erase(at);
}

}  // namespace shim::intercept
