// SPDX-License-Identifier: BSD-3-Clause
#include "shim/coll/shm_collective.hpp"

#include <algorithm>
#include <string>

#include "shim/base/clock.hpp"
#include "shim/base/copy_between_cores.hpp"

namespace shim::coll {
namespace {

// Slightly longer than another core takes to publish in reply. If no core is free, a member does
// not spin.
constexpr int kSpinsBeforeWait = 100;

/// Message by which rank 0, the host, broadcasts where the collective segment is, if there is one.
struct SegmentOffer {
  std::uint32_t is_there = 0;
  node::ShmCollSegmentId segment_id{};
};

bool may_use_segment(const Comm& comm) {
  return comm.local() == nullptr && comm.size() > 1 && comm.size() <= node::kMaxShmCollMembers &&
         comm.sharing() != MemorySharing::nothing;
}

base::Status agree(const CollSeq& seq) {
  Comm& comm = *seq.comm;
  SegmentOffer offer;
  if (comm.rank() == 0) {
    if (const auto segment_id = comm.locality()->allocate_coll_segment()) offer = {1, *segment_id};
  }
  InlineCollective collective(seq);
  bcast_inline(collective, Call::buffer(std::as_writable_bytes(std::span(&offer, 1))), 0);
  SHIM_TRY(collective.finish());
  comm.shm_coll_state().is_agreed = true;
  if (offer.is_there != 0)
    comm.shm_coll_state().handle = comm.locality()->open_coll_segment(offer.segment_id);
  return {};
}

base::Error length_mismatch(int from, const std::string& what) {
  return {base::ErrorClass::truncate, "rank " + std::to_string(from) + " sent " + what};
}

void end_round(Comm& comm) {
  comm.shm_coll_state().has_open_round = false;
  // A member that always finds its data in the segment never polls; make progress now and then.
  if (comm.shm_coll_state().handle->end_round()) static_cast<void>(comm.engine().progress());
}

}  // namespace

base::Result<node::ShmCollHandle*> coll_handle_for(const CollSeq& seq) {
  Comm& comm = *seq.comm;
  Comm::ShmCollState& state = comm.shm_coll_state();
  if (!state.is_agreed) [[unlikely]] {
    if (!may_use_segment(comm))
      state.is_agreed = true;
    else if (state.collectives_without_segment++ >= kCollectivesBeforeSegment)
      SHIM_TRY(agree(seq));
  }
  if (state.has_open_round) [[unlikely]]
    end_round(comm);  // of a collective that fell back and whose task was never run
  return state.handle.get();
}

ShmCollective::~ShmCollective() noexcept(false) {
  if (!seq.comm->shm_coll_state().has_open_round) end_round(*seq.comm);
}

void ShmCollective::continue_with_messages() { seq.comm->shm_coll_state().has_open_round = true; }

namespace {

/// A blocking collective in a segment that waits for a member. Once this member has published, it
/// waits for data of members that publish in this round, too; name all that have not.
class ShmCollectiveSubject final : public p2p::WaitSubject {
 public:
  ShmCollectiveSubject(const p2p::Context& context, const node::ShmCollHandle& handle, int awaited,
                       bool awaits_all)
      : context_(context), handle_(handle), awaited_(awaited), awaits_all_(awaits_all) {}
  void describe(p2p::WaitDescription& description) const override {
    for (int rank = 0; rank < handle_.size(); ++rank) {
      const bool is_missing = awaits_all_ && rank != handle_.rank() &&
                              !handle_.contribution_of(rank);
      if (rank == awaited_ || is_missing)
        description.awaited.push_back(
            {.context = &context_, .rank = rank, .plane = p2p::Plane::collective});
    }
  }

