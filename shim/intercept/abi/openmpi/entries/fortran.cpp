// SPDX-License-Identifier: BSD-3-Clause
// Implements the Fortran entries of Open MPI that access the contents of objects. They handle
// attributes, objects whose functions are Fortran procedures, and the types of Fortran's kinds.
// Generated entries handle groups, requests and arrays of types (rows `fortran` of overlay.txt).
// All other Fortran entries call C's PMPI functions and thus reach their implementations.
//
// Each entry has three names: mpi_X_, which programs call, and pmpi_X_ and ompi_X_f, which the
// module mpi_f08 calls.
#include <type_traits>

#include "shim/intercept/abi/entries/fortran_entries.hpp"
#include "shim/intercept/handles/error_handlers.hpp"
#include "shim/intercept/handles/keyvals.hpp"
#include "shim/intercept/handles/user_operations.hpp"
#include "shim/intercept/impl/attributes.hpp"
#include "shim/intercept/impl/coll/op.hpp"
#include "shim/intercept/impl/request/grequest.hpp"
#include "shim/intercept/native/activity.hpp"
#include "shim/intercept/native/fortran.hpp"

// Call a procedure of Open MPI's Fortran library.
#define SHIM_CALL_NATIVE(function, name, ...) \
  call_native_procedure<decltype(ompi_##name##_f)>(function, "ompi_" #name "_f", __VA_ARGS__)

#define SHIM_FORTRAN_ENTRY(name, parameters)                        \
  void ompi_##name##_f parameters;                                  \
  [[gnu::alias("ompi_" #name "_f")]] void mpi_##name##_ parameters; \
  [[gnu::alias("ompi_" #name "_f")]] void pmpi_##name##_ parameters

#pragma GCC visibility push(default)
extern "C" {
SHIM_FORTRAN_ENTRY(attr_get, (MPI_Fint*, MPI_Fint*, MPI_Fint*, MPI_Fint*, MPI_Fint*));
SHIM_FORTRAN_ENTRY(attr_put, (MPI_Fint*, MPI_Fint*, MPI_Fint*, MPI_Fint*));
SHIM_FORTRAN_ENTRY(comm_get_attr, (MPI_Fint*, MPI_Fint*, MPI_Aint*, MPI_Fint*, MPI_Fint*));
SHIM_FORTRAN_ENTRY(comm_set_attr, (MPI_Fint*, MPI_Fint*, MPI_Aint*, MPI_Fint*));
SHIM_FORTRAN_ENTRY(type_get_attr, (MPI_Fint*, MPI_Fint*, MPI_Aint*, MPI_Fint*, MPI_Fint*));
SHIM_FORTRAN_ENTRY(type_set_attr, (MPI_Fint*, MPI_Fint*, MPI_Aint*, MPI_Fint*));
SHIM_FORTRAN_ENTRY(keyval_create, (void (*)(), void (*)(), MPI_Fint*, MPI_Fint*, MPI_Fint*));
SHIM_FORTRAN_ENTRY(comm_create_keyval, (void (*)(), void (*)(), MPI_Fint*, MPI_Aint*, MPI_Fint*));
SHIM_FORTRAN_ENTRY(type_create_keyval, (void (*)(), void (*)(), MPI_Fint*, MPI_Aint*, MPI_Fint*));
SHIM_FORTRAN_ENTRY(grequest_start,
                   (void (*)(), void (*)(), void (*)(), MPI_Aint*, MPI_Fint*, MPI_Fint*));
SHIM_FORTRAN_ENTRY(op_create, (void (*)(), MPI_Fint*, MPI_Fint*, MPI_Fint*));
SHIM_FORTRAN_ENTRY(type_match_size, (MPI_Fint*, MPI_Fint*, MPI_Fint*, MPI_Fint*));
SHIM_FORTRAN_ENTRY(errhandler_create, (void (*)(), MPI_Fint*, MPI_Fint*));
SHIM_FORTRAN_ENTRY(comm_create_errhandler, (void (*)(), MPI_Fint*, MPI_Fint*));
SHIM_FORTRAN_ENTRY(win_create_errhandler, (void (*)(), MPI_Fint*, MPI_Fint*));
SHIM_FORTRAN_ENTRY(file_create_errhandler, (void (*)(), MPI_Fint*, MPI_Fint*));
// The module mpi_f08 declares these two, but no library defines them.
void mpi_status_f082f_(const MPI_F08_status*, MPI_Fint*, MPI_Fint*);
[[gnu::alias("mpi_status_f082f_")]] void pmpi_status_f082f_(const MPI_F08_status*, MPI_Fint*,
                                                            MPI_Fint*);
void mpi_status_f2f08_(const MPI_Fint*, MPI_F08_status*, MPI_Fint*);
[[gnu::alias("mpi_status_f2f08_")]] void pmpi_status_f2f08_(const MPI_Fint*, MPI_F08_status*,
                                                            MPI_Fint*);
}
#pragma GCC visibility pop

namespace shim::intercept {
namespace {

using fortran::call_native_procedure, fortran::is_handled_here, fortran::set_error;
using fortran::CommAttributes, fortran::TypeAttributes;

using sessions::ErrorHandler;
using sessions::HandlerFor;
using sessions::HandlerKind;
using sessions::Key;
using sessions::KeyFor;
using sessions::KeyLanguage;

// `symbol` is the procedure of Open MPI's Fortran library for the library's own objects.

template <typename HandleKind, typename Number>
void get(const char* function, const char* symbol, MPI_Fint* object, MPI_Fint* keyval,
         Number* value, MPI_Fint* flag, MPI_Fint* ierror) {
  const auto handle = HandleKind::from(*object);
  if (!is_handled_here<HandleKind>(handle)) {
    MPI_Fint number = *keyval;
    if (const int code = to_native_keyval(HandleKind::subject(handle), function, number))
      return set_error(ierror, code);
    return call_native_procedure<void(MPI_Fint*, MPI_Fint*, Number*, MPI_Fint*, MPI_Fint*)>(
        function, symbol, ierror, object, &number, value, flag);
  }
  std::intptr_t found = 0;
  bool is_set = false;
  const int code = HandleKind::get_number(function, handle, *keyval, &found, &is_set);
  if (code == MPI_SUCCESS) {
    *flag = is_set ? 1 : 0;
    if (is_set) *value = static_cast<Number>(found);
  }
  set_error(ierror, code);
}

template <typename HandleKind, typename Number>
void set(const char* function, const char* symbol, MPI_Fint* object, MPI_Fint* keyval,
         Number* value, MPI_Fint* ierror) {
  const auto handle = HandleKind::from(*object);
  if (is_handled_here<HandleKind>(handle))
    return set_error(ierror, HandleKind::set_number(function, handle, *keyval, *value));
  MPI_Fint number = *keyval;
  if (const int code = to_native_keyval(HandleKind::subject(handle), function, number))
    return set_error(ierror, code);
  call_native_procedure<void(MPI_Fint*, MPI_Fint*, Number*, MPI_Fint*)>(function, symbol, ierror,
                                                                        object, &number, value);
}

template <typename Number>
void create(const char* function, KeyFor kind, void (*copy)(), void (*erase)(), MPI_Fint* number,
            Number* extra_state, MPI_Fint* ierror) {
  Key key{kind, MPI_KEYVAL_INVALID, copy, erase,
          reinterpret_cast<void*>(static_cast<std::intptr_t>(*extra_state))};
  key.language = KeyLanguage::fortran;
  key.is_of_mpi1 = std::is_same_v<Number, MPI_Fint>;
  set_error(ierror, create_key(function, key, number, fortran::make_native_key));
}

ErrorHandler user_handler(HandlerFor object, void (*function)()) {
  return {HandlerKind::user, object, function, true};
}

void create(const char* function_name, HandlerFor object, void (*function)(), MPI_Fint* errhandler,
            MPI_Fint* ierror) {
  const ErrorHandler handler = user_handler(object, function);
  MPI_Errhandler made{};
  int code = MPI_SUCCESS;
  if (detect_activity()) {
    code = fortran::make_native_errhandler(handler, &made);
    if (code == MPI_SUCCESS && object == HandlerFor::communicator)
      remember_native_handler(made, handler);
  } else {
    code = run_with_handler(Subject(), function_name, [&]() -> base::Status {
      SHIM_TRY_ASSIGN(made, handle_of(std::make_shared<ErrorHandler>(handler)));
      return {};
    });
  }
  if (code == MPI_SUCCESS) *errhandler = PMPI_Errhandler_c2f(made);
  set_error(ierror, code);
}

}  // namespace
}  // namespace shim::intercept

namespace si = shim::intercept;
using shim::sessions::HandlerFor;
using shim::sessions::KeyFor;

void ompi_attr_get_f(MPI_Fint* comm, MPI_Fint* keyval, MPI_Fint* value, MPI_Fint* flag,
                     MPI_Fint* ierror) {
  si::get<si::CommAttributes>("MPI_Attr_get", "ompi_attr_get_f", comm, keyval, value, flag, ierror);
}
void ompi_comm_get_attr_f(MPI_Fint* comm, MPI_Fint* keyval, MPI_Aint* value, MPI_Fint* flag,
                          MPI_Fint* ierror) {
  si::get<si::CommAttributes>("MPI_Comm_get_attr", "ompi_comm_get_attr_f", comm, keyval, value,
                              flag, ierror);
}
void ompi_type_get_attr_f(MPI_Fint* type, MPI_Fint* keyval, MPI_Aint* value, MPI_Fint* flag,
                          MPI_Fint* ierror) {
  si::get<si::TypeAttributes>("MPI_Type_get_attr", "ompi_type_get_attr_f", type, keyval, value,
                              flag, ierror);
}
void ompi_attr_put_f(MPI_Fint* comm, MPI_Fint* keyval, MPI_Fint* value, MPI_Fint* ierror) {
  si::set<si::CommAttributes>("MPI_Attr_put", "ompi_attr_put_f", comm, keyval, value, ierror);
}
void ompi_comm_set_attr_f(MPI_Fint* comm, MPI_Fint* keyval, MPI_Aint* value, MPI_Fint* ierror) {
  si::set<si::CommAttributes>("MPI_Comm_set_attr", "ompi_comm_set_attr_f", comm, keyval, value,
                              ierror);
}
void ompi_type_set_attr_f(MPI_Fint* type, MPI_Fint* keyval, MPI_Aint* value, MPI_Fint* ierror) {
  si::set<si::TypeAttributes>("MPI_Type_set_attr", "ompi_type_set_attr_f", type, keyval, value,
                              ierror);
}

void ompi_keyval_create_f(void (*copy)(), void (*erase)(), MPI_Fint* keyval, MPI_Fint* extra_state,
                          MPI_Fint* ierror) {
  si::create("MPI_Keyval_create", KeyFor::communicator, copy, erase, keyval, extra_state, ierror);
}
void ompi_comm_create_keyval_f(void (*copy)(), void (*erase)(), MPI_Fint* keyval,
                               MPI_Aint* extra_state, MPI_Fint* ierror) {
  si::create("MPI_Comm_create_keyval", KeyFor::communicator, copy, erase, keyval, extra_state,
             ierror);
}
void ompi_type_create_keyval_f(void (*copy)(), void (*erase)(), MPI_Fint* keyval,
                               MPI_Aint* extra_state, MPI_Fint* ierror) {
  si::create("MPI_Type_create_keyval", KeyFor::datatype, copy, erase, keyval, extra_state, ierror);
}

void ompi_type_match_size_f(MPI_Fint* typeclass, MPI_Fint* size, MPI_Fint* type, MPI_Fint* ierror) {
  if (si::detect_activity())
    return si::SHIM_CALL_NATIVE("MPI_Type_match_size", type_match_size, ierror, typeclass, size,
                                type);
  MPI_Datatype found{};
  const int code = MPI_Type_match_size(*typeclass, *size, &found);
  if (code == MPI_SUCCESS) *type = PMPI_Type_c2f(found);
  si::set_error(ierror, code);
}

void ompi_op_create_f(void (*function)(), MPI_Fint* commute, MPI_Fint* op, MPI_Fint* ierror) {
  si::UserOperation operation(reinterpret_cast<MPI_User_function*>(function), *commute != 0);
  operation.is_fortran = true;
  MPI_Op made{};
  int code = MPI_SUCCESS;
  if (si::detect_activity()) {
    code = si::fortran::make_native_operation(operation.function, operation.commutes, &made);
    if (code == MPI_SUCCESS) si::remember_native_operation(made, operation);
  } else {
    code = si::create_own_operation("MPI_Op_create", operation, &made);
  }
  if (code == MPI_SUCCESS) *op = PMPI_Op_c2f(made);
  si::set_error(ierror, code);
}

void ompi_grequest_start_f(void (*query)(), void (*free)(), void (*cancel)(), MPI_Aint* extra_state,
                           MPI_Fint* request, MPI_Fint* ierror) {
  if (si::detect_activity())
    return si::SHIM_CALL_NATIVE("MPI_Grequest_start", grequest_start, ierror, query, free, cancel,
                                extra_state, request);
  MPI_Request made{};
  const int code = si::start_fortran_request(query, free, cancel, *extra_state, &made);
  if (code == MPI_SUCCESS) *request = PMPI_Request_c2f(made);
  si::set_error(ierror, code);
}

void ompi_errhandler_create_f(void (*function)(), MPI_Fint* errhandler, MPI_Fint* ierror) {
  si::create("MPI_Errhandler_create", HandlerFor::communicator, function, errhandler, ierror);
}
void ompi_comm_create_errhandler_f(void (*function)(), MPI_Fint* errhandler, MPI_Fint* ierror) {
  si::create("MPI_Comm_create_errhandler", HandlerFor::communicator, function, errhandler, ierror);
}
void ompi_win_create_errhandler_f(void (*function)(), MPI_Fint* errhandler, MPI_Fint* ierror) {
  si::create("MPI_Win_create_errhandler", HandlerFor::window, function, errhandler, ierror);
}
void ompi_file_create_errhandler_f(void (*function)(), MPI_Fint* errhandler, MPI_Fint* ierror) {
  si::create("MPI_File_create_errhandler", HandlerFor::file, function, errhandler, ierror);
}

void mpi_status_f082f_(const MPI_F08_status* from, MPI_Fint* to, MPI_Fint* ierror) {
  si::set_error(ierror, PMPI_Status_f082f(from, to));
}
void mpi_status_f2f08_(const MPI_Fint* from, MPI_F08_status* to, MPI_Fint* ierror) {
  si::set_error(ierror, PMPI_Status_f2f08(from, to));
}
