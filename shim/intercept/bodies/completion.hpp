// SPDX-License-Identifier: BSD-3-Clause
// What all calls that complete requests have in common.
#pragma once

#include "shim/intercept/bodies/arguments.hpp"

namespace shim::intercept {

inline bool is_ready(const RequestObject& object) noexcept { return object.request == nullptr || object.request->is_done(); }

/// A persistent request that was not started: complete in MPI_Waitall, passed over in MPI_Waitany (MPI-4.1 §3.7.5).
inline bool is_inactive(const RequestObject& object) noexcept {
  return object.request != nullptr && object.request->is_persistent() && !object.request->is_active();
}

inline const p2p::Outcome& outcome_of(const RequestObject& object) noexcept {
  return object.request != nullptr ? object.request->outcome() : kNothing;
}

/// Reads a ready request out, and ends it: a persistent one becomes inactive, the handle of another MPI_REQUEST_NULL.
/// Answers the operation's own error; `on` is then whom it concerns.
inline base::Status collect(RequestObject& object, MPI_Request* handle, MPI_Status* status, CommReference& on) {
  p2p::Request* request = object.request;
  if (is_inactive(object)) {
    abi::write_empty_status(status);
    return {};
  }
  abi::write_status(status, outcome_of(object));
  base::Status result;
  if (request != nullptr && request->error() != nullptr) [[unlikely]] {
    result = request->error()->clone();
    on = object.on;
  }
  if (request != nullptr && request->is_persistent()) {
    engine_of(*object.on.comm).deactivate(*request);
    return result;
  }
  auto taken = objects.requests.take(*handle);
  *handle = abi::predefined.request_null;
  if (request != nullptr && taken) engine_of(*taken->on.comm).release(request);
  return result;
}

}  // namespace shim::intercept
