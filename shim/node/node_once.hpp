// SPDX-License-Identifier: BSD-3-Clause
// NodeOnce is a value that one process of a node computes for all.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "shim/base/result.hpp"

namespace shim::node {

class SharedArea;

/// State of the computation, in the node segment: kUnclaimed, kPublished (the bytes are valid and
/// never change), or the computing process's slot plus 1.
struct alignas(64) NodeOnceControl {
  static constexpr std::uint32_t kUnclaimed = 0, kPublished = 0xffff'ffff;
  std::atomic<std::uint32_t> state;
  /// size of the value; written before `state` becomes kPublished
  std::atomic<std::uint32_t> bytes;
};
static_assert(sizeof(NodeOnceControl) == 64);

/// Storage in the segment; `bytes` is backed with memory before the value is written.
struct NodeOnceStorage {
  NodeOnceControl& control;
  std::span<std::byte> bytes;
};

/// The segment outlives this object.
class NodeOnce {
 public:
  using Bytes = std::vector<std::byte>;

  /// @param timeout_s limit for waiting for the computing process; afterwards, or if that process
  /// is dead, this process computes the value itself
  NodeOnce(SharedArea& segment, NodeOnceStorage storage, double timeout_s)
      : segment_(segment), storage_(storage), timeout_s_(timeout_s) {}

  struct Value {
    std::span<const std::byte> bytes;  ///< in the segment, or in `own`
    /// set if this process computed the value only for itself, or the segment has no memory for it
    std::shared_ptr<const Bytes> own;
  };
  using Compute = std::function<base::Result<Bytes>()>;
  /// Return the value; compute it if no process has. Blocks for at most timeout_s besides
  /// `compute`. Errors: as `compute`; another process may then compute the value.
  base::Result<Value> get(const Compute& compute);

 private:
  std::optional<Value> read() const;
  bool claim();
  bool publish(const Bytes& bytes);

  SharedArea& segment_;
  const NodeOnceStorage storage_;
  const double timeout_s_;
};

}  // namespace shim::node
