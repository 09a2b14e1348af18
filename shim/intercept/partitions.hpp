// SPDX-License-Identifier: BSD-3-Clause
// Partitioned communication on communicators of ours, MPI-4.1 §4.2.
//
// At its first start a send tells the receiver: the user's tag, the number of the request among
// those of this tag, how many partitions of how many bytes, and the first of a run of tags, one a
// partition. Both sides number their requests of one peer and tag in the order in which they were
// made; equal numbers match. A request that is freed before its first start has no match and gives
// its number to the next one, unless a later one was started already. Every partition then is a
// message of its own, in the plane of collectives, from where neither the user's messages nor
// collectives are seen; each side counts partitions in its own way.
#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "shim/intercept/own_request.hpp"
#include "shim/sessions/communicator.hpp"
#include "shim/sessions/process.hpp"

namespace shim::intercept {

/// What the sender says of a request.
struct PartitionPlan {
  std::int32_t user_tag = 0, first_tag = 0;
  std::int64_t partitions = 0;
  std::uint64_t bytes = 0;  ///< of one partition
  std::uint64_t number = 0;
};

/// The numbers of the requests of one peer and tag that were not started yet.
class PartitionOrder {
 public:
  void add(const void* request) { unstarted_.push_back({request, next_++}); }
  /// Freed before its first start.
  void drop(const void* request);
  /// First start: the number is final.
  std::uint64_t start(const void* request);

 private:
  struct Unstarted {
    const void* request;
    std::uint64_t number;
  };
  std::list<Unstarted> unstarted_;  ///< by number
  std::uint64_t next_ = 0;
  std::uint64_t started_end_ = 0;   ///< above all numbers of started requests
};

class PartitionedReceive;

/// Who belongs to whom on one communicator. All functions from any thread.
class PartitionBoard {
 public:
  explicit PartitionBoard(sessions::Communicator& comm);
  ~PartitionBoard();
  PartitionBoard(const PartitionBoard&) = delete;
  PartitionBoard& operator=(const PartitionBoard&) = delete;

  // In the order of MPI_Psend_init and MPI_Precv_init.
  void add_send(int dest, int tag, const void* send);
  void add_receive(int source, int tag, PartitionedReceive* receive);
  /// First start of a send: tells the receiver. Answers the plan. Errors: those of the engine.
  base::Result<PartitionPlan> announce(int dest, const void* send, PartitionPlan plan);
  /// First start of a receive: it gets its plan, now or later. Errors: those of the engine.
  base::Status expect(int source, int tag, PartitionedReceive* receive);
  /// The request goes before its first start.
  void drop_send(int dest, int tag, const void* send);
  /// The request goes. @param was_started it may wait for its plan
  void drop_receive(int source, int tag, const PartitionedReceive* receive, bool was_started);
  /// Looks whether plans have come.
  void advance();

  sessions::Communicator& comm() const { return comm_; }

 private:
  using Place = std::pair<int, std::uint64_t>;  ///< the user's tag, and the number
  struct Source {
    p2p::Request* word = nullptr;  ///< the receive of the next plan from there
    PartitionPlan plan;            ///< where it is received to
    std::map<int, PartitionOrder> orders;  ///< by tag
    std::map<Place, PartitionedReceive*> waiting;
    std::map<Place, PartitionPlan> unexpected;
  };
  struct Destination {
    std::map<int, PartitionOrder> orders;  ///< by tag
    std::uint32_t tags_taken = 0;
  };
  base::Status listen(int rank, Source& source);
  static void match(Source& source, const PartitionPlan& plan);

  sessions::Communicator& comm_;
  std::uint64_t progress_ = 0;
  std::mutex mutex_;
  std::map<int, Source> sources_;
  std::map<int, Destination> destinations_;
};
using PartitionBoardPtr = std::shared_ptr<PartitionBoard>;

/// That of a communicator, made at its first partitioned request; it goes with the communicator's handle and the last request.
PartitionBoardPtr partition_board(sessions::Communicator& comm);
void forget_partition_board(const sessions::Communicator* comm);

/// MPI_Pready and MPI_Parrived for both directions; errors of state and of partitions are for the caller to raise.
class PartitionedRequest : public OwnRequest {
 public:
  int describe(MPI_Status* status) override;
  void let_go() override { delete this; }
  /// Errors: request (not a send, not active), arg (no such partition, marked already), those of the engine.
  virtual base::Status ready(int low, int high) = 0;
  /// Errors: request (not a receive), arg (no such partition).
  virtual base::Result<bool> has_arrived(int partition) = 0;

 protected:
  PartitionedRequest(PartitionBoardPtr board, const types::Type& type, int partitions, int peer)
      : board_(std::move(board)), type_(types::keep(type)), partitions_(partitions), peer_(peer) { make_persistent(); }
  ~PartitionedRequest() override { release_parts(); }
  base::Status check_partition(int partition) const;
  /// Of the parts that were started: are all over? The first error among them is the operation's.
  bool are_over() const;
  void end(const p2p::Outcome& outcome, std::optional<base::Error> error);
  void release_parts();
  p2p::Engine& engine() const { return board_->comm().engine(); }

  std::mutex mutex_;
  PartitionBoardPtr board_;
  types::TypePtr type_;  ///< of the user's buffer, kept
  const int partitions_, peer_;
  std::vector<p2p::Request*> parts_;  ///< messages under way, by partition of the sender
};

class PartitionedSend final : public PartitionedRequest {
 public:
  PartitionedSend(PartitionBoardPtr board, types::ConstBuffer data, int partitions, int dest,
                  int tag);
  ~PartitionedSend() override;
  void advance() override;
  base::Status ready(int low, int high) override;
  base::Result<bool> has_arrived(int partition) override;

 private:
  base::Status on_start() override;
  base::Status send(int partition);

  types::ConstBuffer data_;
  const int tag_;
  int first_tag_ = 0;  ///< known from the first start on
  bool was_started_ = false;
  int marked_ = 0;
};

class PartitionedReceive final : public PartitionedRequest {
 public:
  PartitionedReceive(PartitionBoardPtr board, types::Buffer into, int partitions, int source,
                     int tag);
  ~PartitionedReceive() override;
  void advance() override;
  base::Status ready(int low, int high) override;
  base::Result<bool> has_arrived(int partition) override;
  /// The board has found its sender.
  void set_plan(const PartitionPlan& plan);
  /// No plan will come.
  void fail(base::Error error);

 private:
  base::Status on_start() override;
  base::Status post();
  void unpack();
  bool does_overlap(std::size_t part, int partition) const;
  std::uint64_t total() const { return static_cast<std::uint64_t>(plan_->partitions) * plan_->bytes; }
  /// Can messages be received into their places?
  bool is_direct() const { return into_.type->contiguous && total() <= into_.bytes(); }

  types::Buffer into_;
  const int tag_;
  std::optional<PartitionPlan> plan_;
  bool posted_ = false;
  bool was_started_ = false;
  std::optional<base::Error> no_plan_;  ///< why none will come
  std::vector<std::byte> staged_;    ///< where messages wait that cannot be received into their places
  std::vector<bool> unpacked_;
};

}  // namespace shim::intercept
