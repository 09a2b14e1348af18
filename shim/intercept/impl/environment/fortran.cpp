// SPDX-License-Identifier: BSD-3-Clause
// Converts handles to Fortran integers and back, MPI-4.1 §19.3.4. Intersession's handles, and
// native ones while that library is inactive; the numbers: abi/handle.hpp, abi/fortran.hpp.
#include "shim/intercept/abi/fortran.hpp"
#include "shim/intercept/generated/impl.hpp"
#include "shim/intercept/impl/arguments.hpp"
#include "shim/intercept/native/substrate.hpp"

namespace shim::intercept {
namespace {

constexpr MPI_Fint kNoFint = -1;

template <typename Handle>
MPI_Fint to_fortran(const char* function, Handle handle) {
  if (abi::is_ours(handle)) return abi::to_fint(abi::bits(handle));
  if (auto known = abi::native_fint(data_symbol, abi::bits(handle))) return *known;
  fail(Subject(), function,
       base::Error(base::ErrorClass::other,
                   "the handle belongs to the native MPI library, which is not initialized"));
  return kNoFint;
}

/// Return the handle of an integer. It may be of another kind; the function that uses it checks
/// that. Return the null handle for integers that were never issued.
template <typename Handle>
Handle to_c(abi::HandleKind kind, MPI_Fint integer, Handle null) {
  if (!abi::is_ours_as_fint(integer)) return abi::native_handle(data_symbol, kind, integer, null);
  return abi::any_handle_made() ? abi::from_bits<Handle>(abi::encode(abi::from_fint(integer)))
                                : null;
}

}  // namespace

namespace impl {

MPI_Fint Comm_c2f(MPI_Comm comm) { return to_fortran("MPI_Comm_c2f", comm); }
MPI_Fint Group_c2f(MPI_Group group) { return to_fortran("MPI_Group_c2f", group); }
MPI_Fint Request_c2f(MPI_Request request) { return to_fortran("MPI_Request_c2f", request); }
MPI_Fint Message_c2f(MPI_Message message) { return to_fortran("MPI_Message_c2f", message); }
MPI_Fint Info_c2f(MPI_Info info) { return to_fortran("MPI_Info_c2f", info); }
MPI_Fint Errhandler_c2f(MPI_Errhandler errhandler) {
  return errhandler == MPI_ERRORS_ABORT ? abi::kErrorsAbortFint
                                        : to_fortran("MPI_Errhandler_c2f", errhandler);
}
MPI_Fint Type_c2f(MPI_Datatype datatype) { return to_fortran("MPI_Type_c2f", datatype); }
MPI_Fint Op_c2f(MPI_Op op) { return to_fortran("MPI_Op_c2f", op); }
MPI_Fint Session_c2f(MPI_Session session) {
  return abi::is_ours(session) ? abi::to_fint(abi::bits(session)) : abi::kNullSessionFint;
}

MPI_Comm Comm_f2c(MPI_Fint comm) {
  return to_c(abi::HandleKind::comm, comm, MPI_Comm(abi::predefined.comm_null));
}
MPI_Group Group_f2c(MPI_Fint group) {
  return to_c(abi::HandleKind::group, group, MPI_Group(abi::predefined.group_null));
}
MPI_Request Request_f2c(MPI_Fint request) {
  return to_c(abi::HandleKind::request, request, MPI_Request(abi::predefined.request_null));
}
MPI_Message Message_f2c(MPI_Fint message) {
  return to_c(abi::HandleKind::message, message, MPI_Message(abi::predefined.message_null));
}
MPI_Info Info_f2c(MPI_Fint info) {
  return to_c(abi::HandleKind::info, info, MPI_Info(abi::predefined.info_null));
}
MPI_Errhandler Errhandler_f2c(MPI_Fint errhandler) {
  return to_c(abi::HandleKind::errhandler, errhandler,
              MPI_Errhandler(abi::predefined.errhandler_null));
}
MPI_Datatype Type_f2c(MPI_Fint datatype) {
  return to_c(abi::HandleKind::datatype, datatype, MPI_Datatype(abi::predefined.datatype_null));
}
MPI_Op Op_f2c(MPI_Fint op) {
  return to_c(abi::HandleKind::op, op, MPI_Op(abi::predefined.op_null));
}
MPI_Session Session_f2c(MPI_Fint session) {
  return abi::is_ours_as_fint(session)
             ? to_c<MPI_Session>(abi::HandleKind::session, session, MPI_SESSION_NULL)
             : MPI_SESSION_NULL;
}

}  // namespace impl
}  // namespace shim::intercept
