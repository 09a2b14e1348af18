// SPDX-License-Identifier: BSD-3-Clause
// The life of a request: activation, completion, release.
#include "shim/p2p/requests.hpp"

#include <algorithm>

#include "shim/base/copy_between_cores.hpp"
#include "shim/p2p/core.hpp"

namespace shim::p2p {

void Request::complete(const Outcome& outcome, std::optional<base::Error> error) {
  outcome_ = outcome;
  error_ = std::move(error);
  if (error_) outcome_.error = error_->error_class();
  // release: pairs with is_done(); from here on the owner may take the object away
  std::uint8_t before;
  if (core_ != nullptr) {
    before = life_.load(std::memory_order_relaxed);
    life_.store(before | kDone, std::memory_order_release);
  } else {
    before = life_.fetch_or(kDone, std::memory_order_acq_rel);  // acq_rel: pairs with that of Engine::release
  }
  if ((before & kReleased) != 0) dispose();
}

void Request::reopen() {
  outcome_ = {};
  life_.store(0, std::memory_order_relaxed);  // its owner is in here: nobody waits, and it is not released
}

void Request::make_persistent() {
  persistent_ = true;
  active_ = false;
  life_.store(kDone, std::memory_order_relaxed);  // nobody else knows it yet
}

base::Status Request::on_start() {
  return base::Error(base::ErrorClass::request, "this kind of request cannot be started again");
}

base::Status Request::on_cancel() { return {}; }

base::Status Engine::start(Request& request) {
  if (!request.persistent_ || request.active_) {
    return base::Error(base::ErrorClass::request, request.persistent_ ? "the request is active already; complete it first"
                                                                      : "only persistent requests can be started");
  }
  request.outcome_ = {};
  request.error_.reset();
  request.active_ = true;
  // relaxed: an inactive request is nobody's but its owner's
  request.life_.store(0, std::memory_order_relaxed);
  base::Status started = request.on_start();
  if (started) return {};
  request.active_ = false;
  request.life_.store(Request::kDone, std::memory_order_relaxed);
  return started;
}

void Engine::deactivate(Request& request) {
  if (!request.persistent_ || !request.is_done()) return;
  request.active_ = false;
  request.outcome_ = {};
  request.error_.reset();
}

base::Status Engine::cancel(Request& request) { return request.on_cancel(); }

void Engine::release(Request* request) {
  if (request == nullptr) return;
  if (request->core_ != nullptr) {
    Guard guard = request->core_->enter();
    return request->on_release();
  }
  // acq_rel: pairs with that of complete(); whoever comes second disposes of it
  if ((request->life_.fetch_or(Request::kReleased, std::memory_order_acq_rel) & Request::kDone) != 0) request->dispose();
}

void Engine::release(std::span<Request* const> requests) {
  for (std::size_t i = 0; i < requests.size();) {
    Core* const core = requests[i]->core_;
    if (core == nullptr) {
      release(requests[i++]);
      continue;
    }
    Guard guard = core->enter();
    for (; i < requests.size() && requests[i]->core_ == core; ++i) requests[i]->on_release();
  }
}

/// Called with the engine's lock. False: it is disposed of when it completes.
bool Request::release_if_done() {
  if (is_done()) {
    dispose();
    return true;
  }
  life_.store(kReleased, std::memory_order_relaxed);  // under the lock, as the completion will be
  return false;
}

/// Add a receive of the program that was freed while active, unless this process alone could send its message.
void Core::note_owed(ReceiveRequest& request) {
  if (request.address.plane != Plane::user) return;
  if (request.posted) {
    const Context& context = *request.address.context;
    const int source = request.address.rank;
    if (source == kAnySource ? context.size == 1 : context.spec.members->at(source) == spec.self) return;
  }
  request.owed = true;
  owed.insert(&request);
}

bool Core::owes_nothing() {
  Guard guard = enter();
  return owed.empty();
}

/// True if no receive that was freed while active is posted in this context or matched.
bool Core::owes_nothing(const Context& context) {
  Guard guard = enter();
  return std::ranges::none_of(owed, [&](const ReceiveRequest* request) {
    return (!request->posted && !request->below) || request->address.context == &context;
  });
}

void SendRequest::keep_copy() {
  copy = std::make_unique_for_overwrite<std::byte[]>(data.bytes());
  data.copy_part(0, {copy.get(), static_cast<std::size_t>(data.bytes())});
  data = Outgoing(copy.get(), data.bytes());
}

base::Status SendRequest::on_start() {
  data.refresh();
  Guard guard = core().enter();
  if (address.rank != kProcNull) return core().start(*this, guard);
  complete({});
  return {};
}

base::Status SendRequest::on_cancel() {
  Guard guard = core().enter();
  core().cancel(*this);
  return {};
}

void SendRequest::on_release() {
  if (!release_if_done()) ++core().unfinished_released;
}

void SendRequest::dispose() {
  if (is_persistent()) core().drop(*address.context);
  core().sends.give_back(this);
}

base::Status ReceiveRequest::on_start() {
  Guard guard = core().enter();
  if (address.rank != kProcNull) return core().start(*this);
  complete({.source = kProcNull, .tag = kAnyTag});
  return {};
}

base::Status ReceiveRequest::on_cancel() {
  Guard guard = core().enter();
  core().cancel(*this);
  return {};
}

void ReceiveRequest::on_release() {
  if (!release_if_done()) core().note_owed(*this);
}

void ReceiveRequest::dispose() {
  if (owed) core().owed.erase(this);
  if (is_persistent()) core().drop(*address.context);
  core().receives.give_back(this);
}

Message::Message(const Arrival& from, Plane of_plane) : arrival(from), plane(of_plane) {
  source = from.source;
  tag = from.tag;
  if (from.payload.empty()) return;
  std::byte* room = short_payload_.data();
  if (from.payload.size() > short_payload_.size()) {
    long_payload_ = std::make_unique_for_overwrite<std::byte[]>(from.payload.size());
    room = long_payload_.get();
  }
  base::copy_from_other_core(room, from.payload.data(), from.payload.size());
  arrival.payload = {room, from.payload.size()};
}

}  // namespace shim::p2p
