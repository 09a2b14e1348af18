// SPDX-License-Identifier: BSD-3-Clause
#include "shim/intercept/bodies/arguments.hpp"

#include <string>

#include "shim/intercept/bodies/native_types.hpp"
#include "shim/intercept/substrate.hpp"

namespace shim::intercept {

using base::Error;
using base::ErrorClass;

namespace slow {

Error no_comm(MPI_Comm handle) {
  return bad_handle(ErrorClass::comm, abi::Kind::comm, handle, static_cast<MPI_Comm>(abi::predefined.comm_null));
}

Error bad_count(Count count, const char* what) {
  return Error(ErrorClass::count, std::string("the ") + what + " " + std::to_string(count) + " is negative");
}

base::Status check_address(const void* address, bool has_data) {
  if (address == MPI_IN_PLACE) return Error(ErrorClass::buffer, "MPI_IN_PLACE is not allowed for this buffer");
  if (has_data) return Error(ErrorClass::buffer, "the buffer is a null pointer, but the count is not 0");
  return {};
}

Error bad_rank(const sessions::Communicator& comm, int rank, const char* what) {
  std::string name = comm.name();
  return Error(ErrorClass::rank, std::string(what) + " rank " + std::to_string(rank) + " is not in 0…" +
                                     std::to_string(comm.peers() - 1) + (comm.is_inter() ? " of the remote group" : "") + " of communicator \"" + name + "\"");
}

Error bad_tag(int tag) {
  return Error(ErrorClass::tag, "the tag " + std::to_string(tag) + " is not in 0…" + std::to_string(p2p::kTagUpperBound));
}

Error no_output(const char* what) {
  return Error(ErrorClass::arg, std::string("the address for the ") + what + " is a null pointer");
}

base::Result<TypeItems> type_items(MPI_Datatype datatype) {
  if (abi::is_unset(datatype) || datatype == abi::predefined.datatype_null)
    return Error(ErrorClass::type, "the datatype is MPI_DATATYPE_NULL");
  if (abi::is_ours(datatype)) {
    SHIM_TRY_ASSIGN(DatatypeObject * object, datatype_of(datatype));
    if (!object->committed) return Error(ErrorClass::type, "the datatype was not committed (MPI_Type_commit)");
    return TypeItems{object->base, object->items};
  }
  if (!is_active())
    return Error(ErrorClass::type, "the datatype belongs to the world model, which is not initialised at present");
  return native_type_items(datatype);
}

}  // namespace slow

base::Status hand_out(p2p::Request* started, const sessions::CommunicatorPtr& comm, MPI_Comm handle, MPI_Request* request) {
  auto made = objects.requests.insert({started, {comm, handle}});
  if (!made) [[unlikely]] {
    if (started != nullptr) engine_of(*comm).release(started);
    return std::move(made).error();
  }
  *request = static_cast<MPI_Request>(*made);
  return {};
}

}  // namespace shim::intercept
