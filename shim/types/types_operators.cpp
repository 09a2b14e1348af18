// SPDX-License-Identifier: BSD-3-Clause
// Defines the predefined operations and the families of types that each is allowed on.
#include <array>
#include <initializer_list>

#include "shim/types/types.hpp"

namespace shim::types {
namespace {

constexpr Op kOps[kOperators] = {
    {"MPI_MAX", Operator::max},
    {"MPI_MIN", Operator::min},
    {"MPI_SUM", Operator::sum},
    {"MPI_PROD", Operator::prod},
    {"MPI_LAND", Operator::land},
    {"MPI_BAND", Operator::band},
    {"MPI_LOR", Operator::lor},
    {"MPI_BOR", Operator::bor},
    {"MPI_LXOR", Operator::lxor},
    {"MPI_BXOR", Operator::bxor},
    {"MPI_MAXLOC", Operator::maxloc},
    {"MPI_MINLOC", Operator::minloc},
    {"MPI_REPLACE", Operator::replace, false},
    {"MPI_NO_OP", Operator::no_op, false},
};

constexpr unsigned set_of(std::initializer_list<TypeGroup> families) {
  unsigned set = 0;
  for (TypeGroup family : families) set |= 1u << static_cast<unsigned>(family);
  return set;
}

// MPI-4.1 §6.9.2, the table "Op / Allowed Types"
constexpr unsigned kOrdered = set_of({TypeGroup::c_integer, TypeGroup::fortran_integer,
                                      TypeGroup::floating, TypeGroup::multi_language});
constexpr unsigned kArithmetic = kOrdered | set_of({TypeGroup::complex});
// The standard does not list multi-language types here, but all native MPI libraries accept them,
// and programs use them.
constexpr unsigned kLogical = set_of(
    {TypeGroup::c_integer, TypeGroup::logical, TypeGroup::multi_language});
constexpr unsigned kBitwise = set_of(
    {TypeGroup::c_integer, TypeGroup::fortran_integer, TypeGroup::byte, TypeGroup::multi_language});

constexpr unsigned families_of(Operator code) {
  switch (code) {
    case Operator::max:
    case Operator::min:
      return kOrdered;
    case Operator::sum:
    case Operator::prod:
      return kArithmetic;
    case Operator::land:
    case Operator::lor:
    case Operator::lxor:
      return kLogical;
    case Operator::band:
    case Operator::bor:
    case Operator::bxor:
      return kBitwise;
    case Operator::maxloc:
    case Operator::minloc:
      return set_of({TypeGroup::pair});
    case Operator::replace:
    case Operator::no_op:
      return 0;
  }
  return 0;
}

base::Error not_allowed(const Op& op, const Type& type) {
  std::string name = type.name.empty() ? "a derived datatype" : std::string(type.name);
  return {base::ErrorClass::op,
          std::string(op.name) + " is not defined on " + name +
              "; MPI-4.1 section 6.9.2 lists the types of each predefined operation"};
}

}  // namespace

const Op& predefined(Operator code) { return kOps[static_cast<std::size_t>(code)]; }

bool is_allowed(const Op& op, const Type& type) {
  if (op.user != nullptr) return true;
  return (families_of(op.code) & set_of({type.family})) != 0;
}

base::Status reduce(const Op& op, const Type& type, const void* in, void* inout,
                    std::uint64_t count) {
  if (op.user != nullptr) {
    if (count > 0) op.user(op.context, in, inout, count, type);
    return {};
  }
  Kernel combine = is_allowed(op, type) ? kernel(op.code, type.element) : nullptr;
  if (combine == nullptr) return not_allowed(op, type);
  combine(in, inout, count);
  return {};
}

}  // namespace shim::types
