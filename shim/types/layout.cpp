// SPDX-License-Identifier: BSD-3-Clause
#include "shim/types/layout.hpp"

#include <algorithm>

namespace shim::types {
namespace {

bool is_run(const LayoutPtr& layout) { return layout->kind() == Layout::NodeType::run; }

/// True if consecutive children, `stride` bytes apart, form one run.
bool is_dense(const LayoutPtr& child, std::int64_t stride) {
  return is_run(child) && stride == static_cast<std::int64_t>(child->size());
}

/// Return the blocks without empty ones. If the children are dense, merge each block that begins
/// where the block before it ends.
std::vector<ItemBlock> merge_adjacent(std::span<const ItemBlock> blocks, std::int64_t stride,
                                      bool dense) {
  std::vector<ItemBlock> kept;
  for (const ItemBlock& block : blocks) {
    if (block.count == 0) continue;
    const bool continues = dense && !kept.empty() &&
                           kept.back().offset +
                                   static_cast<std::int64_t>(kept.back().count) * stride ==
                               block.offset;
    if (continues)
      kept.back().count += block.count;
    else
      kept.push_back(block);
  }
  return kept;
}

/// True if all blocks have equal lengths and equal distances.
bool is_regular(std::span<const ItemBlock> blocks) {
  if (blocks.size() < 2) return true;
  const std::int64_t distance = blocks[1].offset - blocks[0].offset;
  for (std::size_t i = 1; i < blocks.size(); ++i)
    if (blocks[i].count != blocks[0].count || blocks[i].offset - blocks[i - 1].offset != distance)
      return false;
  return true;
}

LayoutPtr empty() { return Layout::run(0); }

}  // namespace

std::shared_ptr<Layout> Layout::make(NodeType kind) {
  std::shared_ptr<Layout> made(new Layout);
  made->kind_ = kind;
  return made;
}

void Layout::cover(std::int64_t lower, std::int64_t upper) {
  const bool is_first = lower_ == upper_;
  lower_ = is_first ? lower : std::min(lower_, lower);
  upper_ = is_first ? upper : std::max(upper_, upper);
}

LayoutPtr Layout::run(std::uint64_t bytes) {
  auto made = make(NodeType::run);
  made->size_ = bytes;
  made->upper_ = static_cast<std::int64_t>(bytes);
  return made;
}

LayoutPtr Layout::repeat(std::uint64_t count, std::int64_t stride, const LayoutPtr& child) {
  if (count == 0 || child->size() == 0) return empty();
  if (count == 1) return child;
  if (is_dense(child, stride)) return run(count * child->size());
  if (child->kind() == NodeType::repeat &&
      stride == static_cast<std::int64_t>(child->count()) * child->stride())
    return repeat(count * child->count(), child->stride(), child->child());
  auto made = make(NodeType::repeat);
  made->size_ = count * child->size();
  made->count_ = count;
  made->stride_ = stride;
  made->child_ = child;
  const std::int64_t last = static_cast<std::int64_t>(count - 1) * stride;
  made->cover(child->lower(), child->upper());
  made->cover(child->lower() + last, child->upper() + last);
  return made;
}

LayoutPtr Layout::blocks(std::span<const ItemBlock> blocks, std::int64_t stride,
                         const LayoutPtr& child) {
  if (child->size() == 0) return empty();
  const std::vector<ItemBlock> kept = merge_adjacent(blocks, stride, is_dense(child, stride));
  if (kept.empty()) return empty();
  if (is_regular(kept)) {
    const LayoutPtr block = repeat(kept[0].count, stride, child);
    LayoutPtr all = kept.size() == 1 ? block
                                     : repeat(kept.size(), kept[1].offset - kept[0].offset, block);
    if (kept[0].offset == 0) return all;
    const PlacedLayout shifted{kept[0].offset, all};
    return sequence({&shifted, 1});
  }
  auto made = make(NodeType::blocks);
  made->stride_ = stride;
  made->child_ = child;
  made->blocks_.reserve(kept.size());
  for (const ItemBlock& block : kept) {
    const std::int64_t last = block.offset + static_cast<std::int64_t>(block.count - 1) * stride;
    made->blocks_.push_back({block, made->size_});
    made->size_ += block.count * child->size();
    made->cover(block.offset + child->lower(), block.offset + child->upper());
    made->cover(last + child->lower(), last + child->upper());
  }
  return made;
}

LayoutPtr Layout::sequence(std::span<const PlacedLayout> parts) {
  std::vector<PlacedLayout> kept;
  for (const PlacedLayout& part : parts)
    if (part.layout->size() > 0) kept.push_back(part);
  if (kept.empty()) return empty();
  if (kept.size() == 1 && kept[0].offset == 0) return kept[0].layout;
  if (kept.size() > 1 && std::all_of(kept.begin(), kept.end(), [](const PlacedLayout& part) {
        return is_run(part.layout);
      })) {
    std::vector<ItemBlock> runs;
    for (const PlacedLayout& part : kept) runs.push_back({part.offset, part.layout->size()});
    return blocks(runs, 1, run(1));
  }
  auto made = make(NodeType::sequence);
  for (const PlacedLayout& part : kept) {
    made->parts_.push_back({part, made->size_});
    made->size_ += part.layout->size();
    made->cover(part.offset + part.layout->lower(), part.offset + part.layout->upper());
  }
  return made;
}

}  // namespace shim::types
