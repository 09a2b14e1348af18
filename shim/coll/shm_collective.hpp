// SPDX-License-Identifier: BSD-3-Clause
// ShmCollective is a blocking collective on short data in the shm collective segment.
//
// Each member publishes its data and reads the others' (node/coll_segment.hpp). A collective
// therefore has one communication step: no member waits for data that another member must forward.
// If processes outnumber cores, each further step would cost a turn of all processes on the cores.
// Scans, in-place alltoallv and alltoallw, and scatters among more than two members send messages
// instead (docs/decisions/0036-shm-collective-segment.md).
//
// A round is one use of the segment by all members. If a communicator has a segment, all members
// run every blocking collective of the kinds below as a round, at any length, so that their round
// counts agree even if their lengths differ. A member with too much data publishes a fallback,
// which is a mark without data, and continues with messages. Its round stays open until these
// messages are complete, so that a member that waits for messages detects members that use the
// segment.
#pragma once

#include <algorithm>
#include <optional>

#include "shim/coll/algorithm_table.hpp"
#include "shim/coll/inline_collective.hpp"
#include "shim/coll/pipeline.hpp"
#include "shim/coll/taskless_collective.hpp"

namespace shim::coll {

/// True if parts of this many bytes in total fit a scatter buffer, from which each receiver reads
/// only its own part. Whether a member has a free scatter buffer is another question, which
/// ShmCollective::has_space_for_parts() answers.
inline bool parts_fit(std::uint64_t bytes) { return bytes <= node::kScatterBufferBytes; }

/// One shm collective, run by one member.
class ShmCollective : public TasklessCollective {
 public:
  /// @param rows the collective's, which outlive the object
  ShmCollective(const CollSeq& collective, node::ShmCollHandle& handle,
                std::span<const SegmentRow> rows)
      : TasklessCollective(collective), seq(collective), handle_(handle), rows_(rows) {}
  /// End the round, unless the collective continues with messages. May throw: it makes progress,
  /// which may run a user's function that ends the thread.
  ~ShmCollective() noexcept(false);
  ShmCollective(const ShmCollective&) = delete;
  ShmCollective& operator=(const ShmCollective&) = delete;

  const CollSeq& seq;

  /// Return where the table puts this member's data.
  SegmentPath path(std::uint64_t bytes, bool commutative = true) const {
    for (const SegmentRow& row : rows_)
      if (row.applies(call, bytes, commutative)) return row.path;
    return SegmentPath::messages;
  }
  /// True if the table puts data of this length into a medium buffer.
  bool fits(std::uint64_t bytes) const { return path(bytes) == SegmentPath::medium_buffer; }
  /// True if this member can publish parts of this many bytes in total.
  bool has_space_for_parts(std::uint64_t bytes) {
    return bytes <= node::kMediumBufferBytes || (parts_fit(bytes) && handle_.has_scatter_buffer());
  }

  // The following functions block until there is space or data, and do nothing after a failure.

  /// Publish data that fits(), for one reader.
  void publish(const types::ConstBuffer& data, int to) {
    if (write(data)) handle_.publish(data.bytes(), node::member(to));
  }
  void publish_to_all(const types::ConstBuffer& data) {
    if (write(data)) handle_.publish(data.bytes(), node::all_members(call.size));
  }
  /// Publish this many bytes, which write_to(memory) writes into the segment.
  template <typename Write>
  void publish_to_all(std::uint64_t bytes, const Write& write_to) {
    publish_to(node::all_members(call.size), bytes, write_to);
  }
  template <typename Write>
  void publish_to(node::MemberSet members, std::uint64_t bytes, const Write& write_to) {
    if (!await_free_space(bytes)) return;
    has_published_ = true;
    write_to(Bytes(handle_.buffer(bytes), bytes));
    handle_.publish(bytes, members);
  }
  /// Publish that this member continues with messages.
  void publish_fallback() {
    if (await_free_space(0)) handle_.publish_fallback();
  }
  /// Publish that this member sends its parts by messages, because it has no free scatter buffer.
  void publish_by_messages() {
    if (!await_free_space(0)) return;
    has_published_ = true;
    handle_.publish_by_messages();
  }
  /// Copy a part into the segment. If processes share cores, use ordinary stores even for long
  /// parts, because some readers run on this core and find the data in its cache.
  void write_part(Bytes to, ConstBytes part) {
    if (part.size() < base::CopyForOtherCore::kMinBytes || !execution_.engine().may_spin())
        [[likely]]
      base::copy_short(to.data(), part.data(), part.size());
    else
      handle_.copy_to_scatter_buffer(to.data(), part);
  }
  /// Send data to all members over a broadcast ring. Return false if there is no memory for the
  /// ring, true when done or after a failure.
  bool pipeline_to_all(const types::ConstBuffer& data);
  /// Exchange data with the other member of two, in both directions at once. Each member's data
  /// uses the segment, a ring or a message, depending on its length.
  /// @param in_place `in` and `out` are the same buffer
  void exchange(const types::ConstBuffer& out, const types::Buffer& in, bool in_place = false);
  /// Publish a fallback and return false, so that the caller continues with messages. For
  /// collectives with equal lengths on all members, where either all fall back or none does.
  bool fall_back() {
    publish_fallback();
    return false;
  }

