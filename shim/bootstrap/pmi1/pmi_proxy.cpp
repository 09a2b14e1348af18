// SPDX-License-Identifier: BSD-3-Clause
#include "shim/bootstrap/pmi1/pmi_proxy.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "shim/base/signals_blocked.hpp"
#include "shim/base/start_thread.hpp"
#include "shim/bootstrap/pmi1/attach.hpp"
#include "shim/bootstrap/pmi1/blocked_threads.hpp"

namespace shim::bootstrap::pmi1 {
namespace {

constexpr auto kIdleWait = std::chrono::seconds(1);
constexpr double kRedirectSeconds = 1;

base::Error no_descriptor(std::string_view what) {
  return base::system_error(
      errno, "cannot share the launcher's descriptor (PMI_FD) with the native MPI library: " +
                 std::string(what));
}

enum class Received { something, nothing_yet, end };

/// Receive available bytes from a socket without blocking.
Received receive(int descriptor, LineBuffer& buffer) {
  std::array<char, 65536> bytes;
  ssize_t got = 0;
  do got = ::recv(descriptor, bytes.data(), bytes.size(), MSG_DONTWAIT);
  while (got < 0 && errno == EINTR);
  if (got < 0 && errno == EAGAIN) return Received::nothing_yet;
  if (got <= 0) return Received::end;
  buffer.add({bytes.data(), static_cast<std::size_t>(got)});
  return Received::something;
}

}  // namespace

PmiProxy::PmiProxy(SharedDescriptor& shared_descriptor, ThreadInterrupter& interrupter,
                   AttachState state)
    : shared_descriptor_(shared_descriptor),
      interrupter_(interrupter),
      host_has_sent_init_(state.host_has_sent_init),
      has_quiet_host_(state.host_is_silent || is_single_threaded()),
      broker_(std::move(state.init_state)) {}

base::Result<std::unique_ptr<PmiProxy>> PmiProxy::install(ServerEndpoint& endpoint,
                                                          ThreadInterrupter& interrupter,
                                                          AttachState state, double seconds) {
  SharedDescriptor& shared_descriptor = endpoint.shared_descriptor;
  const auto launcher = shared_descriptor.current_fd();
  if (!launcher) return launcher_closed();
  std::unique_ptr<PmiProxy> proxy(new PmiProxy(shared_descriptor, interrupter, std::move(state)));
  proxy->has_host_side_ = shared_descriptor.has_server_at_number() ||
                          shared_descriptor.has_pair_at_number();
  proxy->wakeup_ = Descriptor(
      base::above_standard_streams(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)));
  proxy->launcher_ = *launcher == shared_descriptor.saved.get()
                         ? Descriptor(shared_descriptor.saved.release())
                         : duplicate_high(*launcher);
  if (proxy->wakeup_.get() < 0 || proxy->launcher_.get() < 0)
    return no_descriptor("cannot duplicate a descriptor");
  shared_descriptor.saved.release();  // the program has closed it, if it is another file
  if (proxy->has_host_side_) SHIM_TRY(proxy->take_over_descriptor());
  if (!proxy->has_quiet_host_) SHIM_TRY(proxy->redirect_host(seconds));
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

base::Status PmiProxy::redirect_host(double seconds) {
  const bool must_send_init = !broker_.init_state().response && !host_has_sent_init_;
  SHIM_TRY(interrupter_.redirect_blocked_threads(shared_descriptor_.number, seconds));
  SHIM_TRY_ASSIGN(const DrainedRequests drained,
                  drain_pending_requests(launcher_.get(), from_server_, must_send_init, seconds));
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

void PmiProxy::detach(bool host_may_be_active) {
  if (std::exchange(has_detached_, true)) return;
  {
    std::lock_guard lock(mutex_);
    must_stop_ = true;
  }
  wake();
  if (thread_.joinable()) thread_.join();
  restore_descriptor(host_may_be_active);
}

bool PmiProxy::leaves_pair_in_place() const {
  return !has_host_side_ || host_has_closed_ || broker_.has_held_finalize() ||
         !shared_descriptor_.has_pair_at_number();
}

/// The thread has ended, or never started.
void PmiProxy::restore_descriptor(bool host_may_be_active) {
  if (shared_descriptor_.has_server_at_number()) return;  // never attached
  if (leaves_pair_in_place()) {
    shared_descriptor_.saved = std::move(launcher_);
    return;
  }
  ::dup3(launcher_.get(), shared_descriptor_.number,
         (shared_descriptor_.flags & FD_CLOEXEC) != 0 ? O_CLOEXEC : 0);
  if (!host_may_be_active) return;
  [[maybe_unused]] const auto redirected = interrupter_.redirect_blocked_threads(
      shared_descriptor_.number, kRedirectSeconds);
  receive(proxy_end_.get(), from_host_);
  while (auto line = from_host_.next()) broker_.to_server += *line + "\n";
  write(broker_.to_server, launcher_.get());
}

/// True if the host client has read all its responses and a thread of it is reading: it waits for
/// the response to an unseen request, or to a request in the pair. Checks for unread bytes first: a
/// thread that was seen asleep before that check could read them in between.
bool PmiProxy::host_is_waiting() const {
  int unread = 0;
  return (::ioctl(shared_descriptor_.number, FIONREAD, &unread) != 0 || unread == 0) &&
         !threads_blocked_on(shared_descriptor_.number).empty();
}

void PmiProxy::add_user() {
  std::lock_guard lock(mutex_);
  ++users_;
  changed_.notify_all();
}

void PmiProxy::remove_user() {
  std::lock_guard lock(mutex_);
  --users_;
}

bool PmiProxy::has_no_open_request() const {
  return is_lost_ || (broker_.is_idle() && from_server_.empty() && from_host_.empty());
}

bool PmiProxy::is_idle() const {
  std::lock_guard lock(mutex_);
  return has_no_open_request();
}

void PmiProxy::wait_until_idle() {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, kIdleWait, [this] {
    return users_ > 0 || has_no_open_request() || broker_.may_block_long();
  });
}

bool PmiProxy::is_used() const {
  std::lock_guard lock(mutex_);
  return users_ > 0;
}

bool PmiProxy::host_has_begun() const {
  std::lock_guard lock(mutex_);
  return broker_.host_has_begun() && !broker_.has_held_finalize();
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
    std::lock_guard lock(mutex_);
    eventfd_t count = 0;
    [[maybe_unused]] const int nothing = ::eventfd_read(wakeup_.get(), &count);
    if (must_stop_) return;
    read_from_server();
    read_from_host();
    flush();
    changed_.notify_all();
  }
}

void PmiProxy::wait_for_work() {
  std::array<pollfd, 3> ready{};
  {
    std::lock_guard lock(mutex_);
    const auto events = [](const std::string& output) {
      return static_cast<short>(output.empty() ? POLLIN : POLLIN | POLLOUT);
    };
    ready[0] = {wakeup_.get(), POLLIN, 0};
    ready[1] = {is_lost_ ? -1 : launcher_.get(), events(broker_.to_server), 0};
    ready[2] = {host_has_closed_ ? -1 : proxy_end_.get(), events(broker_.to_host), 0};
  }
  ::poll(ready.data(), ready.size(), -1);
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
