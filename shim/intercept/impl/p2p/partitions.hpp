// SPDX-License-Identifier: BSD-3-Clause
// Implements partitioned communication on communicators of ours (MPI-4.1 §4.2).
//
// At its first start, a send request transmits its plan to the receiver: the user's tag, the
// request's number within this tag, number and size of the partitions, and the first of a range of
// tags, one for each partition. Each side numbers its requests of one peer and tag in creation
// order; a send and a receive with equal numbers match. If a request is freed before its first
// start, all later requests of its peer and tag move down by one number, unless one of them was
// started already. Each partition is a message on Plane::collective, with tags of its own, so
// that neither user messages nor collectives match it. The two sides may use partitions of
// different sizes.
#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "shim/intercept/handles/polled_request.hpp"
#include "shim/sessions/communicator.hpp"
#include "shim/sessions/process.hpp"

namespace shim::intercept {

/// Plan of a request that the sender transmits.
struct PartitionPlan {
  std::int32_t user_tag = 0, first_tag = 0;
  std::int64_t partitions = 0;
  std::uint64_t bytes = 0;  ///< of one partition
  std::uint64_t number = 0;
};

/// Numbers of the requests of one peer and tag that were not started yet.
class PartitionOrder {
 public:
  void add(const void* request) { unstarted_.push_back({request, next_++}); }
  /// Remove a request that is freed before its first start.
  void drop(const void* request);
  /// Record the first start and return the number, now final.
  std::uint64_t start(const void* request);

 private:
  struct Unstarted {
    const void* request;
    std::uint64_t number;
  };
  std::list<Unstarted> unstarted_;  ///< in ascending order of number
  std::uint64_t next_ = 0;
  std::uint64_t started_end_ = 0;  ///< above all numbers of started requests
};

class PartitionedReceive;

/// Matches sends and receives of one communicator. All functions: any thread.
class PartitionMatcher {
 public:
  explicit PartitionMatcher(sessions::Communicator& comm);
  ~PartitionMatcher();
  PartitionMatcher(const PartitionMatcher&) = delete;
  PartitionMatcher& operator=(const PartitionMatcher&) = delete;

  // Call in the order of MPI_Psend_init and MPI_Precv_init.
  void add_send(int dest, int tag, const void* send);
  void add_receive(int source, int tag, PartitionedReceive* receive);
  /// Transmit the plan at a send's first start, and return it. Errors: those of the engine.
  base::Result<PartitionPlan> announce(int dest, const void* send, PartitionPlan plan);
  /// Register a receive at its first start; its plan follows now or later. Errors: those of the
  /// engine.
  base::Status expect(int source, int tag, PartitionedReceive* receive);
  /// Remove a send before its first start.
  void drop_send(int dest, int tag, const void* send);
  /// Remove a receive. @param was_started true if it may wait for its plan
  void drop_receive(int source, int tag, const PartitionedReceive* receive, bool was_started);
  /// Match the plans that have been received.
  void advance();

  sessions::Communicator& comm() const { return comm_; }

 private:
  using SequenceKey = std::pair<int, std::uint64_t>;  ///< the user's tag, and the number
  struct Source {
    p2p::Request* word = nullptr;          ///< posted receive of the next plan; null if none
    PartitionPlan plan;                    ///< buffer of that receive
    std::map<int, PartitionOrder> orders;  ///< by tag
    std::map<SequenceKey, PartitionedReceive*> waiting;
    std::map<SequenceKey, PartitionPlan> unexpected;
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
using PartitionMatcherPtr = std::shared_ptr<PartitionMatcher>;

/// Return a communicator's matcher, made at its first partitioned request; destroyed with the
/// communicator's handle and the last request.
PartitionMatcherPtr partition_matcher(sessions::Communicator& comm);
void forget_partition_matcher(const sessions::Communicator* comm);

/// A partitioned send or receive. Both have the functions for MPI_Pready and MPI_Parrived; that of
/// the other direction returns an error, which the caller raises.
class PartitionedRequest : public PolledRequest {
 public:
  int describe(MPI_Status* status) override;
  void detach() override { delete this; }
  /// Errors: request (not a send, not active), arg (no such partition, marked already), those of
  /// the engine.
  virtual base::Status ready(int low, int high) = 0;
  /// Errors: request (not a receive), arg (no such partition).
  virtual base::Result<bool> has_arrived(int partition) = 0;

 protected:
  PartitionedRequest(PartitionMatcherPtr matcher, const types::Type& type, int partitions, int peer)
      : matcher_(std::move(matcher)),
        type_(types::keep(type)),
        partitions_(partitions),
        peer_(peer) {
    make_persistent();
  }
  ~PartitionedRequest() override { release_parts(); }
  base::Status check_partition(int partition) const;
  /// True if all started parts have completed. Their first error is the operation's.
  bool are_over() const;
  void end(const p2p::MessageStatus& outcome, std::optional<base::Error> error);
  void release_parts();
  p2p::Engine& engine() const { return matcher_->comm().engine(); }

  std::mutex mutex_;
  PartitionMatcherPtr matcher_;
  types::TypePtr type_;  ///< of the user's buffer
  const int partitions_, peer_;
  std::vector<p2p::Request*> parts_;  ///< messages in flight, by the sender's partition
};

class PartitionedSend final : public PartitionedRequest {
 public:
  PartitionedSend(PartitionMatcherPtr matcher, types::ConstBuffer data, int partitions, int dest,
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
  int first_tag_ = 0;  ///< valid after the first start
  bool was_started_ = false;
  int marked_ = 0;
};

class PartitionedReceive final : public PartitionedRequest {
 public:
  PartitionedReceive(PartitionMatcherPtr matcher, types::Buffer into, int partitions, int source,
                     int tag);
  ~PartitionedReceive() override;
  void advance() override;
  base::Status ready(int low, int high) override;
  base::Result<bool> has_arrived(int partition) override;
  /// Set the plan of the matching send.
  void set_plan(const PartitionPlan& plan);
  /// Record that no plan will come.
  void fail(base::Error error);

 private:
  base::Status on_start() override;
  base::Status post();
  void unpack();
  bool does_overlap(std::size_t part, int partition) const;
  std::uint64_t total() const {
    return static_cast<std::uint64_t>(plan_->partitions) * plan_->bytes;
  }
  /// True if messages can be received directly into the user's buffer.
  bool is_direct() const { return into_.type->contiguous && total() <= into_.bytes(); }

  types::Buffer into_;
  const int tag_;
  std::optional<PartitionPlan> plan_;
  bool posted_ = false;
  bool was_started_ = false;
  std::optional<base::Error> no_plan_;  ///< the reason, if no plan will come
  /// Staging buffer if messages cannot be received in place.
  std::vector<std::byte> staged_;
  std::vector<bool> unpacked_;
};

}  // namespace shim::intercept
