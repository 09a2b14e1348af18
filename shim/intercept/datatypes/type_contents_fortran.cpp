// SPDX-License-Identifier: BSD-3-Clause
// Finds the predefined type of a parametrised Fortran type (MPI_Type_create_f90_real, …).
#include <span>
#include <string>

#include "shim/intercept/datatypes/type_contents.hpp"

namespace shim::intercept {
namespace {

/// A kind of gfortran on x86-64: PRECISION (0 for integers) and RANGE in decimal digits, and the
/// MPI type of equal representation.
struct RealKind {
  int precision, range;
  const char* name;
};
constexpr RealKind kReals[] = {{6, 37, "MPI_REAL4"},
                               {15, 307, "MPI_REAL8"},
                               {18, 4931, "MPI_LONG_DOUBLE"},
                               {33, 4931, "MPI_REAL16"}};
constexpr RealKind kComplexes[] = {{6, 37, "MPI_COMPLEX8"},
                                   {15, 307, "MPI_COMPLEX16"},
                                   {18, 4931, "MPI_C_LONG_DOUBLE_COMPLEX"},
                                   {33, 4931, "MPI_COMPLEX32"}};
constexpr RealKind kIntegers[] = {{0, 2, "MPI_INTEGER1"},
                                  {0, 4, "MPI_INTEGER2"},
                                  {0, 9, "MPI_INTEGER4"},
                                  {0, 18, "MPI_INTEGER8"}};

base::Result<const types::Type*> smallest(std::span<const RealKind> kinds, int precision,
                                          int range) {
  for (const RealKind& kind : kinds)
    if (precision <= kind.precision && range <= kind.range)
      return types::find_predefined(kind.name);
  return base::Error(base::ErrorClass::arg,
                     "no Fortran kind has a precision of " + std::to_string(precision) +
                         " digits and a range of 10^" + std::to_string(range));
}

/// Return the smallest kind. Precision or range, but not both, may be MPI_UNDEFINED: no
/// requirement.
base::Result<const types::Type*> smallest_with(std::span<const RealKind> kinds, int precision,
                                               int range) {
  if (precision == MPI_UNDEFINED && range == MPI_UNDEFINED)
    return base::Error(base::ErrorClass::arg, "both precision and range are MPI_UNDEFINED");
  return smallest(kinds, precision == MPI_UNDEFINED ? 0 : precision,
                  range == MPI_UNDEFINED ? 0 : range);
}

}  // namespace

base::Result<const types::Type*> fortran_type(int combiner, const std::vector<int>& integers) {
  switch (combiner) {
    case MPI_COMBINER_F90_REAL:
      return smallest_with(kReals, integers[0], integers[1]);
    case MPI_COMBINER_F90_COMPLEX:
      return smallest_with(kComplexes, integers[0], integers[1]);
    default:
      return smallest(kIntegers, 0, integers[0]);
  }
}

}  // namespace shim::intercept
