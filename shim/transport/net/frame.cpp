// SPDX-License-Identifier: BSD-3-Clause
#include "shim/transport/net/frame.hpp"

#include <cstring>
#include <span>

namespace shim::transport {

FrameHead head_of(TcpFrameKind kind, ConstSpan first, ConstSpan second) {
  return {static_cast<std::uint32_t>(first.size() + second.size()),
          static_cast<std::uint32_t>(kind)};
}

void FrameQueue::add(TcpFrameKind kind, ConstSpan first, ConstSpan second) {
  const FrameHead head = head_of(kind, first, second);
  const ConstSpan head_bytes = std::as_bytes(std::span(&head, 1));
  for (ConstSpan part : {head_bytes, first, second})
    bytes_.insert(bytes_.end(), part.begin(), part.end());
}

void FrameQueue::consume(std::size_t bytes) {
  sent_ += bytes;
  if (is_empty()) clear();
}

void FrameQueue::clear() {
  bytes_ = {};  // free the memory: most peers are used only briefly
  sent_ = 0;
}

base::Result<std::optional<ReceivedFrame>> first_frame(ConstSpan bytes, std::size_t longest) {
  FrameHead head;
  if (bytes.size() < sizeof head) return std::optional<ReceivedFrame>();
  std::memcpy(&head, bytes.data(), sizeof head);
  if (head.bytes > longest)
    return base::Error(base::ErrorClass::other, "received an invalid frame");
  if (bytes.size() - sizeof head < head.bytes) return std::optional<ReceivedFrame>();
  return std::optional(
      ReceivedFrame{static_cast<TcpFrameKind>(head.kind), bytes.subspan(sizeof head, head.bytes)});
}

}  // namespace shim::transport
