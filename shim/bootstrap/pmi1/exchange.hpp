// SPDX-License-Identifier: BSD-3-Clause
// Who has asked what on the one connection, and so whom an answer is for.
#pragma once

#include <list>
#include <optional>
#include <string>
#include <string_view>

#include "shim/bootstrap/pmi1/question.hpp"

namespace shim::bootstrap::pmi1 {

/// What is known of cmd=init on a connection. Slurm's server answers one, whichever of two clients
/// sends it; hydra answers each.
struct Greeting {
  std::optional<std::string> answer;  ///< of the launcher, without its newline, if it was seen
  bool is_repeatable = false;         ///< the launcher answers init again
};

/// Two ask the same launcher: we, and the *guest*, the client inside the MPI library below, which believes to be alone. The
/// launcher's answers do not name their requests, but their kinds (Line's kind_of), and those of one kind come in the order in
/// which they were asked for. Two requests of one kind, one of them ours, may still be answered by different daemons, so the second
/// waits until the first is answered; requests of different kinds never wait for each other, and a barrier that waits for other
/// processes keeps nobody else.
///
/// Bookkeeping only: whoever owns it moves the bytes, and locks.
class Exchange {
 public:
  explicit Exchange(Greeting greeting = {}) : greeting_(std::move(greeting)) {}

  /// From us. Sent when its turn comes; a question whose asker is gone by then is not sent.
  void ask(QuestionPtr question);
  /// Whole lines without their newlines.
  void guest_said(std::string_view line);
  void server_said(std::string_view line);

  /// What is to be written next, lines with their newlines; the owner takes from the front.
  std::string to_server, to_guest;

  /// The guest has asked something that we have not seen, and its answer is still to come.
  void expect_unseen() { unseen_ = true; }
  /// The conversation cannot go on: all questions of ours, now and later, are answered by this error.
  void break_off(const std::string& why);
  bool is_broken() const { return broken_.has_value(); }

  /// Nothing is open, waiting, or to be written.
  bool is_idle() const;
  /// The guest has been given all that it has asked for, as far as we know.
  bool guest_has_nothing_open() const;
  /// Something is open that others may keep open for long: a request of the guest's, or a barrier.
  bool may_last() const;
  /// The guest has ended its conversation, and we have answered in place of the launcher.
  bool has_held_finalize() const { return held_finalize_; }

  /// An init whose answer is known is answered from here, and not sent; the guest's is sent if the
  /// launcher answers it again.
  const Greeting& greeting() const { return greeting_; }
  /// Record an answer to init that was read before this object saw it.
  void note_greeting(std::string_view line);
  void allow_second_init() { greeting_.is_repeatable = true; }

 private:
  struct Request {
    std::string kind;      ///< of its answer
    std::string text;      ///< with its newline; empty once it is sent
    QuestionPtr question;  ///< null: the guest's
  };
  bool must_wait(const Request& request, const std::list<Request>& ahead) const;
  void begin(Request request);
  bool is_answered_here(const Request& request) const;
  void answer_here(const Request& request);
  void send(Request request);
  void send_waiting();
  void unclaimed(const std::string& kind, std::string_view line);
  void reject(std::string_view line);

  std::list<Request> open_, waiting_;
  Greeting greeting_;
  bool in_several_ = false;  ///< the guest is in the midst of a request of several lines
  bool unseen_ = false;
  bool held_finalize_ = false;
  std::optional<std::string> broken_;
};

}  // namespace shim::bootstrap::pmi1