  /// Wait until that member has published, and return its data; nullopt if the data is not in the
  /// segment but comes by a ring or messages, or after a failure.
  std::optional<ConstBytes> read(int from);
  /// As read(from), for data whose length is known and fits the segment. If that member's data is
  /// not in the segment, the lengths differ: record a mismatch and return nullopt.
  std::optional<ConstBytes> read(int from, std::uint64_t bytes);
  /// For two members whose lengths differ only in erroneous programs: as read(from, bytes), but if
  /// the other member sends a longer message, receive it without its data.
  std::optional<ConstBytes> read_or_refuse(int from, std::uint64_t bytes);
  /// As read_or_refuse(), but without a mismatch if the sender published that it sends the blocks
  /// by messages (publish_by_messages).
  std::optional<ConstBytes> read_blocks(int from, std::uint64_t bytes);
  /// True if that member published that messages carry its parts. Call it after read() returned
  /// nullopt.
  bool is_sent_by_messages(int from) const;
  /// Record that member `from` has published in this round, so that it no longer reads this
  /// member's scatter buffers of earlier rounds.
  void record_read(int from) { handle_.record_read(from); }
  /// Copy that member's published data, or this member's part of it, to its destination. If lengths
  /// differ, copy the shorter one and record a mismatch.
  void take(int from, ConstBytes published, const types::Buffer& into);
  /// Read all of that member's data and copy it to its destination.
  void take(int from, const types::Buffer& into) {
    if (const auto published = read(from, into.bytes())) take(from, *published, into);
  }

  /// Return the message that this member produces on a broadcast ring. Call it after read()
  /// returned nullopt.
  std::optional<node::PipelineMessage> pipeline_from(int from) const;
  /// Consume that message: copy it to its destination, or pass its first `wanted` bytes to `take`
  /// chunk by chunk. Record a mismatch if its length is not the expected or wanted one.
  void consume_pipeline(int from, const node::PipelineMessage& message, const types::Buffer& into);
  void consume_pipeline(int from, const node::PipelineMessage& message, std::uint64_t wanted,
                        const PipelineReader::ConsumeChunk& take);

  /// Record a mismatch if the lengths differ.
  void check_length(int from, std::uint64_t bytes, std::uint64_t expected);
  /// Record the result of messages that are part of this collective.
  void record_status(base::Status status);
  /// Leave the round open until coll::run has finished the messages.
  void continue_with_messages();
  bool has_failed() const { return execution_.has_failed(); }
  base::Status finish() { return execution_.take_result(); }

 private:
  template <typename Ready>
  bool await(int from, const Ready& ready, bool awaits_all = false);
  bool await_free_space(std::size_t bytes);
  bool begin_pipeline(int which, std::uint64_t bytes);
  bool exchange_pipelined(std::optional<PipelineWriter>& writer,
                          std::optional<PipelineReader>& reader, bool in_place);
  bool write(const types::ConstBuffer& data);

