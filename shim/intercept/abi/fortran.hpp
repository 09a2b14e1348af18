// SPDX-License-Identifier: BSD-3-Clause
// Converts native handles to Fortran integers and back without the native library. Used while the
// native library is not initialised (MPI-4.1 §19.3.4).
#pragma once

#include <mpi.h>

#include <initializer_list>
#include <optional>

#include "shim/intercept/abi/handle.hpp"
#include "shim/intercept/abi/predefined.hpp"

namespace shim::intercept::abi {

#ifdef OPEN_MPI

/// Open MPI numbers its predefined objects at startup, always identically.
inline std::optional<MPI_Fint> native_fint(SymbolLookup lookup, Bits handle) {
  const PredefinedHandles& known = predefined;
  if (handle == bits(MPI_Comm(known.comm_null))) return 2;
  for (Bits null : {bits(MPI_Group(known.group_null)), bits(MPI_Request(known.request_null)),
                    bits(MPI_Message(known.message_null)), bits(MPI_Datatype(known.datatype_null)),
                    bits(MPI_Op(known.op_null)), bits(MPI_Info(known.info_null)),
                    bits(MPI_Errhandler(known.errhandler_null))})
    if (handle == null) return 0;
  return integer_of_predefined(lookup, handle);
}
template <typename Handle>
Handle native_handle(SymbolLookup lookup, HandleKind kind, MPI_Fint integer, Handle null) {
  const Bits found = predefined_of_integer(lookup, kind, integer);
  return found != 0 ? from_bits<Handle>(found) : null;
}

#else

/// MPICH's handles are integers.
inline std::optional<MPI_Fint> native_fint(SymbolLookup, Bits handle) {
  return static_cast<MPI_Fint>(handle);
}
template <typename Handle>
Handle native_handle(SymbolLookup, HandleKind, MPI_Fint integer, Handle) {
  return from_bits<Handle>(bits(integer));
}

#endif

}  // namespace shim::intercept::abi
