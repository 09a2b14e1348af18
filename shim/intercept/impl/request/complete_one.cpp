// SPDX-License-Identifier: BSD-3-Clause
// Completes, inspects, cancels and frees one request (MPI-4.1 §3.7.3, §3.7.6, §3.8.4, §3.9).
#include "shim/intercept/generated/impl.hpp"
#include "shim/intercept/impl/request/completion.hpp"

namespace shim::intercept {
namespace {

int bad_request(const char* function, MPI_Request handle) {
  return fail(Subject::request(handle), function, std::move(request_of(handle)).error());
}

inline int wait(MPI_Request* handle, MPI_Status* status) {
  RequestObject* object = objects.requests.find(*handle);
  if (object == nullptr) [[unlikely]]
    return bad_request("MPI_Wait", *handle);
  while (!is_ready(*object)) {
    auto waited = object->polled != nullptr ? slow::wait(*object)
                                            : engine_of(*object->comm).wait(*object->request);
    if (!waited) [[unlikely]]
      return fail(object->on(), "MPI_Wait", waited.error());
    if (is_ready(*object)) [[likely]]
      break;
    if (const FailurePtr pending = slow::pending_failure(*object))
      return finish(pending, "MPI_Wait");
  }
  return finish(complete_request(*object, handle, status), "MPI_Wait");
}

/// True if ready after one round of progress.
inline base::Result<bool> poll(RequestObject& object) {
  if (is_ready(object)) return true;
  if (object.polled == nullptr) [[likely]]
    return engine_of(*object.comm).test(*object.request);
  SHIM_TRY(slow::progress(object));
  return is_ready(object);
}

inline int test(MPI_Request* handle, int* flag, MPI_Status* status) {
  RequestObject* object = objects.requests.find(*handle);
  if (object == nullptr) [[unlikely]]
    return bad_request("MPI_Test", *handle);
  if (flag == nullptr) [[unlikely]]
    return fail(object->on(), "MPI_Test", slow::no_output("flag"));
  auto done = poll(*object);
  if (!done) [[unlikely]]
    return fail(object->on(), "MPI_Test", done.error());
  *flag = *done;
  if (!*done)
    return object->request->has_settled() ? finish(slow::pending_failure(*object), "MPI_Test")
                                          : MPI_SUCCESS;
  return finish(complete_request(*object, handle, status), "MPI_Test");
}

/// Implement a call on one request while the substrate is inactive: null handles are complete
/// (MPI-4.1 §3.7.3), all others invalid.
template <typename Done>
int inactive_one(const char* function, const MPI_Request* handle, Done done) {
  return run_with_handler(Subject(), function, [&]() -> base::Status {
    SHIM_TRY(check_output(handle, "request"));
    if (*handle != abi::predefined.request_null) return std::move(request_of(*handle)).error();
    return done();
  });
}

}  // namespace

namespace impl {

int Wait(MPI_Request* request, MPI_Status* status) { return wait(request, status); }
int Test(MPI_Request* request, int* flag, MPI_Status* status) {
  return test(request, flag, status);
}

int Request_get_status(MPI_Request request, int* flag, MPI_Status* status) {
  RequestObject* object = objects.requests.find(request);
  if (object == nullptr) return bad_request("MPI_Request_get_status", request);
  FailurePtr failure;
  int code = run_with_handler(object->on(), "MPI_Request_get_status", [&]() -> base::Status {
    SHIM_TRY(check_output(flag, "flag"));
    SHIM_TRY_ASSIGN(bool done, poll(*object));
    *flag = done;
    if (done) failure = peek(*object, status);
    return {};
  });
  return code != MPI_SUCCESS ? code : finish(failure, "MPI_Request_get_status");
}

int Request_free(MPI_Request* request) {
  return run_with_handler(Subject::request(*request), "MPI_Request_free", [&]() -> base::Status {
    if (reset_handle_of_parent(objects.requests, request,
                               MPI_Request(abi::predefined.request_null)))
      return {};
    RequestObject* object = objects.requests.find(*request);
    if (object != nullptr && object->polled != nullptr && object->polled->keeps_handle()) {
      *request = abi::predefined.request_null;
      return {};
    }
    auto taken = objects.requests.take(*request);
    if (!taken) return std::move(request_of(*request)).error();
    *request = abi::predefined.request_null;
    release_request(*taken);
    return {};
  });
}

int Cancel(MPI_Request* request) {
  RequestObject* object = objects.requests.find(*request);
  if (object == nullptr) return bad_request("MPI_Cancel", *request);
  if (object->polled != nullptr) {
    int code = object->polled->cancel();
    return code == MPI_SUCCESS
               ? code
               : fail(object->on(), "MPI_Cancel", code, "the operation could not be cancelled");
  }
  return run_with_handler(object->on(), "MPI_Cancel", [&]() -> base::Status {
    if (object->inline_sent.number != 0) {  // a normal request from here on
      const sessions::Communicator& comm = *object->comm;
      object->request = engine_of(comm).request_of(comm.context(),
                                                   std::exchange(object->inline_sent, {}));
    }
    return object->request != nullptr ? p2p::Engine::cancel(*object->request) : base::Status{};
  });
}

}  // namespace impl

namespace impl_when_inactive {

int Wait(MPI_Request* request, MPI_Status* status) {
  return inactive_one("MPI_Wait", request, [&]() -> base::Status {
    abi::write_empty_status(status);
    return {};
  });
}

int Test(MPI_Request* request, int* flag, MPI_Status* status) {
  return inactive_one("MPI_Test", request, [&]() -> base::Status {
    SHIM_TRY(check_output(flag, "flag"));
    *flag = 1;
    abi::write_empty_status(status);
    return {};
  });
}

int Request_get_status(MPI_Request request, int* flag, MPI_Status* status) {
  return inactive_one("MPI_Request_get_status", &request, [&]() -> base::Status {
    SHIM_TRY(check_output(flag, "flag"));
    *flag = 1;
    abi::write_empty_status(status);
    return {};
  });
}

}  // namespace impl_when_inactive
}  // namespace shim::intercept
