// SPDX-License-Identifier: BSD-3-Clause
#include "shim/transport/net/frame.hpp"

#include <cstring>
#include <span>

namespace shim::transport {

void FrameQueue::add(ContactFrame kind, ConstSpan first, ConstSpan second) {
  const FrameHead head{static_cast<std::uint32_t>(first.size() + second.size()), static_cast<std::uint32_t>(kind)};
  const ConstSpan head_bytes = std::as_bytes(std::span(&head, 1));
  for (ConstSpan part : {head_bytes, first, second}) bytes_.insert(bytes_.end(), part.begin(), part.end());
}

void FrameQueue::took(std::size_t bytes) {
  sent_ += bytes;
  if (is_empty()) clear();
}

void FrameQueue::clear() {
  bytes_ = {};  // with its memory: most contacts are used for a moment only
  sent_ = 0;
}

void FrameReader::add(ConstSpan bytes) {
  bytes_.erase(bytes_.begin(), bytes_.begin() + static_cast<std::ptrdiff_t>(taken_));
  taken_ = 0;
  bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
}

base::Result<std::optional<ReceivedFrame>> FrameReader::next(std::size_t longest) {
  const ConstSpan rest = ConstSpan(bytes_).subspan(taken_);
  FrameHead head;
  if (rest.size() < sizeof head) return std::optional<ReceivedFrame>();
  std::memcpy(&head, rest.data(), sizeof head);
  if (head.bytes > longest) return base::Error(base::ErrorClass::other, "what comes over a connection is no frame");
  if (rest.size() - sizeof head < head.bytes) return std::optional<ReceivedFrame>();
  taken_ += sizeof head + head.bytes;
  return std::optional(ReceivedFrame{static_cast<ContactFrame>(head.kind), rest.subspan(sizeof head, head.bytes)});
}

}  // namespace shim::transport
