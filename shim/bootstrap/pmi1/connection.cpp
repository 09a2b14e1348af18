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
  return use(seconds, false);
}

base::Result<std::unique_ptr<ProxyLease>> Connection::use(double seconds, bool host_is_silent) {
  SHIM_TRY(locate_server(seconds));
  if (!proxy_ || !proxy_->add_user()) {
    drop_proxy();
    const bool has_begun = !host_is_silent && model_.speaks_pmi1 &&
                           (world_is_starting_ || has_world_started_);
    SHIM_TRY_ASSIGN(proxy_, PmiProxy::install(*endpoint_, interrupter_,
                                              {init_state_, has_begun, host_is_silent}, seconds));
  }
  return std::make_unique<ProxyLease>(shared_from_this(), *proxy_);
}

base::Result<std::unique_ptr<ProxyLease>> Connection::proxy_during_init(double seconds) {
  std::lock_guard lock(mutex_);
  if (!model_.speaks_pmi1 || !env_.descriptor) return std::unique_ptr<ProxyLease>();
  const InitState init_state = proxy_ ? proxy_->init_state() : init_state_;
  const bool must_answer_init = init_state.response && !init_state.is_repeatable;
  const bool may_meet_session = !init_state.response && model_.may_open_sessions &&
                                !is_single_threaded();
  if (!must_answer_init && !may_meet_session) return std::unique_ptr<ProxyLease>();
  return use(seconds, true);
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

void Connection::remove_user() {
  const auto proxy = [this] {
    std::lock_guard lock(mutex_);
    return proxy_;
  }();
  if (!proxy) return;
  proxy->remove_user();
  std::lock_guard lock(mutex_);
  if (proxy_ == proxy && proxy->has_detached()) drop_proxy();
}

void Connection::drop_proxy() {
  if (!proxy_) return;
  proxy_->stop();  // another thread may still wait in its remove_user()
  must_finalize_ = must_finalize_ || proxy_->has_held_finalize();
  init_state_ = proxy_->init_state();
  proxy_.reset();
}

void Connection::before_world_init(const WorldModel& model) {
  std::lock_guard lock(mutex_);
  model_ = model;
  world_is_starting_ = world_is_active_ = true;
  if (endpoint_ && endpoint_->is_own) export_to_environment(*endpoint_);
}

void Connection::after_world_init() {
  std::lock_guard lock(mutex_);
  world_is_starting_ = false;
  has_world_started_ = true;
  world_has_started_.notify_all();
}

void Connection::world_ended() {
  std::lock_guard lock(mutex_);
  world_is_active_ = false;
}

void Connection::finish() {
  if (is_in_child()) return;
  std::lock_guard lock(mutex_);
  if (std::exchange(is_finished_, true)) return;
  if (proxy_ && proxy_->is_used()) return finalize_with_users();
  drop_proxy();
  const int launcher = endpoint_ ? endpoint_->shared_descriptor.current_fd().value_or(-1) : -1;
  if (!must_finalize_ || world_is_active_ || launcher < 0 ||
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
  if (!must_finalize_ || world_is_active_) return;
  auto finalize = std::make_shared<PendingRequest>(request("finalize"));
  proxy_->submit(finalize);
  (void)finalize->wait(kFinalizeSeconds);
}

}  // namespace shim::bootstrap::pmi1
