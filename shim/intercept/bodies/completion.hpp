// SPDX-License-Identifier: BSD-3-Clause
// What all calls that complete requests have in common.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "shim/intercept/bodies/arguments.hpp"

namespace shim::intercept {

/// Of a request that the border makes itself, after a look at it.
inline bool is_ready(const RequestObject& object) {
  if (object.request == nullptr) return true;
  if (object.own != nullptr && !object.own->is_done()) [[unlikely]] object.own->advance();
  return object.request->is_done();
}

/// A persistent request that was not started: complete in MPI_Waitall, passed over in MPI_Waitany (MPI-4.1 §3.7.5).
inline bool is_inactive(const RequestObject& object) noexcept {
  return object.request != nullptr && object.request->is_persistent() && !object.request->is_active();
}

inline const p2p::Outcome& outcome_of(const RequestObject& object) noexcept {
  return object.request != nullptr ? object.request->outcome() : object.outcome;
}

/// An operation that failed: its error, and whom it concerns.
struct Failure {
  int code = MPI_SUCCESS;
  bool is_raised = false;  ///< the library below has called the error handler
  std::string text;
  CommReference on;
};
/// How an operation ended; null where it succeeded.
using Ending = std::unique_ptr<const Failure>;

namespace slow {
Ending failed(const CommReference& on, const base::Error& error);
/// Writes the status of a ready request that the border makes itself, and answers how it ended.
Ending describe(const RequestObject& object, MPI_Status* status);
Ending peek(const RequestObject& object, MPI_Status* status);
Ending collect(RequestObject& object, MPI_Request* handle, MPI_Status* status);
base::Status wait(RequestObject& object);
base::Status progress(const RequestObject& object);
int finish(const Failure& failure, const char* function);
}  // namespace slow

/// Waits until the condition holds, while requests of the library below are among those waited for: nobody sleeps then, because
/// they move only while somebody asks for them.
base::Status spin_until(const std::function<bool()>& condition, const std::function<base::Status()>& progress);

/// Calls the error handler, once; answers the code for the user.
inline int finish(const Ending& ending, const char* function) {
  return ending == nullptr ? MPI_SUCCESS : slow::finish(*ending, function);
}

/// Writes the status of a ready request, which stays as it is (MPI_Request_get_status). The operation's own error stays with it, too,
/// but for that of a callback.
inline Ending peek(const RequestObject& object, MPI_Status* status) {
  if (is_inactive(object)) abi::write_empty_status(status);
  else if (object.own != nullptr) return slow::peek(object, status);
  else abi::write_status(status, outcome_of(object));
  return nullptr;
}

/// MPI_Request_free and its like: an active operation finishes by itself.
inline void give_back(RequestObject& object) {
  if (object.own != nullptr) object.own->let_go();
  else p2p::Engine::release(object.request);
}

/// Of a request that is no own one and not inactive: writes the status, and answers how it ended. A persistent one becomes inactive.
[[gnu::always_inline]] inline Ending read_out(RequestObject& object, MPI_Status* status) {
  p2p::Request* const request = object.request;
  abi::write_status(status, outcome_of(object));
  if (request == nullptr) return nullptr;
  Ending ending;
  if (request->error() != nullptr) [[unlikely]] ending = slow::failed(object.on(), *request->error());
  if (request->is_persistent()) p2p::Engine::deactivate(*request);
  return ending;
}

/// Reads a ready request out, and ends it: a persistent one becomes inactive, the handle of another MPI_REQUEST_NULL.
[[gnu::always_inline]] inline Ending collect(RequestObject& object, MPI_Request* handle, MPI_Status* status) {
  if (is_inactive(object)) {
    abi::write_empty_status(status);
    return nullptr;
  }
  if (object.own != nullptr) [[unlikely]] return slow::collect(object, handle, status);
  p2p::Request* const request = object.request;
  Ending ending = read_out(object, status);
  if (request != nullptr && request->is_persistent()) return ending;
  if (objects.requests.erase(std::exchange(*handle, abi::predefined.request_null)) && request != nullptr) p2p::Engine::release(request);
  return ending;
}

}  // namespace shim::intercept
