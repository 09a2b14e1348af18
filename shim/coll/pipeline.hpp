// SPDX-License-Identifier: BSD-3-Clause
// PipelineWriter and PipelineReader write and read one message on a broadcast ring, chunk by chunk.
// The ring is node/pipeline_ring.hpp.
#pragma once

#include <algorithm>
#include <functional>

#include "shim/coll/call.hpp"
#include "shim/node/coll_segment.hpp"

namespace shim::coll {

/// Writes a message that this member has announced (ShmCollHandle::publish_pipeline).
class PipelineWriter {
 public:
  PipelineWriter(node::ShmCollHandle& handle, int ring, const types::ConstBuffer& data,
                 base::Traffic traffic)
      : handle_(handle), ring_(handle.ring(ring)), data_(data), traffic_(traffic) {}

  bool is_over() const { return at_ == data_.bytes(); }
  std::uint64_t produced() const { return at_; }
  /// True if that member has consumed the data that the next chunk overwrites.
  bool has_space(int rank) const { return ring_.has_space(chunk(), rank); }
  /// Produce the next chunk. Requires has_space() for all other members.
  void produce() {
    const std::size_t bytes = chunk();
    if (data_.type->contiguous) [[likely]]
      ring_.copy_in(static_cast<const std::byte*>(data_.address) + at_, bytes, traffic_);
    else
      types::pack(*data_.type, data_.address, at_, {ring_.cursor(), bytes});
    ring_.produce(bytes);
    handle_.wake_all_members();
    at_ += bytes;
    if (is_over()) ring_.end_produce();
  }

 private:
  std::size_t chunk() const { return ring_.chunk_of(data_.bytes() - at_); }

  node::ShmCollHandle& handle_;
  node::PipelineRing& ring_;
  const types::ConstBuffer data_;
  const base::Traffic traffic_;
  std::uint64_t at_ = 0;
};

/// Reads another member's message. Consumes all of it, even beyond the wanted bytes, because the
/// writer waits for all readers.
class PipelineReader {
 public:
  /// Called with each wanted chunk and its offset in the message.
  using ConsumeChunk = std::function<void(std::uint64_t first, ConstBytes bytes)>;

  PipelineReader(node::ShmCollHandle& handle, int from, const node::PipelineMessage& message,
                 std::uint64_t wanted, ConsumeChunk chunk)
      : handle_(handle),
        ring_(handle.ring(static_cast<int>(message.ring))),
        from_(from),
        length_(message.length),
        wanted_(wanted),
        consume_(std::move(chunk)) {
    ring_.begin_consume(message.begin);
    handle_.wake_member(from_);
  }

  bool is_over() const { return at_ == length_; }
  /// Return the offset at which the next chunk ends.
  std::uint64_t end_of_next() const { return at_ + chunk(); }
  bool has_next() const { return ring_.has(chunk()); }
  void consume() {
    const std::size_t bytes = chunk();
    if (at_ < wanted_)
      consume_(at_, {ring_.cursor(),
                     static_cast<std::size_t>(std::min<std::uint64_t>(bytes, wanted_ - at_))});
    ring_.consume(bytes);
    handle_.wake_member(from_);
    at_ += bytes;
  }

 private:
  std::size_t chunk() const { return ring_.chunk_of(length_ - at_); }

  node::ShmCollHandle& handle_;
  node::PipelineRing& ring_;
  int from_;
  std::uint64_t length_, wanted_, at_ = 0;
  ConsumeChunk consume_;
};

}  // namespace shim::coll
