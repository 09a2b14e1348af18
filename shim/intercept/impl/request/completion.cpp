// SPDX-License-Identifier: BSD-3-Clause
#include "shim/intercept/impl/request/completion.hpp"

#include <sched.h>

#include "shim/intercept/lifetime.hpp"

namespace shim::intercept {

base::Status spin_until(const std::function<bool()>& condition,
                        const std::function<base::Status()>& progress) {
  constexpr unsigned kSpins = 1000;
  for (unsigned round = 0; !condition(); ++round) {
    SHIM_TRY(progress());
    if (round >= kSpins) sched_yield();
  }
  return {};
}

namespace {

/// A call that waits for a request that the interposition layer implements.
class PolledSubject final : public p2p::WaitSubject {
 public:
  explicit PolledSubject(const RequestObject& object) : object_(object) {}
  void describe(p2p::WaitDescription& description) const override {
    list_awaited(object_, description);
  }

 private:
  const RequestObject& object_;
};

}  // namespace

void list_awaited(const RequestObject& object, p2p::WaitDescription& description) {
  if (is_ready(object)) return;
  if (object.comm != nullptr) description.context = &object.comm->context();
  const p2p::Request* const request = object.polled != nullptr ? object.polled : object.request;
  if (const auto awaited = request->awaited()) description.awaited.push_back(*awaited);
}

namespace slow {

FailurePtr failed(const CommReference& on, const base::Error& error) {
  return std::make_unique<FailedOperation>(
      FailedOperation{abi::code_of(error.error_class()), false, error.text(), on});
}

FailurePtr describe(const RequestObject& object, MPI_Status* status) {
  int code = object.polled->describe(status);
  if (object.polled->error() != nullptr) return failed(object.on(), *object.polled->error());
  if (code == MPI_SUCCESS) return nullptr;
  return std::make_unique<FailedOperation>(FailedOperation{
      code, object.polled->needs_native_progress(), "the operation failed", object.on()});
}

FailurePtr peek(const RequestObject& object, MPI_Status* status) {
  FailurePtr failure = describe(object, status);
  bool of_callback = failure != nullptr && object.polled->error() == nullptr &&
                     !object.polled->needs_native_progress();
  return of_callback ? std::move(failure) : nullptr;
}

FailurePtr pending_failure(const RequestObject& object) {
  if (object.request == nullptr || object.polled != nullptr) return nullptr;
  const auto failure = p2p::Engine::pending_failure(*object.request);
  return failure ? failed(object.on(), *failure) : nullptr;
}

FailurePtr complete_request(RequestObject& object, MPI_Request* handle, MPI_Status* status) {
  FailurePtr failure = describe(object, status);
  if (object.polled->is_persistent()) {
    p2p::Engine::deactivate(*object.polled);
    return failure;
  }
  auto taken = objects.requests.take(*handle);
  *handle = abi::predefined.request_null;
  int code = taken ? taken->polled->retire() : MPI_SUCCESS;
  if (failure != nullptr || code == MPI_SUCCESS) return failure;
  return std::make_unique<FailedOperation>(
      FailedOperation{code, false, "the request could not be freed", taken->on()});
}

base::Status progress(const RequestObject& object) {
  if (object.comm != nullptr) return engine_of(*object.comm).progress();
  // peers may need progress here, whatever this call waits for (MPI-4.1 §3.5, progress)
  if (auto process = living_process()) return process->vcis().progress();
  return {};
}

base::Status wait(RequestObject& object) {
  auto is_over = [&] { return is_ready(object); };
  if (object.comm == nullptr || object.polled->needs_native_progress())
    return spin_until(is_over, [&] { return progress(object); });
  PolledSubject subject(object);
  SHIM_TRY(engine_of(*object.comm).wait_until(is_over, subject));
  return {};
}

int finish(const FailedOperation& failure, const char* function) {
  return failure.is_raised ? failure.code : fail(failure.on, function, failure.code, failure.text);
}

}  // namespace slow
}  // namespace shim::intercept
