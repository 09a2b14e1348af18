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
int create_key(const char* symbol, const Key& key, int* made) {
  auto extra_state = static_cast<Number>(reinterpret_cast<std::intptr_t>(key.extra_state));
  MPI_Fint code = MPI_SUCCESS;
  find_native<CreateKey<Number>>(symbol)(key.copy, key.erase, made, &extra_state, &code);
  return code;
}

const char* name_of_creator(HandlerFor object) {
  switch (object) {
    case HandlerFor::window:
      return "ompi_win_create_errhandler_f";
    case HandlerFor::file:
      return "ompi_file_create_errhandler_f";
    default:
      return "ompi_comm_create_errhandler_f";
  }
}

}  // namespace

int make_native_key(const Key& key, int* made) {
  if (key.is_of_mpi1) return create_key<MPI_Fint>("ompi_keyval_create_f", key, made);
  return create_key<MPI_Aint>(key.object == KeyFor::communicator ? "ompi_comm_create_keyval_f"
                                                                 : "ompi_type_create_keyval_f",
                              key, made);
}

int make_native_operation(MPI_User_function* function, bool commutes, MPI_Op* made) {
  MPI_Fint commute = commutes ? 1 : 0, number = 0, code = MPI_SUCCESS;
  find_native<CreateOperation>("ompi_op_create_f")(reinterpret_cast<void (*)()>(function), &commute,
                                                   &number, &code);
  if (code == MPI_SUCCESS) *made = PMPI_Op_f2c(number);
  return code;
}

int make_native_errhandler(const sessions::ErrorHandler& handler, MPI_Errhandler* made) {
  MPI_Fint number = 0, code = MPI_SUCCESS;
  find_native<CreateErrhandler>(name_of_creator(handler.object))(handler.function, &number, &code);
  if (code == MPI_SUCCESS) *made = PMPI_Errhandler_f2c(number);
  return code;
}

}  // namespace shim::intercept::fortran
