// SPDX-License-Identifier: BSD-3-Clause
// Detaches the PMI proxy; pmi_proxy.hpp explains the races.
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>

#include "shim/bootstrap/pmi1/blocked_threads.hpp"
#include "shim/bootstrap/pmi1/pmi_proxy.hpp"
#include "shim/bootstrap/pmi1/receive.hpp"

namespace shim::bootstrap::pmi1 {
namespace {

constexpr double kDetachWaitSeconds = 1;
constexpr int kMaxBackoff = 64;  // milliseconds

}  // namespace

bool PmiProxy::can_detach() const {
  return users_ == 0 &&
         (is_lost_ || (broker_.is_idle() && from_server_.empty() && from_host_.empty()));
}

void PmiProxy::duplicate_launcher() {
  ::dup3(launcher_.get(), shared_descriptor_.number,
         (shared_descriptor_.flags & FD_CLOEXEC) != 0 ? O_CLOEXEC : 0);
}

bool PmiProxy::leaves_pair_in_place() const {
  return !has_host_side_ || host_has_closed_ || broker_.has_held_finalize() ||
         !shared_descriptor_.has_pair_at_number();
}

/// Return true if detached. Releases the lock while it waits for other threads.
bool PmiProxy::detach(std::unique_lock<std::mutex>& lock) {
  if (leaves_pair_in_place()) {
    shared_descriptor_.saved = std::move(launcher_);
  } else {
    if (host_has_unread()) return retry_detach_later();
    if (host_is_waiting()) {
      broker_.expect_unseen_request();
      return retry_detach_later();
    }
    const Descriptor host_side = duplicate_high(shared_descriptor_.number);
    if (host_side.get() < 0) return retry_detach_later();
    duplicate_launcher();
    lock.unlock();
    const auto redirected = interrupter_.redirect_blocked_threads(shared_descriptor_.number,
                                                                  kDetachWaitSeconds);
    lock.lock();
    if (!redirected || has_late_request()) {
      reattach(host_side, lock);
      return retry_detach_later();
    }
  }
  proxy_end_ = Descriptor();
  launcher_ = Descriptor();
  return true;
}

/// Retry to detach after a delay, because no event signals the right time. Return false if still
/// attached.
bool PmiProxy::retry_detach_later() {
  retry_detach_ms_ = std::clamp(2 * retry_detach_ms_, 1, kMaxBackoff);
  return false;
}

bool PmiProxy::host_has_unread() const {
  int bytes = 0;
  return ::ioctl(shared_descriptor_.number, FIONREAD, &bytes) == 0 && bytes > 0;
}

/// True if the host client has read all its responses and a thread of it is reading: it waits for
/// the response to an unseen request, or to a request in the pair. Checks for unread bytes first: a
/// thread that was seen asleep before that check could read them in between.
bool PmiProxy::host_is_waiting() const {
  return !host_has_unread() && !threads_blocked_on(shared_descriptor_.number).empty();
}

bool PmiProxy::has_late_request() {
  return receive(proxy_end_.get(), from_host_, MSG_PEEK) == Received::something;
}

void PmiProxy::reattach(const Descriptor& host_side, std::unique_lock<std::mutex>& lock) {
  if (::dup3(host_side.get(), shared_descriptor_.number, O_CLOEXEC) < 0)
    return on_launcher_lost(
        "the connection between the native MPI library and the PMI proxy was closed");
  // A thread that blocks the signals cannot be redirected.
  if (auto redirected = redirect_host(lock); !redirected)
    broker_.fail_all(redirected.error().text());
}

/// Restore the descriptor without further checks, after the thread has ended or if it never
/// started: at the end of the process, or after a failed attach.
void PmiProxy::restore_descriptor() {
  if (shared_descriptor_.has_server_at_number()) return;  // never attached
  if (leaves_pair_in_place()) {
    shared_descriptor_.saved = std::move(launcher_);
    return;
  }
  duplicate_launcher();
  [[maybe_unused]] const auto brought = interrupter_.redirect_blocked_threads(
      shared_descriptor_.number, kDetachWaitSeconds);
  receive(proxy_end_.get(), from_host_);
  while (auto line = from_host_.next()) broker_.to_server += *line + "\n";
  write(broker_.to_server, launcher_.get());
}

}  // namespace shim::bootstrap::pmi1
