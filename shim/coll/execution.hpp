// SPDX-License-Identifier: BSD-3-Clause
// Execution: drives one task and those it awaits, and keeps the requests that the innermost of them waits for.
#pragma once

#include <boost/container/small_vector.hpp>
#include <optional>

#include "shim/coll/coll.hpp"
#include "shim/coll/task.hpp"
#include "shim/p2p/p2p.hpp"

namespace shim::coll {

/// Requests in flight, each given back to the engine when it is done.
class Requests {
 public:
  enum class Way : std::uint8_t { send, receive };
  /// @param bytes how long the message has to be
  void add(p2p::Request* request, Way way, std::uint64_t bytes) { posted_.push_back({request, bytes, way}); }
  /// What went wrong with operations that are done: the first failure; and the first message of another length than its receiver
  /// expects (MPI-4.1 §6.1), which keeps nobody from going on.
  struct Faults {
    std::optional<base::Error> failure, mismatch;
    void note(const base::Error& error);
    void note_length(const p2p::Outcome& outcome, std::uint64_t expected);
  };
  /// Gives back what is done.
  Faults collect(p2p::Engine& engine);
  bool empty() const { return posted_.empty(); }
  bool has_any_done() const;

 private:
  struct Posted {
    p2p::Request* request;
    std::uint64_t bytes;
    Way way;
  };
  static void look_at(const Posted& posted, Faults& faults);
  boost::container::small_vector<Posted, 8> posted_;
};

/// For how long a member that has given a collective up waits until the others' memory has its notices. There is room as soon as their
/// processes look at their packets.
inline constexpr double kTellingSeconds = 1;

/// Not thread-safe: its owner sees to it that one thread at a time advances it. Does not move, because frames point to it.
class Execution {
 public:
  /// How its task waits: for a single message in the engine; in the engine for no more than moments, so that its driver sees all longer
  /// waits; or by being suspended whatever it waits for.
  enum class Way : std::uint8_t { blocking, watched, suspended };
  Execution(Comm& comm, Task task, Way way);
  /// Without a task: keeps the errors of a collective that its caller runs.
  explicit Execution(Comm& comm) : engine_(comm.engine()), comm_(comm), way_(Way::blocking) {
    if (comm.has_failed()) [[unlikely]] fail(comm.failure());
  }
  /// Of a collective that has not ended, or whose result nobody took: gives it up.
  ~Execution() {
    if (!requests_.empty()) [[unlikely]] give_up({base::ErrorClass::other, "a member has left a collective before its end"});
  }
  Execution(const Execution&) = delete;
  Execution& operator=(const Execution&) = delete;

  /// Runs until the task waits for a message or ends. True when it has ended.
  bool advance();
  bool has_ended() const { return error_ || !innermost_; }
  /// After the end: the error, if that is how it ended, and then the others have been told. The result is given once.
  base::Status take_result() {
    if (error_ || mismatch_) [[unlikely]] return take_error();
    if (comm_.local() != nullptr) [[unlikely]] SHIM_TRY(engine_.confirm_reads(comm_.local()->context()));
    return engine_.confirm_reads(comm_.context());
  }

  // --- for tasks
  p2p::Engine& engine() { return engine_; }
  /// A null request has nothing to wait for.
  void post(base::Result<p2p::Request*> request, Requests::Way way, std::uint64_t bytes);
  /// Of what is posted.
  p2p::Caller caller() const { return way_ == Way::suspended ? p2p::Caller::goes_on : p2p::Caller::waits_for_several; }
  /// Is a message that a task waits for best waited for at once? Nothing else is under way then, and nobody else advances this.
  bool may_block() const { return way_ == Way::blocking && requests_.empty(); }
  /// Likewise, for moments?
  bool may_receive_at_once() const { return way_ == Way::watched && requests_.empty(); }
  void take(const base::Status& sent);
  void take(const base::Result<p2p::Outcome>& received, std::uint64_t bytes);
  /// The collective goes on, so that the others do not wait for it in vain, and ends with this error if no other one ends it.
  void go_on_after(base::Error error);
  void take(Requests::Faults faults);
  /// All posted operations are done, or one of them failed.
  bool has_settled() { return requests_.empty() || collect(); }
  /// Our own block goes to its place; as much as both hold where they differ, which is a mismatch.
  void place(const types::ConstBuffer& from, const types::Buffer& to);
  /// What is sent of this data. Who has not got what it expected has nothing to pass on; from an empty message those who wait for it
  /// learn of that.
  types::ConstBuffer to_send(const types::ConstBuffer& data) const { return mismatch_ ? types::ConstBuffer{nullptr, 0, data.type} : data; }
  void fail(base::Error error);
  bool has_failed() const { return error_.has_value(); }
  void enter(Task::Handle task);

 private:
  bool collect();
  base::Status take_error();
  void give_up(const base::Error& reason);

  p2p::Engine& engine_;
  Comm& comm_;
  Way way_;
  Task outermost_;
  Task::Handle innermost_;   ///< the next to resume; null after the end
  Requests requests_;
  std::optional<base::Error> error_;     ///< the first one that ends the collective
  std::optional<base::Error> mismatch_;  ///< the first one that does not
};

}  // namespace shim::coll
