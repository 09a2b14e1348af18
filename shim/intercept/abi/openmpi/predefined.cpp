// SPDX-License-Identifier: BSD-3-Clause
#include "shim/intercept/abi/predefined.hpp"

#include <array>
#include <optional>
#include <string_view>

namespace shim::intercept::abi {

namespace {

using types::Operator;

/// One row for each object in Open MPI's library; constants that share an object (MPI_LONG_LONG)
/// need no row. The Fortran integers are the results of MPI_Type_c2f and MPI_Op_c2f of 4.1.4 after
/// MPI_Init; before MPI_Init the library does not know them.
struct TypeRow {
  const char* symbol;
  std::string_view type;
  MPI_Fint integer;
};
constexpr TypeRow kTypeRows[] = {
    {"ompi_mpi_char", "MPI_CHAR", 34},
    {"ompi_mpi_signed_char", "MPI_SIGNED_CHAR", 36},
    {"ompi_mpi_unsigned_char", "MPI_UNSIGNED_CHAR", 35},
    {"ompi_mpi_byte", "MPI_BYTE", 1},
    {"ompi_mpi_packed", "MPI_PACKED", 2},
    {"ompi_mpi_short", "MPI_SHORT", 37},
    {"ompi_mpi_unsigned_short", "MPI_UNSIGNED_SHORT", 38},
    {"ompi_mpi_int", "MPI_INT", 39},
    {"ompi_mpi_unsigned", "MPI_UNSIGNED", 40},
    {"ompi_mpi_long", "MPI_LONG", 41},
    {"ompi_mpi_unsigned_long", "MPI_UNSIGNED_LONG", 42},
    {"ompi_mpi_long_long_int", "MPI_LONG_LONG_INT", 43},
    {"ompi_mpi_unsigned_long_long", "MPI_UNSIGNED_LONG_LONG", 44},
    {"ompi_mpi_float", "MPI_FLOAT", 45},
    {"ompi_mpi_double", "MPI_DOUBLE", 46},
    {"ompi_mpi_long_double", "MPI_LONG_DOUBLE", 47},
    {"ompi_mpi_wchar", "MPI_WCHAR", 33},
    {"ompi_mpi_int8_t", "MPI_INT8_T", 58},
    {"ompi_mpi_uint8_t", "MPI_UINT8_T", 59},
    {"ompi_mpi_int16_t", "MPI_INT16_T", 60},
    {"ompi_mpi_uint16_t", "MPI_UINT16_T", 61},
    {"ompi_mpi_int32_t", "MPI_INT32_T", 62},
    {"ompi_mpi_uint32_t", "MPI_UINT32_T", 63},
    {"ompi_mpi_int64_t", "MPI_INT64_T", 64},
    {"ompi_mpi_uint64_t", "MPI_UINT64_T", 65},
    {"ompi_mpi_aint", "MPI_AINT", 66},
    {"ompi_mpi_offset", "MPI_OFFSET", 67},
    {"ompi_mpi_count", "MPI_COUNT", 72},
    {"ompi_mpi_c_bool", "MPI_C_BOOL", 68},
    {"ompi_mpi_c_complex", "MPI_C_COMPLEX", 73},
    {"ompi_mpi_c_float_complex", "MPI_C_FLOAT_COMPLEX", 69},
    {"ompi_mpi_c_double_complex", "MPI_C_DOUBLE_COMPLEX", 70},
    {"ompi_mpi_c_long_double_complex", "MPI_C_LONG_DOUBLE_COMPLEX", 71},
    {"ompi_mpi_cxx_bool", "MPI_CXX_BOOL", 54},
    {"ompi_mpi_cxx_cplex", "MPI_CXX_FLOAT_COMPLEX", 55},
    {"ompi_mpi_cxx_dblcplex", "MPI_CXX_DOUBLE_COMPLEX", 56},
    {"ompi_mpi_cxx_ldblcplex", "MPI_CXX_LONG_DOUBLE_COMPLEX", 57},
    {"ompi_mpi_logical", "MPI_LOGICAL", 6},
    {"ompi_mpi_character", "MPI_CHARACTER", 5},
    {"ompi_mpi_integer", "MPI_INTEGER", 7},
    {"ompi_mpi_real", "MPI_REAL", 13},
    {"ompi_mpi_dblprec", "MPI_DOUBLE_PRECISION", 17},
    {"ompi_mpi_cplex", "MPI_COMPLEX", 18},
    {"ompi_mpi_dblcplex", "MPI_DOUBLE_COMPLEX", 22},
    {"ompi_mpi_logical1", "MPI_LOGICAL1", 29},
    {"ompi_mpi_logical2", "MPI_LOGICAL2", 30},
    {"ompi_mpi_logical4", "MPI_LOGICAL4", 31},
    {"ompi_mpi_logical8", "MPI_LOGICAL8", 32},
    {"ompi_mpi_integer1", "MPI_INTEGER1", 8},
    {"ompi_mpi_integer2", "MPI_INTEGER2", 9},
    {"ompi_mpi_integer4", "MPI_INTEGER4", 10},
    {"ompi_mpi_integer8", "MPI_INTEGER8", 11},
    {"ompi_mpi_real4", "MPI_REAL4", 14},
    {"ompi_mpi_real8", "MPI_REAL8", 15},
    {"ompi_mpi_real16", "MPI_REAL16", 16},
    {"ompi_mpi_complex8", "MPI_COMPLEX8", 19},
    {"ompi_mpi_complex16", "MPI_COMPLEX16", 20},
    {"ompi_mpi_complex32", "MPI_COMPLEX32", 21},
    {"ompi_mpi_2int", "MPI_2INT", 52},
    {"ompi_mpi_2integer", "MPI_2INTEGER", 25},
    {"ompi_mpi_2real", "MPI_2REAL", 23},
    {"ompi_mpi_2dblprec", "MPI_2DOUBLE_PRECISION", 24},
    {"ompi_mpi_2cplex", "MPI_2COMPLEX", 26},
    {"ompi_mpi_2dblcplex", "MPI_2DOUBLE_COMPLEX", 27},
    {"ompi_mpi_float_int", "MPI_FLOAT_INT", 48},
    {"ompi_mpi_double_int", "MPI_DOUBLE_INT", 49},
    {"ompi_mpi_long_int", "MPI_LONG_INT", 51},
    {"ompi_mpi_short_int", "MPI_SHORT_INT", 53},
    {"ompi_mpi_longdbl_int", "MPI_LONG_DOUBLE_INT", 50},
};

struct OpRow {
  const char* symbol;
  Operator code;
  MPI_Fint integer;
};
constexpr OpRow kOpRows[] = {
    {"ompi_mpi_op_max", Operator::max, 1},          {"ompi_mpi_op_min", Operator::min, 2},
    {"ompi_mpi_op_sum", Operator::sum, 3},          {"ompi_mpi_op_prod", Operator::prod, 4},
    {"ompi_mpi_op_land", Operator::land, 5},        {"ompi_mpi_op_band", Operator::band, 6},
    {"ompi_mpi_op_lor", Operator::lor, 7},          {"ompi_mpi_op_bor", Operator::bor, 8},
    {"ompi_mpi_op_lxor", Operator::lxor, 9},        {"ompi_mpi_op_bxor", Operator::bxor, 10},
    {"ompi_mpi_op_maxloc", Operator::maxloc, 11},   {"ompi_mpi_op_minloc", Operator::minloc, 12},
    {"ompi_mpi_op_replace", Operator::replace, 13}, {"ompi_mpi_op_no_op", Operator::no_op, 14},
};

template <typename H>
void set(Predefined<H>& handle, void* address) {
  handle.set(static_cast<H>(address));
}

struct Numbered {
  HandleKind kind = HandleKind::none;
  MPI_Fint integer = 0;
  Bits handle = 0;
};

/// Return the non-null predefined objects other than datatypes and operations.
std::array<Numbered, 7> numbered_others() {
  const PredefinedHandles& known = predefined;
  return {{{HandleKind::comm, 0, bits(MPI_Comm(known.comm_world))},
           {HandleKind::comm, 1, bits(MPI_Comm(known.comm_self))},
           {HandleKind::group, 1, bits(MPI_Group(known.group_empty))},
           {HandleKind::errhandler, 1, bits(MPI_Errhandler(known.errors_are_fatal))},
           {HandleKind::errhandler, 2, bits(MPI_Errhandler(known.errors_return))},
           {HandleKind::info, 1, bits(MPI_Info(known.info_env))},
           {HandleKind::message, 1, bits(MPI_Message(known.message_no_proc))}}};
}

/// Return the first datatype, operation or other object for which matches(Numbered) is true; kind
/// none if there is none.
template <typename Matches>
Numbered find_numbered(SymbolLookup lookup, Matches matches) {
  for (const TypeRow& row : kTypeRows)
    if (const Numbered one{HandleKind::datatype, row.integer, bits(lookup(row.symbol))};
        matches(one))
      return one;
  for (const OpRow& row : kOpRows)
    if (const Numbered one{HandleKind::op, row.integer, bits(lookup(row.symbol))}; matches(one))
      return one;
  for (const Numbered& one : numbered_others())
    if (matches(one)) return one;
  return {};
}

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

std::optional<MPI_Fint> integer_of_predefined(SymbolLookup lookup, Bits handle) {
  const auto is_it = [&](const Numbered& one) { return one.handle == handle && handle != 0; };
  const Numbered found = find_numbered(lookup, is_it);
  return found.kind == HandleKind::none ? std::nullopt : std::optional(found.integer);
}

Bits predefined_of_integer(SymbolLookup lookup, HandleKind kind, MPI_Fint integer) {
  const auto is_it = [&](const Numbered& one) {
    return one.kind == kind && one.integer == integer;
  };
  return find_numbered(lookup, is_it).handle;
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
