// SPDX-License-Identifier: BSD-3-Clause
// Declares what the Fortran entries of all substrates (abi/<substrate>/entries/) share: attributes
// as numbers, by kind of object.
#pragma once

#include <mpi.h>

#include "shim/intercept/impl/attributes.hpp"
#include "shim/intercept/impl/comm/comm_attributes.hpp"
#include "shim/intercept/impl/datatype/type_attributes.hpp"
#include "shim/intercept/impl/world/predefined_comms.hpp"
#include "shim/intercept/impl/world/served_world.hpp"
#include "shim/intercept/native/activity.hpp"

namespace shim::intercept::fortran {

struct CommAttributes {
  using Handle = MPI_Comm;
  static Handle from(MPI_Fint number) { return PMPI_Comm_f2c(number); }
  static Subject subject(Handle comm) { return Subject::comm(comm); }
  static bool is_ours(Handle comm) { return abi::is_ours(comm); }
  static int get_number(const char* function, Handle comm, int keyval, std::intptr_t* value,
                        bool* flag) {
    if (is_served_table_current())
      if (const int code = to_served_comm_if_local(subject(comm), function, comm)) return code;
    return is_ours(comm) ? get_comm_number(function, comm, keyval, value, flag)
                         : get_predefined_comm_number(function, comm, keyval, value, flag);
  }
  static int set_number(const char* function, Handle comm, int keyval, std::intptr_t value) {
    if (is_served_table_current())
      if (const int code = to_served_comm(subject(comm), function, comm)) return code;
    return is_ours(comm) ? set_comm_number(function, comm, keyval, value)
                         : set_predefined_comm_number(function, comm, keyval, value);
  }
};
struct TypeAttributes {
  using Handle = MPI_Datatype;
  static Handle from(MPI_Fint number) { return PMPI_Type_f2c(number); }
  static Subject subject(Handle) { return Subject(); }
  static bool is_ours(Handle type) {
    return abi::is_ours(type) || (!is_active() && abi::find_type(type) != nullptr);
  }
  static constexpr auto get_number = get_type_number;
  static constexpr auto set_number = set_type_number;
};

/// True if Intersession handles the call: the object is ours, or the native library is not
/// initialised and the program has objects of ours. Otherwise the native library handles it.
template <typename HandleKind>
bool is_handled_here(typename HandleKind::Handle object) {
  return HandleKind::is_ours(object) || (!detect_activity() && any_object_made());
}

}  // namespace shim::intercept::fortran
