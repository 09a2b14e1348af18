// SPDX-License-Identifier: BSD-3-Clause
// Quad is a floating-point type of 128 bits (IEEE binary128).
#pragma once

#include <cfloat>

namespace shim::types {

/// IEEE binary128: what a long double is on aarch64, and __float128 is on x86-64, where a long
/// double has 80 bits.
#if LDBL_MANT_DIG == 113
using Quad = long double;
#else
__extension__ using Quad = __float128;
#endif
inline constexpr bool kLongDoubleIsQuad = LDBL_MANT_DIG == 113;

}  // namespace shim::types
