// SPDX-License-Identifier: BSD-3-Clause
#include "shim/intercept/bodies/completion.hpp"

#include <sched.h>

#include "shim/intercept/lifetime.hpp"

namespace shim::intercept {

base::Status spin_until(const std::function<bool()>& condition, const std::function<base::Status()>& progress) {
  constexpr unsigned kSpins = 1000;
  for (unsigned round = 0; !condition(); ++round) {
    SHIM_TRY(progress());
    if (round >= kSpins) sched_yield();
  }
  return {};
}

namespace slow {

Ending failed(const CommReference& on, const base::Error& error) {
  return std::make_unique<Failure>(Failure{abi::code_of(error.error_class()), false, error.text(), on});
}

Ending describe(const RequestObject& object, MPI_Status* status) {
  int code = object.own->describe(status);
  if (object.own->error() != nullptr) return failed(object.on(), *object.own->error());
  if (code == MPI_SUCCESS) return nullptr;
  return std::make_unique<Failure>(Failure{code, object.own->is_moved_below(), "the operation failed", object.on()});
}

Ending peek(const RequestObject& object, MPI_Status* status) {
  Ending ending = describe(object, status);
  bool of_callback = ending != nullptr && object.own->error() == nullptr && !object.own->is_moved_below();
  return of_callback ? std::move(ending) : nullptr;
}

Ending collect(RequestObject& object, MPI_Request* handle, MPI_Status* status) {
  Ending ending = describe(object, status);
  if (object.own->is_persistent()) {
    p2p::Engine::deactivate(*object.own);
    return ending;
  }
  auto taken = objects.requests.take(*handle);
  *handle = abi::predefined.request_null;
  int code = taken ? taken->own->retire() : MPI_SUCCESS;
  if (ending != nullptr || code == MPI_SUCCESS) return ending;
  return std::make_unique<Failure>(Failure{code, false, "the request could not be freed", taken->on()});
}

base::Status progress(const RequestObject& object) {
  if (object.comm != nullptr) return engine_of(*object.comm).progress();
  // somebody may need our messages to move, whatever we wait for (MPI-4.1 §3.5, progress)
  if (auto process = living_process()) return process->progress();
  return {};
}

base::Status wait(RequestObject& object) {
  auto is_over = [&] { return is_ready(object); };
  if (object.comm == nullptr || object.own->is_moved_below()) return spin_until(is_over, [&] { return progress(object); });
  SHIM_TRY(engine_of(*object.comm).wait_until(is_over));
  return {};
}

int finish(const Failure& failure, const char* function) {
  return failure.is_raised ? failure.code : fail(failure.on, function, failure.code, failure.text);
}

}  // namespace slow
}  // namespace shim::intercept
