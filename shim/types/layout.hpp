// SPDX-License-Identifier: BSD-3-Clause
// Layout describes compactly where the data of one item of a datatype are in memory.
// A vector of a million blocks is one node, not a list of a million entries. A run is a range of
// consecutive bytes. The stream is the packed data: all runs, in the order of the type map.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace shim::types {

class Layout;
using LayoutPtr = std::shared_ptr<const Layout>;

/// `count` consecutive items, the first of them at an offset in bytes.
struct ItemBlock {
  std::int64_t offset = 0;
  std::uint64_t count = 0;
};

/// A layout at an offset in bytes.
struct PlacedLayout {
  std::int64_t offset = 0;
  LayoutPtr layout;
};

/// A tree of four kinds of nodes. Each factory function normalizes the node that it makes: no child
/// of size 0, no single child at offset 0; adjacent runs are merged; runs or blocks of equal length
/// at equal distances become one repeat, and so does a repeat of a repeat if all distances are
/// equal. Runs of different inner nodes are not merged. Immutable; shared by all types that contain
/// it. Offsets and strides are bytes. The caller must reject counts and sizes that overflow.
class Layout {
 public:
  enum class NodeType : std::uint8_t {
    run,       ///< `size()` bytes at offset 0
    repeat,    ///< `count()` copies of the child, `stride()` apart
    blocks,    ///< blocks() of copies of the child; inside a block copies are `stride()` apart
    sequence,  ///< parts(): layouts at offsets, in stream order; also one layout at an offset
  };

  static LayoutPtr run(std::uint64_t bytes);
  static LayoutPtr repeat(std::uint64_t count, std::int64_t stride, const LayoutPtr& child);
  static LayoutPtr blocks(std::span<const ItemBlock> blocks, std::int64_t stride,
                          const LayoutPtr& child);
  static LayoutPtr sequence(std::span<const PlacedLayout> parts);

  NodeType kind() const { return kind_; }
  /// Return the bytes of data.
  std::uint64_t size() const { return size_; }
  /// Return the offsets of the first byte with data and of the byte after the last one, in memory;
  /// both 0 if there is no data (MPI-4.1 §5.1.8).
  std::int64_t lower() const { return lower_; }
  std::int64_t upper() const { return upper_; }

  /// count() is for repeat only; stride() and child() are for repeat and blocks.
  std::uint64_t count() const { return count_; }
  std::int64_t stride() const { return stride_; }
  const LayoutPtr& child() const { return child_; }

  /// A block, or a part of a sequence, and its position in the stream.
  struct PlacedBlock : ItemBlock {
    std::uint64_t before = 0;  ///< bytes of data in the blocks before this block
  };
  struct PlacedPart : PlacedLayout {
    std::uint64_t before = 0;  ///< bytes of data in the parts before this part
  };
  std::span<const PlacedBlock> blocks() const { return blocks_; }
  std::span<const PlacedPart> parts() const { return parts_; }

 private:
  Layout() = default;
  static std::shared_ptr<Layout> make(NodeType kind);
  /// Extend the range from lower() to upper() so that it includes these offsets.
  void cover(std::int64_t lower, std::int64_t upper);

  NodeType kind_ = NodeType::run;
  std::uint64_t size_ = 0, count_ = 0;
  std::int64_t lower_ = 0, upper_ = 0, stride_ = 0;
  LayoutPtr child_;
  std::vector<PlacedBlock> blocks_;
  std::vector<PlacedPart> parts_;
};

}  // namespace shim::types
