// SPDX-License-Identifier: BSD-3-Clause
// What the bodies of collectives share: arguments, and the ways a collective can be called. A body checks its arguments and hands
// a function that makes the task to one of the ways, which takes the turn. So a call that is refused for its arguments has not taken
// place: the caller may call again, rightly, and meets the others.
#pragma once

#include <algorithm>
#include <memory>
#include <vector>

#include "shim/coll/coll.hpp"
#include "shim/intercept/bodies/communicators.hpp"
#include "shim/intercept/bodies/peer_buffers.hpp"
#include "shim/intercept/bodies/reduction.hpp"
#include "shim/intercept/infos.hpp"

namespace shim::intercept {

/// The way of MPI_X: the task runs to its end.
struct Blocking {
  template <typename Make>
  base::Status operator()(const sessions::CommunicatorPtr& comm, MPI_Comm, Make make) const {
    return coll::run(comm->coll(), make(coll::Turn(comm->coll())));
  }
};

/// The way of MPI_IX: the task goes on while the caller does; progress moves it (MPI-4.1 §6.12).
struct Nonblocking {
  MPI_Request* request;
  template <typename Make>
  base::Status operator()(const sessions::CommunicatorPtr& comm, MPI_Comm handle, Make make) const {
    SHIM_TRY(check_output(request, "request"));
    SHIM_TRY_ASSIGN(p2p::Request * started, coll::start(comm->coll(), make(coll::Turn(comm->coll()))));
    return hand_out(started, comm, handle, request);
  }
};

/// The way of MPI_X_init: a task is made at each start, with the turn that the call has taken (MPI-4.1 §6.13).
struct Persistent {
  MPI_Info info;
  MPI_Request* request;
  template <typename Make>
  base::Status operator()(const sessions::CommunicatorPtr& comm, MPI_Comm handle, Make make) const {
    SHIM_TRY(take_info(info));  // no hint is known
    SHIM_TRY(check_output(request, "request"));
    auto make_again = [make, turn = coll::Turn::lasting(comm->coll())] { return make(turn); };
    return hand_out(coll::prepare(comm->coll(), make_again), comm, handle, request);
  }
};

/// Counts and displacements of one of the v-forms, in items of the type.
struct Arrays {
  std::vector<std::int64_t> counts, displacements;
  Kept types;
  coll::Blocks blocks() const { return {counts, displacements}; }
  bool has_data() const { return std::ranges::any_of(counts, [](std::int64_t count) { return count > 0; }); }
};

/// The task, which keeps something until it has ended; nothing to keep costs nothing.
coll::Task holding(Kept kept, coll::Task task);
/// The types of a call, which may be freed while it is in progress (MPI-4.1 §5.1.9). Null where they are predefined.
Kept keep(const types::Type* type, const types::Type* other = nullptr);

/// On an intercommunicator a rank of the other group, MPI_ROOT or MPI_PROC_NULL. Errors: root.
base::Status check_root(const sessions::Communicator& comm, int root);
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
/// Errors: count (negative, says whose), arg (null array).
base::Status check_counts(const std::vector<std::int64_t>& counts, const char* what);
/// Two buffers of one call that are the same memory (MPI-4.1 §6.2). Errors: buffer.
base::Status check_no_alias(const void* send, const void* receive, std::uint64_t bytes);
/// The same where one of them is a block at this displacement, in items, of an array.
inline base::Status check_no_alias(const void* single, const void* array, std::int64_t displacement, const types::Type& type,
                                   std::int64_t count) {
  return check_no_alias(single, displaced(array, displacement * type.extent), static_cast<std::uint64_t>(count) * type.size);
}

/// Of the processes of a rooted collective, only the root may say MPI_IN_PLACE. Errors: buffer.
base::Status check_in_place(const void* address, bool is_root);

/// Arrays of int or larger, one item a rank.
template <typename C, typename D>
base::Result<std::shared_ptr<Arrays>> take_arrays(const C* counts, const D* displacements, int size, const char* what) {
  if (counts == nullptr || displacements == nullptr)
    return base::Error(base::ErrorClass::arg, std::string("the ") + what + " counts or displacements are a null pointer");
  auto arrays = std::make_shared<Arrays>();
  for (int i = 0; i < size; ++i) {
    arrays->counts.push_back(static_cast<std::int64_t>(counts[i]));
    arrays->displacements.push_back(static_cast<std::int64_t>(displacements[i]));
  }
  SHIM_TRY(check_counts(arrays->counts, what));
  return arrays;
}

/// A send buffer that may be MPI_IN_PLACE: then its type is null.
inline base::Status take_send(types::ConstBuffer& buffer, const void* address, Count count, MPI_Datatype datatype) {
  if (address != MPI_IN_PLACE) return take_buffer(buffer, address, count, datatype);
  buffer = {};
  return {};
}

}  // namespace shim::intercept
