// SPDX-License-Identifier: BSD-3-Clause
// How the switchboard goes; its header says why it is done in this way.
#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "shim/bootstrap/pmi1/arrival.hpp"
#include "shim/bootstrap/pmi1/receive.hpp"
#include "shim/bootstrap/pmi1/switchboard.hpp"

namespace shim::bootstrap::pmi1 {
namespace {
constexpr int kSilentRounds = 20;
constexpr int kRoundMilliseconds = 1;
constexpr double kPatienceSeconds = 1;
}  // namespace

bool Switchboard::is_ready_to_go() const {
  return users_ == 0 && (is_lost_ || (exchange_.is_idle() && from_server_.empty() && from_guest_.empty()));
}

bool Switchboard::guest_has_unread() const {
  int bytes = 0;
  return !keeps_number() && ::ioctl(place_.number, FIONREAD, &bytes) == 0 && bytes > 0;
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
    restore_number();
    if (has_come_late() && come_back()) return false;
  }
  mine_ = Descriptor();
  real_ = Descriptor();
  return true;
}

bool Switchboard::has_come_late() {
  for (int round = 0; round < kSilentRounds; ++round) {
    const Received received = receive(mine_.get(), from_guest_, MSG_PEEK);
    if (received != Received::nothing_yet) return received == Received::something;
    pollfd ready{mine_.get(), POLLIN, 0};
    ::poll(&ready, 1, kRoundMilliseconds);
  }
  return false;
}

/// False: it could not, and what had come is passed on as it is.
bool Switchboard::come_back() {
  const Descriptor old = std::move(mine_);  // a reader that sleeps on its other side must not find its end
  const bool is_back = take_place().has_value();
  // one that blocks the signals stays where it is, and waits for ever: nothing more can be done for it
  if (is_back) [[maybe_unused]] const auto brought = bring_readers_over(place_.number, interruption_, kPatienceSeconds);
  receive(old.get(), from_guest_);
  while (auto line = from_guest_.next()) {
    if (is_back) exchange_.guest_said(*line);
    else exchange_.to_server += *line + "\n";
  }
  flush();
  return is_back;
}

}  // namespace shim::bootstrap::pmi1
