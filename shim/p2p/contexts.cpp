// SPDX-License-Identifier: BSD-3-Clause
// Contexts: made, kept as long as anything refers to them, taken away.
#include "shim/p2p/core.hpp"

namespace shim::p2p {

void ContextDeleter::operator()(Context* context) const {
  Core* core = context->core;
  if (core == nullptr) {  // the engine went first
    delete context;
    return;
  }
  Guard guard = core->enter();
  context->is_owned = false;
  core->drop(*context);
}

Context* Core::make_context(ContextSpec context_spec) {
  auto context = std::make_unique<Context>(this, std::move(context_spec));
  for (Message* message : contexts_.add(*context)) {
    if (message->source >= context->size) {
      ++counts.stale_dropped;
      free_message(*message);
    } else {
      context->matching(message->plane).add(*message);
    }
  }
  if (!early_notices_.empty() || !early_disputes_.empty()) [[unlikely]] take_early_notices(*context);
  return context.release();
}

void Core::take_away(Context& context) {
  for (Matching& matching : context.queues) {
    while (Arrived* arrived = matching.first_arrived()) {
      matching.remove(*arrived);
      free_message(static_cast<Message&>(*arrived));
    }
  }
  contexts_.remove(context);
  delete &context;
}

void Core::drop_all(const std::vector<Message*>& messages) {
  for (Message* message : messages) {
    ++counts.stale_dropped;
    free_message(*message);
  }
}

void Core::set_first_base(std::uint32_t base) {
  drop_all(contexts_.set_first_base(base));
  drop_early_notices();
}

void Core::skip_base(std::uint32_t base) {
  drop_all(contexts_.skip_base(base));
  drop_early_notices();
}

Core::Core(EngineSpec engine_spec)
    : spec(std::move(engine_spec)),
      engines_(spec.engines ? spec.engines : std::make_shared<Engines>()),
      origin_(wire::Origin::of(spec.self)),
      matches_below_(spec.settings.matching == "provider"),
      plans_(plans_for(spec.settings)),
      is_crowded_(spec.is_crowded) {
  for (transport::Transport* transport : spec.transports) add_transport(*transport);
  engines_->add(*this);  // from here on others look in
}

Core::~Core() {
  engines_->remove(*this);
  for (auto& [process, peer] : peers_) {
    if (peer->shared != nullptr) stop_sharing(*peer->shared);  // its buffer is the program's again
    while (!peer->below.empty()) {  // and so are requests
      ReceiveRequest& request = peer->below.front();
      peer->transport->matcher()->forget(request);
      leave_below(request);
    }
  }
  std::vector<Context*> ownerless;
  contexts_.for_each([&](Context& context) {
    context.core = nullptr;
    if (!context.is_owned) ownerless.push_back(&context);
  });
  for (Context* context : ownerless) delete context;
}

void Core::add_transport(transport::Transport& transport) {
  for (const Polled& known : transports_) {
    if (known.transport == &transport) return;
  }
  transports_.push_back({&transport});
}

std::vector<Engine::TransportCounts> Core::transport_counts() const {
  std::vector<Engine::TransportCounts> all;
  for (const Polled& polled : transports_) all.push_back({polled.transport->name(), polled.transport->counts()});
  return all;
}

void Core::say(base::LogLevel level, const std::string& text) const {
  if (spec.log != nullptr && spec.log->wants(level)) spec.log->write(level, text);
}

}  // namespace shim::p2p
