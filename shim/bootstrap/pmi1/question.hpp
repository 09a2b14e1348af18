// SPDX-License-Identifier: BSD-3-Clause
// One request of ours to the launcher, and its answer when it comes.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "shim/bootstrap/pmi1/wire.hpp"

namespace shim::bootstrap::pmi1 {

/// Answered once, by whoever reads the connection. The asker may be gone by then.
class Question {
 public:
  explicit Question(std::string request)
      : request_(std::move(request)), answer_kind_(answer_to(*Line::parse({request_.data(), request_.size() - 1})).value()) {}

  const std::string& request() const { return request_; }
  const std::string& answer_kind() const { return answer_kind_; }
  bool is_barrier() const { return pmi1::is_barrier(answer_kind_); }

  /// Does not block; an answer can be taken once.
  std::optional<base::Result<Line>> take();
  /// At most this long (0: without end). Errors: those of the answer, and other where none comes in time.
  base::Result<Line> wait(double seconds);
  void answer(base::Result<Line> answer);

 private:
  base::Error not_answered(double seconds) const;

  const std::string request_;
  const std::string answer_kind_;
  std::mutex mutex_;
  std::condition_variable answered_;
  std::optional<base::Result<Line>> answer_;
};

using QuestionPtr = std::shared_ptr<Question>;

}  // namespace shim::bootstrap::pmi1
