// SPDX-License-Identifier: BSD-3-Clause
// Buffers hold the memory of sends, receives and reads in progress.
#pragma once

#include <rdma/fabric.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "shim/base/older_compilers.hpp"
#include "shim/transport/transport.hpp"

namespace shim::transport {

class OfiRead;
struct OfiLink;
struct MatchedReceive;

/// Match bits of a message or receive; unset if the provider does not match it.
struct MatchCriteria {
  bool is_matched = false;
  std::uint64_t bits = 0;
  // of a receive:
  std::uint64_t ignored = 0;  ///< bits not compared
  fi_addr_t sender = FI_ADDR_UNSPEC;
  MatchedReceive* receive = nullptr;  ///< the owner's; null: the message is drained
  bool is_cancelled = false;          ///< by the owner
};

/// An operation in progress. libfabric gets the address of its context and returns it with the
/// completion.
struct PendingOperation {
  fi_context2 context = {};    ///< the provider's during the operation; must be first
  OfiLink* link = nullptr;     ///< target of a send; else null
  OfiRead* read = nullptr;     ///< the read that this is part of; else null
  std::byte* bytes = nullptr;  ///< buffer of a send or receive
  std::size_t length = 0;      ///< of a send or read
  MatchCriteria match = {};    ///< of a send or receive
};

inline PendingOperation* operation_of(void* context) {
  return reinterpret_cast<PendingOperation*>(context);
}

/// A fixed number of operations with their buffers. LIFO: the memory released last is in the cache,
/// and buffers that are never needed at a time are never faulted in.
class Buffers {
 public:
  Buffers(std::size_t count, std::size_t bytes_each)
      : bytes_(count * bytes_each),
        memory_(base::make_unique_for_overwrite<std::byte[]>(bytes_)),
        operations_(count) {
    for (std::size_t i = count; i-- > 0;) {
      operations_[i].bytes = memory_.get() + i * bytes_each;
      free_.push_back(&operations_[i]);
    }
  }
  /// Return a free operation; null if all are in use.
  PendingOperation* acquire() {
    if (free_.empty()) return nullptr;
    PendingOperation* operation = free_.back();
    free_.pop_back();
    return operation;
  }
  void release(PendingOperation* operation) { free_.push_back(operation); }
  std::size_t available() const { return free_.size(); }
  std::size_t in_use() const { return operations_.size() - free_.size(); }

  /// Fault in the first page of each buffer, for buffers that are all in use from the start and
  /// filled in turn. Else the first message in each takes the fault
  /// (docs/decisions/0025-libfabric-provider-workarounds.md).
  void touch() {
    for (PendingOperation& operation : operations_) *operation.bytes = std::byte{0};
  }

  ConstSpan memory() const { return {memory_.get(), bytes_}; }
  /// The provider's descriptor of the memory; null if it needs none.
  void* description = nullptr;

 private:
  std::size_t bytes_;
  std::unique_ptr<std::byte[]> memory_;
  std::vector<PendingOperation> operations_;
  std::vector<PendingOperation*> free_;
};

}  // namespace shim::transport
