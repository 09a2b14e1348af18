// SPDX-License-Identifier: BSD-3-Clause
#include "shim/bootstrap/pmi1/pmi_proxy.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "shim/base/signals_blocked.hpp"
#include "shim/base/start_thread.hpp"
#include "shim/bootstrap/pmi1/attach.hpp"
#include "shim/bootstrap/pmi1/blocked_threads.hpp"
#include "shim/bootstrap/pmi1/receive.hpp"

namespace shim::bootstrap::pmi1 {
namespace {

constexpr auto kDetachWait = std::chrono::seconds(1);

base::Error no_descriptor(std::string_view what) {
  return base::system_error(
      errno, "cannot share the launcher's descriptor (PMI_FD) with the native MPI library: " +
                 std::string(what));
}

}  // namespace

Received receive(int descriptor, LineBuffer& buffer, int flags) {
  std::array<char, 65536> bytes;
  ssize_t got = 0;
  do got = ::recv(descriptor, bytes.data(), bytes.size(), MSG_DONTWAIT | flags);
  while (got < 0 && errno == EINTR);
  if (got < 0 && errno == EAGAIN) return Received::nothing_yet;
  if (got <= 0) return Received::end;
  if ((flags & MSG_PEEK) == 0) buffer.add({bytes.data(), static_cast<std::size_t>(got)});
  return Received::something;
}

PmiProxy::PmiProxy(SharedDescriptor& shared_descriptor, ThreadInterrupter& interrupter,
                   AttachState state, double seconds)
    : shared_descriptor_(shared_descriptor),
      interrupter_(interrupter),
      seconds_(seconds),
      host_has_sent_init_(state.host_has_sent_init),
      has_quiet_host_(state.host_is_silent || is_single_threaded()),
      broker_(std::move(state.init_state)) {}

base::Result<std::unique_ptr<PmiProxy>> PmiProxy::install(ServerEndpoint& endpoint,
                                                          ThreadInterrupter& interrupter,
                                                          AttachState state, double seconds) {
  SharedDescriptor& shared_descriptor = endpoint.shared_descriptor;
  std::unique_ptr<PmiProxy> proxy(
      new PmiProxy(shared_descriptor, interrupter, std::move(state), seconds));
  proxy->has_host_side_ = shared_descriptor.has_server_at_number() ||
                          shared_descriptor.has_pair_at_number();
  const auto launcher = shared_descriptor.current_fd();
  if (!launcher) return launcher_closed();
  proxy->wakeup_ = Descriptor(
      base::above_standard_streams(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)));
  proxy->launcher_ = shared_descriptor.saved.get() >= 0
                         ? Descriptor(shared_descriptor.saved.release())
                         : duplicate_high(*launcher);
  if (proxy->wakeup_.get() < 0 || proxy->launcher_.get() < 0)
    return no_descriptor("cannot duplicate a descriptor");
  shared_descriptor.saved = Descriptor();
  if (proxy->has_host_side_) SHIM_TRY(proxy->take_over_descriptor());
  if (!proxy->has_quiet_host_) {
    std::unique_lock lock(proxy->mutex_);
    SHIM_TRY(proxy->redirect_host(lock));
  }
  if (!endpoint.position) SHIM_TRY(proxy->find_position(endpoint, seconds));
  proxy->start_thread();
  return proxy;
}

base::Status PmiProxy::take_over_descriptor() {
  std::array<int, 2> pair{};
  if (base::above_standard_streams(
          ::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair.data()), pair) != 0)
    return no_descriptor("cannot create a pair of sockets");
  Descriptor ours(pair[0]), host_end(pair[1]);
  Descriptor proxy_end = duplicate_high(ours.get());
  if (proxy_end.get() < 0) return no_descriptor("cannot duplicate a descriptor");
  shared_descriptor_.pair = identity_of(host_end.get()).value_or(FileIdentity{});
  // Close-on-exec: two programs on one pair would read each other's responses.
  if (::dup3(host_end.get(), shared_descriptor_.number, O_CLOEXEC) < 0)
    return no_descriptor("dup3");
  proxy_end_ = std::move(proxy_end);
  return {};
}

base::Status PmiProxy::redirect_host(std::unique_lock<std::mutex>& lock) {
  const bool must_send_init = !broker_.init_state().response && !host_has_sent_init_;
  const auto redirect_and_drain = [&]() -> base::Result<DrainedRequests> {
    SHIM_TRY(interrupter_.redirect_blocked_threads(shared_descriptor_.number, seconds_));
    return drain_pending_requests(launcher_.get(), from_server_, must_send_init, seconds_);
  };
  lock.unlock();
  auto result = redirect_and_drain();
  lock.lock();
  SHIM_TRY_ASSIGN(const DrainedRequests drained, std::move(result));
  if (drained.init_response) broker_.record_init_response(*drained.init_response);
  for (const auto& line : drained.for_host) broker_.to_host += line + "\n";
  if (drained.for_host.empty() && host_is_waiting()) broker_.expect_unseen_request();
  return {};
}

base::Status PmiProxy::find_position(ServerEndpoint& endpoint, double seconds) {
  std::vector<std::string> host_lines;
  SHIM_TRY_ASSIGN(endpoint.position, query_position(launcher_.get(), from_server_,
                                                    endpoint.id.value_or(0), seconds, host_lines));
  for (const auto& line : host_lines) broker_.to_host += line + "\n";
  return {};
}

void PmiProxy::start_thread() {
  base::SignalsBlocked blocked;
  thread_ = base::start_thread("that shares the launcher's PMI-1 connection", [this] { run(); });
  wake();  // there may be lines to forward already
}

