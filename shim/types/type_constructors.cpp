// SPDX-License-Identifier: BSD-3-Clause
#include "shim/types/type_constructors.hpp"

#include <algorithm>
#include <vector>

#include "shim/types/signature.hpp"

namespace shim::types {
namespace {

using base::Error;
using base::ErrorClass;

Error too_large() {
  return Error(ErrorClass::arg,
               "the bounds or the size of the datatype exceed the address range (64 bits)");
}

/// Arithmetic on sizes and addresses that remembers whether it has left their range.
class CheckedArithmetic {
 public:
  std::int64_t times(std::int64_t a, std::int64_t b) {
    return check_overflow(__builtin_mul_overflow(a, b, &result_));
  }
  std::int64_t plus(std::int64_t a, std::int64_t b) {
    return check_overflow(__builtin_add_overflow(a, b, &result_));
  }
  std::int64_t minus(std::int64_t a, std::int64_t b) {
    return check_overflow(__builtin_sub_overflow(a, b, &result_));
  }
  std::int64_t number(std::uint64_t count) {
    if (count > INT64_MAX) has_failed_ = true;
    return static_cast<std::int64_t>(count & INT64_MAX);
  }
  bool has_failed() const { return has_failed_; }

 private:
  std::int64_t check_overflow(bool overflow) {
    has_failed_ = has_failed_ || overflow;
    return overflow ? 0 : result_;
  }
  std::int64_t result_ = 0;
  bool has_failed_ = false;
};

LayoutPtr layout_of(const Type& type) { return type.layout ? type.layout : Layout::run(type.size); }

/// True if the type contributes nothing to a type derived from it: no data and no explicit bounds.
bool contributes_nothing(const Type& type) { return type.size == 0 && !type.is_resized; }

/// Computes size, bounds, alignment and signature of a new type from its old types.
class TypeBuilder {
 public:
  /// Add `count` items of a type. `first` and `last` are the offsets of the outermost items in
  /// bytes, in either order; all other items are between them.
  void add(const Type& old, std::uint64_t count, std::int64_t first, std::int64_t last) {
    if (count == 0 || contributes_nothing(old)) return;
    size_ = checked_.plus(size_, checked_.times(checked_.number(count), checked_.number(old.size)));
    elements_ += count * old.elements;
    base_ = has_items_ && base_ != old.base ? nullptr : old.base;
    has_items_ = true;
    terms_.push_back(term_of(old, count));
    alignment_ = std::max(alignment_, old.alignment);
    // Without explicit bounds, the upper bound is the end of the data: the padding that rounded up
    // the old extent does not count.
    const std::int64_t old_upper = old.is_resized ? old.lower + old.extent
                                   : old.layout   ? old.layout->upper()
                                                  : static_cast<std::int64_t>(old.size);
    cover(old.is_resized, checked_.plus(std::min(first, last), old.lower),
          checked_.plus(std::max(first, last), old_upper));
  }

  CheckedArithmetic& checked() { return checked_; }

  /// Return the type, after all add() calls. Calls make_layout() only if no number has overflowed.
  template <typename MakeLayout>
  base::Result<Type> finish(MakeLayout make_layout) {
    std::int64_t extent = checked_.minus(upper_, lower_);
    if (!is_resized_) extent = rounded_up(extent);
    if (checked_.has_failed()) return too_large();
    return type_of(make_layout(), extent);
  }

  /// Return the type with explicit bounds in the place of the computed bounds.
  base::Result<Type> finish_with(std::int64_t lower, std::int64_t extent, const LayoutPtr& layout) {
    checked_.plus(lower, extent);
    if (checked_.has_failed()) return too_large();
    lower_ = lower;
    is_resized_ = true;
    return type_of(layout, extent);
  }

 private:
  /// Extend the bounds. Once explicit bounds are added, only explicit bounds count (the markers of
  /// MPI-4.1 §5.1.7).
  void cover(bool is_set, std::int64_t lower, std::int64_t upper) {
    if (is_bounded_ && is_resized_ && !is_set) return;
    const bool is_first = !is_bounded_ || (is_set && !is_resized_);
    lower_ = is_first ? lower : std::min(lower_, lower);
    upper_ = is_first ? upper : std::max(upper_, upper);
    is_bounded_ = true;
    is_resized_ = is_resized_ || is_set;
  }

