// SPDX-License-Identifier: BSD-3-Clause
// Defines the arguments and call modes that all collectives share. A collective runs as a task (a
// coroutine, shim/coll/task.hpp). Its implementation checks the arguments and calls a call mode
// (blocking, non-blocking, persistent) with two arguments: the state that must outlive the task,
// and a function that makes the task. Only then the call mode takes the collective's sequence
// number. So a call refused for its arguments has not taken place: the caller may repeat it with
// correct arguments and match the other members. If the caller calls another collective instead,
// all members' calls end with an error (settled()).
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "shim/coll/coll.hpp"
#include "shim/intercept/handles/info_handles.hpp"
#include "shim/intercept/impl/coll/peer_buffers.hpp"
#include "shim/intercept/impl/coll/reduction.hpp"
#include "shim/intercept/impl/comm_arguments.hpp"

namespace shim::intercept {

namespace slow {
void record_refusal(MPI_Comm handle, bool is_persistent_collective, const base::Error& reason);
}  // namespace slow

/// References to the types of a call, whose handles the user may free while it is in progress
/// (MPI-4.1 §5.1.9). Null for predefined types.
struct KeptTypes {
  types::TypePtr one, two;
  bool is_empty() const { return one == nullptr && two == nullptr; }
};
inline KeptTypes keep(const types::Type* type, const types::Type* other = nullptr) {
  if ((type == nullptr || type->is_predefined()) && (other == nullptr || other->is_predefined()))
      [[likely]]
    return {};
  return {type != nullptr ? types::keep(*type) : nullptr,
          other != nullptr && other != type ? types::keep(*other) : nullptr};
}

/// One call of a collective.
struct CallRecord {
  std::uint8_t collective;  ///< number of the collective, from 1 (api/emit_collectives.py)
  bool has_begun = false;   ///< true once it has taken its sequence number
};

/// Return the status of the implementation, which has just run. If it refused the call before the
/// call took a sequence number, record that in the communicator.
inline base::Status settled(const CallRecord& record, MPI_Comm handle,
                            bool is_persistent_collective, base::Status status) {
  if (!status && !record.has_begun) [[unlikely]]
    slow::record_refusal(handle, is_persistent_collective, status.error());
  return status;
}

// In all call modes, `held` is the state that must outlive the task, and make(seq, held) makes the
// task, where `seq` is the call's sequence number. held.is_empty() is true if the task needs no
// state after make() has returned.

/// Call mode of MPI_X: the task runs to its end, and `held` stays in place.
struct Blocking {
  static constexpr bool kIsPersistent = false;
  CallRecord& record;
  template <typename Held, typename Make>
  base::Status operator()(const sessions::CommunicatorPtr& comm, MPI_Comm, const Held& held,
                          Make make) const {
    record.has_begun = true;
    base::Status ended = coll::run(
        comm->coll(), make(coll::CollSeq::blocking(comm->coll(), record.collective), held));
    if constexpr (requires { held.user_exception(); }) rethrow(held.user_exception());
    return ended;
  }
};

/// Make the state of a call that continues after its return independent of the caller's memory.
template <typename Held>
std::shared_ptr<const Held> copy_state(Held held) {
  if constexpr (requires { held.keep_arrays(); }) held.keep_arrays();
  return std::make_shared<const Held>(std::move(held));
}

/// Run a task that may end before the state that it needs.
coll::Task run_with_state(Kept held, coll::Task task);
/// Run a task whose operation may throw. An exception becomes the request's error, because the
/// thread that runs the task may be in any call, or be a thread of this library.
coll::Task run_with_state(Kept held, coll::Task task, UserException& thrown);
template <typename Held, typename Make>
coll::Task make_holding(const std::shared_ptr<const Held>& held, const coll::CollSeq& seq,
                        const Make& make) {
  coll::Task task = make(seq, *held);
  if (held->is_empty()) return task;
  if constexpr (requires { held->user_exception(); })
    if (UserException* thrown = held->user_exception())
      return run_with_state(held, std::move(task), *thrown);
  return run_with_state(held, std::move(task));
}

/// Call mode of MPI_IX: the task continues after the call; progress runs it (MPI-4.1 §6.12).
struct Nonblocking {
  static constexpr bool kIsPersistent = false;
  CallRecord& record;
  MPI_Request* request;
  template <typename Held, typename Make>
  base::Status operator()(const sessions::CommunicatorPtr& comm, MPI_Comm handle, Held held,
                          Make make) const {
    SHIM_TRY(check_output(request, "request"));
    auto kept = copy_state(std::move(held));
    record.has_begun = true;
    SHIM_TRY_ASSIGN(
        p2p::Request * started,
        coll::start(comm->coll(),
                    make_holding(kept, coll::CollSeq(comm->coll(), record.collective), make)));
    return make_request_handle(started, comm, handle, request);
  }
};

/// Call mode of MPI_X_init: each start makes a task with the sequence number of the call (MPI-4.1
/// §6.13).
struct Persistent {
  static constexpr bool kIsPersistent = true;
  CallRecord& record;
  MPI_Info info;
  MPI_Request* request;
  template <typename Held, typename Make>
  base::Status operator()(const sessions::CommunicatorPtr& comm, MPI_Comm handle, Held held,
                          Make make) const {
    SHIM_TRY(copy_info(info));  // no hint is supported
    SHIM_TRY(check_output(request, "request"));
    auto kept = copy_state(std::move(held));
    record.has_begun = true;
    auto make_again = [make, kept,
                       seq = coll::CollSeq::persistent(comm->coll(), record.collective)] {
      return make_holding(kept, seq, make);
    };
    return make_request_handle(coll::prepare(comm->coll(), make_again), comm, handle, request);
  }
};

/// Counts and displacements of a v-form, in items of the type. Refers to the caller's arrays until
/// keep().
struct Arrays {
  coll::Blocks blocks;
  void keep();

