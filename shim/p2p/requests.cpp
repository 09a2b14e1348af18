// SPDX-License-Identifier: BSD-3-Clause
// Implements the life cycle of a request: activation, completion, release.
#include "shim/p2p/requests.hpp"

#include <string>

#include "shim/base/copy_between_cores.hpp"
#include "shim/base/older_compilers.hpp"
#include "shim/p2p/core.hpp"

namespace shim::p2p {

void Request::complete(const MessageStatus& outcome, std::optional<base::Error> error) {
  outcome_ = outcome;
  error_ = std::move(error);
  if (error_) outcome_.error = error_->error_class();
  // release: pairs with is_done(); from here on the owner may release the object
  std::uint8_t before;
  if (core_ != nullptr) {
    before = state_bits_.load(std::memory_order_relaxed);
    state_bits_.store(before | kDone, std::memory_order_release);
  } else {
    before = state_bits_.fetch_or(
        kDone, std::memory_order_acq_rel);  // pairs with the fetch_or in Engine::release
  }
  if ((before & kReleased) != 0) dispose();
}

void Request::reopen() {
  outcome_ = {};
  state_bits_.store(
      // relaxed: the owner is the caller, so no thread waits for the request or releases it
      0, std::memory_order_relaxed);
}

void Request::make_persistent() {
  persistent_ = true;
  active_ = false;
  // relaxed: no other thread has access to the new request
  state_bits_.store(kDone, std::memory_order_relaxed);
}

base::Status Request::on_start() {
  return base::Error(base::ErrorClass::request, "this kind of request cannot be started again");
}

base::Status Request::on_cancel() { return {}; }

base::Status PointToPoint::start(Request& request) {
  if (!request.persistent_ || request.active_) {
    return base::Error(base::ErrorClass::request,
                       request.persistent_ ? "the request is already active; complete it first"
                                           : "only persistent requests can be started");
  }
  request.outcome_ = {};
  request.error_.reset();
  request.active_ = true;
  // relaxed: only the owner accesses an inactive request
  request.state_bits_.store(0, std::memory_order_relaxed);
  base::Status started = request.on_start();
  if (started) return {};
  request.active_ = false;
  request.state_bits_.store(Request::kDone, std::memory_order_relaxed);
  return started;
}

void PointToPoint::deactivate(Request& request) {
  if (!request.persistent_ || !request.is_done()) return;
  request.active_ = false;
  request.outcome_ = {};
  request.error_.reset();
}

base::Status PointToPoint::cancel(Request& request) { return request.on_cancel(); }

void PointToPoint::release(Request* request) {
  if (request == nullptr) return;
  if (request->core_ != nullptr) {
    Guard guard = request->core_->enter();
    return request->on_release();
  }
  // acq_rel: pairs with the fetch_or in complete(); the later of the two disposes of the request
  if ((request->state_bits_.fetch_or(Request::kReleased, std::memory_order_acq_rel) &
       Request::kDone) != 0)
    request->dispose();
}

void PointToPoint::release(std::span<Request* const> requests) {
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

/// Dispose of the request if it is done; else return false, and complete() disposes of it later.
/// Called with the engine's lock held.
bool Request::release_if_done() {
  if (is_done()) {
    dispose();
    return true;
  }
  state_bits_.store(kReleased,
                    std::memory_order_relaxed);  // relaxed: complete() also runs under the lock
  return false;
}

void SendRequest::keep_copy() {
  copy = base::make_unique_for_overwrite<std::byte[]>(data.bytes());
  data.copy_part(0, {copy.get(), static_cast<std::size_t>(data.bytes())});
  data = SendBuffer(copy.get(), data.bytes());
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
  core().cancelling.cancel(*this);
  return {};
}

void SendRequest::on_release() {
  if (!release_if_done()) core().sending.count_released();
}

void SendRequest::dispose() {
  if (is_persistent()) address.context->drop();
  core().sending.free(*this);
}

base::Status ReceiveRequest::on_start() {
  Guard guard = core().enter();
  if (address.rank != kProcNull) return core().receiving.start(*this);
  complete({.source = kProcNull, .tag = kAnyTag});
  return {};
}

base::Status ReceiveRequest::on_cancel() {
  Guard guard = core().enter();
  core().receiving.cancel(*this);
  return {};
}

void ReceiveRequest::on_release() {
  if (!release_if_done()) core().receiving.record_freed(*this);
}

void ReceiveRequest::dispose() {
  if (is_persistent()) address.context->drop();
  core().receiving.free(*this);
}

std::optional<base::Error> misfit(std::uint64_t bytes, int source, int tag,
                                  const ReceiveBuffer& into) {
  if (bytes == into.capacity()) return std::nullopt;
  const auto message = [&] {
    return "a message of " + std::to_string(bytes) + " bytes from rank " + std::to_string(source) +
           " with tag " + std::to_string(tag);
  };
  if (bytes > into.capacity())
    return base::Error(base::ErrorClass::truncate, message() + " exceeds the receive buffer of " +
                                                       std::to_string(into.capacity()) + " bytes");
  if (bytes % into.element_bytes() != 0)
    return base::Error(base::ErrorClass::type,
                       message() + " is no multiple of the receiver's element size (" +
                           std::to_string(into.element_bytes()) +
                           " bytes); the datatypes of sender and receiver do not match");
  return std::nullopt;
}

StoredMessage::StoredMessage(const MessageInfo& from, Plane of_plane)
    : info(from), plane(of_plane) {
  source = from.source;
  tag = from.tag;
  if (from.payload.empty()) return;
  std::byte* space = short_payload_.data();
  if (from.payload.size() > short_payload_.size()) {
    long_payload_ = base::make_unique_for_overwrite<std::byte[]>(from.payload.size());
    space = long_payload_.get();
  }
  base::copy_from_other_core(space, from.payload.data(), from.payload.size());
  info.payload = {space, from.payload.size()};
}

}  // namespace shim::p2p
