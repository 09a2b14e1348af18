// SPDX-License-Identifier: BSD-3-Clause
// Keeps questions about one process and questions about the whole job apart.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>

#include "shim/base/clock.hpp"

namespace shim::bootstrap::pmix {

/// PMIx's client sends no question about a process while one about the whole job (PMIX_RANK_WILDCARD) is under way, and the other
/// way round: it expects the answer that is coming to serve both, but gives it to those who named the very same rank. The other
/// question, and all later ones about its process, are never answered (PMIx 4.2.2; openpmix pull request 4197 tells it in full).
/// So whoever asks about a process passes through here, and the gate is closed while somebody may ask about the job. Thread-safe.
class QuestionGate : public std::enable_shared_from_this<QuestionGate> {
 public:
  /// From before a question about a process is sent until it has been answered.
  class Passage {
   public:
    explicit Passage(std::shared_ptr<QuestionGate> gate) : gate_(std::move(gate)) {}
    Passage(const Passage&) = delete;
    Passage& operator=(const Passage&) = delete;
    ~Passage() { gate_->leave(); }

   private:
    const std::shared_ptr<QuestionGate> gate_;
  };

  /// Null while the gate is closed: to be tried again later.
  std::unique_ptr<Passage> enter();

  /// Closes the gate until it is reopened, for `seconds` at most, and waits for those inside to leave, no longer than that.
  void close_for(double seconds);
  void reopen();

 private:
  void leave();

  std::mutex mutex_;
  std::condition_variable changed_;
  int inside_ = 0;
  std::optional<base::Deadline> closed_until_;
};

}  // namespace shim::bootstrap::pmix
