// SPDX-License-Identifier: BSD-3-Clause
// Implements operations that need a link or a wait.
#include "shim/p2p/core.hpp"

namespace shim::p2p {

base::Status Core::start(SendRequest& request, Guard& guard) {
  const MessageAddress& address = request.address;
  if (address.context->has_failures) [[unlikely]] {
    if (const base::Error* failure = failure_of(address)) return failure->clone();
  }
  SHIM_TRY_ASSIGN(Peer * to, links.usable_peer(*address.context, address.rank, guard));
  sending.start(request, *to);
  return {};
}

base::Result<Request*> Core::begin(SendRequest& request, Guard& guard, bool keep_copy) {
  const bool is_proc_null = request.address.rank == kProcNull;
  if (is_proc_null || (request.mode != SendMode::synchronous && sending.send_at_once(request))) {
    request.complete({});
    return &request;
  }
  if (keep_copy) request.keep_copy();
  return started(start(request, guard), request);
}

base::Status Core::send_slowly(const MessageAddress& to, const types::ConstBuffer& data,
                               SendMode mode) {
  SendRequest request(this, to, data, mode);
  request.caller = Caller::waits;
  {
    Guard guard = enter();
    SHIM_TRY(start(request, guard));
  }
  return finish(request);
}

base::Result<MessageStatus> Core::receive(const MessageAddress& from, const types::Buffer& into) {
  ReceiveRequest request(this, from, into);
  request.caller = Caller::waits;
  {
    Guard guard = enter();
    SHIM_TRY(receiving.start(request));
  }
  SHIM_TRY(finish(request));
  return request.outcome();
}

}  // namespace shim::p2p
