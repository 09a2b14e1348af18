// SPDX-License-Identifier: BSD-3-Clause
// Questions to the PMIx server whose answers come on PMIx's own thread, at any time, or never.
#pragma once

#include <pmix_common.h>

#include <condition_variable>
#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "shim/bootstrap/bootstrap.hpp"
#include "shim/bootstrap/pmix/question_gate.hpp"

namespace shim::bootstrap::pmix {

/// What came back; which parts are used depends on the question.
struct Answer {
  pmix_status_t status = PMIX_ERROR;
  Bytes bytes;
  std::string text;
  std::vector<pmix_proc_t> processes;
};

class PostOffice;

/// One question. PMIx reads what it refers to until the answer comes, so the letter keeps it; it lives until the asker
/// has dropped it and the answer has come.
class Letter {
 public:
  // Written before the question is sent, not after.
  pmix_proc_t process{};
  std::string key;
  std::string qualifier;
  std::vector<pmix_proc_t> processes;
  std::vector<pmix_info_t> directives;
  std::vector<char*> keys;
  pmix_query_t query{};
  std::unique_ptr<QuestionGate::Passage> passage;  ///< of a question about one process; given back when the answer comes

  /// The answer, if it has come.
  std::optional<Answer> take();
  /// Waits for it, at most this long (0: without end).
  std::optional<Answer> wait(double seconds);

 private:
  friend class PostOffice;
  std::shared_ptr<PostOffice> office_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<Answer> answer_;
};

/// Keeps the letters that are on their way. Thread-safe.
class PostOffice : public std::enable_shared_from_this<PostOffice> {
 public:
  /// A letter that is on its way from now on; give letter.get() to PMIx as the callback's data.
  std::shared_ptr<Letter> write();
  /// For the callback: delivers. Also for an asker whose call did not start or was completed at once.
  static void deliver(void* letter, Answer answer);
  /// Forgets all letters on their way; only once PMIx is down and cannot deliver any more.
  void forget_all();

 private:
  std::mutex mutex_;
  std::unordered_map<Letter*, std::shared_ptr<Letter>> on_the_way_;
};

/// A directive for PMIx: a flag that is set, or a text that must outlive the question.
pmix_info_t flag(const char* key);
pmix_info_t text_info(const char* key, const std::string& text);

}  // namespace shim::bootstrap::pmix
