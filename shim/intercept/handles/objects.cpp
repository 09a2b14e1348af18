// SPDX-License-Identifier: BSD-3-Clause
#include "shim/intercept/handles/objects.hpp"

#include <cstdio>

#include "shim/intercept/abi/predefined.hpp"
#include "shim/intercept/handles/forked.hpp"
#include "shim/intercept/native/activity.hpp"

namespace shim::intercept {

constinit Objects objects;

namespace {

using base::Error;
using base::ErrorClass;

/// Return the object, or the error of a handle without object.
template <typename T, typename H, std::uint32_t kParts>
base::Result<T*> look_up(HandleTable<T, H, kParts>& table, ErrorClass error_class,
                         abi::HandleKind kind, H handle, H null) {
  if (T* object = table.find(handle)) [[likely]]
    return object;
  return bad_handle(error_class, kind, handle, null);
}

/// True for an object of the parent in a child of fork().
bool is_hidden(abi::HandleKind kind, abi::Bits handle) {
  switch (kind) {
    case abi::HandleKind::comm:
      return objects.comms.find_hidden(abi::from_bits<MPI_Comm>(handle)) != nullptr;
    case abi::HandleKind::session:
      return objects.sessions.find_hidden(abi::from_bits<MPI_Session>(handle)) != nullptr;
    case abi::HandleKind::request:
      return objects.requests.find_hidden(abi::from_bits<MPI_Request>(handle)) != nullptr;
    case abi::HandleKind::message:
      return objects.messages.find_hidden(abi::from_bits<MPI_Message>(handle)) != nullptr;
    default:
      return false;
  }
}

std::string hexadecimal(abi::Bits handle) {
  char text[32];
  std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(handle));
  return text;
}

}  // namespace

CommReference RequestObject::on() const {
  if (comm == nullptr) return {nullptr, handle};
  return {kept != nullptr ? *kept : *objects.comms.find_hidden(handle), handle};
}

void keep_for_requests(const sessions::CommunicatorPtr& comm) {
  const std::uint32_t part = part_for(comm.get());
  if (objects.requests.live(part) == 0) return;
  const auto keep = [&](RequestObject& request) {
    if (request.comm == comm.get() && request.kept == nullptr)
      request.kept = std::make_unique<const sessions::CommunicatorPtr>(comm);
  };
  objects.requests.for_each(keep, part);
}

std::string_view name_of(abi::HandleKind kind) noexcept {
  switch (kind) {
    case abi::HandleKind::comm:
      return "communicator";
    case abi::HandleKind::group:
      return "group";
    case abi::HandleKind::request:
      return "request";
    case abi::HandleKind::message:
      return "message";
    case abi::HandleKind::session:
      return "session";
    case abi::HandleKind::info:
      return "info object";
    case abi::HandleKind::errhandler:
      return "error handler";
    case abi::HandleKind::datatype:
      return "datatype";
    case abi::HandleKind::op:
      return "operation";
    case abi::HandleKind::win:
      return "window";
    case abi::HandleKind::file:
      return "file";
    default:
      return "object of no kind";
  }
}

base::Error bad_handle_bits(ErrorClass error_class, abi::HandleKind wanted, abi::Bits handle,
                            abi::Bits null) {
  std::string kind(name_of(wanted));
  if (handle == null && null != 0)
    return base::Error(error_class, "the " + kind + " is the null handle");
  if (handle == 0)
    return base::Error(error_class, "the " + kind + " handle was never set: it is 0");
  if (!abi::is_ours_bits(handle))
    return base::Error(error_class, "the " + kind + " " + hexadecimal(handle) +
                                        " does not belong to a session, and cannot be combined "
                                        "with objects of sessions in this call");
  abi::Handle fields = abi::decode(handle);
  if (fields.kind != wanted)
    return base::Error(error_class, "a " + kind + " is expected, but the handle " +
                                        hexadecimal(handle) + " is a " +
                                        std::string(name_of(fields.kind)));
  if (is_forked_child() && is_hidden(wanted, handle))
    return forked_error(error_class, "the " + kind);
  return base::Error(error_class, "the " + kind + " " + hexadecimal(handle) + " was already freed");
}

base::Result<sessions::CommunicatorPtr*> comm_of(MPI_Comm handle) {
  return look_up(objects.comms, ErrorClass::comm, abi::HandleKind::comm, handle,
                 MPI_Comm(abi::predefined.comm_null));
}
base::Result<GroupObject*> group_of(MPI_Group handle) {
  return look_up(objects.groups, ErrorClass::group, abi::HandleKind::group, handle,
                 MPI_Group(abi::predefined.group_null));
}
base::Result<RequestObject*> request_of(MPI_Request handle) {
  return look_up(objects.requests, ErrorClass::request, abi::HandleKind::request, handle,
                 MPI_Request(abi::predefined.request_null));
}
base::Result<MessageObject*> message_of(MPI_Message handle) {
  return look_up(objects.messages, ErrorClass::request, abi::HandleKind::message, handle,
                 MPI_Message(abi::predefined.message_null));
}
base::Result<sessions::SessionPtr> session_of(MPI_Session handle) {
  SHIM_TRY_ASSIGN(sessions::SessionPtr * session,
                  look_up(objects.sessions, ErrorClass::session, abi::HandleKind::session, handle,
                          MPI_SESSION_NULL));
  return *session;
}
base::Result<InfoObject*> info_of(MPI_Info handle) {
  return look_up(objects.infos, ErrorClass::info, abi::HandleKind::info, handle,
                 MPI_Info(abi::predefined.info_null));
}
base::Result<ErrhandlerObject*> errhandler_of(MPI_Errhandler handle) {
  return look_up(objects.errhandlers, ErrorClass::errhandler, abi::HandleKind::errhandler, handle,
                 MPI_Errhandler(abi::predefined.errhandler_null));
}
base::Result<DatatypeObject*> datatype_of(MPI_Datatype handle) {
  return look_up(objects.datatypes, ErrorClass::type, abi::HandleKind::datatype, handle,
                 MPI_Datatype(abi::predefined.datatype_null));
}
base::Result<OpObject*> op_of(MPI_Op handle) {
  return look_up(objects.ops, ErrorClass::op, abi::HandleKind::op, handle,
                 MPI_Op(abi::predefined.op_null));
}

base::Result<OldType> old_type_of(MPI_Datatype handle) {
  if (const types::Type* type = abi::find_type(handle)) return OldType{type, handle, nullptr};
  DerivedPtr derived;
  if (abi::is_unset(handle) || handle == abi::predefined.datatype_null)
    return Error(ErrorClass::type, "the datatype is MPI_DATATYPE_NULL");
  if (abi::is_ours(handle)) {
    SHIM_TRY_ASSIGN(DatatypeObject * object, datatype_of(handle));
    derived = object->derived;
  } else if (is_active()) {
    SHIM_TRY_ASSIGN(derived, native_derived_type(handle));
  } else {
    return Error(ErrorClass::type,
                 is_served_table_current()
                     ? "the datatype is invalid, or only the native MPI library has it, which is "
                       "not in use because of INTERSESSION_WORLD=sessions"
                     : "the datatype belongs to the world model, which is not initialized");
  }
  const types::Type* type = derived->type.get();
  return OldType{type, {}, std::move(derived)};
}

}  // namespace shim::intercept
