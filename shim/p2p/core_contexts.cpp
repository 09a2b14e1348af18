// SPDX-License-Identifier: BSD-3-Clause
// Implements the lifetime of contexts and of the engine core. References keep a context alive.
#include "shim/p2p/core.hpp"

namespace shim::p2p {

void ContextDeleter::operator()(Context* context) const {
  Core* core = context->core;
  if (core == nullptr) {  // the engine was destroyed first
    delete context;
    return;
  }
  Guard guard = core->enter();
  context->is_owned = false;
  context->drop();
}

Context* Core::make_context(ContextSpec context_spec) {
  auto context = std::make_unique<Context>(this, std::move(context_spec));
  for (StoredMessage* message : contexts.add(*context)) {
    if (message->source >= context->size) {
      ++counts.stale_dropped;
      unexpected.free(*message);
    } else {
      context->matching(message->plane).add(*message);
    }
  }
  collective_failures.apply_early_notices(*context);
  return context.release();
}

void Context::destroy() { core->destroy_context(*this); }

void Core::destroy_context(Context& context) {
  failed_members.drop_unacknowledged(context);
  collective_failures.refuse_unexpected(context);
  contexts.remove(context);
  delete &context;
}

void Core::drop_all(const std::vector<StoredMessage*>& messages) {
  for (StoredMessage* message : messages) {
    ++counts.stale_dropped;
    collective_failures.refuse(message->info);
    unexpected.free(*message);
  }
}

void Core::set_first_base(std::uint32_t base) {
  drop_all(contexts.set_first_base(base));
  collective_failures.drop_early_notices();
}

void Core::skip_base(std::uint32_t base) {
  drop_all(contexts.skip_base(base));
  collective_failures.drop_early_notices();
}

Core::Core(EngineSpec engine_spec)
    : spec(std::move(engine_spec)),
      engines_(spec.engines ? spec.engines : std::make_shared<Engines>()) {
  for (transport::Transport* transport : spec.transports) transports.add(*transport);
  engines_->add(loop);  // from here on threads in other engines may poll this one
}

Core::~Core() {
  engines_->remove(loop);
  peers.for_each([&](Peer& peer) {
    // the sender must stop writing to the receive buffer before the program reuses it
    if (peer.shared != nullptr) shared_copies.stop(*peer.shared);
    // the provider must stop using the buffers of its receives
    while (!peer.provider_receives.empty()) {
      ReceiveRequest& request = peer.provider_receives.front();
      provider.detach(request);
    }
  });
  std::vector<Context*> ownerless;
  contexts.for_each([&](Context& context) {
    context.core = nullptr;
    if (!context.is_owned) ownerless.push_back(&context);
  });
  for (Context* context : ownerless) delete context;
}

}  // namespace shim::p2p
