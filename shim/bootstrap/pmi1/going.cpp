// SPDX-License-Identifier: BSD-3-Clause
// How the switchboard goes; its header says why it is done in this way.
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>

#include "shim/bootstrap/pmi1/readers.hpp"
#include "shim/bootstrap/pmi1/receive.hpp"
#include "shim/bootstrap/pmi1/switchboard.hpp"

namespace shim::bootstrap::pmi1 {
namespace {

constexpr double kPatienceSeconds = 1;
constexpr int kLongestPause = 64;  // milliseconds

}  // namespace

bool Switchboard::may_go() const {
  return users_ == 0 && (is_lost_ || (exchange_.is_idle() && from_server_.empty() && from_guest_.empty()));
}

void Switchboard::restore_number() {
  ::dup3(real_.get(), place_.number, (place_.flags & FD_CLOEXEC) != 0 ? O_CLOEXEC : 0);
}

bool Switchboard::keeps_number() const {
  return !has_guest_side_ || guest_has_closed_ || exchange_.has_held_finalize() || !place_.pair_is_at_number();
}

/// True: gone.
bool Switchboard::go() {
  if (keeps_number()) {
    place_.aside = std::move(real_);
  } else {
    if (guest_has_unread()) return postpone();
    if (guest_waits_for_something()) {
      exchange_.expect_unseen();
      return postpone();
    }
    const Descriptor guests_side = copy_aside(place_.number);
    if (guests_side.get() < 0) return postpone();
    restore_number();
    if (!interruption_.bring_readers_over(place_.number, kPatienceSeconds) || has_come_late()) {
      come_back(guests_side);
      return postpone();
    }
  }
  mine_ = Descriptor();
  real_ = Descriptor();
  return true;
}

/// False: not gone. Nothing wakes us when it is time.
bool Switchboard::postpone() {
  postponed_ms_ = std::clamp(2 * postponed_ms_, 1, kLongestPause);
  return false;
}

bool Switchboard::guest_has_unread() const {
  int bytes = 0;
  return ::ioctl(place_.number, FIONREAD, &bytes) == 0 && bytes > 0;
}

/// It has read all that it was given, and reads on. What it waits for is unseen, or asked in the pair and seen soon. In this order:
/// it would be seen asleep, and then have read the rest.
bool Switchboard::guest_waits_for_something() const { return !guest_has_unread() && !readers_of(place_.number).empty(); }

bool Switchboard::has_come_late() { return receive(mine_.get(), from_guest_, MSG_PEEK) == Received::something; }

void Switchboard::come_back(const Descriptor& guests_side) {
  if (::dup3(guests_side.get(), place_.number, O_CLOEXEC) < 0) return lose("the guest's side of the pair is gone");
  // A thread that blocks the signals stays where it is: nothing more can be done for it.
  if (auto settled = settle(); !settled) exchange_.break_off(settled.error().text());
}

/// The quick way, when the thread has ended or has never begun: at the end of the process, or where coming has failed.
void Switchboard::leave_place() {
  if (place_.real_is_at_number()) return;  // it never came
  if (keeps_number()) {
    place_.aside = std::move(real_);
    return;
  }
  restore_number();
  [[maybe_unused]] const auto brought = interruption_.bring_readers_over(place_.number, kPatienceSeconds);
  receive(mine_.get(), from_guest_);
  while (auto line = from_guest_.next()) exchange_.to_server += *line + "\n";
  write(exchange_.to_server, real_.get());
}

}  // namespace shim::bootstrap::pmi1
