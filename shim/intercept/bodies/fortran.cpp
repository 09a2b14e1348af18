// SPDX-License-Identifier: BSD-3-Clause
// Fortran's integers for handles of ours, MPI-4.1 §19.3.4: negative ones below -1, which Open MPI never issues.
//
//   -(2 + payload), payload:   30    27 26       20 19         0
//                              +-------+-----------+-----------+
//                              | kind  | generation|   slot    |
//                              +-------+-----------+-----------+
//
// The generation has lost its highest bit; which of the two it is, the table knows.
#include "shim/intercept/bodies/arguments.hpp"
#include "shim/intercept/generated/bodies.hpp"

namespace shim::intercept {
namespace {

constexpr std::uint32_t kShownGenerations = abi::kGenerations / 2;
constexpr int kKindShift = abi::kSlotBits + abi::kGenerationBits - 1;
static_assert((std::uint64_t{abi::kKinds} << kKindShift) <= 0x7ffffffdu, "fits a Fortran integer");

MPI_Fint to_fortran(const void* handle) {
  abi::Handle fields = abi::decode(handle);
  auto payload = static_cast<std::uint32_t>(fields.kind) << kKindShift |
                 fields.generation % kShownGenerations << abi::kSlotBits | fields.slot;
  return -static_cast<MPI_Fint>(payload) - 2;
}

abi::Handle from_fortran(MPI_Fint integer) {
  auto payload = static_cast<std::uint32_t>(-(integer + 2));
  return {static_cast<abi::Kind>(payload >> kKindShift), payload & (abi::kMaxSlots - 1),
          payload >> abi::kSlotBits & (kShownGenerations - 1)};
}

/// A handle of the kind that the integer says, which need not be the table's: whoever uses it finds out. The address is of our
/// range or, for integers that nobody issued, the null handle.
template <typename Handle, typename T>
Handle to_c(HandleTable<T>& table, MPI_Fint integer, Handle null) {
  abi::Handle fields = from_fortran(integer);
  if (fields.slot >= abi::slot_limit()) return null;
  void* handle = abi::encode(fields);
  if (table.find(handle) != nullptr) return static_cast<Handle>(handle);
  fields.generation += kShownGenerations;
  void* other = abi::encode(fields);
  return static_cast<Handle>(table.find(other) != nullptr ? other : handle);
}

}  // namespace

namespace ours {

MPI_Fint Comm_c2f(MPI_Comm comm) { return to_fortran(comm); }
MPI_Fint Group_c2f(MPI_Group group) { return to_fortran(group); }
MPI_Fint Request_c2f(MPI_Request request) { return to_fortran(request); }
MPI_Fint Message_c2f(MPI_Message message) { return to_fortran(message); }
MPI_Fint Info_c2f(MPI_Info info) { return to_fortran(info); }
MPI_Fint Errhandler_c2f(MPI_Errhandler errhandler) { return abi::is_ours(errhandler) ? to_fortran(errhandler) : -1; }
MPI_Fint Type_c2f(MPI_Datatype datatype) { return to_fortran(datatype); }
/// MPI_SESSION_NULL is 0 in Open MPI 5's Fortran.
MPI_Fint Session_c2f(MPI_Session session) { return abi::is_ours(session) ? to_fortran(session) : 0; }

MPI_Comm Comm_f2c(MPI_Fint comm) { return to_c<MPI_Comm>(objects.comms, comm, abi::predefined.comm_null); }
MPI_Group Group_f2c(MPI_Fint group) { return to_c<MPI_Group>(objects.groups, group, abi::predefined.group_null); }
MPI_Request Request_f2c(MPI_Fint request) { return to_c<MPI_Request>(objects.requests, request, abi::predefined.request_null); }
MPI_Message Message_f2c(MPI_Fint message) { return to_c<MPI_Message>(objects.messages, message, abi::predefined.message_null); }
MPI_Info Info_f2c(MPI_Fint info) { return to_c<MPI_Info>(objects.infos, info, abi::predefined.info_null); }
MPI_Errhandler Errhandler_f2c(MPI_Fint errhandler) {
  return to_c<MPI_Errhandler>(objects.errhandlers, errhandler, abi::predefined.errhandler_null);
}
MPI_Datatype Type_f2c(MPI_Fint datatype) { return to_c<MPI_Datatype>(objects.datatypes, datatype, abi::predefined.datatype_null); }
MPI_Session Session_f2c(MPI_Fint session) {
  return session < -1 ? to_c<MPI_Session>(objects.sessions, session, MPI_SESSION_NULL) : MPI_SESSION_NULL;
}

}  // namespace ours
}  // namespace shim::intercept