 private:
  std::vector<std::int64_t> kept_;
};

/// State of a v-form with counts on one side.
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

/// Check a root; on an intercommunicator, a rank of the remote group, MPI_ROOT or MPI_PROC_NULL.
/// Errors: root.
inline base::Status check_root(const sessions::Communicator& comm, int root) {
  if (root >= 0 && root < comm.peers()) [[likely]]
    return {};
  return slow::check_root(comm, root);
}
/// Return the root in coll's representation.
inline int to_root(int root) {
  return root == MPI_ROOT ? coll::kRoot : root == MPI_PROC_NULL ? p2p::kProcNull : root;
}
/// Role of this process in a rooted collective: root, other participant, or (both false, on an
/// intercommunicator) none.
struct RootedRole {
  bool is_root, is_other;
};
inline RootedRole part_of(const sessions::Communicator& comm, int root) {
  if (comm.is_inter()) return {root == MPI_ROOT, root >= 0};
  return {comm.rank() == root, comm.rank() != root};
}
/// Refuse two buffers of a call with one address and one first byte of data (MPI-4.1 §6.2). Buffers
/// with one address whose types cover different bytes (absolute types on MPI_BOTTOM, two fields of
/// a structure) pass. Errors: buffer.
inline base::Status check_no_alias(const types::ConstBuffer& one, const types::ConstBuffer& other) {
  if (one.address != other.address) [[likely]]
    return {};
  return slow::check_no_alias(one, other);
}
inline types::ConstBuffer read_only(const types::Buffer& buffer) {
  return {buffer.address, buffer.count, buffer.type};
}
/// Return the block of `count` items that begins `displacement` items after `address`.
inline types::ConstBuffer block_of(const void* address, std::int64_t displacement,
                                   std::int64_t count, const types::Type& type) {
  return {displaced(address, displacement * type.extent), static_cast<std::uint64_t>(count), &type};
}

/// Refuse MPI_IN_PLACE at processes other than the root. Errors: buffer.
inline base::Status check_in_place(const void* address, bool is_root) {
  if (address != MPI_IN_PLACE || is_root) [[likely]]
    return {};
  return slow::in_place_elsewhere();
}

/// Check the user's arrays of counts and displacements (any integer types), one item for each rank,
/// and refer to them. Errors: count (negative; names the rank),
/// arg (null array).
template <typename C, typename D>
base::Status get_arrays(Arrays& arrays, const C* counts, const D* displacements, int size,
                        const char* what) {
  if (counts == nullptr || displacements == nullptr) [[unlikely]]
    return slow::no_arrays(what);
  arrays.blocks = {{counts, static_cast<std::size_t>(size)},
                   {displacements, static_cast<std::size_t>(size)}};
  C all_bits = 0;  // sign bit: set if a count is negative
  for (int i = 0; i < size; ++i) all_bits |= counts[i];
  if (all_bits < 0) [[unlikely]]
    return slow::negative_count(arrays.blocks.counts, what);
  return {};
}

/// Refuse a base address that is MPI_IN_PLACE, or null with data at displacement 0 (types for
/// MPI_BOTTOM have none). Errors: buffer.
inline base::Status check_blocks(const void* base, const types::Type& type, const Arrays& arrays) {
  if (base != nullptr && base != MPI_IN_PLACE) [[likely]]
    return {};
  return slow::check_blocks(base, type, arrays.blocks);
}

/// Take a send buffer, which may be MPI_IN_PLACE: its type is then null.
inline base::Status get_send_buffer(types::ConstBuffer& buffer, const void* address, Count count,
                                    MPI_Datatype datatype) {
  if (address != MPI_IN_PLACE) return get_buffer(buffer, address, count, datatype);
  buffer = {};
  return {};
}

}  // namespace shim::intercept
