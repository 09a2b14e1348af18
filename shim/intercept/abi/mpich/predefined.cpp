// SPDX-License-Identifier: BSD-3-Clause
#include "shim/intercept/abi/predefined.hpp"

namespace shim::intercept::abi {
namespace {

using types::Operator;

// Constants that share a value (MPI_LONG_LONG, MPI_C_COMPLEX) need no row. MPI_INTEGER16 is MPICH's
// null type.
struct TypeRow {
  MPI_Datatype handle;
  std::string_view type;
};
constexpr TypeRow kTypeRows[] = {
    {MPI_CHAR, "MPI_CHAR"},
    {MPI_SIGNED_CHAR, "MPI_SIGNED_CHAR"},
    {MPI_UNSIGNED_CHAR, "MPI_UNSIGNED_CHAR"},
    {MPI_BYTE, "MPI_BYTE"},
    {MPI_PACKED, "MPI_PACKED"},
    {MPI_SHORT, "MPI_SHORT"},
    {MPI_UNSIGNED_SHORT, "MPI_UNSIGNED_SHORT"},
    {MPI_INT, "MPI_INT"},
    {MPI_UNSIGNED, "MPI_UNSIGNED"},
    {MPI_LONG, "MPI_LONG"},
    {MPI_UNSIGNED_LONG, "MPI_UNSIGNED_LONG"},
    {MPI_LONG_LONG_INT, "MPI_LONG_LONG_INT"},
    {MPI_UNSIGNED_LONG_LONG, "MPI_UNSIGNED_LONG_LONG"},
    {MPI_FLOAT, "MPI_FLOAT"},
    {MPI_DOUBLE, "MPI_DOUBLE"},
    {MPI_LONG_DOUBLE, "MPI_LONG_DOUBLE"},
    {MPI_WCHAR, "MPI_WCHAR"},
    {MPI_INT8_T, "MPI_INT8_T"},
    {MPI_UINT8_T, "MPI_UINT8_T"},
    {MPI_INT16_T, "MPI_INT16_T"},
    {MPI_UINT16_T, "MPI_UINT16_T"},
    {MPI_INT32_T, "MPI_INT32_T"},
    {MPI_UINT32_T, "MPI_UINT32_T"},
    {MPI_INT64_T, "MPI_INT64_T"},
    {MPI_UINT64_T, "MPI_UINT64_T"},
    {MPI_AINT, "MPI_AINT"},
    {MPI_OFFSET, "MPI_OFFSET"},
    {MPI_COUNT, "MPI_COUNT"},
    {MPI_C_BOOL, "MPI_C_BOOL"},
    {MPI_C_FLOAT_COMPLEX, "MPI_C_FLOAT_COMPLEX"},
    {MPI_C_DOUBLE_COMPLEX, "MPI_C_DOUBLE_COMPLEX"},
    {MPI_C_LONG_DOUBLE_COMPLEX, "MPI_C_LONG_DOUBLE_COMPLEX"},
    {MPI_CXX_BOOL, "MPI_CXX_BOOL"},
    {MPI_CXX_FLOAT_COMPLEX, "MPI_CXX_FLOAT_COMPLEX"},
    {MPI_CXX_DOUBLE_COMPLEX, "MPI_CXX_DOUBLE_COMPLEX"},
    {MPI_CXX_LONG_DOUBLE_COMPLEX, "MPI_CXX_LONG_DOUBLE_COMPLEX"},
    {MPI_LOGICAL, "MPI_LOGICAL"},
    {MPI_CHARACTER, "MPI_CHARACTER"},
    {MPI_INTEGER, "MPI_INTEGER"},
    {MPI_REAL, "MPI_REAL"},
    {MPI_DOUBLE_PRECISION, "MPI_DOUBLE_PRECISION"},
    {MPI_COMPLEX, "MPI_COMPLEX"},
    {MPI_DOUBLE_COMPLEX, "MPI_DOUBLE_COMPLEX"},
    {MPI_INTEGER1, "MPI_INTEGER1"},
    {MPI_INTEGER2, "MPI_INTEGER2"},
    {MPI_INTEGER4, "MPI_INTEGER4"},
    {MPI_INTEGER8, "MPI_INTEGER8"},
    {MPI_REAL4, "MPI_REAL4"},
    {MPI_REAL8, "MPI_REAL8"},
    {MPI_REAL16, "MPI_REAL16"},
    {MPI_COMPLEX8, "MPI_COMPLEX8"},
    {MPI_COMPLEX16, "MPI_COMPLEX16"},
    {MPI_COMPLEX32, "MPI_COMPLEX32"},
    {MPI_2INT, "MPI_2INT"},
    {MPI_2INTEGER, "MPI_2INTEGER"},
    {MPI_2REAL, "MPI_2REAL"},
    {MPI_2DOUBLE_PRECISION, "MPI_2DOUBLE_PRECISION"},
    {MPI_FLOAT_INT, "MPI_FLOAT_INT"},
    {MPI_DOUBLE_INT, "MPI_DOUBLE_INT"},
    {MPI_LONG_INT, "MPI_LONG_INT"},
    {MPI_SHORT_INT, "MPI_SHORT_INT"},
    {MPI_LONG_DOUBLE_INT, "MPI_LONG_DOUBLE_INT"},
#ifdef MPIX_C_FLOAT16
    {MPIX_C_FLOAT16, "MPIX_C_FLOAT16"},
#endif
};

struct OpRow {
  MPI_Op handle;
  Operator code;
};
constexpr OpRow kOpRows[] = {
    {MPI_MAX, Operator::max},         {MPI_MIN, Operator::min},
    {MPI_SUM, Operator::sum},         {MPI_PROD, Operator::prod},
    {MPI_LAND, Operator::land},       {MPI_BAND, Operator::band},
    {MPI_LOR, Operator::lor},         {MPI_BOR, Operator::bor},
    {MPI_LXOR, Operator::lxor},       {MPI_BXOR, Operator::bxor},
    {MPI_MAXLOC, Operator::maxloc},   {MPI_MINLOC, Operator::minloc},
    {MPI_REPLACE, Operator::replace}, {MPI_NO_OP, Operator::no_op},
};

}  // namespace

// The header refers to this symbol, so that every library of the ABI defines it.
bool has_library(SymbolLookup lookup) { return lookup("MPI_UNWEIGHTED") != nullptr; }

// Variables of MPICH's library, with which this library is not linked.
static constinit std::atomic<void*> unweighted_at{nullptr}, weights_empty_at{nullptr};
static const int* value_at(const std::atomic<void*>& variable) noexcept {
  void* address = variable.load(std::memory_order_relaxed);  // relaxed: as for Predefined
  return address != nullptr ? *static_cast<int**>(address) : nullptr;
}
const int* unweighted() noexcept { return value_at(unweighted_at); }
const int* weights_empty() noexcept { return value_at(weights_empty_at); }

/// Set a variable from which MPICH's module mpi_f08 takes a constant to the constant's value, as
/// MPICH does when it is initialized; no library that lacks the module has the variable.
static void set_constant_of_f08(SymbolLookup lookup, const char* name, const int* value) {
  auto* const variable = static_cast<const int**>(lookup(name));
  if (variable != nullptr && *variable == nullptr) *variable = value;
}

void resolve_handles(SymbolLookup lookup) {
  unweighted_at.store(lookup("MPI_UNWEIGHTED"), std::memory_order_relaxed);
  weights_empty_at.store(lookup("MPI_WEIGHTS_EMPTY"), std::memory_order_relaxed);
  set_constant_of_f08(lookup, "MPIR_C_MPI_UNWEIGHTED", unweighted());
  set_constant_of_f08(lookup, "MPIR_C_MPI_WEIGHTS_EMPTY", weights_empty());
  predefined.comm_null.set(MPI_COMM_NULL);
  predefined.comm_world.set(MPI_COMM_WORLD);
  predefined.comm_self.set(MPI_COMM_SELF);
  predefined.group_null.set(MPI_GROUP_NULL);
  predefined.group_empty.set(MPI_GROUP_EMPTY);
  predefined.request_null.set(MPI_REQUEST_NULL);
  predefined.message_null.set(MPI_MESSAGE_NULL);
  predefined.message_no_proc.set(MPI_MESSAGE_NO_PROC);
  predefined.datatype_null.set(MPI_DATATYPE_NULL);
  predefined.op_null.set(MPI_OP_NULL);
  predefined.errhandler_null.set(MPI_ERRHANDLER_NULL);
  predefined.errors_are_fatal.set(MPI_ERRORS_ARE_FATAL);
  predefined.errors_return.set(MPI_ERRORS_RETURN);
  predefined.info_null.set(MPI_INFO_NULL);
  predefined.info_env.set(MPI_INFO_ENV);
  predefined.win_null.set(MPI_WIN_NULL);
  predefined.file_null.set(MPI_FILE_NULL);
}

void resolve_types(SymbolLookup, const std::function<void(Bits, std::string_view)>& insert) {
  for (const TypeRow& row : kTypeRows) insert(bits(row.handle), row.type);
}

void resolve_ops(SymbolLookup, const std::function<void(Bits, Operator)>& insert) {
  for (const OpRow& row : kOpRows) insert(bits(row.handle), row.code);
}

}  // namespace shim::intercept::abi
