// SPDX-License-Identifier: BSD-3-Clause
#include "shim/bootstrap/pmi1/connection.hpp"

#include <unistd.h>

#include <chrono>

#include "shim/bootstrap/pmi1/attach.hpp"

namespace shim::bootstrap::pmi1 {
namespace {

constexpr double kFinalizeSeconds = 2;

base::Error in_child() {
  return base::Error(
      base::ErrorClass::other,
      "a child made by fork() has no connection to the launcher; only its parent has one");
}

}  // namespace

ProxyLease::~ProxyLease() {
  if (!connection_->is_in_child()) connection_->remove_user();
}

void ProxyLease::submit(PendingRequestPtr pending) {
  if (connection_->is_in_child()) return pending->complete(in_child());
  proxy_.submit(std::move(pending));
}

base::Result<PmiLine> ProxyLease::query(std::string request, double seconds) {
  auto pending = std::make_shared<PendingRequest>(std::move(request));
  submit(pending);
  return pending->wait(seconds);
}

void ProxyLease::send_oneway(const std::string& request) {
  if (!connection_->is_in_child()) proxy_.send_oneway(request);
}

bool ProxyLease::has_lost_launcher() const { return proxy_.has_lost_launcher(); }

Connection::Connection(PmiEnv env) : env_(std::move(env)), owner_(::getpid()) {}

Connection::~Connection() {
  // a child of fork() has no thread to join
  if (is_in_child()) static_cast<void>(new std::shared_ptr<PmiProxy>(std::move(proxy_)));
}

bool Connection::is_in_child() const { return ::getpid() != owner_; }

base::Status Connection::locate_server(double seconds) {
  if (is_in_child()) return in_child();
  if (is_finished_)
    return base::Error(
        base::ErrorClass::other,
        "this process has closed its connection to the launcher (cmd=finalize), because its exit "
        "handlers and destructors have run; begin the session earlier");
  if (endpoint_) return {};
  SHIM_TRY_ASSIGN(endpoint_, find_endpoint(env_, seconds));
  return {};
}

/// Wait for the host client's init. MPI_Init connects (PMI_PORT) and sends init early, before it
/// waits for other processes. Over PMI_PORT the first client connects, and the other must find this
/// connection. With a proxy in place the library's init is seen.
void Connection::wait_for_host_init(std::unique_lock<std::mutex>& lock) {
  if (proxy_ || (endpoint_ && !env_.descriptor)) return;
  world_has_started_.wait_for(lock,
                              std::chrono::duration<double>(ProcessLifetime::kWorldStartSeconds),
                              [this] { return !world_is_starting_; });
}

base::Result<std::unique_ptr<ProxyLease>> Connection::use(double seconds) {
  std::unique_lock lock(mutex_);
  wait_for_host_init(lock);
  SHIM_TRY(attach(seconds, false));
  proxy_->add_user();
  return std::make_unique<ProxyLease>(shared_from_this(), *proxy_);
}

base::Status Connection::attach(double seconds, bool host_is_silent) {
  SHIM_TRY(locate_server(seconds));
  if (proxy_) return {};
  const bool has_begun = !host_is_silent && speaks_pmi1_ &&
                         (world_is_starting_ || has_world_started_);
  SHIM_TRY_ASSIGN(proxy_, PmiProxy::install(*endpoint_, interrupter_,
                                            {init_state_, has_begun, host_is_silent}, seconds));
  return {};
}

base::Result<const JobFacts*> Connection::facts(ProxyLease& use, double seconds) {
  std::lock_guard lock(mutex_);
  if (!facts_) {
    must_finalize_ = true;  // from the first request on
    SHIM_TRY_ASSIGN(facts_,
                    read_job(use, *endpoint_->position, use.has_unseen_init_response(), seconds));
    if (facts_->takes_second_init) use.allow_second_init();
  }
  return &*facts_;
}

bool Connection::host_may_be_active() const {
  return (speaks_pmi1_ && world_is_active_) || (proxy_ && proxy_->host_has_begun());
}

void Connection::remove_user() {
  std::unique_lock lock(mutex_);
  proxy_->remove_user();
  if (!host_may_be_active()) {
    const auto proxy = proxy_;
    lock.unlock();
    proxy->wait_until_idle();
    lock.lock();
  }
  detach_if_unused();
}

void Connection::detach_if_unused() {
  if (!proxy_ || proxy_->is_used()) return;
  if (proxy_->has_lost_launcher() || (!host_may_be_active() && proxy_->is_idle())) drop_proxy();
}

void Connection::drop_proxy() {
  if (!proxy_) return;
  proxy_->detach(host_may_be_active());  // another thread may still wait in remove_user()
  must_finalize_ = must_finalize_ || proxy_->has_held_finalize();
  init_state_ = proxy_->init_state();
  proxy_.reset();
}

void Connection::before_world_init(const WorldModel& model) {
  std::lock_guard lock(mutex_);
  speaks_pmi1_ = model.speaks_pmi1;
  world_is_starting_ = world_is_active_ = true;
  if (endpoint_ && endpoint_->is_own) export_to_environment(*endpoint_);
  if (!speaks_pmi1_ || !env_.descriptor) return;
  const InitState init_state = proxy_ ? proxy_->init_state() : init_state_;
  const bool must_answer_init = init_state.response && !init_state.is_repeatable;
  const bool may_meet_session = !init_state.response && model.may_open_sessions &&
                                !is_single_threaded();
  if (must_answer_init || may_meet_session) (void)attach(model.seconds, true);
}

void Connection::after_world_init() {
  std::lock_guard lock(mutex_);
  world_is_starting_ = false;
  has_world_started_ = true;
  world_has_started_.notify_all();
}

void Connection::world_detected(bool speaks_pmi1) {
  std::lock_guard lock(mutex_);
  speaks_pmi1_ = speaks_pmi1;
  world_is_active_ = has_world_started_ = true;
}

void Connection::before_world_finalize(double seconds) {
  std::lock_guard lock(mutex_);
  if (speaks_pmi1_) (void)attach(seconds, false);
}

void Connection::world_ended() {
  std::lock_guard lock(mutex_);
  world_is_active_ = false;
  detach_if_unused();
}

void Connection::finish() {
  if (is_in_child()) return;
  std::lock_guard lock(mutex_);
  if (std::exchange(is_finished_, true)) return;
  const bool host_will_finalize = world_is_active_ && !(proxy_ && proxy_->has_held_finalize());
  if (proxy_ && proxy_->is_used()) {
    if (must_finalize_ && !host_will_finalize) finalize_with_users();
    return;
  }
  drop_proxy();
  const int launcher = endpoint_ ? endpoint_->shared_descriptor.current_fd().value_or(-1) : -1;
  if (!must_finalize_ || host_will_finalize || launcher < 0 ||
      !write_to_launcher(launcher, request("finalize")))
    return;
  LineBuffer buffer;
  // The launcher has received finalize once it acknowledges it; other responses are dropped.
  for (auto line = read_from_launcher(launcher, buffer, kFinalizeSeconds);
       line && *line != "cmd=finalize_ack";)
    line = read_from_launcher(launcher, buffer, kFinalizeSeconds);
}

/// Send finalize while sessions are open. The proxy stays, because other threads may use it.
void Connection::finalize_with_users() {
  auto finalize = std::make_shared<PendingRequest>(request("finalize"));
  proxy_->submit(finalize);
  (void)finalize->wait(kFinalizeSeconds);
}

}  // namespace shim::bootstrap::pmi1
