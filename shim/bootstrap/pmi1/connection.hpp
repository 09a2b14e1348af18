// SPDX-License-Identifier: BSD-3-Clause
// This process's conversation with its launcher, from the first request to finalize.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>

#include "shim/bootstrap/bootstrap.hpp"
#include "shim/bootstrap/pmi1/job_query.hpp"
#include "shim/bootstrap/pmi1/surroundings.hpp"
#include "shim/bootstrap/pmi1/switchboard.hpp"

namespace shim::bootstrap::pmi1 {

class Connection;

/// While one lives, the switchboard is in place. In a child made by fork() it does nothing.
class Use {
 public:
  Use(std::shared_ptr<Connection> connection, Switchboard& board) : connection_(std::move(connection)), board_(board) {}
  Use(const Use&) = delete;
  Use& operator=(const Use&) = delete;
  ~Use();

  void ask(QuestionPtr question);
  /// Asks and waits; errors as in Question::wait.
  base::Result<Line> ask(std::string request, double seconds);
  /// A request that has no answer.
  void tell(const std::string& request);
  bool has_lost_launcher() const;
  bool has_unseen_greeting() const { return board_.has_unseen_greeting(); }
  void allow_second_init() { board_.allow_second_init(); }

 private:
  const std::shared_ptr<Connection> connection_;
  Switchboard& board_;
};

/// One in a process; Bootstraps come and go on it. Thread-safe.
class Connection : public std::enable_shared_from_this<Connection> {
 public:
  explicit Connection(Surroundings surroundings);
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  ~Connection();

  /// Errors: those of find_way and Switchboard::put_in_place.
  base::Result<std::unique_ptr<Use>> use(double seconds);
  /// Asked once. Errors: those of read_job.
  base::Result<const JobFacts*> facts(Use& use, double seconds);

  /// Between this and the end of the Use all that the library sends to the launcher passes through
  /// here, if it must: the launcher has answered an init of ours and answers no second one, or a
  /// session may begin on another thread and has to know whether the library has sent its own.
  /// Null: it need not. After world_starts, on the same thread. Errors: those of use().
  base::Result<std::unique_ptr<Use>> watch_start(double seconds);
  /// From world_starts on the end of the conversation is the MPI library's affair, until world_ended.
  void world_starts(const WorldModel& model);
  void world_started();
  void world_ended();
  /// Says finalize, if that is for us to say: not where the MPI library's world is active, whose affair it is then. Once.
  void finish();
  bool is_in_child() const;

 private:
  friend class Use;
  void let_library_begin(std::unique_lock<std::mutex>& lock);
  base::Result<std::unique_ptr<Use>> use(double seconds, bool library_is_silent);
  base::Status find_place(double seconds);
  void leave();
  void drop_board();
  void finish_beside_users();

  const Surroundings surroundings_;
  const int owner_;  ///< process id
  std::mutex mutex_;
  std::condition_variable world_has_started_;
  std::optional<Way> way_;
  Interruption interruption_;
  std::unique_ptr<Switchboard> board_;
  std::optional<JobFacts> facts_;
  Greeting greeting_;  ///< of the last board, while there is none
  WorldModel model_;
  bool has_world_started_ = false;
  bool owes_finalize_ = false, world_is_starting_ = false, world_is_active_ = false, is_finished_ = false;
};

}  // namespace shim::bootstrap::pmi1
