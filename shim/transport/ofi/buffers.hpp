// SPDX-License-Identifier: BSD-3-Clause
// Memory for sends, receives and reads in progress.
#pragma once

#include <rdma/fabric.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "shim/transport/transport.hpp"

namespace shim::transport {

class OfiRead;
struct OfiLink;
struct MatchedReceive;

/// What the provider matches a message or a receive by; of one that it does not match nothing is set.
struct Match {
  bool is_matched = false;
  std::uint64_t bits = 0;
  // of a receive
  std::uint64_t ignored = 0;       ///< bits that it does not look at
  fi_addr_t sender = FI_ADDR_UNSPEC;
  MatchedReceive* receive = nullptr;  ///< the owner's; null: what comes is gathered
  bool is_withdrawn = false;          ///< by the owner
};

/// An operation in progress. libfabric gets the address of its context and hands it back with the completion.
struct Operation {
  fi_context2 context = {};   ///< the provider's while the operation is in progress; must be first
  OfiLink* link = nullptr;    ///< where a send goes; else null
  OfiRead* read = nullptr;    ///< what a read is part of; else null
  std::byte* bytes = nullptr; ///< of a send or receive: its buffer
  std::size_t length = 0;     ///< of a send or read
  Match match = {};           ///< of a send or receive
};

inline Operation* operation_of(void* context) { return reinterpret_cast<Operation*>(context); }

/// A fixed number of operations with their buffers. The one given back last is handed out first: its memory is in the cache,
/// and what is never needed at once is never touched.
class Buffers {
 public:
  Buffers(std::size_t count, std::size_t bytes_each)
      : bytes_(count * bytes_each), memory_(std::make_unique_for_overwrite<std::byte[]>(bytes_)), operations_(count) {
    for (std::size_t i = count; i-- > 0;) {
      operations_[i].bytes = memory_.get() + i * bytes_each;
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
  std::size_t available() const { return free_.size(); }
  std::size_t in_use() const { return operations_.size() - free_.size(); }

  /// Has the system back the beginning of each buffer: for those that are all in use from the first moment on, and filled in turn. Else
  /// the first message in each pays for it (docs/measurements.md, "Of libfabric").
  void touch() {
    for (Operation& operation : operations_) *operation.bytes = std::byte{0};
  }

  ConstSpan memory() const { return {memory_.get(), bytes_}; }
  /// What the provider calls the memory; null where it does not care.
  void* description = nullptr;

 private:
  std::size_t bytes_;
  std::unique_ptr<std::byte[]> memory_;
  std::vector<Operation> operations_;
  std::vector<Operation*> free_;
};

}  // namespace shim::transport
