// SPDX-License-Identifier: BSD-3-Clause
// Duplicates of communicators, MPI-4.1 §7.4.2: with the topology and, as their functions say, the attributes; not with the hints.
#include <cstdint>
#include <memory>

#include "shim/intercept/bodies/attributes.hpp"
#include "shim/intercept/bodies/communicators.hpp"
#include "shim/intercept/generated/bodies.hpp"
#include "shim/intercept/infos.hpp"

namespace shim::intercept {
namespace {

using sessions::CommunicatorPtr;
using sessions::KeyFor;

/// The user's functions are called last, when all members have made the communicator: where one of them fails, it fails here alone,
/// and this process is in step with the others.
base::Status duplicate(MPI_Comm comm, MPI_Info info, MPI_Comm* newcomm) {
  SHIM_TRY_ASSIGN(CommunicatorPtr parent, take_comm(comm));
  SHIM_TRY(clear_output(newcomm));
  SHIM_TRY_ASSIGN(sessions::InfoPtr hints, take_info(info));
  SHIM_TRY_ASSIGN(CommunicatorPtr copy, sessions::duplicate(parent, true));
  SHIM_TRY(copy->take_hints(hints));
  SHIM_TRY_ASSIGN(MPI_Comm handle, hand_out_comm(copy));
  HandleOfCopy made(objects.comms, handle);
  auto copied = copy_attributes({KeyFor::communicator, abi::bits(comm), parent->attributes()},
                                {KeyFor::communicator, abi::bits(handle), copy->attributes()});
  if (copied) *newcomm = made.keep();
  return copied;
}

/// A duplicate that needs an exchange: it is handed out when that has ended, by whoever makes progress then. The attributes are those
/// of the time of the call (MPI-4.1 §7.4.2).
base::Status begin_exchange(const CommunicatorPtr& parent, MPI_Comm comm, const sessions::InfoPtr& hints, MPI_Comm* newcomm,
                            MPI_Request* request) {
  auto attributes = std::make_shared<sessions::Attributes>();
  auto begin = [&](bool is_wanted) {
    auto made = [=](const CommunicatorPtr& copy) {
      if (!is_wanted) return;  // the others go on without hearing of our error
      std::uint64_t place = 0;
      while (const auto attribute = attributes->next_after(place)) {
        place = attribute->place;
        copy->attributes().set(attribute->key, attribute->value);
      }
      (void)copy->take_hints(hints);
      if (auto handle = hand_out_comm(copy)) *newcomm = *handle;
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
        {KeyFor::communicator, abi::bits(comm), parent->attributes()},
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
  return hand_out(started, parent, comm, request);
}

/// A duplicate that needs no communication is there at once, and its request has ended.
int duplicate_later(const char* function, MPI_Comm comm, MPI_Info info, MPI_Comm* newcomm, MPI_Request* request) {
  return deliver(Subject::comm(comm), function, [&]() -> base::Status {
    SHIM_TRY_ASSIGN(CommunicatorPtr parent, take_comm(comm));
    SHIM_TRY(clear_output(newcomm));
    SHIM_TRY(check_output(request, "request"));
    if (!parent->has_child_path() && !parent->is_inter()) {
      SHIM_TRY_ASSIGN(sessions::InfoPtr hints, take_info(info));
      return begin_exchange(parent, comm, hints, newcomm, request);
    }
    SHIM_TRY(duplicate(comm, info, newcomm));
    return hand_out(nullptr, parent, comm, request);
  });
}

}  // namespace

namespace ours {

int Comm_dup(MPI_Comm comm, MPI_Comm* newcomm) {
  return deliver(Subject::comm(comm), "MPI_Comm_dup", [&] { return duplicate(comm, abi::predefined.info_null, newcomm); });
}
int Comm_dup_with_info(MPI_Comm comm, MPI_Info info, MPI_Comm* newcomm) {
  return deliver(Subject::comm(comm), "MPI_Comm_dup_with_info", [&] { return duplicate(comm, info, newcomm); });
}
int Comm_idup(MPI_Comm comm, MPI_Comm* newcomm, MPI_Request* request) {
  return duplicate_later("MPI_Comm_idup", comm, abi::predefined.info_null, newcomm, request);
}
int Comm_idup_with_info(MPI_Comm comm, MPI_Info info, MPI_Comm* newcomm, MPI_Request* request) {
  return duplicate_later("MPI_Comm_idup_with_info", comm, info, newcomm, request);
}

}  // namespace ours
}  // namespace shim::intercept
