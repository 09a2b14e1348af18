// SPDX-License-Identifier: BSD-3-Clause
// Between items in memory and the stream of their data without holes.
#include <algorithm>
#include <cstring>

#include "shim/types/types.hpp"

namespace shim::types {
namespace {

// Calls visit(offset in memory, offset in the part, bytes) for each run of data that the part [first, first + bytes) of the
// stream touches, in order.
template <typename Visit>
void for_each_run(const Type& type, std::uint64_t first, std::uint64_t bytes, Visit visit) {
  std::uint64_t done = 0;
  auto item = static_cast<std::int64_t>(first / type.size);
  std::uint64_t skip = first % type.size;
  for (; done < bytes; ++item) {
    for (const Piece& piece : type.pieces) {
      if (skip >= piece.bytes) {
        skip -= piece.bytes;
        continue;
      }
      std::uint64_t length = std::min(piece.bytes - skip, bytes - done);
      visit(item * type.extent + piece.offset + static_cast<std::int64_t>(skip), done, length);
      done += length;
      skip = 0;
      if (done == bytes) return;
    }
  }
}

}  // namespace

void pack(const Type& type, const void* items, std::uint64_t first, std::span<std::byte> out) {
  if (out.empty()) return;
  auto* memory = static_cast<const std::byte*>(items);
  if (type.contiguous) {
    std::memcpy(out.data(), memory + first, out.size());
    return;
  }
  for_each_run(type, first, out.size(), [&](std::int64_t from, std::uint64_t to, std::uint64_t bytes) {
    std::memcpy(out.data() + to, memory + from, bytes);
  });
}

void unpack(const Type& type, std::span<const std::byte> in, std::uint64_t first, void* items) {
  if (in.empty()) return;
  auto* memory = static_cast<std::byte*>(items);
  if (type.contiguous) {
    std::memcpy(memory + first, in.data(), in.size());
    return;
  }
  for_each_run(type, first, in.size(), [&](std::int64_t to, std::uint64_t from, std::uint64_t bytes) {
    std::memcpy(memory + to, in.data() + from, bytes);
  });
}

void copy(const Type& type, const void* from, void* to, std::uint64_t count) {
  if (count * type.size == 0) return;
  auto* source = static_cast<const std::byte*>(from);
  auto* target = static_cast<std::byte*>(to);
  if (type.contiguous) {
    std::memcpy(target, source, count * type.size);
    return;
  }
  for_each_run(type, 0, count * type.size, [&](std::int64_t at, std::uint64_t, std::uint64_t bytes) {
    std::memcpy(target + at, source + at, bytes);
  });
}

}  // namespace shim::types
