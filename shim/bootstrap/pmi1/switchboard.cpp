// SPDX-License-Identifier: BSD-3-Clause
#include "shim/bootstrap/pmi1/switchboard.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "shim/base/signals_blocked.hpp"
#include "shim/bootstrap/pmi1/arrival.hpp"
#include "shim/bootstrap/pmi1/readers.hpp"
#include "shim/bootstrap/pmi1/receive.hpp"

namespace shim::bootstrap::pmi1 {
namespace {

constexpr auto kPatience = std::chrono::seconds(1);

base::Error no_descriptor(std::string_view what) {
  return base::system_error(errno, "cannot share the launcher's descriptor (PMI_FD) with the MPI library below: " + std::string(what));
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

Switchboard::Switchboard(Place& place, Interruption& interruption, Conversation conversation,
                         double seconds)
    : place_(place),
      interruption_(interruption),
      seconds_(seconds),
      library_has_begun_(conversation.library_has_begun),
      is_alone_(conversation.library_is_silent || is_single_threaded()),
      exchange_(std::move(conversation.greeting)) {}

base::Result<std::unique_ptr<Switchboard>> Switchboard::put_in_place(Way& way,
                                                                     Interruption& interruption,
                                                                     Conversation conversation,
                                                                     double seconds) {
  Place& place = way.place;
  std::unique_ptr<Switchboard> board(
      new Switchboard(place, interruption, std::move(conversation), seconds));
  board->has_guest_side_ = place.real_is_at_number() || place.pair_is_at_number();
  const auto real = place.real_end();
  if (!real) return launcher_closed();
  board->alarm_ = Descriptor(base::above_standard_streams(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)));
  board->real_ = place.aside.get() >= 0 ? Descriptor(place.aside.release()) : copy_aside(*real);
  if (board->alarm_.get() < 0 || board->real_.get() < 0) return no_descriptor("no copy");
  place.aside = Descriptor();
  if (board->has_guest_side_) SHIM_TRY(board->take_place());
  if (!board->is_alone_) SHIM_TRY(board->settle());
  if (!way.position) SHIM_TRY(board->find_position(way, seconds));
  board->begin();
  return board;
}

base::Status Switchboard::take_place() {
  std::array<int, 2> pair{};
  if (base::above_standard_streams(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair.data()), pair) != 0)
    return no_descriptor("no pair of sockets");
  Descriptor ours(pair[0]), guests(pair[1]);
  Descriptor mine = copy_aside(ours.get());
  if (mine.get() < 0) return no_descriptor("no copy");
  place_.pair = identity_of(guests.get()).value_or(FileIdentity{});
  // Programs that this one starts do not get it: two of them on one pair would read each other's answers.
  if (::dup3(guests.get(), place_.number, O_CLOEXEC) < 0) return no_descriptor("dup3");
  mine_ = std::move(mine);
  return {};
}

base::Status Switchboard::settle() {
  SHIM_TRY(interruption_.bring_readers_over(place_.number, seconds_));
  const bool must_greet = !exchange_.greeting().answer && !library_has_begun_;
  SHIM_TRY_ASSIGN(const Turn turn, take_turn(real_.get(), from_server_, must_greet, seconds_));
  if (turn.greeting) exchange_.note_greeting(*turn.greeting);
  for (const auto& line : turn.for_guest) exchange_.to_guest += line + "\n";
  if (turn.for_guest.empty() && guest_waits_for_something()) exchange_.expect_unseen();
  return {};
}

base::Status Switchboard::find_position(Way& way, double seconds) {
  std::vector<std::string> strangers;
  SHIM_TRY_ASSIGN(way.position, ask_position(real_.get(), from_server_, way.id.value_or(0), seconds, strangers));
  for (const auto& line : strangers) exchange_.to_guest += line + "\n";
  return {};
}

void Switchboard::begin() {
  base::SignalsBlocked blocked;
  thread_ = std::thread([this] { run(); });
  wake();  // there may be lines to pass on already
}

Switchboard::~Switchboard() {
  {
    std::lock_guard lock(mutex_);
    must_stop_ = true;
  }
  wake();
  if (thread_.joinable()) thread_.join();
  if (!has_gone_) leave_place();
}

bool Switchboard::enter() {
  std::lock_guard lock(mutex_);
  if (has_gone_) return false;
  ++users_;
  return true;
}

void Switchboard::leave() {
  std::unique_lock lock(mutex_);
  if (--users_ > 0) return;
  wake();
  changed_.wait_for(lock, kPatience, [this] { return has_gone_ || users_ > 0 || exchange_.may_last() || postponed_ms_ > 0; });
}

bool Switchboard::has_gone() const {
  std::lock_guard lock(mutex_);
  return has_gone_;
}

bool Switchboard::is_used() const {
  std::lock_guard lock(mutex_);
  return users_ > 0;
}

bool Switchboard::has_held_finalize() const {
  std::lock_guard lock(mutex_);
  return exchange_.has_held_finalize();
}

Greeting Switchboard::greeting() const {
  std::lock_guard lock(mutex_);
  return exchange_.greeting();
}

bool Switchboard::has_unseen_greeting() const {
  std::lock_guard lock(mutex_);
  return library_has_begun_ && !exchange_.greeting().answer;
}

void Switchboard::allow_second_init() {
  std::lock_guard lock(mutex_);
  exchange_.allow_second_init();
}

void Switchboard::ask(QuestionPtr question) {
  std::lock_guard lock(mutex_);
  // A barrier of ours must not join one that the guest is in, which may have come before us.
  if (question->is_barrier() && exchange_.guest_has_nothing_open() && guest_waits_for_something()) exchange_.expect_unseen();
  exchange_.ask(std::move(question));
  write(exchange_.to_server, real_.get());
  if (!exchange_.to_server.empty()) wake();  // the launcher is slow; the thread waits for it
}

void Switchboard::tell(const std::string& request) {
  std::lock_guard lock(mutex_);
  exchange_.to_server += request;
  write(exchange_.to_server, real_.get());
  if (!exchange_.to_server.empty()) wake();
}

void Switchboard::wake() {
  [[maybe_unused]] const int failure = ::eventfd_write(alarm_.get(), 1);  // a counter that is full wakes as well
}

void Switchboard::run() {
  while (true) {
    wait_for_work();
    std::lock_guard lock(mutex_);
    eventfd_t count = 0;
    [[maybe_unused]] const int nothing = ::eventfd_read(alarm_.get(), &count);
    if (must_stop_) return;
    read_from_server();
    read_from_guest();
    flush();
    changed_.notify_all();
    if (!may_go()) postponed_ms_ = 0;
    if (!may_go() || !go()) continue;
    has_gone_ = true;
    changed_.notify_all();
    return;
  }
}

void Switchboard::wait_for_work() {
  std::array<pollfd, 3> ready{};
  int timeout = -1;
  {
    std::lock_guard lock(mutex_);
    if (postponed_ms_ > 0) timeout = postponed_ms_;
    const auto events = [](const std::string& output) { return static_cast<short>(output.empty() ? POLLIN : POLLIN | POLLOUT); };
    ready[0] = {alarm_.get(), POLLIN, 0};
    ready[1] = {is_lost_ ? -1 : real_.get(), events(exchange_.to_server), 0};
    ready[2] = {guest_has_closed_ ? -1 : mine_.get(), events(exchange_.to_guest), 0};
  }
  ::poll(ready.data(), ready.size(), timeout);
}

void Switchboard::read_from_server() {
  if (is_lost_) return;
  const Received received = receive(real_.get(), from_server_);
  while (auto line = from_server_.next()) exchange_.server_said(*line);
  if (from_server_.overflows())
    exchange_.break_off("the launcher sends no line of PMI-1: \"" + shown(from_server_.rest()) + "\"");
  if (received == Received::end) lose(launcher_closed().text());
}

void Switchboard::read_from_guest() {
  if (guest_has_closed_ || mine_.get() < 0) return;
  guest_has_closed_ = receive(mine_.get(), from_guest_) == Received::end || from_guest_.overflows();
  while (auto line = from_guest_.next()) exchange_.guest_said(*line);
}

void Switchboard::write(std::string& text, int descriptor) {
  while (!text.empty() && descriptor >= 0) {
    const ssize_t written = ::send(descriptor, text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0 && errno == EAGAIN) return;
    if (written <= 0) text.clear();  // nobody reads it; that the other side is gone is seen when we read
    else text.erase(0, static_cast<std::size_t>(written));
  }
}

void Switchboard::flush() {
  write(exchange_.to_server, real_.get());
  write(exchange_.to_guest, mine_.get());
}

void Switchboard::lose(const std::string& why) {
  is_lost_ = true;
  exchange_.break_off(why);
  if (mine_.get() >= 0) ::shutdown(mine_.get(), SHUT_RDWR);  // the guest sees what it would have seen without us
  guest_has_closed_ = true;
}

}  // namespace shim::bootstrap::pmi1
