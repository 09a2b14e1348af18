// SPDX-License-Identifier: BSD-3-Clause
#include "shim/bootstrap/pmi1/connection.hpp"

#include <unistd.h>

#include <chrono>

#include "shim/bootstrap/pmi1/arrival.hpp"

namespace shim::bootstrap::pmi1 {
namespace {

constexpr double kFinalizeSeconds = 2;

base::Error in_child() {
  return base::Error(base::ErrorClass::other,
                     "a process made by fork() has no connection to the launcher: that is its parent's alone");
}

}  // namespace

Use::~Use() {
  if (!connection_->is_in_child()) connection_->leave();
}

void Use::ask(QuestionPtr question) {
  if (connection_->is_in_child()) return question->answer(in_child());
  board_.ask(std::move(question));
}

base::Result<Line> Use::ask(std::string request, double seconds) {
  auto question = std::make_shared<Question>(std::move(request));
  ask(question);
  return question->wait(seconds);
}

void Use::tell(const std::string& request) {
  if (!connection_->is_in_child()) board_.tell(request);
}

bool Use::has_lost_launcher() const { return board_.has_lost_launcher(); }

Connection::Connection(Surroundings surroundings) : surroundings_(std::move(surroundings)), owner_(::getpid()) {}

Connection::~Connection() {
  // A child has no thread to join.
  if (is_in_child()) static_cast<void>(board_.release());
}

bool Connection::is_in_child() const { return ::getpid() != owner_; }

base::Status Connection::find_place(double seconds) {
  if (is_in_child()) return in_child();
  if (is_finished_)
    return base::Error(
        base::ErrorClass::other,
        "this process has ended its conversation with the launcher (cmd=finalize), because "
        "its exit handlers and destructors have run; begin the session earlier");
  if (way_) return {};
  SHIM_TRY_ASSIGN(way_, find_way(surroundings_, seconds));
  return {};
}

/// MPI_Init makes its connection (PMI_PORT) and sends its init early, before it waits for other
/// processes. Over PMI_PORT whichever client comes first makes the connection, and the other must
/// find it. With a board in place the library's init is seen.
void Connection::let_library_begin(std::unique_lock<std::mutex>& lock) {
  if (board_ || (way_ && !surroundings_.descriptor)) return;
  world_has_started_.wait_for(lock, std::chrono::duration<double>(ProcessLife::kWorldStartSeconds), [this] { return !world_is_starting_; });
}

base::Result<std::unique_ptr<Use>> Connection::use(double seconds) {
  std::unique_lock lock(mutex_);
  let_library_begin(lock);
  return use(seconds, false);
}

base::Result<std::unique_ptr<Use>> Connection::use(double seconds, bool library_is_silent) {
  SHIM_TRY(find_place(seconds));
  if (!board_ || !board_->enter()) {
    drop_board();
    const bool has_begun =
        !library_is_silent && model_.speaks_pmi1 && (world_is_starting_ || has_world_started_);
    SHIM_TRY_ASSIGN(board_,
                    Switchboard::put_in_place(*way_, interruption_,
                                              {greeting_, has_begun, library_is_silent}, seconds));
  }
  return std::make_unique<Use>(shared_from_this(), *board_);
}

base::Result<std::unique_ptr<Use>> Connection::watch_start(double seconds) {
  std::lock_guard lock(mutex_);
  if (!model_.speaks_pmi1 || !surroundings_.descriptor) return std::unique_ptr<Use>();
  const Greeting greeting = board_ ? board_->greeting() : greeting_;
  const bool must_answer_init = greeting.answer && !greeting.is_repeatable;
  const bool may_meet_session =
      !greeting.answer && model_.sessions_may_come && !is_single_threaded();
  if (!must_answer_init && !may_meet_session) return std::unique_ptr<Use>();
  return use(seconds, true);
}

base::Result<const JobFacts*> Connection::facts(Use& use, double seconds) {
  std::lock_guard lock(mutex_);
  if (!facts_) {
    owes_finalize_ = true;  // from the first word on
    SHIM_TRY_ASSIGN(facts_, read_job(use, *way_->position, use.has_unseen_greeting(), seconds));
    if (facts_->takes_second_init) use.allow_second_init();
  }
  return &*facts_;
}

void Connection::leave() {
  std::lock_guard lock(mutex_);
  if (!board_) return;
  board_->leave();
  if (board_->has_gone()) drop_board();
}

void Connection::drop_board() {
  if (!board_) return;
  owes_finalize_ = owes_finalize_ || board_->has_held_finalize();
  greeting_ = board_->greeting();
  board_.reset();
}

void Connection::world_starts(const WorldModel& model) {
  std::lock_guard lock(mutex_);
  model_ = model;
  world_is_starting_ = world_is_active_ = true;
  if (way_ && way_->is_made_here) tell_library(*way_);
}

void Connection::world_started() {
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
  if (board_ && board_->is_used()) return finish_beside_users();
  drop_board();
  const int real = way_ ? way_->place.real_end().value_or(-1) : -1;
  if (!owes_finalize_ || world_is_active_ || real < 0 || !write_to_launcher(real, request("finalize"))) return;
  LineBuffer buffer;
  // It has heard us when it answers; what it has to say besides is for nobody any more.
  for (auto line = read_from_launcher(real, buffer, kFinalizeSeconds); line && *line != "cmd=finalize_ack";)
    line = read_from_launcher(real, buffer, kFinalizeSeconds);
}

/// The program ends with sessions open, and other threads may be inside them: the board stays.
void Connection::finish_beside_users() {
  if (!owes_finalize_ || world_is_active_) return;
  auto finalize = std::make_shared<Question>(request("finalize"));
  board_->ask(finalize);
  (void)finalize->wait(kFinalizeSeconds);
}

}  // namespace shim::bootstrap::pmi1
