// SPDX-License-Identifier: BSD-3-Clause
// Call: one call of a collective, as its algorithm sees it: who we are, and how to talk to the others.
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

using ConstBytes = std::span<const std::byte>;
using Bytes = std::span<std::byte>;

/// What an algorithm of a reduction works on: `count` items of a type, and the operation.
struct Operands {
  const types::Type* type;
  const types::Op* op;
  std::uint64_t count;

  std::byte* at(void* array, std::uint64_t item) const { return static_cast<std::byte*>(array) + offset(item); }
  const std::byte* at(const void* array, std::uint64_t item) const {
    return static_cast<const std::byte*>(array) + offset(item);
  }
  types::Buffer part(void* array, std::uint64_t first, std::uint64_t items) const { return {at(array, first), items, type}; }
  types::ConstBuffer part(const void* array, std::uint64_t first, std::uint64_t items) const {
    return {at(array, first), items, type};
  }
  types::Buffer all(void* array) const { return {array, count, type}; }
  types::ConstBuffer all(const void* array) const { return {array, count, type}; }
  std::uint64_t bytes() const { return count * type->size; }

 private:
  std::int64_t offset(std::uint64_t item) const { return static_cast<std::int64_t>(item) * type->extent; }
};

/// A value in the making and room for what comes from others; the two change places as operations demand.
struct Accumulator {
  void* value;
  void* spare;
};

/// Passed by value; all awaitables below are trivial objects (see task.hpp for why).
/// A message without bytes is not sent: the other side knows its length, too.
struct Call {
  p2p::Context* context;
  const ScratchPoolPtr* scratch;  ///< the communicator's
  int rank, size, tag;
  Sharing sharing;
  const Nodes* nodes = nullptr;  ///< null where there is nothing to be gained by them

  /// The same collective among some members alone, whose ranks are their places in this list. It lives as long as the call is used.
  Call among(std::span<const int> some, int own_place, Sharing in_common) const {
    Call call = *this;
    call.members_ = some.data();
    call.rank = own_place;
    call.size = static_cast<int>(some.size());
    call.sharing = in_common;
    call.nodes = nullptr;
    return call;
  }
  /// A member's rank in the communicator.
  int rank_of(int member) const { return members_ == nullptr ? member : members_[member]; }

  // Posted operations go on while the task does, unless it waits for all that is posted. (Types of their own, as short as can be: each
  // that is awaited has its place in the frame.)
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
  struct Done {
    bool await_ready() const noexcept { return false; }
    bool await_suspend(Task::Handle task) const;
    void await_resume() const noexcept {}
  };
  /// Our own block goes to its place. The types may be different ones of the same elements.
  struct Placement {
    types::ConstBuffer from;
    types::Buffer to;
    bool await_ready() const noexcept { return false; }
    bool await_suspend(Task::Handle task) const;
    void await_resume() const noexcept {}
  };
  /// inout[i] = in[i] op inout[i] for `count` items.
  struct Combination {
    Operands operands;
    const void* in;
    void* inout;
    std::uint64_t count;
    bool await_ready() const noexcept { return false; }
    bool await_suspend(Task::Handle task) const;
    void await_resume() const noexcept {}
  };
  /// Combines an accumulator's value with what was received into its spare, the lower ranks' part first.
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
  static Done done() { return {}; }
  // These wait.
  Send send(types::ConstBuffer data, int dest) const { return {this, data, dest, true}; }
  Receive receive(types::Buffer into, int source) const { return {this, into, source, true}; }
  Exchange exchange(types::ConstBuffer data, int dest, types::Buffer into, int source) const {
    return {this, data, into, dest, source};
  }

  // The same for plain bytes.
  Send post_send(ConstBytes data, int dest) const { return post_send(buffer(data), dest); }
  Receive post_receive(Bytes into, int source) const { return post_receive(buffer(into), source); }
  Send send(ConstBytes data, int dest) const { return send(buffer(data), dest); }
  Receive receive(Bytes into, int source) const { return receive(buffer(into), source); }
  Exchange exchange(ConstBytes data, int dest, Bytes into, int source) const {
    return exchange(buffer(data), dest, buffer(into), source);
  }

  static Placement place(types::ConstBuffer from, types::Buffer to) { return {from, to}; }
  static Combination combine(const Operands& operands, const void* in, void* inout, std::uint64_t count) {
    return {operands, in, inout, count};
  }
  static Accumulation accumulate(const Operands& operands, Accumulator* accumulator, bool received_is_lower) {
    return {operands, accumulator, received_is_lower};
  }

  const int* members_ = nullptr;  ///< null: all; see among()

  static types::ConstBuffer buffer(ConstBytes bytes) { return {bytes.data(), bytes.size(), &types::byte_type()}; }
  static types::Buffer buffer(Bytes bytes) { return {bytes.data(), bytes.size(), &types::byte_type()}; }
};

}  // namespace shim::coll
