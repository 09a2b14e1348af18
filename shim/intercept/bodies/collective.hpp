// SPDX-License-Identifier: BSD-3-Clause
// What the bodies of collectives share: arguments, and the ways a collective can be called. A body checks its arguments and hands to
// one of the ways what has to stay until the task has ended, and a function that makes the task of it. The way takes the turn: a
// call that is refused for its arguments has not taken place, and the caller may call again, rightly, and meets the others. If it calls
// another collective in its place, all members' calls end with an error (settled()).
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "shim/coll/coll.hpp"
#include "shim/intercept/bodies/communicators.hpp"
#include "shim/intercept/bodies/peer_buffers.hpp"
#include "shim/intercept/bodies/reduction.hpp"
#include "shim/intercept/infos.hpp"

namespace shim::intercept {

namespace slow {
void note_refusal(MPI_Comm handle, bool is_lasting, const base::Error& reason);
}  // namespace slow

/// The types of a call, which may be freed while it is in progress (MPI-4.1 §5.1.9). Empty where they are predefined.
struct KeptTypes {
  types::TypePtr one, two;
  bool is_empty() const { return one == nullptr && two == nullptr; }
};
inline KeptTypes keep(const types::Type* type, const types::Type* other = nullptr) {
  if ((type == nullptr || type->is_predefined()) && (other == nullptr || other->is_predefined())) [[likely]] return {};
  return {type != nullptr ? types::keep(*type) : nullptr, other != nullptr && other != type ? types::keep(*other) : nullptr};
}

/// One call of a collective.
struct CalledOnce {
  std::uint8_t call;       ///< which one, from 1: the description's number
  bool has_begun = false;  ///< its turn is taken
};

/// After a collective's body: notes where the call was refused before it took its turn.
inline base::Status settled(const CalledOnce& called, MPI_Comm handle, bool is_lasting, base::Status status) {
  if (!status && !called.has_begun) [[unlikely]] slow::note_refusal(handle, is_lasting, status.error());
  return status;
}

// Of all ways: held is what has to stay, and make(turn, held) makes the task.

/// The way of MPI_X: the task runs to its end, and all that is held stays where it is.
struct Blocking {
  static constexpr bool kIsLasting = false;
  CalledOnce& called;
  template <typename Held, typename Make>
  base::Status operator()(const sessions::CommunicatorPtr& comm, MPI_Comm, const Held& held, Make make) const {
    called.has_begun = true;
    base::Status ended = coll::run(comm->coll(), make(coll::Turn::blocking(comm->coll(), called.call), held));
    if constexpr (requires { held.user_exception(); }) rethrow(held.user_exception());
    return ended;
  }
};

/// For a call that goes on after its return.
template <typename Held>
std::shared_ptr<const Held> keep_all(Held held) {
  if constexpr (requires { held.keep_arrays(); }) held.keep_arrays();
  return std::make_shared<const Held>(std::move(held));
}

/// A task that ends before what it needs does.
coll::Task keeping(Kept held, coll::Task task);
/// The same for a task whose operation may throw: an exception of the operation becomes the error
/// of the request, because the thread that moves the task may be in any call, or a thread of this
/// library.
coll::Task keeping(Kept held, coll::Task task, UserException& thrown);
template <typename Held, typename Make>
coll::Task make_holding(const std::shared_ptr<const Held>& held, const coll::Turn& turn, const Make& make) {
  coll::Task task = make(turn, *held);
  if (held->is_empty()) return task;
  if constexpr (requires { held->user_exception(); })
    if (UserException* thrown = held->user_exception())
      return keeping(held, std::move(task), *thrown);
  return keeping(held, std::move(task));
}

/// The way of MPI_IX: the task goes on while the caller does; progress moves it (MPI-4.1 §6.12).
struct Nonblocking {
  static constexpr bool kIsLasting = false;
  CalledOnce& called;
  MPI_Request* request;
  template <typename Held, typename Make>
  base::Status operator()(const sessions::CommunicatorPtr& comm, MPI_Comm handle, Held held, Make make) const {
    SHIM_TRY(check_output(request, "request"));
    auto kept = keep_all(std::move(held));
    called.has_begun = true;
    SHIM_TRY_ASSIGN(p2p::Request * started, coll::start(comm->coll(), make_holding(kept, coll::Turn(comm->coll(), called.call), make)));
    return hand_out(started, comm, handle, request);
  }
};

/// The way of MPI_X_init: a task is made at each start, with the turn that the call has taken (MPI-4.1 §6.13).
struct Persistent {
  static constexpr bool kIsLasting = true;
  CalledOnce& called;
  MPI_Info info;
  MPI_Request* request;
  template <typename Held, typename Make>
  base::Status operator()(const sessions::CommunicatorPtr& comm, MPI_Comm handle, Held held, Make make) const {
    SHIM_TRY(take_info(info));  // no hint is known
    SHIM_TRY(check_output(request, "request"));
    auto kept = keep_all(std::move(held));
    called.has_begun = true;
    auto make_again = [make, kept, turn = coll::Turn::lasting(comm->coll(), called.call)] { return make_holding(kept, turn, make); };
    return hand_out(coll::prepare(comm->coll(), make_again), comm, handle, request);
  }
};

/// Counts and displacements of one of the v-forms, in items of the type: the caller's own, until they are kept.
struct Arrays {
  coll::Blocks blocks;
  void keep();

