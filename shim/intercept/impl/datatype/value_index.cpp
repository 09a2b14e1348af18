// SPDX-License-Identifier: BSD-3-Clause
// Implements MPI_Type_get_value_index for the predefined pair types of MPI_MINLOC and MPI_MAXLOC
// (MPI-4.1 §6.9.4).
#include "shim/intercept/generated/impl.hpp"
#include "shim/intercept/impl/arguments.hpp"
#include "shim/intercept/native/substrate.hpp"

namespace shim::intercept {
namespace {

struct ValueIndexType {
  std::string_view value, index, pair;
};
constexpr ValueIndexType kPairs[] = {
    {"MPI_FLOAT", "MPI_INT", "MPI_FLOAT_INT"},
    {"MPI_DOUBLE", "MPI_INT", "MPI_DOUBLE_INT"},
    {"MPI_LONG", "MPI_INT", "MPI_LONG_INT"},
    {"MPI_INT", "MPI_INT", "MPI_2INT"},
    {"MPI_SHORT", "MPI_INT", "MPI_SHORT_INT"},
    {"MPI_LONG_DOUBLE", "MPI_INT", "MPI_LONG_DOUBLE_INT"},
    {"MPI_REAL", "MPI_REAL", "MPI_2REAL"},
    {"MPI_DOUBLE_PRECISION", "MPI_DOUBLE_PRECISION", "MPI_2DOUBLE_PRECISION"},
    {"MPI_INTEGER", "MPI_INTEGER", "MPI_2INTEGER"},
};

base::Result<const types::Type*> part_of_pair(MPI_Datatype datatype, const char* what) {
  if (const types::Type* type = abi::find_type(datatype)) return type;
  return base::Error(base::ErrorClass::type,
                     std::string("the ") + what + " type is not a predefined datatype");
}

}  // namespace

namespace impl {

/// Return MPI_DATATYPE_NULL if there is no pair type.
int Type_get_value_index(MPI_Datatype value_type, MPI_Datatype index_type,
                         MPI_Datatype* pair_type) {
  return run_with_handler(Subject(), "MPI_Type_get_value_index", [&]() -> base::Status {
    SHIM_TRY(require_substrate());
    SHIM_TRY(check_output(pair_type, "pair type"));
    SHIM_TRY_ASSIGN(const types::Type* value, part_of_pair(value_type, "value"));
    SHIM_TRY_ASSIGN(const types::Type* index, part_of_pair(index_type, "index"));
    *pair_type = abi::predefined.datatype_null;
    for (const ValueIndexType& row : kPairs)
      if (value == types::find_predefined(row.value) && index == types::find_predefined(row.index))
        *pair_type = abi::handle_of(*types::find_predefined(row.pair));
    return {};
  });
}

}  // namespace impl
}  // namespace shim::intercept
