// SPDX-License-Identifier: BSD-3-Clause
// Partitioned communication on communicators of ours, MPI-4.1 §4.2.
//
// The sender tells the receiver of each request when it is made: the user's tag, how many partitions of how many bytes, and the first of
// a run of tags, one a partition. Requests match by the order of these words and that of the receiver's own requests, for the same
// tag. Every partition then is a message of its own, in the plane of collectives, from where neither the user's messages nor
// collectives are seen; each side counts partitions in its own way.
#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
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
};

class PartitionedReceive;

/// Who belongs to whom on one communicator. All functions from any thread.
class PartitionBoard {
 public:
  explicit PartitionBoard(sessions::Communicator& comm);
  ~PartitionBoard();
  PartitionBoard(const PartitionBoard&) = delete;
  PartitionBoard& operator=(const PartitionBoard&) = delete;

  /// Tells the receiver of a request of so many partitions. Answers the plan.
  base::Result<PartitionPlan> announce(int dest, PartitionPlan plan);
  /// A receive waits for its plan. Given back while it waits, its place is kept: it matches all the same (forget()).
  base::Status expect(int source, int tag, PartitionedReceive* receive);
  void forget(PartitionedReceive* receive);
  /// Looks whether plans have come.
  void advance();

  sessions::Communicator& comm() const { return comm_; }

 private:
  struct Waiting {
    int tag;
    PartitionedReceive* receive;  ///< null: given back
  };
  struct Source {
    p2p::Request* word = nullptr;  ///< the receive of the next plan from there
    PartitionPlan plan;            ///< where it is received to
    std::list<Waiting> waiting;    ///< in the order of MPI_Precv_init
    std::list<PartitionPlan> unexpected;
  };
  base::Status listen(int rank, Source& source);
  void match(Source& source, const PartitionPlan& plan);

  sessions::Communicator& comm_;
  std::uint64_t progress_ = 0;
  std::mutex mutex_;
  std::map<int, Source> sources_;
  std::map<int, std::uint32_t> tags_taken_;  ///< by destination
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
  /// Errors: those of the engine.
  static base::Result<PartitionedSend*> make(PartitionBoardPtr board, types::ConstBuffer data, int partitions, int dest, int tag);
  void advance() override;
  base::Status ready(int low, int high) override;
  base::Result<bool> has_arrived(int partition) override;

 private:
  PartitionedSend(PartitionBoardPtr board, types::ConstBuffer data, int partitions, int dest, int first_tag)
      : PartitionedRequest(std::move(board), *data.type, partitions, dest), data_(data), first_tag_(first_tag) {}
  base::Status on_start() override;
  base::Status send(int partition);

  types::ConstBuffer data_;
  const int first_tag_;
  int marked_ = 0;
};

class PartitionedReceive final : public PartitionedRequest {
 public:
  static base::Result<PartitionedReceive*> make(PartitionBoardPtr board, types::Buffer into, int partitions, int source, int tag);
  void advance() override;
  base::Status ready(int low, int high) override;
  base::Result<bool> has_arrived(int partition) override;
  /// The board has found its sender.
  void set_plan(const PartitionPlan& plan);

 private:
  PartitionedReceive(PartitionBoardPtr board, types::Buffer into, int partitions, int source, int tag)
      : PartitionedRequest(std::move(board), *into.type, partitions, source), into_(into), tag_(tag) {}
  ~PartitionedReceive() override;
  base::Status on_start() override;
  base::Status post();
  void unpack();
  std::uint64_t total() const { return static_cast<std::uint64_t>(plan_->partitions) * plan_->bytes; }
  /// Can messages be received into their places?
  bool is_direct() const { return into_.type->contiguous && total() <= into_.bytes(); }

  types::Buffer into_;
  const int tag_;
  std::optional<PartitionPlan> plan_;
  bool posted_ = false;
  std::vector<std::byte> staged_;    ///< where messages wait that cannot be received into their places
  std::vector<bool> unpacked_;
};

}  // namespace shim::intercept
