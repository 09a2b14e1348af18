// SPDX-License-Identifier: BSD-3-Clause
// Starts persistent requests, MPI-4.1 §3.9.
#include <string>

#include "shim/intercept/generated/impl.hpp"
#include "shim/intercept/generated/table.hpp"
#include "shim/intercept/impl/request/completion.hpp"
#include "shim/intercept/native/activity.hpp"

namespace shim::intercept {
namespace {

using base::Error;
using base::ErrorClass;

base::Status start(RequestObject& object) {
  if (object.request == nullptr || !object.request->is_persistent())
    return Error(ErrorClass::request, "the request is not persistent");
  if (object.request->is_active())
    return Error(ErrorClass::request, "the request is already active; complete it first");
  return p2p::Engine::start(*object.request);
}

/// Start a request of either library. The substrate raises its own errors.
int start_one(const char* function, MPI_Request* handle) {
  if (!abi::is_ours(*handle) && is_active()) return active_table.Start(handle);
  auto object = request_of(*handle);
  if (!object) return fail(Subject(), function, object.error());
  base::Status started = start(**object);
  if (started) return MPI_SUCCESS;
  int code = (*object)->polled != nullptr ? (*object)->polled->start_code() : MPI_SUCCESS;
  return code != MPI_SUCCESS ? code : fail((*object)->on(), function, started.error());
}

}  // namespace

namespace impl {

int Start(MPI_Request* request) { return start_one("MPI_Start", request); }

int Startall(int count, MPI_Request requests[]) {
  if (count > 0 && requests == nullptr)
    return fail(Subject(), "MPI_Startall",
                Error(ErrorClass::arg, "the array of requests is a null pointer"));
  for (int i = 0; i < count; ++i)
    if (int code = start_one("MPI_Startall", &requests[i])) return code;
  return MPI_SUCCESS;
}

}  // namespace impl
}  // namespace shim::intercept
