// SPDX-License-Identifier: BSD-3-Clause
#include <span>
#include <string>

#include "shim/intercept/datatypes/recipe.hpp"

namespace shim::intercept {
namespace {

/// What a kind can hold: decimal digits, and powers of ten (Fortran's PRECISION and RANGE of gfortran's kinds on x86-64).
struct Kind {
  int precision, range;
  const char* name;
};
constexpr Kind kReals[] = {{6, 37, "MPI_REAL4"}, {15, 307, "MPI_REAL8"}, {18, 4931, "MPI_LONG_DOUBLE"}, {33, 4931, "MPI_REAL16"}};
constexpr Kind kComplexes[] = {
    {6, 37, "MPI_COMPLEX8"}, {15, 307, "MPI_COMPLEX16"}, {18, 4931, "MPI_C_LONG_DOUBLE_COMPLEX"}, {33, 4931, "MPI_COMPLEX32"}};
constexpr Kind kIntegers[] = {{0, 2, "MPI_INTEGER1"}, {0, 4, "MPI_INTEGER2"}, {0, 9, "MPI_INTEGER4"}, {0, 18, "MPI_INTEGER8"}};

base::Result<const types::Type*> smallest(std::span<const Kind> kinds, int precision, int range) {
  for (const Kind& kind : kinds)
    if (precision <= kind.precision && range <= kind.range) return types::find_predefined(kind.name);
  return base::Error(base::ErrorClass::arg, "there is no kind with a precision of " + std::to_string(precision) + " digits and a range of 10^" +
                                                std::to_string(range));
}

/// Precision or range, but not both, may be MPI_UNDEFINED: anything will do.
base::Result<const types::Type*> smallest_with(std::span<const Kind> kinds, int precision, int range) {
  if (precision == MPI_UNDEFINED && range == MPI_UNDEFINED)
    return base::Error(base::ErrorClass::arg, "both precision and range are MPI_UNDEFINED");
  return smallest(kinds, precision == MPI_UNDEFINED ? 0 : precision, range == MPI_UNDEFINED ? 0 : range);
}

}  // namespace

base::Result<const types::Type*> fortran_type(int combiner, const std::vector<int>& integers) {
  switch (combiner) {
    case MPI_COMBINER_F90_REAL: return smallest_with(kReals, integers[0], integers[1]);
    case MPI_COMBINER_F90_COMPLEX: return smallest_with(kComplexes, integers[0], integers[1]);
    default: return smallest(kIntegers, 0, integers[0]);
  }
}

}  // namespace shim::intercept
