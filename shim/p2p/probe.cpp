// SPDX-License-Identifier: BSD-3-Clause
// Looking at messages before receiving them (MPI-4.1 §3.8).
#include "shim/p2p/core.hpp"

namespace shim::p2p {

namespace {

Outcome outcome_of(const Message& message) { return {message.source, message.tag, message.arrival.bytes}; }

}  // namespace

Message* Core::find_message(Context& context, int source, int tag) {
  Arrived* found = context.matching(Plane::user).find_arrived(source, tag);
  if (found == nullptr) look_below(context, source);
  return static_cast<Message*>(found);
}

void Core::take_message(Context& context, Message& message) {
  context.matching(Plane::user).remove(message);
  message.context = &context;
  retain(context);
}

template <typename Come>
base::Status Core::await_from(const Address& from, const Come& has_come) {
  Probing probing{from};
  {
    Guard guard = enter();
    probing_.push_back(&probing);
  }
  std::optional<base::Error> failure;
  auto waited = wait([&] {
    Guard guard = enter();
    if (has_come()) return true;
    if (const base::Error* reason = failure_of(from)) failure = reason->clone();
    return failure.has_value();
  });
  Guard guard = enter();
  std::erase(probing_, &probing);
  if (failure) return std::move(*failure);
  if (!waited) return std::move(waited).error();
  return {};
}

template <typename Visit>
base::Status Core::await_message(Context& context, int source, int tag, const Visit& visit) {
  return await_from({&context, source, kAnyTag, Plane::user}, [&] {
    Message* message = find_message(context, source, tag);
    if (message != nullptr) visit(*message);
    return message != nullptr;
  });
}

base::Status Engine::wait_for(Context& context, int rank, const std::function<bool()>& condition) {
  return core_->await_from({&context, rank, kAnyTag, Plane::collective}, condition);
}

base::Result<Outcome> Engine::probe(Context& context, int source, int tag) {
  if (source == kProcNull) return kNoMessage;
  Outcome outcome;
  SHIM_TRY(core_->await_message(context, source, tag, [&](Message& message) { outcome = outcome_of(message); }));
  return outcome;
}

base::Result<Engine::Matched> Engine::mprobe(Context& context, int source, int tag) {
  if (source == kProcNull) return Matched{nullptr, kNoMessage};
  Matched matched;
  SHIM_TRY(core_->await_message(context, source, tag, [&](Message& message) {
    core_->take_message(context, message);
    matched = {&message, outcome_of(message)};
  }));
  return matched;
}

base::Result<std::optional<Outcome>> Engine::iprobe(Context& context, int source, int tag) {
  if (source == kProcNull) return std::optional(kNoMessage);
  // round 0 looks at what is there, round 1 after progress: a caller that asks in a loop moves things along
  for (int round = 0; round < 2; ++round) {
    if (round == 1) SHIM_TRY(progress());
    Guard guard = core_->enter();
    if (Message* message = core_->find_message(context, source, tag)) return std::optional(outcome_of(*message));
    if (const base::Error* reason = core_->failure_of(context, source)) return reason->clone();
  }
  return std::optional<Outcome>();
}

base::Result<std::optional<Engine::Matched>> Engine::improbe(Context& context, int source, int tag) {
  if (source == kProcNull) return std::optional(Matched{nullptr, kNoMessage});
  for (int round = 0; round < 2; ++round) {  // as in iprobe
    if (round == 1) SHIM_TRY(progress());
    Guard guard = core_->enter();
    if (Message* message = core_->find_message(context, source, tag)) {
      core_->take_message(context, *message);
      return std::optional(Matched{message, outcome_of(*message)});
    }
    if (const base::Error* reason = core_->failure_of(context, source)) return reason->clone();
  }
  return std::optional<Matched>();
}

base::Result<Outcome> Engine::mrecv(Message* message, types::Buffer into) {
  if (message == nullptr) return kNoMessage;
  ReceiveRequest request(*core_, {}, into);
  {
    Guard guard = core_->enter();
    core_->start_matched(request, *message);
  }
  SHIM_TRY(core_->finish(request));
  return request.outcome();
}

base::Result<Request*> Engine::imrecv(Message* message, types::Buffer into) {
  Guard guard = core_->enter();
  ReceiveRequest* request = core_->receives.make(*core_, Address{}, into);
  if (message == nullptr) {
    request->complete(kNoMessage);
  } else {
    core_->start_matched(*request, *message);
  }
  return request;
}

}  // namespace shim::p2p
