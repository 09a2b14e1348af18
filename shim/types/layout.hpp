// SPDX-License-Identifier: BSD-3-Clause
// Where the data of one item of a datatype lies, described compactly: a vector of a million blocks is not a list of a million.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace shim::types {

class Layout;
using LayoutPtr = std::shared_ptr<const Layout>;

/// So many items of a layout, one behind the other, beginning at an offset in bytes.
struct Block {
  std::int64_t offset = 0;
  std::uint64_t count = 0;
};

/// A layout at an offset in bytes.
struct Part {
  std::int64_t offset = 0;
  LayoutPtr layout;
};

/// A layout is a tree of four kinds of nodes. The makers below bring it to a normal form, so that what is one run of bytes, or runs
/// at equal distances, is seen to be: nothing of size 0 is inside, no node has a single child at offset 0, neighbouring runs are
/// one. Immutable; shared by all types that are made of it. Offsets and strides are bytes; counts and sizes that do not fit are the
/// caller's to refuse.
class Layout {
 public:
  enum class Kind : std::uint8_t {
    run,       ///< `size()` bytes at offset 0
    repeat,    ///< `count()` times the child, `stride()` apart
    blocks,    ///< blocks of the child, inside each of them `stride()` apart
    sequence,  ///< different layouts, one after the other
  };

  static LayoutPtr run(std::uint64_t bytes);
  static LayoutPtr repeat(std::uint64_t count, std::int64_t stride, const LayoutPtr& child);
  static LayoutPtr blocks(std::span<const Block> blocks, std::int64_t stride, const LayoutPtr& child);
  static LayoutPtr sequence(std::span<const Part> parts);

  Kind kind() const { return kind_; }
  /// Bytes of data.
  std::uint64_t size() const { return size_; }
  /// Offset of the first byte with data, and behind the last one, in memory; both 0 where there is none (MPI-4.1 §5.1.8).
  std::int64_t lower() const { return lower_; }
  std::int64_t upper() const { return upper_; }

  std::uint64_t count() const { return count_; }
  std::int64_t stride() const { return stride_; }
  const LayoutPtr& child() const { return child_; }

  /// A block, or a part of a sequence, and how many bytes of data come before it.
  struct PlacedBlock : Block {
    std::uint64_t before = 0;
  };
  struct PlacedPart : Part {
    std::uint64_t before = 0;
  };
  std::span<const PlacedBlock> blocks() const { return blocks_; }
  std::span<const PlacedPart> parts() const { return parts_; }

 private:
  Layout() = default;
  static std::shared_ptr<Layout> make(Kind kind);
  void cover(std::int64_t lower, std::int64_t upper);

  Kind kind_ = Kind::run;
  std::uint64_t size_ = 0, count_ = 0;
  std::int64_t lower_ = 0, upper_ = 0, stride_ = 0;
  LayoutPtr child_;
  std::vector<PlacedBlock> blocks_;
  std::vector<PlacedPart> parts_;
};

}  // namespace shim::types
