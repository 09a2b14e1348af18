// SPDX-License-Identifier: BSD-3-Clause
// Duplicates communicators, MPI-4.1 §7.4.2. Copies the topology and, per their callbacks, the
// attributes; not the hints.
#include <cstdint>
#include <memory>

#include "shim/intercept/generated/impl.hpp"
#include "shim/intercept/handles/info_handles.hpp"
#include "shim/intercept/handles/world_comms.hpp"
#include "shim/intercept/impl/attributes.hpp"
#include "shim/intercept/impl/comm_arguments.hpp"

namespace shim::intercept {
namespace {

using sessions::CommunicatorPtr;
using sessions::KeyFor;

/// Call the user's callbacks last, when all members have made the communicator: if one fails, only
/// this process fails, and it is still in step with the others.
base::Status duplicate(MPI_Comm comm, MPI_Info info, MPI_Comm* newcomm) {
  SHIM_TRY_ASSIGN(CommunicatorPtr parent, get_comm(comm));
  SHIM_TRY(clear_output(newcomm));
  SHIM_TRY_ASSIGN(sessions::InfoPtr hints, copy_info(info));
  SHIM_TRY_ASSIGN(CommunicatorPtr copy, sessions::duplicate(parent, true));
  SHIM_TRY(copy->adopt_hints(hints));
  SHIM_TRY_ASSIGN(MPI_Comm handle, make_comm_handle(copy));
  HandleOfCopy made(objects.comms, handle);
  auto copied = copy_attributes(
      {KeyFor::communicator, abi::bits(programs_handle(comm)), parent->attributes()},
      {KeyFor::communicator, abi::bits(handle), copy->attributes()});
  if (copied) *newcomm = made.keep();
  return copied;
}

/// Start a duplicate that needs an exchange. The thread whose progress completes the exchange sets
/// *newcomm. Attributes are copied at the time of the call (MPI-4.1 §7.4.2).
base::Status begin_exchange(const CommunicatorPtr& parent, MPI_Comm comm,
                            const sessions::InfoPtr& hints, MPI_Comm* newcomm,
                            MPI_Request* request) {
  auto attributes = std::make_shared<sessions::Attributes>();
  auto begin = [&](bool is_wanted) {
    auto made = [=](const CommunicatorPtr& copy) {
      if (!is_wanted) return;  // the other members continue without knowing this process's error
      std::uint64_t position = 0;
      while (const auto attribute = attributes->next_after(position)) {
        position = attribute->position;
        copy->attributes().set(attribute->key, attribute->value);
      }
      (void)copy->adopt_hints(hints);
      if (auto handle = make_comm_handle(copy)) *newcomm = *handle;
    };
    return coll::start(parent->coll(),
                       sessions::duplicate_by_exchange(parent->coll(), parent, std::move(made)));
  };
  auto begin_for_others = [&] {
    if (auto started = begin(false)) engine_of(*parent).release(*started);
  };
  base::Status copied;
  try {
    copied = copy_attributes(
        {KeyFor::communicator, abi::bits(programs_handle(comm)), parent->attributes()},
        {KeyFor::communicator, abi::bits(MPI_Comm(abi::predefined.comm_null)), *attributes});
  } catch (...) {  // also pthread_exit and cancellation
    begin_for_others();
    throw;
  }
  if (!copied) {
    begin_for_others();
    return copied;
  }
  SHIM_TRY_ASSIGN(p2p::Request * started, begin(true));
  return make_request_handle(started, parent, comm, request);
}

/// Start a duplicate. Without exchange it is complete at once, and so is its request.
int duplicate_later(const char* function, MPI_Comm comm, MPI_Info info, MPI_Comm* newcomm,
                    MPI_Request* request) {
  return run_with_handler(Subject::comm(comm), function, [&]() -> base::Status {
    SHIM_TRY_ASSIGN(CommunicatorPtr parent, get_comm(comm));
    SHIM_TRY(clear_output(newcomm));
    SHIM_TRY(check_output(request, "request"));
    if (!parent->has_child_path() && !parent->is_inter()) {
      SHIM_TRY_ASSIGN(sessions::InfoPtr hints, copy_info(info));
      return begin_exchange(parent, comm, hints, newcomm, request);
    }
    SHIM_TRY(duplicate(comm, info, newcomm));
    return make_request_handle(nullptr, parent, comm, request);
  });
}

}  // namespace

namespace impl {

int Comm_dup(MPI_Comm comm, MPI_Comm* newcomm) {
  return run_with_handler(Subject::comm(comm), "MPI_Comm_dup",
                          [&] { return duplicate(comm, abi::predefined.info_null, newcomm); });
}
int Comm_dup_with_info(MPI_Comm comm, MPI_Info info, MPI_Comm* newcomm) {
  return run_with_handler(Subject::comm(comm), "MPI_Comm_dup_with_info",
                          [&] { return duplicate(comm, info, newcomm); });
}
int Comm_idup(MPI_Comm comm, MPI_Comm* newcomm, MPI_Request* request) {
  return duplicate_later("MPI_Comm_idup", comm, abi::predefined.info_null, newcomm, request);
}
int Comm_idup_with_info(MPI_Comm comm, MPI_Info info, MPI_Comm* newcomm, MPI_Request* request) {
  return duplicate_later("MPI_Comm_idup_with_info", comm, info, newcomm, request);
}

}  // namespace impl
}  // namespace shim::intercept
