// SPDX-License-Identifier: BSD-3-Clause
// Walk visits part of the data of items, run by run, in stream order.
#pragma once

#include <algorithm>
#include <type_traits>

#include "shim/types/layout.hpp"

namespace shim::types {

/// Equal runs of bytes at equal distances.
struct Runs {
  std::int64_t at = 0;      ///< offset of the first run, bytes from the buffer's address
  std::uint64_t bytes = 0;  ///< length of each run
  std::uint64_t count = 1;
  std::int64_t stride = 0;
};

/// Calls visit(Runs) for part of the stream: skips `skip` bytes, then visits `left` bytes. The walk
/// counts both down, so that it can continue with the next item. visit() returns nothing, or false
/// to end the walk.
template <typename Visit>
class Walk {
 public:
  Walk(std::uint64_t skip, std::uint64_t left, Visit visit)
      : skip_(skip), left_(left), visit_(std::move(visit)) {}
  bool is_done() const { return left_ == 0; }

  /// Walk a layout at an offset; do not visit it if all of its data are skipped.
  void over(const Layout& layout, std::int64_t at) {
    if (skip_ >= layout.size()) {
      skip_ -= layout.size();
      return;
    }
    switch (layout.kind()) {
      case Layout::NodeType::run:
        return take_part(at, layout.size());
      case Layout::NodeType::repeat:
        return over_children(*layout.child(), at, layout.count(), layout.stride());
      case Layout::NodeType::blocks:
        return over_blocks(layout, at);
      case Layout::NodeType::sequence:
        return over_sequence(layout, at);
    }
  }

  /// Walk `count` copies of a child that has data, `stride` bytes apart.
  void over_children(const Layout& child, std::int64_t at, std::uint64_t count,
                     std::int64_t stride) {
    std::uint64_t i = skip_ / child.size();
    skip_ %= child.size();
    const auto address = [&] { return at + static_cast<std::int64_t>(i) * stride; };
    if (child.kind() != Layout::NodeType::run) {
      for (; i < count && left_ > 0; ++i) over(child, address());
      return;
    }
    if (skip_ > 0 && i < count) {
      take_part(address(), child.size());
      ++i;
    }
    if (const std::uint64_t whole = i < count ? std::min(count - i, left_ / child.size()) : 0;
        whole > 0) {
      const Runs runs{address(), child.size(), whole, stride};
      left_ -= whole * child.size();
      i += whole;
      visit(runs);
    }
    if (left_ > 0 && i < count) take_part(address(), child.size());
  }

 private:
  /// Visit part of one run.
  void take_part(std::int64_t at, std::uint64_t size) {
    const std::uint64_t bytes = std::min(size - skip_, left_);
    const Runs run{at + static_cast<std::int64_t>(skip_), bytes};
    left_ -= bytes;
    skip_ = 0;
    visit(run);
  }

  void visit(const Runs& runs) {
    if constexpr (std::is_same_v<decltype(visit_(runs)), bool>) {
      if (!visit_(runs)) left_ = 0;
    } else {
      visit_(runs);
    }
  }

  /// Return the block or part of the layout that holds byte skip_ of the stream, and make skip_
  /// relative to it.
  template <typename Placed>
  auto first_of(std::span<const Placed> all) {
    const auto after = std::upper_bound(
        all.begin(), all.end(), skip_,
        [](std::uint64_t skip, const Placed& each) { return skip < each.before; });
    skip_ -= std::prev(after)->before;
    return std::prev(after);
  }

  void over_blocks(const Layout& layout, std::int64_t at) {
    const auto end = layout.blocks().end();
    const Layout& child = *layout.child();
    auto block = first_of(layout.blocks());
    if (child.kind() == Layout::NodeType::run &&
        layout.stride() == static_cast<std::int64_t>(child.size())) {  // each block is one run
      for (; block != end && left_ > 0; ++block)
        take_part(at + block->offset, block->count * child.size());
      return;
    }
    for (; block != end && left_ > 0; ++block)
      over_children(child, at + block->offset, block->count, layout.stride());
  }

  void over_sequence(const Layout& layout, std::int64_t at) {
    const auto end = layout.parts().end();
    for (auto part = first_of(layout.parts()); part != end && left_ > 0; ++part)
      over(*part->layout, at + part->offset);
  }

  std::uint64_t skip_, left_;
  Visit visit_;
};

}  // namespace shim::types
