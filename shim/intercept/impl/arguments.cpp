// SPDX-License-Identifier: BSD-3-Clause
#include "shim/intercept/impl/arguments.hpp"

#include <string>

#include "shim/intercept/native/activity.hpp"

namespace shim::intercept {

using base::Error;
using base::ErrorClass;

namespace slow {

Error no_comm(MPI_Comm handle) {
  return bad_handle(ErrorClass::comm, abi::HandleKind::comm, handle,
                    static_cast<MPI_Comm>(abi::predefined.comm_null));
}

Error bad_count(Count count, const char* what) {
  return Error(ErrorClass::count,
               std::string("the ") + what + " " + std::to_string(count) + " is negative");
}

base::Status check_address(const void* address, bool has_data) {
  if (address == MPI_IN_PLACE)
    return Error(ErrorClass::buffer, "MPI_IN_PLACE is not allowed for this buffer");
  if (has_data)
    return Error(ErrorClass::buffer, "the buffer is a null pointer, but the count is not 0");
  return {};
}

Error bad_rank(const sessions::Communicator& comm, int rank, const char* what) {
  return Error(ErrorClass::rank, std::string(what) + " rank " + std::to_string(rank) +
                                     " is not in 0…" + std::to_string(comm.peers() - 1) +
                                     (comm.is_inter() ? " of the remote group" : "") + " of the " +
                                     comm.description());
}

Error bad_tag(int tag) {
  return Error(ErrorClass::tag, "the tag " + std::to_string(tag) + " is not in 0…" +
                                    std::to_string(p2p::kTagUpperBound));
}

Error no_output(const char* what) {
  return Error(ErrorClass::arg, std::string("the address for the ") + what + " is a null pointer");
}

base::Result<const types::Type*> get_type(MPI_Datatype datatype) {
  const bool is_null = abi::is_unset(datatype) || datatype == abi::predefined.datatype_null;
  if (!is_null && !abi::is_ours(datatype) && is_active()) return native_type(datatype);
  if (const DatatypeObject* object = objects.datatypes.find(datatype);
      object != nullptr && !object->committed)
    return Error(ErrorClass::type, "the datatype was not committed (MPI_Type_commit)");
  SHIM_TRY_ASSIGN(const OldType old_type, old_type_of(datatype));
  return old_type.type;  // kept by its handle
}

base::Result<const types::Type*> check_buffer(const void* address, Count count,
                                              MPI_Datatype datatype) {
  if (count < 0) return bad_count(count, "count");
  const types::Type* type = &types::byte_type();
  if (count > 0 || datatype != abi::predefined.datatype_null) {
    SHIM_TRY_ASSIGN(type, intercept::get_type(datatype));
  }
  SHIM_TRY(intercept::check_address(address, needs_address(*type, count > 0)));
  return type;
}

}  // namespace slow

base::Result<const types::Type*> any_type(MPI_Datatype datatype) {
  if (DatatypeObject* object = objects.datatypes.find(datatype)) return object->derived->type.get();
  return get_type(datatype);
}

base::Status make_request_handle(PolledRequest* started, const CommReference& on,
                                 MPI_Request* request) {
  auto made = objects.requests.insert({.request = started,
                                       .comm = on.comm.get(),
                                       .handle = on.handle,
                                       .polled = started,
                                       .kept = kept_by_request(on.comm)},
                                      part_for(on.comm.get()));
  if (!made) [[unlikely]] {
    started->detach();
    return std::move(made).error();
  }
  *request = static_cast<MPI_Request>(*made);
  return {};
}

}  // namespace shim::intercept
