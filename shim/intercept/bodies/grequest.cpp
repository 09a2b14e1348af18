// SPDX-License-Identifier: BSD-3-Clause
// Generalised requests, MPI-4.1 §13.2, that are made while the substrate is idle; it makes its own while it is not.
#include <atomic>
#include <memory>

#include "shim/intercept/bodies/completion.hpp"
#include "shim/intercept/generated/bodies.hpp"
#include "shim/intercept/generated/table.hpp"
#include "shim/intercept/substrate.hpp"

namespace shim::intercept {
namespace {

using base::Error;
using base::ErrorClass;

struct Callbacks {
  MPI_Grequest_query_function* query;
  MPI_Grequest_free_function* free;
  MPI_Grequest_cancel_function* cancel;
  void* extra_state;
};

/// The user's operation: completed by MPI_Grequest_complete, from any thread.
class GeneralisedRequest final : public OwnRequest {
 public:
  explicit GeneralisedRequest(const Callbacks& callbacks) : callbacks_(callbacks) {}

  enum class Completion { first, after_free, again };
  /// After MPI_Request_free the caller gives the request back.
  Completion complete_now() {
    const std::uint8_t before = state_.fetch_or(kCompleted);
    if ((before & kCompleted) != 0) return Completion::again;
    complete(p2p::Outcome{});
    return (before & kFreed) != 0 ? Completion::after_free : Completion::first;
  }
  bool keeps_handle() override { return (state_.fetch_or(kFreed) & kCompleted) == 0; }

  /// The user's function gets an empty status, and sets all but MPI_ERROR.
  int describe(MPI_Status* status) override {
    MPI_Status own;
    abi::write_empty_status(&own);
    int code = callbacks_.query(callbacks_.extra_state, &own);
    if (status != MPI_STATUS_IGNORE) {
      own.MPI_ERROR = status->MPI_ERROR;
      *status = own;
    }
    return code;
  }
  int cancel() override { return callbacks_.cancel(callbacks_.extra_state, is_done() ? 1 : 0); }
  int retire() override {
    // also if the user's function throws
    const std::unique_ptr<GeneralisedRequest, Release> released(this);
    return free_state();
  }

 private:
  struct Release {
    void operator()(GeneralisedRequest* request) const { p2p::Engine::release(request); }
  };
  /// After both MPI_Request_free and MPI_Grequest_complete, whichever comes last.
  void dispose() override {
    const std::unique_ptr<GeneralisedRequest> deleted(this);  // also if the user's function throws
    if (!is_state_freed_) free_state();
  }
  int free_state() {
    is_state_freed_ = true;
    return callbacks_.free(callbacks_.extra_state);
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

}  // namespace

namespace idle {

int Grequest_start(MPI_Grequest_query_function* query_fn, MPI_Grequest_free_function* free_fn,
                   MPI_Grequest_cancel_function* cancel_fn, void* extra_state, MPI_Request* request) {
  return deliver(Subject(), "MPI_Grequest_start", [&]() -> base::Status {
    Callbacks callbacks{query_fn, free_fn, cancel_fn, extra_state};
    SHIM_TRY(check(callbacks));
    SHIM_TRY(check_output(request, "request"));
    return hand_out(new GeneralisedRequest(callbacks), {}, request);
  });
}

}  // namespace idle

namespace ours {

int Grequest_complete(MPI_Request request) {
  return deliver(Subject(), "MPI_Grequest_complete", [&]() -> base::Status {
    SHIM_TRY_ASSIGN(RequestObject * object, request_of(request));
    auto* generalised = dynamic_cast<GeneralisedRequest*>(object->own);
    if (generalised == nullptr) return Error(ErrorClass::request, "the request is not a generalised one (MPI_Grequest_start)");
    switch (generalised->complete_now()) {
      case GeneralisedRequest::Completion::again:
        return Error(ErrorClass::request, "the generalised request was completed before");
      case GeneralisedRequest::Completion::after_free:
        objects.requests.take(request);
        p2p::Engine::release(generalised);
        break;
      case GeneralisedRequest::Completion::first: break;
    }
    return {};
  });
}

}  // namespace ours
}  // namespace shim::intercept