  std::int64_t rounded_up(std::int64_t extent) {
    const std::int64_t over = extent % alignment_;
    return over <= 0 ? extent : checked_.plus(extent, alignment_ - over);
  }

  Type type_of(const LayoutPtr& layout, std::int64_t extent) const {
    const bool contiguous = layout->kind() == Layout::NodeType::run &&
                            static_cast<std::int64_t>(layout->size()) == extent;
    return {.name = {},
            .element = Element::none,
            .size = layout->size(),
            .extent = extent,
            .elements = elements_,
            .contiguous = contiguous,
            .base = base_,
            .family = TypeGroup::none,
            .layout = contiguous ? nullptr : layout,
            .lower = lower_,
            .alignment = alignment_,
            .is_resized = is_resized_,
            .signature = base_ == nullptr && has_items_ ? Signature::of(terms_) : nullptr,
            .self = {}};
  }

  CheckedArithmetic checked_;
  std::int64_t size_ = 0, lower_ = 0, upper_ = 0;
  std::uint64_t elements_ = 0;
  std::uint32_t alignment_ = 1;
  const Type* base_ = nullptr;
  std::vector<Signature::Term> terms_;
  bool has_items_ = false, is_bounded_ = false, is_resized_ = false;
};

/// The items of one dimension that belong to one process: `whole` blocks of `block` items at equal
/// distances, then a last block of `rest` items, which may be empty.
struct OwnedBlocks {
  std::uint64_t first = 0, whole = 0, block = 0, distance = 0, rest = 0;
};

base::Result<OwnedBlocks> owned_blocks(const DistributedDimension& share) {
  const std::uint64_t even = share.processes == 0 ? 0
                                                  : share.size / share.processes +
                                                        (share.size % share.processes != 0 ? 1 : 0);
  switch (share.distribution) {
    case DistributedDimension::Distribution::none:
      return OwnedBlocks{.whole = share.size > 0 ? 1u : 0u, .block = share.size};
    case DistributedDimension::Distribution::block: {
      const std::uint64_t block = share.block != 0 ? share.block : even;
      if (block < even)
        return Error(ErrorClass::arg, "blocks of " + std::to_string(block) + " for " +
                                          std::to_string(share.processes) +
                                          " processes do not cover a dimension of size " +
                                          std::to_string(share.size));
      const std::uint64_t first = share.coordinate * block;
      const std::uint64_t mine = first < share.size ? std::min(block, share.size - first) : 0;
      return OwnedBlocks{.first = first, .whole = mine > 0 ? 1u : 0u, .block = mine};
    }
    case DistributedDimension::Distribution::cyclic:
      break;
  }
  const std::uint64_t block = share.block != 0 ? share.block : 1, first = share.coordinate * block,
                      distance = block * share.processes;
  if (first >= share.size) return OwnedBlocks{};
  const std::uint64_t left = share.size - first;
  const std::uint64_t in_last_round = left % distance;
  return OwnedBlocks{.first = first,
                     .whole = left / distance + (in_last_round >= block ? 1 : 0),
                     .block = block,
                     .distance = distance,
                     .rest = in_last_round < block ? in_last_round : 0};
}

/// Return the layout of one dimension. `item` is the layout of one of its items; consecutive items
/// are `stride` bytes apart.
LayoutPtr layout_of(const OwnedBlocks& owned, std::int64_t stride, const LayoutPtr& item) {
  const auto at = [&](std::uint64_t index) { return static_cast<std::int64_t>(index) * stride; };
  const PlacedLayout parts[] = {
      {at(owned.first),
       Layout::repeat(owned.whole, at(owned.distance), Layout::repeat(owned.block, stride, item))},
      {at(owned.first + owned.whole * owned.distance), Layout::repeat(owned.rest, stride, item)}};
  return Layout::sequence(parts);
}

/// Return the offset of the last of `count` consecutive items.
std::int64_t last_of(CheckedArithmetic& checked, std::int64_t first, std::uint64_t count,
                     const Type& type) {
  return checked.plus(first, checked.times(checked.number(count - 1), type.extent));
}

}  // namespace

base::Result<Type> contiguous(std::uint64_t count, const Type& old) {
  const ItemBlock all{0, count};
  return indexed({&all, 1}, old);
}

base::Result<Type> vector(std::uint64_t count, std::uint64_t length, std::int64_t stride,
                          const Type& old) {
  TypeBuilder builder;
  if (count > 0 && length > 0) {
    auto& checked = builder.checked();
    const std::int64_t last_block = checked.times(checked.number(count - 1), stride);
    const std::int64_t items = checked.times(checked.number(count), checked.number(length));
    const std::int64_t inside = last_of(checked, 0, length, old);
    // The outermost items are in the first and the last block. Strides may be negative, so the
    // first item of either block may be the lowest.
    const auto [low, high] = std::minmax(
        {std::int64_t{0}, inside, last_block, checked.plus(last_block, inside)});
    builder.add(old, static_cast<std::uint64_t>(items), low, high);
  }
  return builder.finish([&] {
    return Layout::repeat(count, stride, Layout::repeat(length, old.extent, layout_of(old)));
  });
}

base::Result<Type> indexed(std::span<const ItemBlock> blocks, const Type& old) {
  TypeBuilder builder;
  for (const ItemBlock& block : blocks)
    if (block.count > 0)
      builder.add(old, block.count, block.offset,
                  last_of(builder.checked(), block.offset, block.count, old));
  return builder.finish([&] { return Layout::blocks(blocks, old.extent, layout_of(old)); });
}

base::Result<Type> structure(std::span<const Member> members) {
  TypeBuilder builder;
  for (const Member& member : members)
    if (member.count > 0)
      builder.add(*member.type, member.count, member.offset,
                  last_of(builder.checked(), member.offset, member.count, *member.type));
  return builder.finish([&] {
    std::vector<PlacedLayout> parts;
    for (const Member& member : members)
      parts.push_back({member.offset,
                       Layout::repeat(member.count, member.type->extent, layout_of(*member.type))});
    return Layout::sequence(parts);
  });
}

base::Result<Type> resized(std::int64_t lower, std::int64_t extent, const Type& old) {
  TypeBuilder builder;
  builder.add(old, 1, 0, 0);
  return builder.finish_with(lower, extent, layout_of(old));
}

base::Result<Type> subarray(std::span<const SubarrayDimension> dimensions, const Type& old) {
  TypeBuilder builder;
  auto& checked = builder.checked();
  std::int64_t stride = old.extent, start = 0, items = 1;
  LayoutPtr layout = layout_of(old);
  for (const SubarrayDimension& range : dimensions) {
    start = checked.plus(start, checked.times(checked.number(range.start), stride));
    items = checked.times(items, checked.number(range.part));
    layout = Layout::repeat(range.part, stride, layout);
    stride = checked.times(stride, checked.number(range.size));
    if (checked.has_failed()) return too_large();
  }
  builder.add(old, static_cast<std::uint64_t>(items), 0, 0);
  const PlacedLayout shifted{start, layout};
  return builder.finish_with(0, stride, Layout::sequence({&shifted, 1}));
}

base::Result<Type> distributed_array(std::span<const DistributedDimension> dimensions,
                                     const Type& old) {
  TypeBuilder builder;
  auto& checked = builder.checked();
  std::int64_t stride = old.extent, items = 1;
  LayoutPtr layout = layout_of(old);
  for (const DistributedDimension& share : dimensions) {
    SHIM_TRY_ASSIGN(const OwnedBlocks owned, owned_blocks(share));
    items = checked.times(items, checked.number(owned.whole * owned.block + owned.rest));
    const std::int64_t whole = checked.times(stride, checked.number(share.size));
    if (checked.has_failed()) return too_large();
    layout = layout_of(owned, stride, layout);
    stride = whole;
  }
  builder.add(old, static_cast<std::uint64_t>(items), 0, 0);
  return builder.finish_with(0, stride, layout);
}

}  // namespace shim::types
