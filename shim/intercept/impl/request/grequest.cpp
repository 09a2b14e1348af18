// SPDX-License-Identifier: BSD-3-Clause
// Implements generalised requests made while the substrate is inactive (MPI-4.1 §13.2). While it is
// active, the substrate makes its own.
#include "shim/intercept/impl/request/grequest.hpp"

#include <atomic>
#include <memory>

#include "shim/intercept/generated/impl.hpp"
#include "shim/intercept/generated/table.hpp"
#include "shim/intercept/impl/request/completion.hpp"

namespace shim::intercept {
namespace {

using base::Error;
using base::ErrorClass;

struct Callbacks {
  MPI_Grequest_query_function* query;
  MPI_Grequest_free_function* free;
  MPI_Grequest_cancel_function* cancel;
  void* extra_state;  ///< a number, if the functions are Fortran procedures
  bool are_fortran = false;

  int call_query(MPI_Status* status) const {
    if (!are_fortran) return query(extra_state, status);
    return call<MPI_Fint*>(query, reinterpret_cast<MPI_Fint*>(status));
  }
  int call_free() const { return are_fortran ? call<>(free) : free(extra_state); }
  int call_cancel(bool is_done) const {
    if (!are_fortran) return cancel(extra_state, is_done ? 1 : 0);
    MPI_Fint flag = is_done ? 1 : 0;
    return call<MPI_Fint*>(cancel, &flag);
  }

 private:
  template <typename... Arguments, typename Function>
  int call(Function* function, Arguments... arguments) const {
    auto number = static_cast<MPI_Aint>(reinterpret_cast<std::intptr_t>(extra_state));
    MPI_Fint code = MPI_SUCCESS;
    auto* procedure = reinterpret_cast<Procedure*>(function);
    reinterpret_cast<void (*)(MPI_Aint*, Arguments..., MPI_Fint*)>(procedure)(&number, arguments...,
                                                                              &code);
    return code;
  }
};

/// The user's operation: completed by MPI_Grequest_complete on any thread.
class GeneralisedRequest final : public PolledRequest {
 public:
  explicit GeneralisedRequest(const Callbacks& callbacks) : callbacks_(callbacks) {}
  /// Call before any callback has run.
  void change_to_fortran() {
    callbacks_.are_fortran = true;
    callbacks_.extra_state = reinterpret_cast<void*>(
        *static_cast<MPI_Aint*>(callbacks_.extra_state));
  }

  enum class Completion { first, after_free, again };
  /// Complete the request. After MPI_Request_free (after_free) the caller releases it.
  Completion complete_now() {
    const std::uint8_t before = state_.fetch_or(kCompleted);
    if ((before & kCompleted) != 0) return Completion::again;
    complete(p2p::MessageStatus{});
    return (before & kFreed) != 0 ? Completion::after_free : Completion::first;
  }
  bool keeps_handle() override { return (state_.fetch_or(kFreed) & kCompleted) == 0; }

  /// Call the user's query with an empty status; it sets all fields but MPI_ERROR.
  int describe(MPI_Status* status) override {
    MPI_Status own;
    abi::write_empty_status(&own);
    int code = callbacks_.call_query(&own);
    if (status != MPI_STATUS_IGNORE) {
      own.MPI_ERROR = status->MPI_ERROR;
      *status = own;
    }
    return code;
  }
  int cancel() override { return callbacks_.call_cancel(is_done()); }
  int retire() override {
    // also if the user's function throws
    const std::unique_ptr<GeneralisedRequest, Release> released(this);
    return free_state();
  }

 private:
  struct Release {
    void operator()(GeneralisedRequest* request) const { p2p::Engine::release(request); }
  };
  /// Run after the later of MPI_Request_free and MPI_Grequest_complete.
  void dispose() override {
    const std::unique_ptr<GeneralisedRequest> deleted(this);  // also if the user's function throws
    if (!is_state_freed_) free_state();
  }
  int free_state() {
    is_state_freed_ = true;
    return callbacks_.call_free();
  }

  static constexpr std::uint8_t kCompleted = 1, kFreed = 2;
  Callbacks callbacks_;
  std::atomic<std::uint8_t> state_{0};
  bool is_state_freed_ = false;
};

base::Status check(const Callbacks& callbacks) {
  SHIM_TRY(check_output(reinterpret_cast<const void*>(callbacks.query), "query function"));
  SHIM_TRY(check_output(reinterpret_cast<const void*>(callbacks.free), "free function"));
  return check_output(reinterpret_cast<const void*>(callbacks.cancel), "cancel function");
}

int start(const Callbacks& callbacks, MPI_Request* request) {
  return run_with_handler(Subject(), "MPI_Grequest_start", [&]() -> base::Status {
    SHIM_TRY(check(callbacks));
    SHIM_TRY(check_output(request, "request"));
    return make_request_handle(new GeneralisedRequest(callbacks), {}, request);
  });
}

}  // namespace

int start_fortran_request(Procedure* query, Procedure* free, Procedure* cancel,
                          MPI_Aint extra_state, MPI_Request* request) {
  return start({reinterpret_cast<MPI_Grequest_query_function*>(query),
                reinterpret_cast<MPI_Grequest_free_function*>(free),
                reinterpret_cast<MPI_Grequest_cancel_function*>(cancel),
                reinterpret_cast<void*>(extra_state), true},
               request);
}

void change_request_to_fortran(MPI_Request request) {
  RequestObject* object = objects.requests.find(request);
  if (auto* generalised = object != nullptr ? dynamic_cast<GeneralisedRequest*>(object->polled)
                                            : nullptr)
    generalised->change_to_fortran();
}

namespace impl_when_inactive {

int Grequest_start(MPI_Grequest_query_function* query_fn, MPI_Grequest_free_function* free_fn,
                   MPI_Grequest_cancel_function* cancel_fn, void* extra_state,
                   MPI_Request* request) {
  return start({query_fn, free_fn, cancel_fn, extra_state}, request);
}

}  // namespace impl_when_inactive

namespace impl {

int Grequest_complete(MPI_Request request) {
  return run_with_handler(Subject(), "MPI_Grequest_complete", [&]() -> base::Status {
    SHIM_TRY_ASSIGN(RequestObject * object, request_of(request));
    auto* generalised = dynamic_cast<GeneralisedRequest*>(object->polled);
    if (generalised == nullptr)
      return Error(ErrorClass::request,
                   "the request is not a generalized request (MPI_Grequest_start)");
    switch (generalised->complete_now()) {
      case GeneralisedRequest::Completion::again:
        return Error(ErrorClass::request, "the generalized request is already complete");
      case GeneralisedRequest::Completion::after_free:
        objects.requests.take(request);
        p2p::Engine::release(generalised);
        break;
      case GeneralisedRequest::Completion::first:
        break;
    }
    return {};
  });
}

}  // namespace impl
}  // namespace shim::intercept
