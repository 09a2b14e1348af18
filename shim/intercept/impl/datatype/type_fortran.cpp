// SPDX-License-Identifier: BSD-3-Clause
// Implements Fortran's parametrised types and types by size while the substrate is inactive
// (MPI-4.1 §19.1.9).
#include <map>
#include <mutex>
#include <string>

#include "shim/intercept/generated/impl.hpp"
#include "shim/intercept/impl/arguments.hpp"
#include "shim/intercept/native/substrate.hpp"

namespace shim::intercept {
namespace {

using base::Error;
using base::ErrorClass;

/// Equal parameters give equal handles until the program ends (MPI-4.1 §19.1.9).
struct Permanent {
  std::mutex mutex;
  std::map<std::pair<int, std::vector<int>>, MPI_Datatype> handles;
};
Permanent& permanent() {
  static Permanent& made = *new Permanent;  // types may be used during exit
  return made;
}

base::Result<MPI_Datatype> permanent_handle(int combiner, const std::vector<int>& integers) {
  std::lock_guard lock(permanent().mutex);
  MPI_Datatype& handle = permanent().handles[{combiner, integers}];
  if (!abi::is_unset(handle)) return handle;
  DatatypeObject object;
  SHIM_TRY_ASSIGN(object.derived, derive(TypeContents{.combiner = combiner,
                                                      .integers = integers,
                                                      .addresses = {},
                                                      .counts = {},
                                                      .old_types = {}}));
  object.committed = object.is_permanent = true;
  SHIM_TRY_ASSIGN(handle, objects.datatypes.insert(std::move(object)));
  return handle;
}

int parametrised(const char* function, int combiner, const std::vector<int>& integers,
                 MPI_Datatype* newtype) {
  return run_with_handler(Subject(), function, [&]() -> base::Status {
    SHIM_TRY(check_output(newtype, "datatype"));
    SHIM_TRY(require_substrate());
    SHIM_TRY_ASSIGN(*newtype, permanent_handle(combiner, integers));
    return {};
  });
}

struct KindMatch {
  int typeclass, size;
  const char* name;
};
constexpr KindMatch kMatches[] = {
    {MPI_TYPECLASS_INTEGER, 1, "MPI_INTEGER1"},   {MPI_TYPECLASS_INTEGER, 2, "MPI_INTEGER2"},
    {MPI_TYPECLASS_INTEGER, 4, "MPI_INTEGER4"},   {MPI_TYPECLASS_INTEGER, 8, "MPI_INTEGER8"},
    {MPI_TYPECLASS_REAL, 4, "MPI_REAL4"},         {MPI_TYPECLASS_REAL, 8, "MPI_REAL8"},
    {MPI_TYPECLASS_REAL, 16, "MPI_REAL16"},       {MPI_TYPECLASS_COMPLEX, 8, "MPI_COMPLEX8"},
    {MPI_TYPECLASS_COMPLEX, 16, "MPI_COMPLEX16"}, {MPI_TYPECLASS_COMPLEX, 32, "MPI_COMPLEX32"},
};

}  // namespace

namespace impl_when_inactive {

int Type_create_f90_real(int p, int r, MPI_Datatype* newtype) {
  return parametrised("MPI_Type_create_f90_real", MPI_COMBINER_F90_REAL, {p, r}, newtype);
}
int Type_create_f90_complex(int p, int r, MPI_Datatype* newtype) {
  return parametrised("MPI_Type_create_f90_complex", MPI_COMBINER_F90_COMPLEX, {p, r}, newtype);
}
int Type_create_f90_integer(int r, MPI_Datatype* newtype) {
  return parametrised("MPI_Type_create_f90_integer", MPI_COMBINER_F90_INTEGER, {r}, newtype);
}

int Type_match_size(int typeclass, int size, MPI_Datatype* datatype) {
  return run_with_handler(Subject(), "MPI_Type_match_size", [&]() -> base::Status {
    SHIM_TRY(check_output(datatype, "datatype"));
    SHIM_TRY(require_substrate());
    for (const KindMatch& match : kMatches) {
      if (match.typeclass != typeclass || match.size != size) continue;
      *datatype = abi::handle_of(*types::find_predefined(match.name));
      if (*datatype != abi::predefined.datatype_null) return {};
    }
    return Error(ErrorClass::arg, "no datatype of class " + std::to_string(typeclass) + " has " +
                                      std::to_string(size) + " bytes");
  });
}

}  // namespace impl_when_inactive
}  // namespace shim::intercept
