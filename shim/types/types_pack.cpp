// SPDX-License-Identifier: BSD-3-Clause
// Copies between items in memory and the stream of their data without holes.
#include <algorithm>
#include <cstring>

#include "shim/base/copy.hpp"
#include "shim/types/layout_walk.hpp"
#include "shim/types/types.hpp"

namespace shim::types {
namespace {

/// Copy `count` runs of a compile-time size; source and target each have a stride.
template <std::size_t kBytes>
void copy_fixed(const std::byte* from, std::int64_t from_stride, std::byte* to,
                std::int64_t to_stride, std::uint64_t count) {
  for (std::uint64_t i = 0; i < count; ++i, from += from_stride, to += to_stride)
    std::memcpy(to, from, kBytes);
}

/// Copy one run. Blocks of an indexed type usually have a few elements, and lengths that a branch
/// predictor cannot guess: 8 to 32 bytes are always copied as four words, which overlap if the run
/// is shorter than four words.
inline void copy_run(const std::byte* from, std::byte* to, std::uint64_t bytes) {
  constexpr std::uint64_t kWord = 8;
  if (bytes < kWord || bytes > 4 * kWord) return base::copy_short(to, from, bytes);
  const std::uint64_t last = bytes - kWord, second = std::min(kWord, last),
                      third = std::min(2 * kWord, last);
  const auto copy_word = [from, to](std::uint64_t at) { std::memcpy(to + at, from + at, kWord); };
  copy_word(0);
  copy_word(second);
  copy_word(third);
  copy_word(last);
}

/// Copy `count` runs of `bytes` bytes.
void copy_many(const std::byte* from, std::int64_t from_stride, std::byte* to,
               std::int64_t to_stride, std::uint64_t bytes, std::uint64_t count) {
  // sizes of one or a few elements, the usual blocks of vectors and subarrays
  switch (bytes) {
    case 1:
      return copy_fixed<1>(from, from_stride, to, to_stride, count);
    case 2:
      return copy_fixed<2>(from, from_stride, to, to_stride, count);
    case 4:
      return copy_fixed<4>(from, from_stride, to, to_stride, count);
    case 8:
      return copy_fixed<8>(from, from_stride, to, to_stride, count);
    case 16:
      return copy_fixed<16>(from, from_stride, to, to_stride, count);
    case 32:
      return copy_fixed<32>(from, from_stride, to, to_stride, count);
    case 64:
      return copy_fixed<64>(from, from_stride, to, to_stride, count);
    case 128:
      return copy_fixed<128>(from, from_stride, to, to_stride, count);
    default:
      for (std::uint64_t i = 0; i < count; ++i, from += from_stride, to += to_stride)
        base::copy_long(to, from, bytes);
  }
}

[[gnu::always_inline]] inline void copy_pieces(const std::byte* from, std::int64_t from_stride,
                                               std::byte* to, std::int64_t to_stride,
                                               std::uint64_t bytes, std::uint64_t count) {
  if (count == 1) return copy_run(from, to, bytes);
  copy_many(from, from_stride, to, to_stride, bytes, count);
}

/// Visit `bytes` bytes from byte `first` on of an array of items with holes.
template <typename Visit>
void walk_items(const Type& type, std::uint64_t first, std::uint64_t bytes, Visit visit) {
  const auto item = static_cast<std::int64_t>(first / type.size);
  Walk walk(first % type.size, bytes, visit);
  const std::uint64_t touched = (first % type.size + bytes + type.size - 1) / type.size;
  walk.over_children(*type.layout, item * type.extent, touched, type.extent);
}

}  // namespace

void pack(const Type& type, const void* items, std::uint64_t first, std::span<std::byte> out) {
  if (out.empty()) return;
  auto* memory = static_cast<const std::byte*>(items);
  if (type.contiguous) {
    base::copy_long(out.data(), memory + first, out.size());
    return;
  }
  std::byte* to = out.data();
  walk_items(type, first, out.size(), [&](const Runs& runs) {
    copy_pieces(memory + runs.at, runs.stride, to, static_cast<std::int64_t>(runs.bytes),
                runs.bytes, runs.count);
    to += runs.bytes * runs.count;
  });
}

void unpack(const Type& type, std::span<const std::byte> in, std::uint64_t first, void* items) {
  if (in.empty()) return;
  auto* memory = static_cast<std::byte*>(items);
  if (type.contiguous) {
    base::copy_long(memory + first, in.data(), in.size());
    return;
  }
  const std::byte* from = in.data();
  walk_items(type, first, in.size(), [&](const Runs& runs) {
    copy_pieces(from, static_cast<std::int64_t>(runs.bytes), memory + runs.at, runs.stride,
                runs.bytes, runs.count);
    from += runs.bytes * runs.count;
  });
}

Pieces find_pieces(const Type& type, void* items, std::uint64_t first, std::uint64_t bytes,
                   std::span<std::span<std::byte>> out) {
  auto* memory = static_cast<std::byte*>(items);
  Pieces found;
  const auto add = [&](std::byte* begin, std::uint64_t length) {
    std::span<std::byte>* last = found.count == 0 ? nullptr : &out[found.count - 1];
    // True if the run begins where the last address range ends.
    const bool returns_at_once = last != nullptr && last->data() + last->size() == begin;
    if (!returns_at_once && found.count == out.size()) return false;
    if (returns_at_once)
      *last = {last->data(), last->size() + length};
    else
      out[found.count++] = {begin, static_cast<std::size_t>(length)};
    found.bytes += length;
    return true;
  };
  if (bytes == 0) return found;
  walk_items(type, first, bytes, [&](const Runs& runs) {
    std::byte* begin = memory + runs.at;
    for (std::uint64_t i = 0; i < runs.count; ++i, begin += runs.stride)
      if (!add(begin, runs.bytes)) return false;
    return true;
  });
  return found;
}

std::byte* find_one_run(const Type& type, void* items, std::uint64_t bytes) {
  if (type.contiguous) return static_cast<std::byte*>(items);
  std::span<std::byte> run;
  return find_pieces(type, items, 0, bytes, {&run, 1}).bytes == bytes ? run.data() : nullptr;
}

void copy(const Type& type, const void* from, void* to, std::uint64_t count) {
  if (count * type.size == 0) return;
  auto* source = static_cast<const std::byte*>(from);
  auto* target = static_cast<std::byte*>(to);
  if (type.contiguous) {
    base::copy_long(target, source, count * type.size);
    return;
  }
  walk_items(type, 0, count * type.size, [&](const Runs& runs) {
    copy_pieces(source + runs.at, runs.stride, target + runs.at, runs.stride, runs.bytes,
                runs.count);
  });
}

}  // namespace shim::types
