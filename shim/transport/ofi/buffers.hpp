// SPDX-License-Identifier: BSD-3-Clause
// Memory for sends and receives in progress.
#pragma once

#include <rdma/fabric.h>

#include <cstddef>
#include <memory>
#include <vector>

#include "shim/transport/ofi/provider.hpp"

namespace shim::transport {

struct OfiLink;

/// One send or receive in progress. libfabric gets the address of its context and hands it back with the completion.
struct Operation {
  fi_context2 context;  ///< the provider's while the operation is in progress; must be first
  OfiLink* link;        ///< where a send goes; null for a receive
  std::byte* bytes;     ///< kFrameBytes of them
};

inline Operation* operation_of(void* context) { return reinterpret_cast<Operation*>(context); }

/// A fixed number of operations with their buffers. The one given back last is handed out first: its memory is in the cache,
/// and what is never needed at once is never touched.
class Buffers {
 public:
  explicit Buffers(std::size_t count)
      : memory_(std::make_unique_for_overwrite<std::byte[]>(count * kFrameBytes)), operations_(count) {
    for (std::size_t i = count; i-- > 0;) {
      operations_[i] = {{}, nullptr, memory_.get() + i * kFrameBytes};
      free_.push_back(&operations_[i]);
    }
  }
  /// Null where all are in use.
  Operation* take() {
    if (free_.empty()) return nullptr;
    Operation* operation = free_.back();
    free_.pop_back();
    return operation;
  }
  void give_back(Operation* operation) { free_.push_back(operation); }
  std::size_t in_use() const { return operations_.size() - free_.size(); }

 private:
  std::unique_ptr<std::byte[]> memory_;
  std::vector<Operation> operations_;
  std::vector<Operation*> free_;
};

}  // namespace shim::transport
