// SPDX-License-Identifier: BSD-3-Clause
// Completing, inspecting, starting and giving up one request, MPI-4.1 §3.7.3, §3.7.6, §3.8.4, §3.9.
#include "shim/intercept/bodies/completion.hpp"
#include "shim/intercept/generated/bodies.hpp"

namespace shim::intercept {
namespace {

int bad_request(const char* function, MPI_Request handle) {
  return fail(Subject::request(handle), function, std::move(request_of(handle)).error());
}

inline int wait(MPI_Request* handle, MPI_Status* status) {
  RequestObject* object = objects.requests.find(*handle);
  if (object == nullptr) [[unlikely]] return bad_request("MPI_Wait", *handle);
  if (!is_ready(*object)) {
    auto waited = object->own != nullptr ? slow::wait(*object) : engine_of(*object->comm).wait(*object->request);
    if (!waited) [[unlikely]] return fail(object->on(), "MPI_Wait", waited.error());
  }
  return finish(collect(*object, handle, status), "MPI_Wait");
}

/// Is it ready after one round of progress?
inline base::Result<bool> poll(RequestObject& object) {
  if (is_ready(object)) return true;
  if (object.own == nullptr) [[likely]] return engine_of(*object.comm).test(*object.request);
  SHIM_TRY(slow::progress(object));
  return is_ready(object);
}

inline int test(MPI_Request* handle, int* flag, MPI_Status* status) {
  RequestObject* object = objects.requests.find(*handle);
  if (object == nullptr) [[unlikely]] return bad_request("MPI_Test", *handle);
  if (flag == nullptr) [[unlikely]] return fail(object->on(), "MPI_Test", slow::no_output("flag"));
  auto done = poll(*object);
  if (!done) [[unlikely]] return fail(object->on(), "MPI_Test", done.error());
  *flag = *done;
  if (!*done) return MPI_SUCCESS;
  return finish(collect(*object, handle, status), "MPI_Test");
}

/// Null handles are complete (MPI-4.1 §3.7.3); all others belong to nobody while the substrate is idle.
template <typename Done>
int idle_one(const char* function, const MPI_Request* handle, Done done) {
  return deliver(Subject(), function, [&]() -> base::Status {
    SHIM_TRY(check_output(handle, "request"));
    if (*handle != abi::predefined.request_null) return std::move(request_of(*handle)).error();
    return done();
  });
}

}  // namespace

namespace ours {

int Wait(MPI_Request* request, MPI_Status* status) { return wait(request, status); }
int Test(MPI_Request* request, int* flag, MPI_Status* status) { return test(request, flag, status); }

int Request_get_status(MPI_Request request, int* flag, MPI_Status* status) {
  RequestObject* object = objects.requests.find(request);
  if (object == nullptr) return bad_request("MPI_Request_get_status", request);
  Ending ending;
  int code = deliver(object->on(), "MPI_Request_get_status", [&]() -> base::Status {
    SHIM_TRY(check_output(flag, "flag"));
    SHIM_TRY_ASSIGN(bool done, poll(*object));
    *flag = done;
    if (done) ending = peek(*object, status);
    return {};
  });
  return code != MPI_SUCCESS ? code : finish(ending, "MPI_Request_get_status");
}

int Request_free(MPI_Request* request) {
  return deliver(Subject::request(*request), "MPI_Request_free", [&]() -> base::Status {
    if (forget_of_parent(objects.requests, request, MPI_Request(abi::predefined.request_null))) return {};
    RequestObject* object = objects.requests.find(*request);
    if (object != nullptr && object->own != nullptr && object->own->keeps_handle()) {
      *request = abi::predefined.request_null;
      return {};
    }
    auto taken = objects.requests.take(*request);
    if (!taken) return std::move(request_of(*request)).error();
    *request = abi::predefined.request_null;
    give_back(*taken);
    return {};
  });
}

int Cancel(MPI_Request* request) {
  RequestObject* object = objects.requests.find(*request);
  if (object == nullptr) return bad_request("MPI_Cancel", *request);
  if (object->own != nullptr) {
    int code = object->own->cancel();
    return code == MPI_SUCCESS ? code : fail(object->on(), "MPI_Cancel", code, "the operation could not be cancelled");
  }
  return deliver(object->on(), "MPI_Cancel", [&]() -> base::Status {
    if (object->departed.number != 0) {  // from here on it is a request like others
      const sessions::Communicator& comm = *object->comm;
      object->request = engine_of(comm).request_of(comm.context(), std::exchange(object->departed, {}));
    }
    return object->request != nullptr ? p2p::Engine::cancel(*object->request) : base::Status{};
  });
}

}  // namespace ours

namespace idle {

int Wait(MPI_Request* request, MPI_Status* status) {
  return idle_one("MPI_Wait", request, [&]() -> base::Status {
    abi::write_empty_status(status);
    return {};
  });
}

int Test(MPI_Request* request, int* flag, MPI_Status* status) {
  return idle_one("MPI_Test", request, [&]() -> base::Status {
    SHIM_TRY(check_output(flag, "flag"));
    *flag = 1;
    abi::write_empty_status(status);
    return {};
  });
}

int Request_get_status(MPI_Request request, int* flag, MPI_Status* status) {
  return idle_one("MPI_Request_get_status", &request, [&]() -> base::Status {
    SHIM_TRY(check_output(flag, "flag"));
    *flag = 1;
    abi::write_empty_status(status);
    return {};
  });
}

}  // namespace idle
}  // namespace shim::intercept
