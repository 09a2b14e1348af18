// SPDX-License-Identifier: BSD-3-Clause
// Implements the common code of all calls that complete requests.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "shim/intercept/impl/arguments.hpp"

namespace shim::intercept {

/// True if the request is complete; advances a polled request first.
inline bool is_ready(const RequestObject& object) {
  if (object.request == nullptr) return true;
  if (object.polled != nullptr && !object.polled->is_done()) [[unlikely]]
    object.polled->advance();
  return object.request->is_done();
}

/// True for a persistent request that is not started: complete in MPI_Waitall, skipped in
/// MPI_Waitany (MPI-4.1 §3.7.5).
inline bool is_inactive(const RequestObject& object) noexcept {
  return object.request != nullptr && object.request->is_persistent() &&
         !object.request->is_active();
}

inline const p2p::MessageStatus& outcome_of(const RequestObject& object) noexcept {
  return object.request != nullptr ? object.request->outcome() : object.outcome;
}

/// Error of a failed operation, and its communicator.
struct FailedOperation {
  int code = MPI_SUCCESS;
  bool is_raised = false;  ///< the native library has called the error handler
  std::string text;
  CommReference on;
};
/// Result of an operation; null if it succeeded.
using FailurePtr = std::unique_ptr<const FailedOperation>;

namespace slow {
FailurePtr failed(const CommReference& on, const base::Error& error);
/// Write the status of a ready polled request, and return its result.
FailurePtr describe(const RequestObject& object, MPI_Status* status);
FailurePtr peek(const RequestObject& object, MPI_Status* status);
FailurePtr complete_request(RequestObject& object, MPI_Request* handle, MPI_Status* status);
/// Return the reason why a wildcard receive may wait forever (p2p::Engine::pending_failure); its
/// request stays. Null for any other request, and once a message has matched.
FailurePtr pending_failure(const RequestObject& object);
base::Status wait(RequestObject& object);
base::Status progress(const RequestObject& object);
int finish(const FailedOperation& failure, const char* function);
}  // namespace slow

/// Call progress() until the condition holds. Never sleeps: for requests of the native library,
/// which make progress only while they are polled.
base::Status spin_until(const std::function<bool()>& condition,
                        const std::function<base::Status()>& progress);

/// Add what a request waits for to the description of a blocked call, unless it is complete.
void list_awaited(const RequestObject& object, p2p::WaitDescription& description);

/// Call the error handler once; return the code for the user.
inline int finish(const FailurePtr& failure, const char* function) {
  return failure == nullptr ? MPI_SUCCESS : slow::finish(*failure, function);
}

/// Write the status of a ready request and leave it as it is (MPI_Request_get_status). Its error
/// stays, too, unless it is a callback's.
inline FailurePtr peek(const RequestObject& object, MPI_Status* status) {
  if (is_inactive(object))
    abi::write_empty_status(status);
  else if (object.polled != nullptr)
    return slow::peek(object, status);
  else
    abi::write_status(status, outcome_of(object));
  return nullptr;
}

/// Free a request (MPI_Request_free, …): an active operation completes by itself.
inline void release_request(RequestObject& object) {
  if (object.polled != nullptr)
    object.polled->detach();
  else
    p2p::Engine::release(object.request);
}

/// Write the status of a request that is neither polled nor inactive, and return its result. A
/// persistent request becomes inactive.
[[gnu::always_inline]] inline FailurePtr read_result(RequestObject& object, MPI_Status* status) {
  p2p::Request* const request = object.request;
  abi::write_status(status, outcome_of(object));
  if (request == nullptr) return nullptr;
  FailurePtr failure;
  if (request->error() != nullptr) [[unlikely]]
    failure = slow::failed(object.on(), *request->error());
  if (request->is_persistent()) p2p::Engine::deactivate(*request);
  return failure;
}

/// Complete a ready request: a persistent one becomes inactive; the handle of any other becomes
/// MPI_REQUEST_NULL.
[[gnu::always_inline]] inline FailurePtr complete_request(RequestObject& object,
                                                          MPI_Request* handle, MPI_Status* status) {
  if (is_inactive(object)) {
    abi::write_empty_status(status);
    return nullptr;
  }
  if (object.polled != nullptr) [[unlikely]]
    return slow::complete_request(object, handle, status);
  p2p::Request* const request = object.request;
  FailurePtr failure = read_result(object, status);
  if (request != nullptr && request->is_persistent()) return failure;
  if (objects.requests.erase(std::exchange(*handle, abi::predefined.request_null)) &&
      request != nullptr)
    p2p::Engine::release(request);
  return failure;
}

}  // namespace shim::intercept
