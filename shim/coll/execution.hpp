// SPDX-License-Identifier: BSD-3-Clause
// Execution runs one task and the tasks it awaits.
// It keeps the requests that the innermost task waits for.
#pragma once

#include <boost/container/small_vector.hpp>
#include <optional>

#include "shim/coll/coll.hpp"
#include "shim/coll/task.hpp"
#include "shim/p2p/p2p.hpp"

namespace shim::coll {

/// Requests in flight. Each is released to the engine when it is done.
class Requests {
 public:
  enum class Direction : std::uint8_t { send, receive };
  /// @param bytes expected length of the message
  void add(p2p::Request* request, Direction direction, std::uint64_t bytes) {
    posted_.push_back({request, bytes, direction});
  }
  /// Errors of completed operations: the first failure, and the first message of unexpected length
  /// (MPI-4.1 §6.1), which does not end the collective.
  struct Faults {
    std::optional<base::Error> failure, mismatch;
    void record(const base::Error& error);
    void check_length(const p2p::MessageStatus& outcome, std::uint64_t expected);
  };
  /// Release all completed requests and return their errors.
  Faults collect(p2p::Engine& engine);
  bool empty() const { return posted_.empty(); }
  /// List what the operations that are not done wait for; receives only, if there are any.
  void list_awaited(std::vector<p2p::Awaited>& awaited) const;
  bool has_any_done() const;

 private:
  struct PostedOperation {
    p2p::Request* request;
    std::uint64_t bytes;
    Direction direction;
  };
  static void check(const PostedOperation& posted, Faults& faults);
  boost::container::small_vector<PostedOperation, 8> posted_;
};

class Execution;

/// A blocking collective that waits for messages.
class CollectiveSubject final : public p2p::WaitSubject {
 public:
  CollectiveSubject(const p2p::Context& context, const Execution& execution)
      : context_(context), execution_(execution) {}
  void describe(p2p::WaitDescription& description) const override;

 private:
  const p2p::Context& context_;
  const Execution& execution_;
};

/// Longest time in seconds that a member whose collective failed waits until it has sent its
/// failure notices. Sending needs space in the other members' receive memory, which they free when
/// they poll.
inline constexpr double kFailureNoticeSeconds = 1;

/// Runs one task. Not thread-safe: the owner ensures that one thread at a time advances it. Not
/// movable, because frames point to it.
class Execution {
 public:
  /// How a task waits. blocking: inside the engine, if for a single message; else by suspension.
  /// watched: inside the engine for moments, if for a single receive; else by suspension, so that
  /// the driver can check why a wait takes long. suspended: always by suspension.
  enum class WaitMode : std::uint8_t { blocking, watched, suspended };
  Execution(Comm& comm, Task task, WaitMode mode);
  /// Construct without a task, to keep the errors of a collective that the caller runs itself.
  explicit Execution(Comm& comm) : engine_(comm.engine()), comm_(comm), mode_(WaitMode::blocking) {
    if (comm.has_failed()) [[unlikely]]
      fail(comm.failure());
  }
  /// Give the collective up if operations are still posted.
  ~Execution() {
    if (!requests_.empty()) [[unlikely]]
      give_up({base::ErrorClass::other, "a member left a collective before it completed"});
  }
  Execution(const Execution&) = delete;
  Execution& operator=(const Execution&) = delete;

  /// Run until the task waits for a message or ends. Return true if it has ended.
  bool advance();
  bool has_ended() const { return error_ || !innermost_; }
  /// Return the result after the end; call it once. After an error that ended the collective, first
  /// fail the other members' collectives, and wait until the notices are sent, but at most
  /// kFailureNoticeSeconds; in mode suspended the driver waits.
  base::Status take_result() {
    if (error_ || mismatch_) [[unlikely]]
      return take_error();
    if (comm_.local() != nullptr) [[unlikely]]
      SHIM_TRY(engine_.confirm_reads(comm_.local()->context()));
    return engine_.confirm_reads(comm_.context());
  }

  // --- for tasks
  p2p::Engine& engine() { return engine_; }
  /// Add a posted operation. A null request is complete.
  void post(base::Result<p2p::Request*> request, Requests::Direction direction,
            std::uint64_t bytes);
  /// Return the caller kind of posted operations.
  p2p::Caller caller() const {
    return mode_ == WaitMode::suspended ? p2p::Caller::returns_at_once
                                        : p2p::Caller::waits_for_several;
  }
  /// True if a task may block in the engine for its message: no other operation is posted, and no
  /// other thread advances this object.
  bool may_block() const { return mode_ == WaitMode::blocking && requests_.empty(); }
  /// True if a task may wait in the engine for moments: no other operation is posted.
  bool may_receive_at_once() const { return mode_ == WaitMode::watched && requests_.empty(); }
  /// Record the result of a completed send, or of a receive of `bytes` expected bytes.
  void take(const base::Status& sent);
  void take(const base::Result<p2p::MessageStatus>& received, std::uint64_t bytes);
  /// Continue the collective, so that the other members do not wait in vain, and end it with this
  /// error unless another error ends it.
  void continue_after(base::Error error);
  /// Record errors: a failure ends the collective, a mismatch does not.
  void take(Requests::Faults faults);
  /// Release completed operations and record their errors. True if all posted operations are done
  /// or one has failed.
  bool has_settled() { return requests_.empty() || collect(); }
  void list_awaited(std::vector<p2p::Awaited>& awaited) const { requests_.list_awaited(awaited); }
  /// Copy the local block to its position. If the lengths differ, copy the shorter one and record a
  /// mismatch.
  void copy_local(const types::ConstBuffer& from, const types::Buffer& to);
  /// Return the data to send: empty after a mismatch, because this member has nothing valid to
  /// forward; receivers learn of the error from the empty message.
  types::ConstBuffer to_send(const types::ConstBuffer& data) const {
    return mismatch_ ? types::ConstBuffer{nullptr, 0, data.type} : data;
  }
  /// End the collective with this error, unless an earlier error has ended it.
  void fail(base::Error error);
  bool has_failed() const { return error_.has_value(); }
  /// Resume this task next.
  void enter(Task::Handle task);

 private:
  bool collect();
  base::Status take_error();
  void give_up(const base::Error& reason);

  p2p::Engine& engine_;
  Comm& comm_;
  WaitMode mode_;
  Task outermost_;
  Task::Handle innermost_;  ///< next to resume; null after the end
  Requests requests_;
  std::optional<base::Error> error_;     ///< first error that ends the collective
  std::optional<base::Error> mismatch_;  ///< first error that does not
};

}  // namespace shim::coll