  node::ShmCollHandle& handle_;
  std::span<const SegmentRow> rows_;
  bool has_published_ = false;
};

/// Ends, for coll::run, the round of a collective that continued with messages.
class ShmCollectiveFallback {
 public:
  explicit ShmCollectiveFallback(Comm& comm)
      : comm_(comm), has_open_round_(comm.shm_coll_state().has_open_round) {}
  ~ShmCollectiveFallback() noexcept(false);  // see ~ShmCollective
  ShmCollectiveFallback(const ShmCollectiveFallback&) = delete;
  ShmCollectiveFallback& operator=(const ShmCollectiveFallback&) = delete;
  bool has_open_round() const { return has_open_round_; }
  /// Fail if another member has published anything but a fallback in the open round, because it
  /// sends no message, and this member waits for messages. Errors: truncate (lengths differ).
  base::Status check_mismatch() const;

 private:
  Comm& comm_;
  bool has_open_round_;
};

/// Eligible collectives before the members agree on a segment, as short-lived communicators need
/// none.
inline constexpr int kCollectivesBeforeSegment = 3;
/// Return the handle of the collective segment for this collective, or null if there is none. In
/// the communicator's first eligible collective after kCollectivesBeforeSegment others, the members
/// agree by messages on a segment, or on none.
base::Result<node::ShmCollHandle*> coll_handle_for(const CollSeq& seq);

/// Run body(shm), and return the finished task if body returns true or the collective has failed.
/// Return nullopt, so that the caller continues with messages, if body returns false or there is no
/// segment. For blocking collectives only.
template <typename Body>
std::optional<Task> try_shm_collective(const CollSeq& seq, std::span<const SegmentRow> rows,
                                       const Body& body) {
  base::Result<node::ShmCollHandle*> handle = coll_handle_for(seq);
  if (!handle) return Task::over(std::move(handle).error());
  if (*handle == nullptr) return std::nullopt;
  ShmCollective shm(seq, **handle, rows);
  try {
    if (body(shm) || shm.has_failed()) [[likely]]
      return Task::over(shm.finish());
    shm.continue_with_messages();
    return std::nullopt;
  } catch (const std::bad_alloc&) {
    return Task::over(no_memory());
  }
}

// Collectives in the segment. Each returns true if it is complete.
bool shm_barrier(ShmCollective& shm);
bool shm_bcast(ShmCollective& shm, const types::Buffer& data, int root);
/// own.type null: in place. `all` is significant at the root alone. `bytes`: of one block.
bool shm_gather(ShmCollective& shm, const types::ConstBuffer& own, const BlocksIn& all,
                std::uint64_t bytes, int root);
/// Gather blocks of which only the root knows all lengths. Each member decides by its own length
/// between segment and message; the root alone waits for all blocks.
bool shm_gatherv(ShmCollective& shm, const types::ConstBuffer& own, const BlocksIn& all, int root);
/// For two members only: among more, messages let the root run further ahead of the other members
/// than medium buffers do. `all` is significant at the root alone; own.type null: in place.
bool shm_scatter_pair(ShmCollective& shm, const BlocksOut& all, const types::Buffer& own, int root);
/// own.type null: in place. `longest`: bytes of the longest block.
bool shm_allgather(ShmCollective& shm, const types::ConstBuffer& own, const BlocksIn& all,
                   std::uint64_t longest);
/// All blocks have equal length.
bool shm_alltoall(ShmCollective& shm, const BlocksOut& out, const BlocksIn& in);
/// Exchange blocks of which only sender and receiver know the length. Among more than two members,
/// each one publishes its blocks if all of them fit together, else it sends them by messages; two
/// members use ShmCollective::exchange(). Always returns true.
bool shm_alltoallv(ShmCollective& shm, const BlocksOut& out, const BlocksIn& in);
bool shm_alltoallw(ShmCollective& shm, std::span<const types::ConstBuffer> out,
                   std::span<const types::Buffer> in);
bool shm_exchange(ShmCollective& shm, std::span<const OutgoingBlock> out,
                  std::span<const IncomingBlock> in);
/// own may equal result; result is null except at the root.
bool shm_reduce(ShmCollective& shm, const Operands& operands, const void* own, void* result,
                int root);
/// own may equal result.
bool shm_allreduce(ShmCollective& shm, const Operands& operands, const void* own, void* result);
/// operands.count: items of all blocks; result may be the start of own.
bool shm_reduce_scatter(ShmCollective& shm, const Operands& operands, const void* own, void* result,
                        const Integers& counts);

}  // namespace shim::coll