 private:
  std::vector<std::int64_t> kept_;
};

/// What a v-form with counts on one side holds.
struct OneSide {
  Arrays arrays;
  KeptTypes types;
  bool is_empty() const { return arrays.blocks.counts.empty() && types.is_empty(); }
  void keep_arrays() { arrays.keep(); }
};

namespace slow {
base::Status check_root(const sessions::Communicator& comm, int root);
base::Status check_no_alias(const types::ConstBuffer& one, const types::ConstBuffer& other);
base::Error in_place_elsewhere();
base::Error no_arrays(const char* what);
base::Error negative_count(const coll::Integers& counts, const char* what);
base::Status check_blocks(const void* base, const types::Type& type, const coll::Blocks& blocks);
}  // namespace slow

/// On an intercommunicator a rank of the other group, MPI_ROOT or MPI_PROC_NULL. Errors: root.
inline base::Status check_root(const sessions::Communicator& comm, int root) {
  if (root >= 0 && root < comm.peers()) [[likely]] return {};
  return slow::check_root(comm, root);
}
/// The same root as coll has it.
inline int to_root(int root) { return root == MPI_ROOT ? coll::kRoot : root == MPI_PROC_NULL ? p2p::kProcNull : root; }
/// Does this process have the root's part in a rooted collective, and has it a part at all, beside the root?
struct Part {
  bool is_root, is_other;
};
inline Part part_of(const sessions::Communicator& comm, int root) {
  if (comm.is_inter()) return {root == MPI_ROOT, root >= 0};
  return {comm.rank() == root, comm.rank() != root};
}
/// Refuse two buffers of one call that have the same address and the same first byte of data (MPI-4.1 §6.2). Buffers with one
/// address whose types cover other bytes (absolute types on MPI_BOTTOM, two fields of one structure) pass. Errors: buffer.
inline base::Status check_no_alias(const types::ConstBuffer& one, const types::ConstBuffer& other) {
  if (one.address != other.address) [[likely]] return {};
  return slow::check_no_alias(one, other);
}
inline types::ConstBuffer read_only(const types::Buffer& buffer) { return {buffer.address, buffer.count, buffer.type}; }
/// Return the block of `count` items that begins `displacement` items behind `address`.
inline types::ConstBuffer block_of(const void* address, std::int64_t displacement, std::int64_t count, const types::Type& type) {
  return {displaced(address, displacement * type.extent), static_cast<std::uint64_t>(count), &type};
}

/// Of the processes of a rooted collective, only the root may say MPI_IN_PLACE. Errors: buffer.
inline base::Status check_in_place(const void* address, bool is_root) {
  if (address != MPI_IN_PLACE || is_root) [[likely]] return {};
  return slow::in_place_elsewhere();
}

/// Arrays of int or larger, one item a rank. Errors: count (negative, says whose), arg (null array).
template <typename C, typename D>
base::Status take_arrays(Arrays& arrays, const C* counts, const D* displacements, int size, const char* what) {
  if (counts == nullptr || displacements == nullptr) [[unlikely]] return slow::no_arrays(what);
  arrays.blocks = {{counts, static_cast<std::size_t>(size)}, {displacements, static_cast<std::size_t>(size)}};
  C all_bits = 0;  // of all counts: tells whether one is negative
  for (int i = 0; i < size; ++i) all_bits |= counts[i];
  if (all_bits < 0) [[unlikely]] return slow::negative_count(arrays.blocks.counts, what);
  return {};
}

/// Refuse a base address that is MPI_IN_PLACE, or null with data at displacement 0 (MPI_BOTTOM has none). Errors: buffer.
inline base::Status check_blocks(const void* base, const types::Type& type, const Arrays& arrays) {
  if (base != nullptr && base != MPI_IN_PLACE) [[likely]] return {};
  return slow::check_blocks(base, type, arrays.blocks);
}

/// A send buffer that may be MPI_IN_PLACE: then its type is null.
inline base::Status take_send(types::ConstBuffer& buffer, const void* address, Count count, MPI_Datatype datatype) {
  if (address != MPI_IN_PLACE) return take_buffer(buffer, address, count, datatype);
  buffer = {};
  return {};
}

}  // namespace shim::intercept
