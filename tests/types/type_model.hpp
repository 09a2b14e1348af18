// SPDX-License-Identifier: BSD-3-Clause
// Makes derived types together with a model that follows the standard literally: a list of elements
// with their displacements, and markers of bounds (MPI-4.1 §5.1, §5.1.7).
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <functional>
#include <vector>

#include "shim/types/type_constructors.hpp"

namespace shim::types {

struct Model {
  struct Element {
    std::int64_t at;
    std::int64_t bytes;
  };
  std::vector<Element> elements;
  std::vector<std::int64_t> lower_markers, upper_markers;
  std::int64_t alignment = 1;

  bool is_marked() const { return !lower_markers.empty(); }
  std::int64_t lower() const {
    if (is_marked()) return *std::min_element(lower_markers.begin(), lower_markers.end());
    std::int64_t least = elements.empty() ? 0 : INT64_MAX;
    for (const Element& element : elements) least = std::min(least, element.at);
    return least;
  }
  std::int64_t extent() const {
    if (is_marked()) return *std::max_element(upper_markers.begin(), upper_markers.end()) - lower();
    std::int64_t most = elements.empty() ? 0 : INT64_MIN;
    for (const Element& element : elements) most = std::max(most, element.at + element.bytes);
    return (most - lower() + alignment - 1) / alignment * alignment;
  }
  void add(const Model& old, std::int64_t by) {
    for (const Element& element : old.elements)
      elements.push_back({element.at + by, element.bytes});
    for (std::int64_t marker : old.lower_markers) lower_markers.push_back(marker + by);
    for (std::int64_t marker : old.upper_markers) upper_markers.push_back(marker + by);
    if (!old.elements.empty()) alignment = std::max(alignment, old.alignment);
  }
};

struct ModelledType {
  Type type;
  Model model;
};

/// Makes types that a source of numbers determines.
class TypeMaker {
 public:
  explicit TypeMaker(std::function<std::uint32_t()> random) : random_(std::move(random)) {}

  ModelledType any(int depth) {
    if (depth == 0) return predefined();
    switch (below(7)) {
      case 0: {
        const std::uint64_t count = below(4);
        return indexed_of({{0, count}}, any(depth - 1),
                          [&](const Type& old) { return contiguous(count, old); });
      }
      case 1: {
        const std::uint64_t count = below(4), length = below(4);
        const std::int64_t stride = offset();
        std::vector<ItemBlock> blocks;
        for (std::uint64_t i = 0; i < count; ++i)
          blocks.push_back({static_cast<std::int64_t>(i) * stride, length});
        return indexed_of(blocks, any(depth - 1),
                          [&](const Type& old) { return vector(count, length, stride, old); });
      }
      case 2: {
        std::vector<ItemBlock> blocks(below(4));
        for (ItemBlock& block : blocks) block = {offset(), below(4)};
        return indexed_of(blocks, any(depth - 1),
                          [&](const Type& old) { return indexed(blocks, old); });
      }
      case 3: {
        const ModelledType old = any(depth - 1);
        const std::int64_t lower = offset(), extent = static_cast<std::int64_t>(below(100));
        Model model = old.model;
        model.lower_markers = {lower};
        model.upper_markers = {lower + extent};
        return {*resized(lower, extent, keep(old.type)), model};
      }
      case 4:
        return subarray_of(any(depth - 1));
      case 5:
        return dealt_of(any(depth - 1));
      default:
        return structure_of(depth);
    }
  }

 private:
  std::uint64_t below(std::uint64_t limit) { return random_() % limit; }
  std::int64_t offset() { return static_cast<std::int64_t>(below(120)) - 40; }
  const Type& keep(Type type) { return kept_.emplace_back(std::move(type)); }

  ModelledType predefined() {
    static constexpr const char* kNames[] = {
        "MPI_CHAR", "MPI_SHORT", "MPI_INT", "MPI_DOUBLE", "MPI_C_FLOAT_COMPLEX", "MPI_LONG_DOUBLE"};
    const Type& type = *find_predefined(kNames[below(std::size(kNames))]);
    Model model;
    model.elements = {{0, static_cast<std::int64_t>(type.size)}};
    model.alignment = type.alignment;
    return {type, model};
  }

