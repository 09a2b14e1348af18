// SPDX-License-Identifier: BSD-3-Clause
// Fortran's integers for handles of ours, MPI-4.1 §19.3.4. Which integers: abi/handle.hpp.
#include "shim/intercept/bodies/arguments.hpp"
#include "shim/intercept/generated/bodies.hpp"

namespace shim::intercept {
namespace {

template <typename Handle>
MPI_Fint to_fortran(Handle handle) { return abi::to_fint(abi::bits(handle)); }

/// A handle of the kind that the integer says, which need not be the one wanted: whoever uses it finds out. For integers that
/// nobody issued, the null handle.
template <typename Handle>
Handle to_c(MPI_Fint integer, Handle null) {
  abi::Handle fields = abi::from_fint(integer);
  return fields.slot < abi::slot_limit() ? abi::from_bits<Handle>(abi::encode(fields)) : null;
}

}  // namespace

namespace ours {

MPI_Fint Comm_c2f(MPI_Comm comm) { return to_fortran(comm); }
MPI_Fint Group_c2f(MPI_Group group) { return to_fortran(group); }
MPI_Fint Request_c2f(MPI_Request request) { return to_fortran(request); }
MPI_Fint Message_c2f(MPI_Message message) { return to_fortran(message); }
MPI_Fint Info_c2f(MPI_Info info) { return to_fortran(info); }
MPI_Fint Errhandler_c2f(MPI_Errhandler errhandler) { return abi::is_ours(errhandler) ? to_fortran(errhandler) : abi::kErrorsAbortFint; }
MPI_Fint Type_c2f(MPI_Datatype datatype) { return to_fortran(datatype); }
MPI_Fint Op_c2f(MPI_Op op) { return to_fortran(op); }
MPI_Fint Session_c2f(MPI_Session session) { return abi::is_ours(session) ? to_fortran(session) : abi::kNullSessionFint; }

MPI_Comm Comm_f2c(MPI_Fint comm) { return to_c<MPI_Comm>(comm, abi::predefined.comm_null); }
MPI_Group Group_f2c(MPI_Fint group) { return to_c<MPI_Group>(group, abi::predefined.group_null); }
MPI_Request Request_f2c(MPI_Fint request) { return to_c<MPI_Request>(request, abi::predefined.request_null); }
MPI_Message Message_f2c(MPI_Fint message) { return to_c<MPI_Message>(message, abi::predefined.message_null); }
MPI_Info Info_f2c(MPI_Fint info) { return to_c<MPI_Info>(info, abi::predefined.info_null); }
MPI_Errhandler Errhandler_f2c(MPI_Fint errhandler) {
  return to_c<MPI_Errhandler>(errhandler, abi::predefined.errhandler_null);
}
MPI_Datatype Type_f2c(MPI_Fint datatype) { return to_c<MPI_Datatype>(datatype, abi::predefined.datatype_null); }
MPI_Op Op_f2c(MPI_Fint op) { return to_c<MPI_Op>(op, abi::predefined.op_null); }
MPI_Session Session_f2c(MPI_Fint session) {
  return abi::is_ours_as_fint(session) ? to_c<MPI_Session>(session, MPI_SESSION_NULL) : MPI_SESSION_NULL;
}

}  // namespace ours
}  // namespace shim::intercept
