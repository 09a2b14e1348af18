// SPDX-License-Identifier: BSD-3-Clause
// SegmentVci is one further VCI of a node segment, as a shared area. It has its own slots, pair
// blocks and cell pools; all other memory is the segment's.
#pragma once

#include "shim/bootstrap/node_segment.hpp"

namespace shim::bootstrap {

class SegmentVci final : public base::SharedArea {
 public:
  /// @param segment outlives this object
  /// @param vci is open (NodeSegment::open_vci)
  SegmentVci(NodeSegment& segment, std::uint32_t vci) : segment_(segment), vci_(vci) {}

  std::uint32_t slot_count() const override { return segment_.slot_count(); }
  std::uint32_t own_slot() const override { return segment_.own_slot(); }
  std::byte* slot(std::uint32_t index) override { return segment_.slot_in(vci_, index); }
  std::size_t slot_bytes() const override { return segment_.slot_bytes(); }
  std::byte* store(std::uint32_t index) override { return segment_.store(index); }
  std::size_t store_bytes() const override { return segment_.store_bytes(); }
  std::byte* cell_pool(std::uint32_t index) override { return segment_.cell_pool_in(vci_, index); }
  std::size_t cell_pool_bytes() const override { return segment_.cell_pool_bytes(); }
  std::byte* pair(std::uint32_t from, std::uint32_t to) override {
    return segment_.pair_in(vci_, from, to);
  }
  std::size_t pair_bytes() const override { return segment_.pair_bytes(); }
  base::Status back(std::byte* begin, std::size_t bytes) override {
    return segment_.back(begin, bytes);
  }
  base::Status back_spare(std::byte* begin, std::size_t bytes) override {
    return segment_.back_spare(begin, bytes);
  }
  base::Status back_pair_to(std::uint32_t index) override {
    return segment_.back_pair_in(vci_, index);
  }
  bool is_ready(std::uint32_t index) const override { return segment_.is_ready(index); }
  bool is_alive(std::uint32_t index) const override { return segment_.is_alive(index); }
  std::uint32_t slot_generation(std::uint32_t index) const override {
    return segment_.slot_generation(index);
  }
  double processes_per_core() const override { return segment_.processes_per_core(); }
  std::int32_t pid(std::uint32_t index) const override { return segment_.pid(index); }

 private:
  NodeSegment& segment_;
  const std::uint32_t vci_;
};

}  // namespace shim::bootstrap
