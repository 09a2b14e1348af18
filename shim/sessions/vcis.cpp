// SPDX-License-Identifier: BSD-3-Clause
#include "shim/sessions/vcis.hpp"

#include <algorithm>
#include <utility>

#include "shim/transport/self/self.hpp"

namespace shim::sessions {

Vcis::Vcis(const Spec& spec) : spec_(spec), self_transport_(transport::make_self()) {}

Vcis::~Vcis() { close(); }

void Vcis::open_first() {
  p2p::EngineSpec spec{.settings = spec_.settings,
                       .log = &spec_.log,
                       .self = spec_.self,
                       .router = &spec_.router,
                       .engines = all_engines_,
                       .reports = spec_.reports};
  if (auto* const transport = spec_.node.transport()) spec.transports.push_back(transport);
  spec.transports.push_back(self_transport_.get());
  spec.is_oversubscribed = spec_.node.is_oversubscribed();
  engine_ = std::make_unique<p2p::Engine>(std::move(spec));
}

/// Local processes may have sent data to a VCI of an earlier incarnation that only this process can
/// receive. If shared memory lacks space for a VCI, no process has used it.
base::Status Vcis::begin(const ContextIds& ids) {
  if (spec_.node.has_segment()) engine_->set_first_base(ids.first_base());
  reserved_base_ = ids.reserved_base();
  skip_base(reserved_base_);
  const std::uint32_t used = std::min(spec_.node.vcis_in_use(), count());
  for (std::uint32_t vci = 1; vci < used; ++vci) {
    auto opened = open_extra(vci);
    if (!opened && opened.error().error_class() != base::ErrorClass::no_space) return opened;
  }
  return {};
}

void Vcis::release_ownership() {
  for (p2p::Engine* engine : engines()) engine->release_ownership();
}

void Vcis::close() {
  made_.clear();
  engine_.reset();
}

std::uint32_t Vcis::of_thread(std::thread::id thread) {
  std::lock_guard guard(mutex_);
  const auto end = threads_.begin() + count();
  if (const auto known = std::find(threads_.begin(), end, thread); known != end)
    return static_cast<std::uint32_t>(known - threads_.begin());
  const std::uint32_t vci = next_++ % count();
  threads_[vci] = thread;
  return vci;
}

base::Status Vcis::open_extra(std::uint32_t vci) {
  if (vci == 0 || extra(vci) != nullptr) return {};
  std::lock_guard guard(mutex_);
  auto& slot = extra_[vci - 1];
  if (slot.load(std::memory_order_relaxed) != nullptr) return {};
  SHIM_TRY_ASSIGN(auto area, spec_.node.open_vci(vci));
  SHIM_TRY_ASSIGN(std::unique_ptr<Vci> made,
                  Vci::make({.engine = {.settings = spec_.settings,
                                        .log = &spec_.log,
                                        .self = spec_.self,
                                        .is_oversubscribed = spec_.node.is_oversubscribed(),
                                        .engines = all_engines_,
                                        .reports = spec_.reports},
                             .of_process = spec_.router,
                             .area = std::move(area),
                             .shm = spec_.node.shm_settings()}));
  made->engine().set_first_base(reserved_base_);
  made->engine().release_ownership();  // another thread may use the engine
  made_.push_back(std::move(made));
  // release: pairs with the acquire in extra
  slot.store(made_.back().get(), std::memory_order_release);
  return {};
}

base::Status Vcis::open(std::uint32_t vci) {
  SHIM_TRY(open_extra(vci));
  update_oversubscription();
  return {};
}

base::Status Vcis::open_if_space(std::uint32_t vci) {
  if (vci > 0 && extra(vci) == nullptr) SHIM_TRY(spec_.node.check_space_for_vci(vci));
  return open(vci);
}

std::uint32_t Vcis::open_or_default(std::uint32_t wanted) {
  auto opened = open_if_space(wanted);
  if (opened) return wanted;
  spec_.log.write(base::LogLevel::info,
                  "a communicator uses VCI 0 instead of one of its own: " + opened.error().text());
  return 0;
}

std::vector<p2p::Engine*> Vcis::engines() {
  std::vector<p2p::Engine*> all{engine_.get()};
  for (std::uint32_t vci = 1; vci < count(); ++vci)
    if (Vci* open = extra(vci)) all.push_back(&open->engine());
  return all;
}

p2p::Route Vcis::route_to_self() const {
  return {self_transport_.get(), self_transport_->address()};
}

p2p::Route Vcis::route_to_local(base::ProcessId process) const {
  return {spec_.node.transport(),
          transport::shm_address(spec_.node.slot_of(process), spec_.node.shm_settings())};
}

/// Recount the processes that share this process's cores, and pass the result to the engines, until
/// all processes of the node have been counted.
void Vcis::update_oversubscription() {
  if (oversubscription_is_known_.load(std::memory_order_relaxed)) return;
  const bool is_known = spec_.node.has_seen_all();  // read before the count
  const bool is_oversubscribed = spec_.node.is_oversubscribed();
  for (p2p::Engine* engine : engines()) engine->set_oversubscribed(is_oversubscribed);
  oversubscription_is_known_.store(is_known, std::memory_order_relaxed);
}

/// Repeated, because a wait in one VCI also polls the others.
bool Vcis::flush(double seconds) {
  const auto deadline = base::Deadline::from_setting(seconds);
  const auto all = engines();
  const auto is_quiet = [](p2p::Engine* engine) { return engine->is_quiet(); };
  bool is_in_time = true;
  do {
    for (p2p::Engine* engine : all) is_in_time = engine->flush_all(deadline) && is_in_time;
  } while (is_in_time && !std::ranges::all_of(all, is_quiet));
  return is_in_time;
}

void Vcis::skip_base(std::uint32_t base) {
  for (p2p::Engine* engine : engines()) engine->skip_base(base);
}

}  // namespace shim::sessions
