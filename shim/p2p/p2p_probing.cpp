// SPDX-License-Identifier: BSD-3-Clause
// Implements probes and matched receives (MPI-4.1 §3.8).
#include "shim/p2p/core.hpp"

namespace shim::p2p {

namespace {

MessageStatus outcome_of(const StoredMessage& message) {
  return {message.source, message.tag, message.info.bytes};
}

/// Record the source for the next liveness checks. Probes for different sources count as a probe
/// for any source.
void record_probe(Context& context, int source) {
  if (!context.probed) context.probed = Context::Probed{.source = source};
  if (context.probed->source != source) context.probed->source = kAnySource;
  context.probed->is_fresh = true;
}

/// A call that waits for a message that it does not receive yet.
class ProbeSubject final : public WaitSubject {
 public:
  explicit ProbeSubject(const MessageAddress& from) : from_(from) {}
  void describe(WaitDescription& description) const override {
    description.awaited.push_back(from_.awaited(Awaited::Kind::message));
  }

 private:
  const MessageAddress from_;
};

/// Wait for a matching message and call visit(StoredMessage&) under the lock. No lock.
template <typename Visit>
base::Status await_message(Core& core, Context& context, int source, int tag, const Visit& visit) {
  const MessageAddress from{&context, source, tag, Plane::user};
  ProbeSubject subject(from);
  return await_from(
      core, from,
      [&] {
        StoredMessage* message = core.receiving.find_message(context, source, tag);
        if (message != nullptr) visit(*message);
        return message != nullptr;
      },
      subject);
}

/// Visit the message if there is one now, else after one round of progress. A program that probes
/// in a loop therefore makes progress, and gets an error if the source has died. No lock.
template <typename Visit>
base::Result<bool> probe_once(Core& core, Context& context, int source, int tag,
                              const Visit& visit) {
  const MessageAddress from{&context, source, tag, Plane::user};
  // pass 0 searches the messages that have arrived, pass 1 searches again after a progress round
  for (int round = 0; round < 2; ++round) {
    if (round == 1) SHIM_TRY(core.progress());
    Guard guard = core.enter();
    if (StoredMessage* message = core.receiving.find_message(context, source, tag)) {
      visit(*message);
      return true;
    }
    if (const base::Error* reason = failure_of(from)) return reason->clone();
    if (round == 1) record_probe(context, source);
  }
  return false;
}

}  // namespace

base::Result<MessageStatus> PointToPoint::probe(Context& context, int source, int tag) {
  if (source == kProcNull) return kNoMessage;
  MessageStatus outcome;
  SHIM_TRY(await_message(*core_, context, source, tag,
                         [&](StoredMessage& message) { outcome = outcome_of(message); }));
  return outcome;
}

base::Result<PointToPoint::Matched> PointToPoint::mprobe(Context& context, int source, int tag) {
  if (source == kProcNull) return Matched{nullptr, kNoMessage};
  Matched matched;
  SHIM_TRY(await_message(*core_, context, source, tag, [&](StoredMessage& message) {
    Receiving::take_message(context, message);
    matched = {&message, outcome_of(message)};
  }));
  return matched;
}

base::Result<std::optional<MessageStatus>> PointToPoint::iprobe(Context& context, int source,
                                                                int tag) {
  if (source == kProcNull) return std::optional(kNoMessage);
  std::optional<MessageStatus> outcome;
  SHIM_TRY(probe_once(*core_, context, source, tag,
                      [&](StoredMessage& message) { outcome = outcome_of(message); }));
  return outcome;
}

base::Result<std::optional<PointToPoint::Matched>> PointToPoint::improbe(Context& context,
                                                                         int source, int tag) {
  if (source == kProcNull) return std::optional(Matched{nullptr, kNoMessage});
  std::optional<Matched> matched;
  SHIM_TRY(probe_once(*core_, context, source, tag, [&](StoredMessage& message) {
    Receiving::take_message(context, message);
    matched = {&message, outcome_of(message)};
  }));
  return matched;
}

base::Result<MessageStatus> PointToPoint::mrecv(StoredMessage* message, types::Buffer into) {
  if (message == nullptr) return kNoMessage;
  ReceiveRequest request(core_, {}, into);
  {
    Guard guard = core_->enter();
    core_->receiving.start_matched(request, *message);
  }
  SHIM_TRY(core_->finish(request));
  return request.outcome();
}

base::Result<Request*> PointToPoint::imrecv(StoredMessage* message, types::Buffer into) {
  Guard guard = core_->enter();
  ReceiveRequest* request = core_->receiving.make(core_, MessageAddress{}, into);
  if (message == nullptr) {
    request->complete(kNoMessage);
  } else {
    core_->receiving.start_matched(*request, *message);
  }
  return request;
}

}  // namespace shim::p2p
