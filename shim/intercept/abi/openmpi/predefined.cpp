// SPDX-License-Identifier: BSD-3-Clause
#include "shim/intercept/abi/predefined.hpp"

#include <string_view>

namespace shim::intercept::abi {

namespace {

using types::Operator;

/// One row per object that Open MPI's library has; constants that share an object (MPI_LONG_LONG) need no row.
struct TypeRow {
  const char* symbol;
  std::string_view type;
};
constexpr TypeRow kTypeRows[] = {
    {"ompi_mpi_char", "MPI_CHAR"}, {"ompi_mpi_signed_char", "MPI_SIGNED_CHAR"},
    {"ompi_mpi_unsigned_char", "MPI_UNSIGNED_CHAR"}, {"ompi_mpi_byte", "MPI_BYTE"}, {"ompi_mpi_packed", "MPI_PACKED"},
    {"ompi_mpi_short", "MPI_SHORT"}, {"ompi_mpi_unsigned_short", "MPI_UNSIGNED_SHORT"}, {"ompi_mpi_int", "MPI_INT"},
    {"ompi_mpi_unsigned", "MPI_UNSIGNED"}, {"ompi_mpi_long", "MPI_LONG"}, {"ompi_mpi_unsigned_long", "MPI_UNSIGNED_LONG"},
    {"ompi_mpi_long_long_int", "MPI_LONG_LONG_INT"}, {"ompi_mpi_unsigned_long_long", "MPI_UNSIGNED_LONG_LONG"},
    {"ompi_mpi_float", "MPI_FLOAT"}, {"ompi_mpi_double", "MPI_DOUBLE"}, {"ompi_mpi_long_double", "MPI_LONG_DOUBLE"},
    {"ompi_mpi_wchar", "MPI_WCHAR"}, {"ompi_mpi_int8_t", "MPI_INT8_T"}, {"ompi_mpi_uint8_t", "MPI_UINT8_T"},
    {"ompi_mpi_int16_t", "MPI_INT16_T"}, {"ompi_mpi_uint16_t", "MPI_UINT16_T"}, {"ompi_mpi_int32_t", "MPI_INT32_T"},
    {"ompi_mpi_uint32_t", "MPI_UINT32_T"}, {"ompi_mpi_int64_t", "MPI_INT64_T"}, {"ompi_mpi_uint64_t", "MPI_UINT64_T"},
    {"ompi_mpi_aint", "MPI_AINT"}, {"ompi_mpi_offset", "MPI_OFFSET"}, {"ompi_mpi_count", "MPI_COUNT"},
    {"ompi_mpi_c_bool", "MPI_C_BOOL"}, {"ompi_mpi_c_complex", "MPI_C_COMPLEX"},
    {"ompi_mpi_c_float_complex", "MPI_C_FLOAT_COMPLEX"}, {"ompi_mpi_c_double_complex", "MPI_C_DOUBLE_COMPLEX"},
    {"ompi_mpi_c_long_double_complex", "MPI_C_LONG_DOUBLE_COMPLEX"}, {"ompi_mpi_cxx_bool", "MPI_CXX_BOOL"},
    {"ompi_mpi_cxx_cplex", "MPI_CXX_FLOAT_COMPLEX"}, {"ompi_mpi_cxx_dblcplex", "MPI_CXX_DOUBLE_COMPLEX"},
    {"ompi_mpi_cxx_ldblcplex", "MPI_CXX_LONG_DOUBLE_COMPLEX"}, {"ompi_mpi_logical", "MPI_LOGICAL"},
    {"ompi_mpi_character", "MPI_CHARACTER"}, {"ompi_mpi_integer", "MPI_INTEGER"}, {"ompi_mpi_real", "MPI_REAL"},
    {"ompi_mpi_dblprec", "MPI_DOUBLE_PRECISION"}, {"ompi_mpi_cplex", "MPI_COMPLEX"},
    {"ompi_mpi_dblcplex", "MPI_DOUBLE_COMPLEX"}, {"ompi_mpi_logical1", "MPI_LOGICAL1"},
    {"ompi_mpi_logical2", "MPI_LOGICAL2"}, {"ompi_mpi_logical4", "MPI_LOGICAL4"}, {"ompi_mpi_logical8", "MPI_LOGICAL8"},
    {"ompi_mpi_integer1", "MPI_INTEGER1"}, {"ompi_mpi_integer2", "MPI_INTEGER2"}, {"ompi_mpi_integer4", "MPI_INTEGER4"},
    {"ompi_mpi_integer8", "MPI_INTEGER8"}, 
    {"ompi_mpi_real4", "MPI_REAL4"}, {"ompi_mpi_real8", "MPI_REAL8"}, {"ompi_mpi_real16", "MPI_REAL16"},
    {"ompi_mpi_complex8", "MPI_COMPLEX8"}, {"ompi_mpi_complex16", "MPI_COMPLEX16"}, {"ompi_mpi_complex32", "MPI_COMPLEX32"},
    {"ompi_mpi_2int", "MPI_2INT"}, {"ompi_mpi_2integer", "MPI_2INTEGER"}, {"ompi_mpi_2real", "MPI_2REAL"},
    {"ompi_mpi_2dblprec", "MPI_2DOUBLE_PRECISION"}, {"ompi_mpi_2cplex", "MPI_2COMPLEX"},
    {"ompi_mpi_2dblcplex", "MPI_2DOUBLE_COMPLEX"}, {"ompi_mpi_float_int", "MPI_FLOAT_INT"},
    {"ompi_mpi_double_int", "MPI_DOUBLE_INT"}, {"ompi_mpi_long_int", "MPI_LONG_INT"},
    {"ompi_mpi_short_int", "MPI_SHORT_INT"}, {"ompi_mpi_longdbl_int", "MPI_LONG_DOUBLE_INT"},
};

struct OpRow {
  const char* symbol;
  Operator code;
};
constexpr OpRow kOpRows[] = {
    {"ompi_mpi_op_max", Operator::max},       {"ompi_mpi_op_min", Operator::min},       {"ompi_mpi_op_sum", Operator::sum},
    {"ompi_mpi_op_prod", Operator::prod},     {"ompi_mpi_op_land", Operator::land},     {"ompi_mpi_op_band", Operator::band},
    {"ompi_mpi_op_lor", Operator::lor},       {"ompi_mpi_op_bor", Operator::bor},       {"ompi_mpi_op_lxor", Operator::lxor},
    {"ompi_mpi_op_bxor", Operator::bxor},     {"ompi_mpi_op_maxloc", Operator::maxloc}, {"ompi_mpi_op_minloc", Operator::minloc},
    {"ompi_mpi_op_replace", Operator::replace}, {"ompi_mpi_op_no_op", Operator::no_op},
};

template <typename H>
void set(Predefined<H>& handle, void* address) { handle.set(static_cast<H>(address)); }

}  // namespace

bool has_library(SymbolLookup lookup) { return lookup("ompi_mpi_comm_null") != nullptr; }

const int* unweighted() noexcept { return MPI_UNWEIGHTED; }
const int* weights_empty() noexcept { return MPI_WEIGHTS_EMPTY; }

void resolve_handles(SymbolLookup lookup) {
  set(predefined.comm_null, lookup("ompi_mpi_comm_null"));
  set(predefined.comm_world, lookup("ompi_mpi_comm_world"));
  set(predefined.comm_self, lookup("ompi_mpi_comm_self"));
  set(predefined.group_null, lookup("ompi_mpi_group_null"));
  set(predefined.group_empty, lookup("ompi_mpi_group_empty"));
  set(predefined.request_null, lookup("ompi_request_null"));
  set(predefined.message_null, lookup("ompi_message_null"));
  set(predefined.message_no_proc, lookup("ompi_message_no_proc"));
  set(predefined.datatype_null, lookup("ompi_mpi_datatype_null"));
  set(predefined.op_null, lookup("ompi_mpi_op_null"));
  set(predefined.errhandler_null, lookup("ompi_mpi_errhandler_null"));
  set(predefined.errors_are_fatal, lookup("ompi_mpi_errors_are_fatal"));
  set(predefined.errors_return, lookup("ompi_mpi_errors_return"));
  set(predefined.info_null, lookup("ompi_mpi_info_null"));
  set(predefined.info_env, lookup("ompi_mpi_info_env"));
  set(predefined.win_null, lookup("ompi_mpi_win_null"));
  set(predefined.file_null, lookup("ompi_mpi_file_null"));
}

void resolve_types(SymbolLookup lookup, const std::function<void(Bits, std::string_view)>& insert) {
  for (const TypeRow& row : kTypeRows)
    if (void* handle = lookup(row.symbol)) insert(bits(handle), row.type);
}

void resolve_ops(SymbolLookup lookup, const std::function<void(Bits, types::Operator)>& insert) {
  for (const OpRow& row : kOpRows)
    if (void* handle = lookup(row.symbol)) insert(bits(handle), row.code);
}

}  // namespace shim::intercept::abi
