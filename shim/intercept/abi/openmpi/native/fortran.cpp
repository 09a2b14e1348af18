// SPDX-License-Identifier: BSD-3-Clause
// Makes native objects with Fortran procedures through the Fortran functions of Open MPI.
#include "shim/intercept/native/fortran.hpp"

namespace shim::intercept::fortran {
namespace {

using sessions::HandlerFor;
using sessions::Key;
using sessions::KeyFor;

// Functions of Open MPI's Fortran library. Number: type of the extra state of a key.
template <typename Number>
using CreateKey = void(void (*)(), void (*)(), MPI_Fint*, Number*, MPI_Fint*);
using CreateOperation = void(void (*)(), MPI_Fint*, MPI_Fint*, MPI_Fint*);
using CreateErrhandler = void(void (*)(), MPI_Fint*, MPI_Fint*);

template <typename Number>
int create_key(const char* function, const char* symbol, const Key& key, int* made) {
  auto extra_state = static_cast<Number>(reinterpret_cast<std::intptr_t>(key.extra_state));
  MPI_Fint code = MPI_SUCCESS;
  call_native_procedure<CreateKey<Number>>(function, symbol, &code, key.copy, key.erase, made,
                                           &extra_state);
  return code;
}

/// MPI function that creates an object, and its Fortran procedure.
struct Creator {
  const char *function, *symbol;
};

Creator creator_of_handler(HandlerFor object) {
  switch (object) {
    case HandlerFor::window:
      return {"MPI_Win_create_errhandler", "ompi_win_create_errhandler_f"};
    case HandlerFor::file:
      return {"MPI_File_create_errhandler", "ompi_file_create_errhandler_f"};
    default:
      return {"MPI_Comm_create_errhandler", "ompi_comm_create_errhandler_f"};
  }
}

}  // namespace

int make_native_key(const Key& key, int* made) {
  if (key.is_of_mpi1)
    return create_key<MPI_Fint>("MPI_Keyval_create", "ompi_keyval_create_f", key, made);
  if (key.object == KeyFor::communicator)
    return create_key<MPI_Aint>("MPI_Comm_create_keyval", "ompi_comm_create_keyval_f", key, made);
  return create_key<MPI_Aint>("MPI_Type_create_keyval", "ompi_type_create_keyval_f", key, made);
}

int make_native_operation(MPI_User_function* function, bool commutes, MPI_Op* made) {
  MPI_Fint commute = commutes ? 1 : 0, number = 0, code = MPI_SUCCESS;
  call_native_procedure<CreateOperation>("MPI_Op_create", "ompi_op_create_f", &code,
                                         reinterpret_cast<void (*)()>(function), &commute, &number);
  if (code == MPI_SUCCESS) *made = PMPI_Op_f2c(number);
  return code;
}

int make_native_errhandler(const sessions::ErrorHandler& handler, MPI_Errhandler* made) {
  const Creator creator = creator_of_handler(handler.object);
  MPI_Fint number = 0, code = MPI_SUCCESS;
  call_native_procedure<CreateErrhandler>(creator.function, creator.symbol, &code, handler.function,
                                          &number);
  if (code == MPI_SUCCESS) *made = PMPI_Errhandler_f2c(number);
  return code;
}

}  // namespace shim::intercept::fortran