  template <typename Make>
  ModelledType indexed_of(const std::vector<ItemBlock>& blocks, const ModelledType& old,
                          Make make) {
    Model model;
    for (const ItemBlock& block : blocks)
      for (std::uint64_t i = 0; i < block.count; ++i)
        model.add(old.model, block.offset + static_cast<std::int64_t>(i) * old.model.extent());
    return {*make(keep(old.type)), model};
  }

  ModelledType structure_of(int depth) {
    std::vector<Member> members;
    Model model;
    for (std::uint64_t left = below(4); left > 0; --left) {
      const ModelledType old = any(depth - 1);
      const Member member{offset(), below(3), &keep(old.type)};
      for (std::uint64_t i = 0; i < member.count; ++i)
        model.add(old.model, member.offset + static_cast<std::int64_t>(i) * old.model.extent());
      members.push_back(member);
    }
    return {*structure(members), model};
  }

  /// Add the elements of a box in three dimensions; the first index changes fastest.
  ModelledType subarray_of(const ModelledType& old) {
    SubarrayDimension ranges[3];
    for (SubarrayDimension& range : ranges) {
      range.size = 1 + below(4);
      range.part = below(range.size + 1);
      range.start = below(range.size - range.part + 1);
    }
    Model model;
    const auto extent = old.model.extent();
    for (std::uint64_t z = 0; z < ranges[2].part; ++z)
      for (std::uint64_t y = 0; y < ranges[1].part; ++y)
        for (std::uint64_t x = 0; x < ranges[0].part; ++x)
          model.add(old.model,
                    extent * static_cast<std::int64_t>(
                                 ((z + ranges[2].start) * ranges[1].size + y + ranges[1].start) *
                                     ranges[0].size +
                                 x + ranges[0].start));
    model.lower_markers = {0};
    model.upper_markers = {
        extent * static_cast<std::int64_t>(ranges[0].size * ranges[1].size * ranges[2].size)};
    return {*subarray(ranges, keep(old.type)), model};
  }

  /// Return the indices of one process by distributing a dimension item by item.
  static std::vector<std::int64_t> indices_of(const DistributedDimension& share) {
    std::vector<std::int64_t> mine;
    const std::uint64_t even = (share.size + share.processes - 1) / share.processes;
    const std::uint64_t block = share.block != 0 ? share.block
                                : share.distribution == DistributedDimension::Distribution::cyclic
                                    ? 1
                                    : std::max<std::uint64_t>(even, 1);
    for (std::uint64_t i = 0; i < share.size; ++i)
      if (share.distribution == DistributedDimension::Distribution::none ||
          i / block % share.processes == share.coordinate)
        mine.push_back(static_cast<std::int64_t>(i));
    return mine;
  }

  ModelledType dealt_of(const ModelledType& old) {
    DistributedDimension shares[2];
    for (DistributedDimension& share : shares) {
      share.size = 1 + below(12);
      share.processes = 1 + below(3);
      share.coordinate = below(share.processes);
      share.distribution = static_cast<DistributedDimension::Distribution>(below(3));
      if (share.distribution == DistributedDimension::Distribution::none)
        share.processes = 1, share.coordinate = 0;
      if (share.distribution == DistributedDimension::Distribution::cyclic) share.block = below(4);
      if (share.distribution == DistributedDimension::Distribution::block && below(2) == 1)
        share.block = (share.size + share.processes - 1) / share.processes + below(3);
    }
    Model model;
    const auto extent = old.model.extent();
    for (std::int64_t y : indices_of(shares[1]))
      for (std::int64_t x : indices_of(shares[0]))
        model.add(old.model, extent * (y * static_cast<std::int64_t>(shares[0].size) + x));
    model.lower_markers = {0};
    model.upper_markers = {extent * static_cast<std::int64_t>(shares[0].size * shares[1].size)};
    return {*distributed_array(shares, keep(old.type)), model};
  }

  std::function<std::uint32_t()> random_;
  std::deque<Type> kept_;  // a deque, because the addresses must not change
};

}  // namespace shim::types
