// SPDX-License-Identifier: BSD-3-Clause
// Implements the interfaces of an engine: each function takes the lock and calls the Core function.
#include "shim/p2p/core.hpp"
#include "shim/p2p/p2p.hpp"

namespace shim::p2p {

Engine::Engine(EngineSpec spec) : Engine(std::make_unique<Core>(std::move(spec))) {}
Engine::Engine(std::unique_ptr<Core> core)
    : PointToPoint(*core),
      ControlChannel(*core),
      Progress(*core),
      FailureHandling(*core),
      core_(std::move(core)) {}
Engine::~Engine() = default;

void Engine::add_transport(transport::Transport& transport) {
  Guard guard = core_->enter();
  core_->transports.add(transport);
}

void Progress::set_oversubscribed(bool is_oversubscribed) {
  core_->loop.set_oversubscribed(is_oversubscribed);
}
void Engine::release_ownership() { core_->lock().release_ownership(); }

bool Progress::may_spin() const { return core_->loop.plan().spin > 0; }

base::ProcessId Engine::self() const { return core_->spec.self; }

ContextPtr Engine::make_context(ContextSpec spec) {
  Guard guard = core_->enter();
  return ContextPtr(core_->make_context(std::move(spec)));
}

void Engine::set_first_base(std::uint32_t base) {
  Guard guard = core_->enter();
  core_->set_first_base(base);
}

void Engine::skip_base(std::uint32_t base) {
  Guard guard = core_->enter();
  core_->skip_base(base);
}

base::Result<Request*> PointToPoint::isend(Context& context, const types::ConstBuffer& data,
                                           int dest, int tag, SendMode mode, Plane plane) {
  Guard guard = core_->enter();
  return core_->begin(
      *core_->sending.make(core_, MessageAddress{&context, dest, tag, plane}, data, mode), guard,
      false);
}

Request* PointToPoint::request_of(Context& context, const InlineSent& inline_sent) {
  Guard guard = core_->enter();
  return core_->sending.request_of(core_, context, inline_sent);
}

base::Result<Request*> PointToPoint::isend_copied(Context& context, const types::ConstBuffer& data,
                                                  int dest, int tag, Plane plane) {
  Guard guard = core_->enter();
  return core_->begin(*core_->sending.make(core_, MessageAddress{&context, dest, tag, plane}, data,
                                           SendMode::standard),
                      guard, true);
}

base::Result<MessageStatus> PointToPoint::recv(Context& context, const types::Buffer& into,
                                               int source, int tag, Plane plane) {
  // filled in place: a copy at once would cost a message's time
  base::Result<MessageStatus> received(kNoMessage);
  if (source == kProcNull) return received;
  const MessageAddress from{&context, source, tag, plane};
  ExpectedRecv expected{from, into, received};
  if (!into.type->contiguous || !core_->receive_at_once(expected)) [[unlikely]]
    received = core_->receive(from, into);
  return received;
}

std::optional<base::Result<MessageStatus>> PointToPoint::recv_at_once(Context& context,
                                                                      const types::Buffer& into,
                                                                      int source, int tag,
                                                                      Plane plane) {
  std::optional<base::Result<MessageStatus>> received(std::in_place, kNoMessage);
  ExpectedRecv expected{{&context, source, tag, plane}, into, *received};
  if (source == kProcNull || (into.type->contiguous && core_->receive_at_once(expected)))
    return received;
  return std::nullopt;
}

base::Result<Request*> PointToPoint::irecv(Context& context, const types::Buffer& into, int source,
                                           int tag, Plane plane, Caller caller) {
  Guard guard = core_->enter();
  ReceiveRequest* request = core_->receiving.make(
      core_, MessageAddress{&context, source, tag, plane}, into);
  request->caller = caller;
  if (source == kProcNull) {
    request->complete(kNoMessage);
    return request;
  }
  return core_->started(core_->receiving.start(*request), *request);
}

base::Result<Request*> PointToPoint::send_init(Context& context, const types::ConstBuffer& data,
                                               int dest, int tag, SendMode mode) {
  Guard guard = core_->enter();
  SendRequest* request = core_->sending.make(
      core_, MessageAddress{&context, dest, tag, Plane::user}, data, mode);
  request->make_persistent();
  context.retain();
  return request;
}

base::Result<Request*> PointToPoint::recv_init(Context& context, const types::Buffer& into,
                                               int source, int tag) {
  Guard guard = core_->enter();
  ReceiveRequest* request = core_->receiving.make(
      core_, MessageAddress{&context, source, tag, Plane::user}, into);
  request->make_persistent();
  request->outlives_failures = true;
  context.retain();
  return request;
}

base::Result<bool> Progress::test(Request& request) {
  if (request.is_done()) return true;
  SHIM_TRY(progress());
  return request.is_done();
}

base::Status Progress::wait(Request& request) {
  RequestSubject subject(request);
  SHIM_TRY(core_->loop.wait([&] { return request.has_settled(); }, subject));
  return {};
}

base::Status ControlChannel::send_control(base::ProcessId to, std::vector<std::byte> bytes) {
  Guard guard = core_->enter();
  Peer& peer = core_->peers.at(to);
  if (peer.link == nullptr) SHIM_TRY(core_->links.open(peer, guard));
  core_->output.queue_control(peer, std::move(bytes));
  return {};
}

base::Status ControlChannel::prepare_send(base::ProcessId process) {
  Guard guard = core_->enter();
  Peer& peer = core_->peers.at(process);
  if (peer.link != nullptr) return {};
  return core_->links.open(peer, guard);
}

base::Result<transport::Presence> ControlChannel::presence_at(const Route& route) {
  Guard guard = core_->enter();
  SHIM_TRY_ASSIGN(const transport::Link* link, route.transport->open(route.address));
  const transport::PresenceDetector* detector = route.transport->presence_detector();
  return detector == nullptr ? transport::Presence::unknown : detector->presence(*link);
}

void ControlChannel::set_control_handler(ControlHandler handler) {
  core_->inbox.set_handler(std::move(handler));
}

std::string ControlChannel::link_failure_reason(base::ProcessId process) const {
  Guard guard = core_->enter();
  const base::Error* reason = core_->liveness.link_failure_reason(process);
  return reason == nullptr ? std::string() : reason->text();
}

void ControlChannel::reset_peer(base::ProcessId process, const base::Error& reason) {
  Guard guard = core_->enter();
  core_->liveness.reset_peer(process, reason);
}

base::Status Progress::progress() { return core_->progress(); }

void Progress::poll_active() { core_->poll_active(); }

std::uint64_t Progress::add_progress(std::function<void()> work, std::function<void()> pre_sleep) {
  Guard guard = core_->enter();
  return core_->loop.work().add(std::move(work), std::move(pre_sleep));
}

void Progress::remove_progress(std::uint64_t number) {
  Guard guard = core_->enter();
  core_->loop.work().remove(number, guard);
}

base::Result<bool> Progress::wait_until(const std::function<bool()>& condition,
                                        base::Deadline deadline) {
  WaitFor subject("");
  return core_->loop.wait(condition, subject, deadline);
}

base::Result<bool> Progress::wait_until(const std::function<bool()>& condition,
                                        WaitSubject& subject, base::Deadline deadline) {
  return core_->loop.wait(condition, subject, deadline);
}

base::Status Progress::wait_for(Context& context, int rank, const std::function<bool()>& condition,
                                WaitSubject& subject) {
  return await_from(*core_, {&context, rank, kAnyTag, Plane::collective}, condition, subject);
}

namespace {
/// True if no receive that was freed while active is in progress; in this context, if not null.
bool has_no_freed_receives(Core& core, const Context* context) {
  Guard guard = core.enter();
  return context == nullptr ? core.receiving.has_no_freed() : core.receiving.has_no_freed(*context);
}
}  // namespace

bool Progress::flush(base::Deadline deadline) {
  WaitFor subject("sent messages to leave this process");
  auto flushed = core_->loop.wait([this] { return core_->is_flushed(); }, subject, deadline);
  return flushed && *flushed;
}

bool Progress::flush(const Context& context, base::Deadline deadline) {
  WaitFor subject("sent messages to leave this process, and for messages of freed receives");
  auto flushed = core_->loop.wait(
      [&] { return has_no_freed_receives(*core_, &context) && core_->is_flushed(); }, subject,
      deadline);
  return flushed && *flushed;
}

bool Progress::flush_all(base::Deadline deadline) {
  WaitFor subject("sent messages to leave this process, and for messages of freed receives");
  auto quiet = core_->loop.wait([this] { return is_quiet(); }, subject, deadline);
  return quiet && *quiet;
}

bool Progress::is_quiet() {
  return has_no_freed_receives(*core_, nullptr) && core_->has_handled_all_control() &&
         core_->is_flushed();
}

Engine::Counts Engine::counts() const {
  Guard guard = core_->enter();
  return core_->counts;
}

std::vector<Engine::TransportCounts> Engine::transport_counts() const {
  Guard guard = core_->enter();
  return core_->transports.counts();
}

}  // namespace shim::p2p
