// SPDX-License-Identifier: BSD-3-Clause
// Call is an algorithm's view of one collective call: ranks, tag and messages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "shim/coll/execution.hpp"
#include "shim/coll/nodes.hpp"
#include "shim/coll/scratch_pool.hpp"
#include "shim/p2p/p2p.hpp"
#include "shim/types/types.hpp"

namespace shim::coll {

struct AlgorithmTable;
using ConstBytes = std::span<const std::byte>;
using Bytes = std::span<std::byte>;

/// Operands of a reduction: `count` items of a type, and the operation.
struct Operands {
  const types::Type* type;
  const types::Op* op;
  std::uint64_t count;

  std::byte* at(void* array, std::uint64_t item) const {
    return static_cast<std::byte*>(array) + offset(item);
  }
  const std::byte* at(const void* array, std::uint64_t item) const {
    return static_cast<const std::byte*>(array) + offset(item);
  }
  types::Buffer part(void* array, std::uint64_t first, std::uint64_t items) const {
    return {at(array, first), items, type};
  }
  types::ConstBuffer part(const void* array, std::uint64_t first, std::uint64_t items) const {
    return {at(array, first), items, type};
  }
  types::Buffer all(void* array) const { return {array, count, type}; }
  types::ConstBuffer all(const void* array) const { return {array, count, type}; }
  std::uint64_t bytes() const { return count * type->size; }

 private:
  std::int64_t offset(std::uint64_t item) const {
    return static_cast<std::int64_t>(item) * type->extent;
  }
};

/// Partial result of a reduction and a receive buffer. Reductions may swap the two pointers.
struct Accumulator {
  void* value;
  void* spare;
};

/// Passed by value; all awaitables below are trivial objects (see task.hpp). A message of 0 bytes
/// is not sent, because its receiver knows the length.
struct Call {
  p2p::Context* context;
  const ScratchPoolPtr* scratch;  ///< the communicator's
  int rank, size, tag;
  MemorySharing sharing;
  const Nodes* nodes = nullptr;           ///< null: node-aware algorithms have no benefit
  const AlgorithmTable* table = nullptr;  ///< the communicator's; for collectives made of others

  /// Return a call among some of the members. A member's rank in it is its index in `some`. The
  /// list must outlive the call.
  Call among(std::span<const int> some, int own_index, MemorySharing in_common) const {
    Call call = *this;
    call.members_ = some.data();
    call.rank = own_index;
    call.size = static_cast<int>(some.size());
    call.sharing = in_common;
    call.nodes = nullptr;
    return call;
  }
  /// Return a member's rank in the communicator.
  int rank_of(int member) const { return members_ == nullptr ? member : members_[member]; }

  // Awaitable operations; the functions below make them. post_send() and post_receive() start an
  // operation and let the task continue; done() waits for all operations started before. Each
  // operation has an awaitable type of its own, as small as possible, because each awaited object
  // occupies space in the frame.
  struct Send {
    const Call* call;
    types::ConstBuffer data;
    int dest;
    bool wait;
    bool await_ready() const noexcept { return false; }
    bool await_suspend(Task::Handle task) const;
    void await_resume() const noexcept {}
  };
  struct Receive {
    const Call* call;
    types::Buffer into;
    int source;
    bool wait;
    bool await_ready() const noexcept { return false; }
    bool await_suspend(Task::Handle task) const;
    void await_resume() const noexcept {}
  };
  struct Exchange {
    const Call* call;
    types::ConstBuffer out;
    types::Buffer in;
    int dest, source;
    bool await_ready() const noexcept { return false; }
    bool await_suspend(Task::Handle task) const;
    void await_resume() const noexcept {}
  };
  struct EndAwaiter {
    bool await_ready() const noexcept { return false; }
    bool await_suspend(Task::Handle task) const;
    void await_resume() const noexcept {}
  };
  /// Copies the local block to its position. The types may differ if their signatures match.
  struct LocalCopy {
    types::ConstBuffer from;
    types::Buffer to;
    bool await_ready() const noexcept { return false; }
    bool await_suspend(Task::Handle task) const;
    void await_resume() const noexcept {}
  };
  /// Computes inout[i] = in[i] op inout[i] for `count` items.
  struct Combination {
    Operands operands;
    const void* in;
    void* inout;
    std::uint64_t count;
    bool await_ready() const noexcept { return false; }
    bool await_suspend(Task::Handle task) const;
    void await_resume() const noexcept {}
  };
  /// Combines an accumulator's value with the data received into its spare, lower ranks' data
  /// first.
  struct Accumulation {
    Operands operands;
    Accumulator* accumulator;
    bool received_is_lower;
    bool await_ready() const noexcept { return false; }
    bool await_suspend(Task::Handle task) const;
    void await_resume() const noexcept {}
  };

  Send post_send(types::ConstBuffer data, int dest) const { return {this, data, dest, false}; }
  Receive post_receive(types::Buffer into, int source) const { return {this, into, source, false}; }
  static EndAwaiter done() { return {}; }
  // The next three wait until all posted operations, and their own, are complete.
  Send send(types::ConstBuffer data, int dest) const { return {this, data, dest, true}; }
  Receive receive(types::Buffer into, int source) const { return {this, into, source, true}; }
  Exchange exchange(types::ConstBuffer data, int dest, types::Buffer into, int source) const {
    return {this, data, into, dest, source};
  }

  // Overloads for plain bytes.
  Send post_send(ConstBytes data, int dest) const { return post_send(buffer(data), dest); }
  Receive post_receive(Bytes into, int source) const { return post_receive(buffer(into), source); }
  Send send(ConstBytes data, int dest) const { return send(buffer(data), dest); }
  Receive receive(Bytes into, int source) const { return receive(buffer(into), source); }
  Exchange exchange(ConstBytes data, int dest, Bytes into, int source) const {
    return exchange(buffer(data), dest, buffer(into), source);
  }

  static LocalCopy copy_local(types::ConstBuffer from, types::Buffer to) { return {from, to}; }
  static Combination combine(const Operands& operands, const void* in, void* inout,
                             std::uint64_t count) {
    return {operands, in, inout, count};
  }
  static Accumulation accumulate(const Operands& operands, Accumulator* accumulator,
                                 bool received_is_lower) {
    return {operands, accumulator, received_is_lower};
  }

  const int* members_ = nullptr;  ///< null: all members; see among()

  static types::ConstBuffer buffer(ConstBytes bytes) {
    return {bytes.data(), bytes.size(), &types::byte_type()};
  }
  static types::Buffer buffer(Bytes bytes) {
    return {bytes.data(), bytes.size(), &types::byte_type()};
  }
};

}  // namespace shim::coll