PmiProxy::~PmiProxy() { stop(); }

void PmiProxy::stop() {
  {
    std::lock_guard lock(mutex_);
    must_stop_ = true;
  }
  wake();
  if (thread_.joinable()) thread_.join();
  if (!has_detached()) restore_descriptor();
  std::lock_guard lock(mutex_);
  has_detached_ = true;
  changed_.notify_all();
}

bool PmiProxy::add_user() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return !is_detaching_; });
  if (has_detached_) return false;
  ++users_;
  return true;
}

void PmiProxy::remove_user() {
  std::unique_lock lock(mutex_);
  if (--users_ > 0) return;
  wake();
  changed_.wait_for(lock, kDetachWait, [this] {
    return has_detached_ || users_ > 0 || broker_.may_block_long() || retry_detach_ms_ > 0;
  });
}

bool PmiProxy::has_detached() const {
  std::lock_guard lock(mutex_);
  return has_detached_;
}

bool PmiProxy::is_used() const {
  std::lock_guard lock(mutex_);
  return users_ > 0;
}

bool PmiProxy::has_held_finalize() const {
  std::lock_guard lock(mutex_);
  return broker_.has_held_finalize();
}

InitState PmiProxy::init_state() const {
  std::lock_guard lock(mutex_);
  return broker_.init_state();
}

bool PmiProxy::has_unseen_init_response() const {
  std::lock_guard lock(mutex_);
  return host_has_sent_init_ && !broker_.init_state().response;
}

void PmiProxy::allow_second_init() {
  std::lock_guard lock(mutex_);
  broker_.allow_second_init();
}

void PmiProxy::submit(PendingRequestPtr pending) {
  std::lock_guard lock(mutex_);
  // A barrier of ours must not join a barrier of the host client, which may have started before the
  // attach.
  if (pending->is_barrier() && broker_.host_has_no_open_request() && host_is_waiting())
    broker_.expect_unseen_request();
  broker_.submit(std::move(pending));
  write(broker_.to_server, launcher_.get());
  if (!broker_.to_server.empty()) wake();  // the launcher is slow; the thread waits for it
}

void PmiProxy::send_oneway(const std::string& request) {
  std::lock_guard lock(mutex_);
  broker_.to_server += request;
  write(broker_.to_server, launcher_.get());
  if (!broker_.to_server.empty()) wake();
}

void PmiProxy::wake() {
  [[maybe_unused]] const int failure = ::eventfd_write(wakeup_.get(),
                                                       1);  // a full counter wakes the thread, too
}

void PmiProxy::run() {
  while (true) {
    wait_for_work();
    std::unique_lock lock(mutex_);
    eventfd_t count = 0;
    [[maybe_unused]] const int nothing = ::eventfd_read(wakeup_.get(), &count);
    if (must_stop_) return;
    read_from_server();
    read_from_host();
    flush();
    is_detaching_ = can_detach();
    if (is_detaching_)
      has_detached_ = detach(lock);
    else
      retry_detach_ms_ = 0;
    is_detaching_ = false;
    changed_.notify_all();
    if (has_detached_) return;
  }
}

void PmiProxy::wait_for_work() {
  std::array<pollfd, 3> ready{};
  int timeout = -1;
  {
    std::lock_guard lock(mutex_);
    if (retry_detach_ms_ > 0) timeout = retry_detach_ms_;
    const auto events = [](const std::string& output) {
      return static_cast<short>(output.empty() ? POLLIN : POLLIN | POLLOUT);
    };
    ready[0] = {wakeup_.get(), POLLIN, 0};
    ready[1] = {is_lost_ ? -1 : launcher_.get(), events(broker_.to_server), 0};
    ready[2] = {host_has_closed_ ? -1 : proxy_end_.get(), events(broker_.to_host), 0};
  }
  ::poll(ready.data(), ready.size(), timeout);
}

void PmiProxy::read_from_server() {
  if (is_lost_) return;
  const Received received = receive(launcher_.get(), from_server_);
  while (auto line = from_server_.next()) broker_.on_server_line(*line);
  if (from_server_.overflows())
    broker_.fail_all("the launcher sent an invalid PMI-1 message: \"" + shown(from_server_.rest()) +
                     "\"");
  if (received == Received::end) on_launcher_lost(launcher_closed().text());
}

void PmiProxy::read_from_host() {
  if (host_has_closed_ || proxy_end_.get() < 0) return;
  host_has_closed_ = receive(proxy_end_.get(), from_host_) == Received::end ||
                     from_host_.overflows();
  while (auto line = from_host_.next()) broker_.on_host_line(*line);
}

void PmiProxy::write(std::string& text, int descriptor) {
  while (!text.empty() && descriptor >= 0) {
    const ssize_t written = ::send(descriptor, text.data(), text.size(),
                                   MSG_NOSIGNAL | MSG_DONTWAIT);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0 && errno == EAGAIN) return;
    if (written <= 0)
      text.clear();  // no reader: the next read detects the closed peer
    else
      text.erase(0, static_cast<std::size_t>(written));
  }
}

void PmiProxy::flush() {
  write(broker_.to_server, launcher_.get());
  write(broker_.to_host, proxy_end_.get());
}

void PmiProxy::on_launcher_lost(const std::string& why) {
  is_lost_ = true;
  broker_.fail_all(why);
  if (proxy_end_.get() >= 0)
    ::shutdown(proxy_end_.get(),
               SHUT_RDWR);  // as the host client would see it without the proxy
  host_has_closed_ = true;
}

}  // namespace shim::bootstrap::pmi1
