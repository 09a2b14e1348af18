// SPDX-License-Identifier: BSD-3-Clause
// Provides node segments for tests.
#pragma once

#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

#include "shim/node/node_segment.hpp"
#include "shim/node/segment_file.hpp"
#include "tests/base/child.hpp"
#include "tests/base/directory.hpp"
#include "tests/base/results.hpp"

namespace shim::node::testing {

using base::testing::Child;
using base::testing::error_of;
using base::testing::must;

/// Provides node segments in a directory of their own.
class SegmentTest : public base::testing::DirectoryTest {
 protected:
  SegmentSpec spec(std::uint32_t own_slot = 0, std::uint32_t slots = 2,
                   const std::string& job = "job") const {
    SegmentSpec spec;
    spec.job = job;
    spec.slots = slots;
    spec.own_slot = own_slot;
    spec.world_rank = own_slot + 10;
    spec.slot_bytes = 5000;
    spec.pair_bytes = 9000;
    spec.directory = directory_;
    return spec;
  }
  static std::unique_ptr<NodeSegment> attach(const SegmentSpec& spec) {
    auto segment = NodeSegment::attach(spec, 10);
    if (!segment) throw std::runtime_error(segment.error().text());
    return std::move(*segment);
  }
  std::string path(const std::string& job = "job") const {
    return segment_location(directory_, job, 0).path();
  }
};

}  // namespace shim::node::testing