 private:
  const p2p::Context& context_;
  const node::ShmCollHandle& handle_;
  int awaited_;
  bool awaits_all_;
};

}  // namespace

template <typename Ready>
bool ShmCollective::await(int from, const Ready& ready, bool awaits_all) {
  if (ready()) return true;
  if (has_failed()) return false;
  for (int i = execution_.engine().may_spin() ? kSpinsBeforeWait : 0; i > 0; --i) {
    if (ready()) return true;
  }
  ShmCollectiveSubject subject(*call.context, handle_, from, awaits_all);
  if (auto waited = execution_.engine().wait_for(*call.context, from, ready, subject); !waited)
    execution_.fail(std::move(waited).error());
  return !has_failed();
}

bool ShmCollective::await_free_space(std::size_t bytes) {
  if (handle_.has_space(bytes)) [[likely]]
    return !has_failed();
  for (int rank = 0; rank < call.size; ++rank) {
    if (rank != call.rank && !await(rank, [&] { return handle_.has_space(bytes, rank); }))
      return false;
  }
  return handle_.has_space(bytes);  // updates its cached count
}

bool ShmCollective::write(const types::ConstBuffer& data) {
  const std::size_t bytes = data.bytes();
  if (!await_free_space(bytes)) return false;
  has_published_ = true;
  if (data.type->contiguous) [[likely]]
    base::copy_short(handle_.buffer(bytes), data.address, bytes);
  else
    types::pack(*data.type, data.address, 0, Bytes(handle_.buffer(bytes), bytes));
  return true;
}

/// Publish that this member writes a message to this ring. Return false if there is no memory for
/// the ring, or after a failure.
bool ShmCollective::begin_pipeline(int which, std::uint64_t bytes) {
  has_published_ = await_free_space(0) && handle_.publish_pipeline(which, bytes);
  return has_published_;
}

bool ShmCollective::pipeline_to_all(const types::ConstBuffer& data) {
  if (!begin_pipeline(0, data.bytes())) return has_failed();
  for (PipelineWriter writer(handle_, 0, data, base::Traffic::unidirectional); !writer.is_over();
       writer.produce()) {
    for (int rank = 0; rank < call.size; ++rank)
      if (rank != call.rank && !await(rank, [&] { return writer.has_space(rank); })) return true;
  }
  return true;
}

std::optional<node::PipelineMessage> ShmCollective::pipeline_from(int from) const {
  const auto found = handle_.contribution_of(from);
  return found ? found->pipelined : std::nullopt;
}

void ShmCollective::consume_pipeline(int from, const node::PipelineMessage& message,
                                     std::uint64_t wanted,
                                     const PipelineReader::ConsumeChunk& take) {
  check_length(from, message.length, wanted);
  for (PipelineReader reader(handle_, from, message, wanted, take); !reader.is_over();
       reader.consume()) {
    if (!await(from, [&] { return reader.has_next(); })) return;
  }
}

namespace {

/// Return a function that copies chunks to their destination. It is small enough for a
/// std::function without allocation, because the other member is waiting already.
PipelineReader::ConsumeChunk into_place(const types::Buffer& into) {
  return [&into](std::uint64_t first, ConstBytes bytes) {
    if (into.type->contiguous) [[likely]]
      base::copy_from_other_core(static_cast<std::byte*>(into.address) + first, bytes.data(),
                                 bytes.size());
    else
      types::unpack(*into.type, bytes, first, into.address);
  };
}

}  // namespace

void ShmCollective::consume_pipeline(int from, const node::PipelineMessage& message,
                                     const types::Buffer& into) {
  consume_pipeline(from, message, into.bytes(), into_place(into));
}

/// Produce and consume by turns, whichever is possible. In place, do not overwrite data that is
/// still to be produced. Return false after a failure.
bool ShmCollective::exchange_pipelined(std::optional<PipelineWriter>& writer,
                                       std::optional<PipelineReader>& reader, bool in_place) {
  const auto is_producing = [&] { return writer && !writer->is_over(); };
  const auto is_consuming = [&] { return reader && !reader->is_over(); };
  const auto can_produce = [&] { return is_producing() && writer->has_space(1 - call.rank); };
  const auto can_consume = [&] {
    return is_consuming() && reader->has_next() &&
           (!in_place || !is_producing() || reader->end_of_next() <= writer->produced());
  };
  while (is_producing() || is_consuming()) {
    if (!await(1 - call.rank, [&] { return can_produce() || can_consume(); })) return false;
    if (can_produce()) writer->produce();
    if (can_consume()) reader->consume();
  }
  return true;
}

void ShmCollective::exchange(const types::ConstBuffer& out, const types::Buffer& in,
                             bool in_place) {
  const int other = 1 - call.rank;
  std::optional<PipelineWriter> writer;
  std::optional<PipelineReader> reader;
  std::optional<InlineCollective> messages;
  const SegmentPath chosen = path(out.bytes());
  if (chosen == SegmentPath::medium_buffer)
    publish(out, other);
  else if (chosen == SegmentPath::broadcast_ring && begin_pipeline(call.rank, out.bytes()))
    writer.emplace(handle_, call.rank, out, base::Traffic::both_ways);
  else
    publish_fallback();
  const bool sends_message = chosen != SegmentPath::medium_buffer && !writer;
  const auto published = read(other);
  if (has_failed()) return;
  const auto message = published ? std::nullopt : pipeline_from(other);
  if (sends_message)
    messages.emplace(seq).post_send(
        out, other,
        in_place ? InlineCollective::Buffering::copy : InlineCollective::Buffering::nothing);
  if (message) {
    check_length(other, message->length, in.bytes());
    reader.emplace(handle_, other, *message, in.bytes(), into_place(in));
  }
  if (!exchange_pipelined(writer, reader, in_place)) return;
  if (published) {
    take(other, *published, in);
  } else if (!message) {
    if (!messages) messages.emplace(seq);
    if (in.bytes() == 0)
      messages->refuse(other);
    else
      messages->post_receive(in, other);
  }
  if (messages) record_status(messages->finish());
}

std::optional<ConstBytes> ShmCollective::read(int from) {
  handle_.record_wait();
  std::optional<node::ShmCollHandle::Contribution> found = handle_.contribution_of(from);
  const auto try_read = [&] { return (found = handle_.contribution_of(from)).has_value(); };
  if (found)
    handle_.prefetch_next(from);
  else if (!await(from, try_read, has_published_))
    return std::nullopt;
  if (!found->in_segment) return std::nullopt;
  return found->bytes;
}

std::optional<ConstBytes> ShmCollective::read(int from, std::uint64_t bytes) {
  auto published = read(from);
  if (published || has_failed()) [[likely]]
    return published;
  execution_.continue_after(
      length_mismatch(from, "more than the expected " + std::to_string(bytes) + " bytes"));
  if (const auto message = pipeline_from(from))
    consume_pipeline(from, *message, bytes,
                     [](std::uint64_t, ConstBytes) {});  // the writer waits for all readers
  // so that a member that fell back and sends to this one detects the mismatch (check_mismatch)
  if (!has_published_) publish_to_all(0, [](Bytes) {});
  return std::nullopt;
}

std::optional<ConstBytes> ShmCollective::read_blocks(int from, std::uint64_t bytes) {
  auto published = read(from);
  if (published || has_failed() || is_sent_by_messages(from)) [[likely]]
    return published;
  return read_or_refuse(from, bytes);
}

bool ShmCollective::is_sent_by_messages(int from) const {
  const auto found = handle_.contribution_of(from);
  return found && found->by_messages;
}

std::optional<ConstBytes> ShmCollective::read_or_refuse(int from, std::uint64_t bytes) {
  auto published = read(from, bytes);
  if (published || has_failed() || call.size != 2 || pipeline_from(from)) [[likely]]
    return published;
  InlineCollective messages(seq);
  messages.refuse(from);
  record_status(messages.finish());
  return std::nullopt;
}

void ShmCollective::take(int from, ConstBytes published, const types::Buffer& into) {
  if (published.size() == into.bytes()) [[likely]]
    return copy_local(Call::buffer(published), into);
  check_length(from, published.size(), into.bytes());
  copy_across(Call::buffer(published), into);
}

void ShmCollective::check_length(int from, std::uint64_t bytes, std::uint64_t expected) {
  if (bytes == expected) return;
  execution_.continue_after(length_mismatch(
      from, std::to_string(bytes) + " bytes, expected " + std::to_string(expected) + " bytes"));
}

void ShmCollective::record_status(base::Status status) {
  if (status) return;
  Requests::Faults faults;
  faults.record(status.error());
  execution_.take(std::move(faults));
}

ShmCollectiveFallback::~ShmCollectiveFallback() noexcept(false) {
  if (has_open_round_) end_round(comm_);
}

base::Status ShmCollectiveFallback::check_mismatch() const {
  const node::ShmCollHandle& handle = *comm_.shm_coll_state().handle;
  for (int rank = 0; rank < comm_.size(); ++rank) {
    const auto found = handle.contribution_of(rank);
    if (found && (found->in_segment || found->by_messages) && rank != comm_.rank())
      return base::Error(
          base::ErrorClass::truncate,
          "rank " + std::to_string(rank) + " contributes fewer bytes than this process, at most " +
              std::to_string(node::kScatterBufferBytes) + "; pass the same lengths on all members");
    if (found && found->pipelined && rank != comm_.rank())
      return base::Error(base::ErrorClass::truncate,
                         "rank " + std::to_string(rank) + " contributes " +
                             std::to_string(found->pipelined->length) +
                             " bytes for all members, but this process expects other lengths; "
                             "pass the same lengths on all members");
  }
  return {};
}

}  // namespace shim::coll
